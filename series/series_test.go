package series_test

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/series"
)

func durations() *rapid.Generator[[]time.Duration] {
	return rapid.SliceOfN(rapid.Map(rapid.Int64Range(int64(time.Millisecond), int64(10*time.Hour)),
		func(n int64) time.Duration { return time.Duration(n) }), 1, 200)
}

func TestAQuantileIsWithinTwoPercentOfTheExactOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := durations().Draw(t, "durations")
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		h := series.Add(series.Durations{}, all...)
		slices.Sort(all)
		exact := all[max(1, int(math.Ceil(q*float64(len(all)))))-1].Seconds()
		if got := series.Quantile(h, q); math.Abs(got-exact) > series.Accuracy*exact*1.0001 {
			t.Fatalf("quantile %v: got %v, exact is %v", q, got, exact)
		}
	})
}

func TestMergingInAnyOrderGivesTheSameValidHistogram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := durations().Draw(t, "a"), durations().Draw(t, "b")
		x, y := series.Add(series.Durations{}, a...), series.Add(series.Durations{}, b...)
		xy, yx := series.Merge(x, y), series.Merge(y, x)
		if !slices.Equal(xy.Buckets, yx.Buckets) || xy.Count != yx.Count ||
			math.Abs(xy.SumSeconds-yx.SumSeconds) > 1e-9 {
			t.Fatalf("%+v is not %+v", xy, yx)
		}
		if !series.Valid(xy) {
			t.Fatalf("not valid: %+v", xy)
		}
	})
}

func TestHistogramsThatNoWorkerCanHaveMeasuredAreNotValid(t *testing.T) {
	for name, h := range map[string]series.Durations{
		"a count without buckets": {Count: 3, SumSeconds: 1},
		"buckets without a count": {Buckets: []series.Bucket{{Index: 1, Count: 1}}},
		"a sum that is not a number": {Count: 1, SumSeconds: math.NaN(),
			Buckets: []series.Bucket{{Index: 1, Count: 1}}},
		"a negative sum": {Count: 1, SumSeconds: -1, Buckets: []series.Bucket{{Index: 1, Count: 1}}},
		"an infinite sum": {Count: 1, SumSeconds: math.Inf(1),
			Buckets: []series.Bucket{{Index: 1, Count: 1}}},
		"a bucket with nothing in it": {Count: 1, SumSeconds: 1,
			Buckets: []series.Bucket{{Index: 1, Count: 1}, {Index: 2}}},
		"buckets out of order": {Count: 2, SumSeconds: 1,
			Buckets: []series.Bucket{{Index: 2, Count: 1}, {Index: 1, Count: 1}}},
		"a bucket beyond all durations": {Count: 1, SumSeconds: 1, Buckets: []series.Bucket{{Index: 9999, Count: 1}}},
		"a sum of counts that wraps": {Count: 2, SumSeconds: 1,
			Buckets: []series.Bucket{{Index: 1, Count: math.MaxInt64}, {Index: 2, Count: math.MaxInt64}}},
	} {
		if series.Valid(h) {
			t.Errorf("%s: found valid: %+v", name, h)
		}
	}
	if !series.Valid(series.Durations{}) {
		t.Error("the empty histogram is valid")
	}
}

func TestAWindowForgetsWhatIsOld(t *testing.T) {
	t0 := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	one := func(d time.Duration) series.Durations { return series.Add(series.Durations{}, d) }
	w := series.Window{Length: 10 * time.Minute}
	w = w.Add(t0, one(5*time.Second)).Add(t0.Add(9*time.Minute), one(40*time.Second))
	for name, row := range map[string]struct {
		at   time.Duration
		mean float64
	}{
		"both while both are recent":               {9 * time.Minute, 22.5},
		"the newer once the older left the window": {15 * time.Minute, 40},
		"nothing once both left it":                {48 * time.Hour, 0},
	} {
		if got := series.Estimate(w.Durations(t0.Add(row.at)), 0).MeanSeconds; got != row.mean {
			t.Errorf("%s: mean is %v, want %v", name, got, row.mean)
		}
	}
}

