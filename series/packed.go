package series

import "github.com/muster-scale/muster"

// step holds the durations measured from start on. Every fleet has dozens of them, so the buckets are packed;
// how many durations there are is the sum over the buckets.
type step struct {
	start      int64 // Unix time in nanoseconds
	sumSeconds float64
	buckets    packed
}

func newStep(start int64, h muster.Durations) step {
	return step{start: start, sumSeconds: h.SumSeconds, buckets: pack(Merge(h, muster.Durations{}).Buckets)}
}

func (s step) durations() muster.Durations {
	var t tally
	t.add(s)
	return t.sum()
}

// packed are buckets as pairs of numbers: how far the index is above the one before, which begins at minIndex-1, and the
// count. A number has seven bits in each byte, the lowest first, and all its bytes but the last have the eighth.
type packed string

// pack packs buckets that are sorted, within bounds and without repeats.
func pack(buckets []muster.Bucket) packed {
	out := make([]byte, 0, 3*len(buckets))
	put := func(n uint64) {
		for ; n >= 0x80; n >>= 7 {
			out = append(out, byte(n)|0x80)
		}
		out = append(out, byte(n))
	}
	last := minIndex - 1
	for _, b := range buckets {
		put(uint64(b.Index - last))
		put(uint64(b.Count))
		last = b.Index
	}
	return packed(out)
}

// next returns the first number of p, which is not empty, and what follows it.
func (p packed) next() (n uint64, rest packed) {
	if p[0] < 0x80 { // as nearly all are
		return uint64(p[0]), p[1:]
	}
	for i, shift := 0, 0; i < len(p); i, shift = i+1, shift+7 {
		n |= uint64(p[i]&0x7f) << shift
		if p[i] < 0x80 {
			return n, p[i+1:]
		}
	}
	return n, ""
}

// tally adds up the steps of a window: the counts by index.
type tally struct {
	count      int64
	sumSeconds float64
	counts     [maxIndex - minIndex + 1]int64
	used       int
	// low and high bound those that are used, so that nobody looks through all.
	low, high int
}

// at adds n to the count at a place.
func (t *tally) at(place int, n int64) {
	if t.counts[place] == 0 {
		if t.used == 0 {
			t.low, t.high = place, place
		}
		t.used++
		t.low, t.high = min(t.low, place), max(t.high, place)
	}
	t.counts[place] += n
}

func (t *tally) add(s step) {
	t.sumSeconds += s.sumSeconds
	at := -1
	for p := s.buckets; p != ""; {
		var above, n uint64
		above, p = p.next()
		n, p = p.next()
		at += int(above)
		t.at(at, int64(n))
		t.count += int64(n)
	}
}

// merge adds up the buckets of h. Those that a stranger sent wrong are put right or dropped.
func (t *tally) merge(h muster.Durations) {
	t.count, t.sumSeconds = t.count+h.Count, t.sumSeconds+h.SumSeconds
	for _, b := range h.Buckets {
		if b.Count < 1 {
			continue
		}
		t.at(min(max(b.Index, minIndex), maxIndex)-minIndex, b.Count)
	}
}

func (t *tally) sum() muster.Durations {
	h := muster.Durations{Count: t.count, SumSeconds: t.sumSeconds}
	if t.used == 0 {
		return h
	}
	h.Buckets = make([]muster.Bucket, 0, t.used)
	for i := t.low; i <= t.high; i++ {
		if n := t.counts[i]; n > 0 {
			h.Buckets = append(h.Buckets, muster.Bucket{Index: i + minIndex, Count: n})
		}
	}
	return h
}
