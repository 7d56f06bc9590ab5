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

// histogram is a [Durations] in little memory, because every fleet keeps dozens of them. The number of durations is not
// stored: it is the sum over the buckets.
type histogram struct {
	sumSeconds float64
	buckets    packed
}

// plus returns h with the durations d. Invalid buckets of d are repaired or dropped, as [Merge] does.
func (h histogram) plus(d Durations) histogram {
	var t tally
	t.add(h)
	t.merge(d)
	return t.histogram()
}

// packed are the buckets of a histogram in order, as bytes. Each bucket is its gap, the distance of its index from the
// index before, and its count. The first gap is measured from minIndex-1, so that every gap is at least 1.
//
//	0gggcccc                 gap-1 in g (1 to 8), count-1 in c (1 to 16): most buckets
//	1ggggggg count           gap in g (1 to 127), then the count as a number
//	10000000 gap count       both as numbers
//
// A number has seven bits in each byte, the lowest first; all its bytes but the last have the eighth bit set (the
// varint of package encoding/binary). It is a string, because a string is immutable and can be shared.
type packed string

// pack appends a bucket with the given gap and count, both at least 1.
func pack(to []byte, gap int, count int64) []byte {
	switch {
	case gap <= 8 && count <= 16:
		return append(to, byte(gap-1)<<4|byte(count-1))
	case gap < 0x80:
		to = append(to, 0x80|byte(gap))
	default:
		to = packNumber(append(to, 0x80), uint64(gap))
	}
	return packNumber(to, uint64(count))
}

// packNumber appends n as a varint.
func packNumber(to []byte, n uint64) []byte {
	for ; n >= 0x80; n >>= 7 {
		to = append(to, byte(n)|0x80)
	}
	return append(to, byte(n))
}

// next returns the first bucket of p, which must not be empty, and the rest of p.
func (p packed) next() (gap int, count int64, rest packed) {
	first := int(p[0])
	if p = p[1:]; first < 0x80 {
		return first>>4 + 1, int64(first&0xf) + 1, p
	}
	if gap = first & 0x7f; gap == 0 {
		var n uint64
		n, p = p.number()
		gap = int(n)
	}
	n, p := p.number()
	return gap, int64(n), p
}

// number returns the varint at the beginning of p and the rest of p.
func (p packed) number() (n uint64, rest packed) {
	for i, shift := 0, 0; i < len(p); i, shift = i+1, shift+7 {
		n |= uint64(p[i]&0x7f) << shift
		if p[i] < 0x80 {
			return n, p[i+1:]
		}
	}
	return n, ""
}

// tally adds up histograms in an array with one count per bucket index. It is about 5 kB, so it lives only
// during one call. Adding is an index, where merging sorted buckets would compare.
type tally struct {
	count      int64
	sumSeconds float64
	// counts holds the count of index i at i-minIndex.
	counts [maxIndex - minIndex + 1]int64
	// used is how many of counts are above zero. low and high are the first and the last of them, so that a reader
	// skips the unused ends.
	used      int
	low, high int
}

// at adds n, at least 1, to the count at a place: an index less minIndex.
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

// add adds the durations of h.
func (t *tally) add(h histogram) {
	t.sumSeconds += h.sumSeconds
	at := -1
	for p := h.buckets; p != ""; {
		var gap int
		var n int64
		gap, n, p = p.next()
		at += gap
		t.at(at, n)
		t.count += n
	}
}

// merge adds the durations of h. Invalid buckets are repaired or dropped, as [Merge] does.
func (t *tally) merge(h Durations) {
	t.count, t.sumSeconds = t.count+h.Count, t.sumSeconds+h.SumSeconds
	for _, b := range h.Buckets {
		if b.Count < 1 {
			continue
		}
		t.at(min(max(b.Index, minIndex), maxIndex)-minIndex, b.Count)
	}
}

// sum returns what was added as a Durations.
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

// histogram returns what was added in packed form.
func (t *tally) histogram() histogram {
	h := histogram{sumSeconds: t.sumSeconds}
	if t.used == 0 {
		return h
	}
	var buffer [256]byte // on the stack, because every fleet packs every few seconds
	out, last := buffer[:0], -1
	for i := t.low; i <= t.high; i++ {
		if n := t.counts[i]; n > 0 {
			out, last = pack(out, i-last, n), i
		}
	}
	h.buckets = packed(out)
	return h
}

// estimate is [Estimate] of what was added, without a prior. One pass over the counts finds all three quantiles,
// because their ranks increase.
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

// secondsOver returns by how many seconds the durations exceed most, in all.
func (t *tally) secondsOver(most float64) (sum float64) {
	for place := t.high; place >= t.low; place-- {
		over := value(place+minIndex) - most
		if over <= 0 {
			break
		}
		sum += over * float64(t.counts[place])
	}
	return sum
}

// rankOf returns the rank, from 1 on, of the q-quantile among count sorted values.
func rankOf(q float64, count int64) int64 { return max(1, int64(math.Ceil(q*float64(count)))) }
