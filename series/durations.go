package series

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/muster-scale/muster"
)

// Accuracy is the relative error of a quantile: the bucket with index i holds the seconds in (g^(i-1), g^i] with
// g = (1+Accuracy)/(1-Accuracy), and is read as the value that is off by at most Accuracy anywhere in it.
const Accuracy = 0.02

const (
	// minIndex and maxIndex bound the buckets to about 10 microseconds and 30 days; shorter and longer durations count
	// in the outermost bucket. That bounds a histogram to about 660 buckets.
	minIndex = -288
	maxIndex = 370
)

var (
	gamma    = (1 + Accuracy) / (1 - Accuracy)
	logGamma = math.Log(gamma)
)

// Add returns h with the durations added. Negative durations count as zero. h is not changed.
func Add(h Durations, durations ...time.Duration) Durations {
	if len(durations) == 1 && proper(h.Buckets) { // as nearly always
		return addOne(h, max(0, durations[0].Seconds()))
	}
	added := Durations{Buckets: make([]Bucket, 0, len(durations))}
	for _, d := range durations {
		s := max(0, d.Seconds())
		added.Count++
		added.SumSeconds += s
		added.Buckets = append(added.Buckets, Bucket{Index: index(s), Count: 1})
	}
	return Merge(h, added)
}

func addOne(h Durations, seconds float64) Durations {
	at := index(seconds)
	i, found := slices.BinarySearchFunc(h.Buckets, at, func(b Bucket, at int) int { return cmp.Compare(b.Index, at) })
	n := len(h.Buckets)
	if !found {
		n++
	}
	buckets := make([]Bucket, n)
	copy(buckets, h.Buckets[:i])
	copy(buckets[n-(len(h.Buckets)-i):], h.Buckets[i:])
	buckets[i].Index, buckets[i].Count = at, buckets[i].Count+1
	return Durations{Count: h.Count + 1, SumSeconds: h.SumSeconds + seconds, Buckets: buckets}
}

// proper tells whether buckets are as [Merge] makes them: sorted, without repeats, within bounds and counted.
func proper(buckets []Bucket) bool {
	last := minIndex - 1
	for _, b := range buckets {
		if b.Index <= last || b.Index > maxIndex || b.Count < 1 {
			return false
		}
		last = b.Index
	}
	return true
}

// MergeAll returns what [Merge] makes of h and all others, one after the other.
func MergeAll(h Durations, others ...Durations) Durations {
	if len(others) < 2 {
		for _, o := range others {
			h = Merge(h, o)
		}
		return h
	}
	var t tally
	t.merge(h)
	for _, o := range others {
		t.merge(o)
		h.Count, h.SumSeconds = h.Count+o.Count, h.SumSeconds+o.SumSeconds
	}
	h.Buckets = t.sum().Buckets
	return h
}

// Merge returns the histogram of all durations in a and b, which may share the memory of either: histograms are values.
// Neither is changed. Buckets that a stranger sent unsorted, repeated, out of range or with a count below 1 are put
// right or dropped.
func Merge(a, b Durations) Durations {
	merged := Durations{Count: a.Count + b.Count, SumSeconds: a.SumSeconds + b.SumSeconds}
	for _, one := range [...]struct{ full, empty []Bucket }{{a.Buckets, b.Buckets}, {b.Buckets, a.Buckets}} {
		if len(one.empty) == 0 && len(one.full) > 0 && proper(one.full) {
			merged.Buckets = slices.Clip(one.full)
			return merged
		}
	}
	x, y := ordered(a.Buckets), ordered(b.Buckets)
	kept := make([]Bucket, 0, len(x)+len(y))
	for len(x) > 0 || len(y) > 0 {
		var next Bucket
		if len(y) == 0 || len(x) > 0 && x[0].Index <= y[0].Index {
			next, x = x[0], x[1:]
		} else {
			next, y = y[0], y[1:]
		}
		next.Index = min(max(next.Index, minIndex), maxIndex)
		last := len(kept) - 1
		switch {
		case next.Count < 1:
		case last >= 0 && kept[last].Index == next.Index:
			kept[last].Count += next.Count
		default:
			kept = append(kept, next)
		}
	}
	if len(kept) > 0 {
		merged.Buckets = kept
	}
	return merged
}

