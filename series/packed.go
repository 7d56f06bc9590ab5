package series

import (
	"math"

	"github.com/muster-scale/muster"
)

// step holds the durations measured from start on, in Unix nanoseconds.
type step struct {
	start int64
	histogram
}

// histogram is a [Durations] in little room, because every fleet has dozens of them: how many durations there are is
// the sum over the buckets.
type histogram struct {
	sumSeconds float64
	buckets    packed
}

// plus returns h with the durations d, of which those that a stranger sent wrong are put right or dropped.
func (h histogram) plus(d Durations) histogram {
	var t tally
	t.add(h)
	t.merge(d)
	return t.histogram()
}

// packed are buckets, each by how far its index is above the one before, which begins at minIndex-1, and its count.
// Most are near the one before and have a small count: they are one byte below 0x80, the distance less 1 times 16 and
// the count less 1. Others are a byte from 0x80 on, which has the distance in its lowest seven bits, or none there and
// the distance as a number after it; and then the count as a number. A number has seven bits in each byte, the lowest
// first, and all its bytes but the last have the eighth.
type packed string

// pack appends a bucket that is so far above the one before.
func pack(to []byte, above int, count int64) []byte {
	switch {
	case above <= 8 && count <= 16:
		return append(to, byte(above-1)<<4|byte(count-1))
	case above < 0x80:
		to = append(to, 0x80|byte(above))
	default:
		to = packNumber(append(to, 0x80), uint64(above))
	}
	return packNumber(to, uint64(count))
}

func packNumber(to []byte, n uint64) []byte {
	for ; n >= 0x80; n >>= 7 {
		to = append(to, byte(n)|0x80)
	}
	return append(to, byte(n))
}

// next returns the first bucket of p, which is not empty, and what follows it.
func (p packed) next() (above int, count int64, rest packed) {
	first := int(p[0])
	if p = p[1:]; first < 0x80 {
		return first>>4 + 1, int64(first&0xf) + 1, p
	}
	if above = first & 0x7f; above == 0 {
		var n uint64
		n, p = p.number()
		above = int(n)
	}
	n, p := p.number()
	return above, int64(n), p
}

// number returns the number at the beginning of p and what follows it.
func (p packed) number() (n uint64, rest packed) {
	for i, shift := 0, 0; i < len(p); i, shift = i+1, shift+7 {
		n |= uint64(p[i]&0x7f) << shift
		if p[i] < 0x80 {
			return n, p[i+1:]
		}
	}
	return n, ""
}

// tally adds up histograms: the counts by index.
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

func (t *tally) add(h histogram) {
	t.sumSeconds += h.sumSeconds
	at := -1
	for p := h.buckets; p != ""; {
		var above int
		var n int64
		above, n, p = p.next()
		at += above
		t.at(at, n)
		t.count += n
	}
}

// merge adds up the buckets of h. Those that a stranger sent wrong are put right or dropped.
func (t *tally) merge(h Durations) {
	t.count, t.sumSeconds = t.count+h.Count, t.sumSeconds+h.SumSeconds
	for _, b := range h.Buckets {
		if b.Count < 1 {
			continue
		}
		t.at(min(max(b.Index, minIndex), maxIndex)-minIndex, b.Count)
	}
}

func (t *tally) sum() Durations {
	h := Durations{Count: t.count, SumSeconds: t.sumSeconds}
	if t.used == 0 {
		return h
	}
	h.Buckets = make([]Bucket, 0, t.used)
	for i := t.low; i <= t.high; i++ {
		if n := t.counts[i]; n > 0 {
			h.Buckets = append(h.Buckets, Bucket{Index: i + minIndex, Count: n})
		}
	}
	return h
}

// histogram packs what was added.
func (t *tally) histogram() histogram {
	h := histogram{sumSeconds: t.sumSeconds}
	if t.used == 0 {
		return h
	}
	var room [256]byte // not on the heap: every fleet packs every few seconds
	out, last := room[:0], -1
	for i := t.low; i <= t.high; i++ {
		if n := t.counts[i]; n > 0 {
			out, last = pack(out, i-last, n), i
		}
	}
	h.buckets = packed(out)
	return h
}

// estimate is [Estimate] of what was added, without a prior.
func (t *tally) estimate() muster.Estimate {
	if t.count <= 0 {
		return muster.Estimate{}
	}
	e := muster.Estimate{Known: true, Count: t.count, MeanSeconds: t.sumSeconds / float64(t.count)}
	place, seen := t.low-1, int64(0)
	for _, of := range [...]struct {
		q       float64
		seconds *float64
	}{{0.5, &e.P50Seconds}, {0.95, &e.P95Seconds}, {0.99, &e.P99Seconds}} {
		for rank := rankOf(of.q, t.count); seen < rank && place < t.high; {
			place++
			seen += t.counts[place]
		}
		*of.seconds = value(place + minIndex)
	}
	return e
}

// rankOf returns the place, from 1 on, of the q-quantile among so many in order.
func rankOf(q float64, count int64) int64 { return max(1, int64(math.Ceil(q*float64(count)))) }
