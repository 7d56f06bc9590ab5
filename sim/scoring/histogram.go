package scoring

import (
	"math/bits"
	"time"
)

// times is a histogram of durations of any length. The leading bit of a duration and the eight bits below it choose the
// bucket, so durations below 512 ns are exact, and a bucket above is at most 1/256 of its durations wide. It needs no
// logarithm, so it is the same on every machine.
type times struct {
	buckets [57 * 256]int64
}

// add counts a duration in nanoseconds; a negative one counts as 0.
func (t *times) add(ns int64) { t.buckets[bucket(max(0, ns))]++ }

// bucket returns the index of a duration: the nine leading bits, plus 256 for each bit that was cut off behind them.
func bucket(ns int64) int {
	shift := max(0, bits.Len64(uint64(ns))-9)
	return shift<<8 + int(ns>>shift)
}

// at returns the duration of the given rank, counted from 1: the middle of its bucket. It is 0 for a rank beyond the
// last.
func (t *times) at(rank int64) time.Duration {
	for i, n := range t.buckets {
		if rank -= n; n > 0 && rank <= 0 {
			if i < 512 {
				return time.Duration(i)
			}
			shift := i>>8 - 1
			low := int64(i-shift<<8) << shift
			return time.Duration(low + int64(1)<<shift/2)
		}
	}
	return 0
}