// Less returns what is in h and was not in before, an earlier state of the same growing histogram. What cannot be taken
// away, because before was no such state, is left out.
func Less(h, before Durations) Durations {
	var more Durations
	old := ordered(before.Buckets)
	for _, b := range ordered(h.Buckets) {
		for len(old) > 0 && old[0].Index < b.Index {
			old = old[1:]
		}
		if len(old) > 0 && old[0].Index == b.Index {
			b.Count -= old[0].Count
		}
		if b.Count > 0 {
			more.Count += b.Count
			more.Buckets = append(more.Buckets, b)
		}
	}
	if more.Count > 0 {
		more.SumSeconds = max(0, h.SumSeconds-before.SumSeconds)
	}
	return more
}

// ordered returns the buckets sorted by index: themselves, if they are.
func ordered(buckets []Bucket) []Bucket {
	by := func(x, y Bucket) int { return cmp.Compare(x.Index, y.Index) }
	if slices.IsSortedFunc(buckets, by) {
		return buckets
	}
	return slices.SortedFunc(slices.Values(buckets), by)
}

// Valid tells whether h could have been made by [Add]: its count is that of its buckets and its sum is finite, not
// negative and within the bounds of its buckets. A worker's report is checked with it before it is believed.
func Valid(h Durations) bool {
	if h.Count == 0 {
		return h.SumSeconds == 0 && len(h.Buckets) == 0
	}
	if !(h.SumSeconds >= 0) || math.IsInf(h.SumSeconds, 0) || len(h.Buckets) > maxIndex-minIndex+1 {
		return false
	}
	var count int64
	for i, b := range h.Buckets {
		if b.Count < 1 || b.Index < minIndex || b.Index > maxIndex || (i > 0 && h.Buckets[i-1].Index >= b.Index) {
			return false
		}
		count += b.Count
		if count < 0 || count > h.Count {
			return false
		}
	}
	return count == h.Count
}

// Within returns how many durations of h are at most the given one, whose bucket counts as a whole: they are off by the
// share of those within twice [Accuracy] of it.
func Within(h Durations, most time.Duration) float64 {
	n := int64(0)
	for _, b := range h.Buckets {
		if b.Index <= index(max(0, most.Seconds())) {
			n += b.Count
		}
	}
	return float64(n)
}

// Quantile returns the q-quantile of h in seconds, 0 <= q <= 1, off by at most [Accuracy] of itself; 0 for an empty h.
func Quantile(h Durations, q float64) float64 {
	rank := rankOf(q, h.Count)
	var seen int64
	for _, b := range h.Buckets {
		seen += b.Count
		if seen >= rank {
			return value(b.Index)
		}
	}
	return 0
}

// Estimate summarises h; prior stands in for the numbers while h is empty. A prior of zero or less means that there is
// none.
func Estimate(h Durations, prior time.Duration) muster.Estimate {
	if h.Count > 0 {
		return muster.Estimate{
			Known: true, Count: h.Count, MeanSeconds: h.SumSeconds / float64(h.Count),
			P50Seconds: Quantile(h, 0.5), P95Seconds: Quantile(h, 0.95), P99Seconds: Quantile(h, 0.99),
		}
	}
	if prior <= 0 {
		return muster.Estimate{}
	}
	s := prior.Seconds()
	return muster.Estimate{Known: true, Prior: true, MeanSeconds: s, P50Seconds: s, P95Seconds: s, P99Seconds: s}
}

func index(seconds float64) int {
	if seconds <= 0 {
		return minIndex
	}
	i := int(math.Ceil(math.Log(seconds) / logGamma))
	return min(max(i, minIndex), maxIndex)
}

func value(index int) float64 {
	if index == minIndex {
		return 0
	}
	// The harmonic middle of the bucket: equally far, relatively, from both of its ends.
	return math.Exp(float64(index)*logGamma) * 2 / (gamma + 1)
}
