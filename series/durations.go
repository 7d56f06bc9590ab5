package series

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/muster-scale/muster"
)

// Accuracy is the relative error of a quantile. With
//
//	g = (1+Accuracy) / (1-Accuracy)
//
// the bucket with index i holds the durations in (g^(i-1), g^i] seconds. It is read as 2*g^i/(g+1), which is off by at
// most Accuracy for every duration in it. This is the mapping of DDSketch (Masson, Rim and Lee, 2019).
const Accuracy = 0.02

const (
	// minIndex and maxIndex bound the buckets to about 10 microseconds and 30 days. Shorter and longer durations count
	// in the outermost buckets. That bounds a histogram to about 660 buckets.
	minIndex = -288
	maxIndex = 370
)

var (
	// gamma is g in the documentation of Accuracy, logGamma its natural logarithm.
	gamma    = (1 + Accuracy) / (1 - Accuracy)
	logGamma = math.Log(gamma)
)

// Add returns h with the durations added. Negative durations count as zero. h is not changed.
func Add(h Durations, durations ...time.Duration) Durations {
	if len(durations) == 1 && proper(h.Buckets) { // the usual case
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

// addOne is Add for one duration. It copies the buckets once and merges nothing, because a worker adds every message
// that it finishes.
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

// proper tells whether buckets have the form that [Merge] makes: sorted, without repeats, within bounds and with counts
// of at least 1.
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

// MergeAll returns the result of merging h with all others in turn. It is faster than repeated calls of [Merge] for
// more than two.
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

// Merge returns the histogram of all durations in a and b. Neither is changed; the result may share their memory.
// Invalid buckets of another machine are repaired if they are unsorted, repeated or out of range, and dropped if their
// count is below 1.
func Merge(a, b Durations) Durations {
	merged := Durations{Count: a.Count + b.Count, SumSeconds: a.SumSeconds + b.SumSeconds}
	// A merge with an empty histogram, which is the first of every window step, needs no copy.
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

// Less returns the durations that were added to a growing histogram between its earlier state before and its state h.
// Workers report totals since their start; Less makes increments of two totals. A bucket with a smaller count than
// before gives nothing, because then before was no earlier state of h.
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

// ordered returns the buckets sorted by index. It returns the argument itself if that is sorted already.
func ordered(buckets []Bucket) []Bucket {
	by := func(x, y Bucket) int { return cmp.Compare(x.Index, y.Index) }
	if slices.IsSortedFunc(buckets, by) {
		return buckets
	}
	return slices.SortedFunc(slices.Values(buckets), by)
}

// Valid tells whether h could have been made by [Add]: its count is the sum of its buckets, and its sum is finite and
// not negative. The controller checks every worker report with it before it trusts the numbers.
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

// Within returns how many durations of h are at most the given one. The whole bucket of that duration counts, so
// durations up to 2*[Accuracy] above it may be included.
func Within(h Durations, most time.Duration) float64 {
	n, last := int64(0), index(max(0, most.Seconds()))
	for _, b := range h.Buckets {
		if b.Index <= last {
			n += b.Count
		}
	}
	return float64(n)
}

// Quantile returns the q-quantile of h in seconds, 0 <= q <= 1, with a relative error of at most [Accuracy]; 0 for an
// empty h.
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

// CountAbove returns how many durations of h are longer than so many seconds.
func CountAbove(h Durations, seconds float64) (n int64) {
	for _, b := range slices.Backward(h.Buckets) {
		if value(b.Index) <= seconds {
			break
		}
		n += b.Count
	}
	return n
}

// SecondsUpTo returns the sum of the durations of h in seconds, each counted with at most most. It is exact if none is
// longer, and else within [Accuracy], as the buckets are: the exact sum says nothing about the rest of it.
func SecondsUpTo(h Durations, most float64) (sum float64) {
	if CountAbove(h, most) == 0 {
		return h.SumSeconds
	}
	for _, b := range h.Buckets {
		sum += min(value(b.Index), most) * float64(b.Count)
	}
	return sum
}

// Estimate summarises h. While h is empty, prior stands in for the mean and the quantiles. A prior of zero or less
// means that there is none, and the estimate is unknown.
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

// index returns the bucket of a duration. Zero and less count in the first bucket, because they have no logarithm.
func index(seconds float64) int {
	if seconds <= 0 {
		return minIndex
	}
	i := int(math.Ceil(math.Log(seconds) / logGamma))
	return min(max(i, minIndex), maxIndex)
}

// value returns the duration in seconds that stands for a bucket; 0 for the first, which holds zero.
func value(index int) float64 {
	if index == minIndex {
		return 0
	}
	// The harmonic mean of the bucket's ends has the same relative distance from both.
	return math.Exp(float64(index)*logGamma) * 2 / (gamma + 1)
}