func TestAWindowRebuiltFromItsMeasurementsIsTheSame(t *testing.T) {
	t0 := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		type measured struct {
			at time.Time
			h  series.Durations
		}
		live := series.Window{Length: time.Minute}
		var log []measured
		at := t0
		for range rapid.IntRange(1, 60).Draw(t, "n") {
			at = at.Add(time.Duration(rapid.Int64Range(0, int64(20*time.Second)).Draw(t, "gap")))
			m := measured{at, series.Add(series.Durations{},
				time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(t, "d")))}
			live, log = live.Add(m.at, m.h), append(log, m)
		}
		from := 0 // a restart reads no more than the window and one step
		for from < len(log) && log[from].at.Before(at.Add(-time.Minute-time.Minute/16)) {
			from++
		}
		rebuilt := series.Window{Length: time.Minute}
		for _, m := range log[from:] {
			rebuilt = rebuilt.Add(m.at, m.h)
		}
		asked, kept := live.At(at)
		if _, again := asked.At(at.Add(time.Hour)); kept != series.Estimate(live.Durations(at), 0) || again.Known {
			t.Fatalf("the kept estimate is %+v, an hour later %+v; the window holds %+v", kept, again,
				live.Durations(at))
		}
		a, b := series.Estimate(live.Durations(at), 0), series.Estimate(rebuilt.Durations(at), 0)
		if a.Count != b.Count || math.Abs(a.MeanSeconds-b.MeanSeconds) > 1e-9 {
			t.Fatalf("live %+v, rebuilt %+v", a, b)
		}
	})
}

// However often it is asked in between, a window tells what those tell that were never asked before.
func TestAWindowThatIsAskedOftenTellsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		never, often := series.Window{Length: time.Minute}, series.Window{Length: time.Minute}
		for range rapid.IntRange(1, 60).Draw(t, "n") {
			at = at.Add(time.Duration(rapid.SampledFrom([]int{-40, -5, -1, 0, 0, 1, 1, 4, 20, 90}).Draw(t,
				"gap")) * time.Second)
			if rapid.IntRange(0, 3).Draw(t, "add") > 0 {
				h := series.Add(series.Durations{}, time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(t, "d")))
				never, often = never.Add(at, h), often.Add(at, h)
			}
			if rapid.Bool().Draw(t, "ask") {
				before := often
				var got muster.Estimate
				often, got = often.At(at)
				_, again := before.At(at)
				if want := series.Estimate(never.Durations(at), 0); got != want || again != want {
					t.Fatalf("found %+v and again %+v, want %+v", got, again, want)
				}
			}
		}
	})
}

func TestAWindowHoldsWhatMergingWouldGive(t *testing.T) {
	t0 := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		w, want := series.Window{Length: time.Hour}, series.Durations{}
		for range rapid.IntRange(0, 20).Draw(t, "n") {
			var h series.Durations
			for _, d := range rapid.SliceOfN(rapid.Int64Range(0, int64(100*24*time.Hour)), 0, 9).Draw(t, "durations") {
				h = series.Add(h, time.Duration(d))
			}
			for i := range h.Buckets { // many of one length: counts of several bytes
				more := rapid.Int64Range(0, 1e9).Draw(t, "more")
				h.Buckets[i].Count += more
				h.Count += more
			}
			at := t0.Add(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "at")))
			w, want = w.Add(at, h), series.Merge(want, h)
		}
		got := w.Durations(t0.Add(time.Hour))
		if math.Abs(got.SumSeconds-want.SumSeconds) > 1e-6*want.SumSeconds {
			t.Fatalf("found a sum of %v, want %v", got.SumSeconds, want.SumSeconds)
		}
		got.SumSeconds = want.SumSeconds // added in another order
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("found %+v\nwant %+v", got, want)
		}
	})
}

func TestAnEstimateWithoutMeasurementsIsThePriorOrUnknown(t *testing.T) {
	if e := series.Estimate(series.Durations{}, 0); e.Known {
		t.Errorf("no measurement and no prior: found %+v, want unknown", e)
	}
	if e := series.Estimate(series.Durations{}, 25*time.Second); !e.Known || !e.Prior || e.MeanSeconds != 25 {
		t.Errorf("a prior of 25 s: found %+v", e)
	}
}
