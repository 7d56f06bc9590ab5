package series_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-scale/muster/series"
)

func TestWhatAHistogramHasMoreThanBefore(t *testing.T) {
	durations := rapid.SliceOf(rapid.Map(rapid.Float64Range(0, 1e5),
		func(s float64) time.Duration { return time.Duration(s * 1e9) }))
	rapid.Check(t, func(t *rapid.T) {
		before := series.Add(series.Durations{}, durations.Draw(t, "before")...)
		since := series.Add(series.Durations{}, durations.Draw(t, "since")...)
		got := series.Less(series.Merge(before, since), before)
		if math.Abs(got.SumSeconds-since.SumSeconds) > 1e-6*(1+since.SumSeconds+before.SumSeconds) {
			t.Errorf("found %v s, want %v", got.SumSeconds, since.SumSeconds)
		}
		got.SumSeconds = since.SumSeconds
		if diff := cmp.Diff(since, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if more := series.Less(since, series.Merge(before, since)); more.Count != 0 || len(more.Buckets) != 0 {
			t.Errorf("less was taken from more, and %+v is left", more)
		}
	})
}
