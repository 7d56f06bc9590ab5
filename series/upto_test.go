package series_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/series"
)

// What a histogram holds above a limit is what the durations themselves hold above it, within the error of a bucket.
func TestWhatLiesAboveALimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOf(rapid.Float64Range(1e-3, 1e5)).Draw(t, "durations")
		limit := rapid.Float64Range(1e-3, 1e5).Draw(t, "limit")
		var h series.Durations
		sum, fewest, most := 0.0, int64(0), int64(0)
		for _, s := range all {
			h = series.Add(h, time.Duration(s*float64(time.Second)))
			sum += math.Min(s, limit)
			if s > limit*(1+2*series.Accuracy) {
				fewest++
			}
			if s > limit*(1-2*series.Accuracy) {
				most++
			}
		}
		if n := series.CountAbove(h, limit); n < fewest || n > most {
			t.Errorf("%d are above %v, want %d to %d", n, limit, fewest, most)
		}
		if got := series.SecondsUpTo(h, limit); math.Abs(got-sum) > 2*series.Accuracy*sum+1e-6 {
			t.Errorf("%v s up to %v each, want %v", got, limit, sum)
		}
		if got := series.SecondsUpTo(h, 2e5); math.Abs(got-h.SumSeconds) > 1e-9*h.SumSeconds {
			t.Errorf("%v s, want all %v: no duration is above", got, h.SumSeconds)
		}
	})
}
