package series_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/series"
)

func TestTheLastDurationsAreKeptHoweverLongAgo(t *testing.T) {
	const hour, day = 3600.0, 86400.0
	type measured struct{ at, seconds float64 }
	for _, row := range []struct {
		name string
		took []measured
		now  float64
		want muster.Estimate // the count and the mean
	}{
		{"nothing", nil, day, muster.Estimate{}},
		{"one, yesterday", []measured{{0, 7}}, day, muster.Estimate{Count: 1, MeanSeconds: 7}},
		{"all, while they are few", []measured{{0, 2}, {5 * hour, 4}}, day, muster.Estimate{Count: 2, MeanSeconds: 3}},
		{"not those before the last three", []measured{{0, 90}, {hour, 1}, {2 * hour, 2}, {3 * hour, 3}}, day,
			muster.Estimate{Count: 3, MeanSeconds: 2}},
		{"all of the same hour", []measured{{0, 9}, {1, 1}, {2, 1}, {3, 1}}, day,
			muster.Estimate{Count: 4, MeanSeconds: 3}},
		{"and all of the hour that the third last is from", []measured{{0, 9}, {1, 1}, {2, 1}, {hour, 1}}, day,
			muster.Estimate{Count: 4, MeanSeconds: 3}},
		{"not longer than ever", []measured{{0, 90}, {5 * day, 2}}, 10*day + 1,
			muster.Estimate{Count: 1, MeanSeconds: 2}},
		{"not even the last one", []measured{{0, 90}}, 10*day + 1, muster.Estimate{}},
		{"the clock was set back", []measured{{5 * hour, 2}, {0, 4}}, day, muster.Estimate{Count: 2, MeanSeconds: 3}},
	} {
		l := series.Last{Least: 3, Longest: 10 * 24 * time.Hour}
		for _, x := range row.took {
			l = l.Add(after(x.at), took(x.seconds))
			l, _ = l.At(after(x.at))
		}
		_, e := l.At(after(row.now))
		if e.Count != row.want.Count || e.MeanSeconds != row.want.MeanSeconds || e.Known != (row.want.Count > 0) {
			t.Errorf("%s: found %+v, want %+v", row.name, e, row.want)
		}
	}
	none := series.Last{}.Add(noon, took(1))
	if _, e := none.At(noon); e.Known {
		t.Errorf("without a number: found %+v, want nothing", e)
	}
}

// What was measured before the whole hours that have enough counts no more, now or later.
func TestWholeHoursWithEnoughDurationsNeedNothingFromBefore(t *testing.T) {
	for _, row := range []struct {
		name string
		took []float64 // when, in hours
		want bool
	}{
		{"nothing", nil, false},
		{"too few before the newest hour", []float64{3, 4, 5, 5.1}, false},
		{"those of the newest hour may be the only ones to stay out", []float64{4, 4.1, 5, 6, 6.1, 6.2, 6.3}, true},
		{"an hour of which the first half is not read", []float64{2.6, 2.7, 4, 5}, false},
	} {
		l := series.Last{Least: 3, Longest: 1000 * time.Hour}
		for _, at := range row.took {
			l = l.Add(after(at*3600), took(1))
		}
		if got := l.Whole(after(2.5 * 3600)); got != row.want {
			t.Errorf("%s: found %v, want %v", row.name, got, row.want)
		}
	}
	if !(series.Last{}).Whole(noon) {
		t.Error("where nothing is kept, something is lacking")
	}
	rapid.Check(t, func(t *rapid.T) {
		empty := series.Last{Least: rapid.Int64Range(1, 10).Draw(t, "least"), Longest: 200 * time.Hour}
		all, some := empty, empty
		since := rapid.Float64Range(0, 50*3600).Draw(t, "since")
		at := 0.0
		for range rapid.IntRange(1, 60).Draw(t, "records") {
			at += rapid.Float64Range(0, 2).Draw(t, "gap") * 3600
			d := took(rapid.Float64Range(0, 5000).Draw(t, "took"))
			all = all.Add(after(at), d)
			if at >= since {
				some = some.Add(after(at), d)
			}
		}
		if !some.Whole(after(since)) {
			t.Skip("more must be read")
		}
		for range 3 {
			at += rapid.Float64Range(0, 60*3600).Draw(t, "later")
			_, want := all.At(after(at))
			if _, got := some.At(after(at)); got != want {
				t.Fatalf("found %+v, want %+v", got, want)
			}
			all, some = all.Add(after(at), took(1)), some.Add(after(at), took(1))
		}
	})
}

func took(seconds float64) series.Durations {
	return series.Add(series.Durations{}, time.Duration(seconds*float64(time.Second)))
}

// The estimate is that of the newest hours which have enough durations together, by the definition. It does not depend
// on when it was read before, and not on whether the durations of an hour came one by one or folded into one.
func TestTheLastDurationsAreThoseOfTheNewestHours(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		least := rapid.Int64Range(1, 20).Draw(t, "least")
		longest := rapid.IntRange(1, 300).Draw(t, "longest")
		empty := series.Last{Least: least, Longest: time.Duration(longest) * time.Hour}
		one, folded := empty, empty
		byHour := map[int]series.Durations{}
		at, newest := 0.0, 0
		for range rapid.IntRange(1, 40).Draw(t, "records") {
			at += rapid.Float64Range(0, 1).Draw(t, "gap") * rapid.SampledFrom([]float64{600, 40_000}).Draw(t, "scale")
			d := took(rapid.Float64Range(0, 5000).Draw(t, "took"))
			if hour := int(at / 3600); hour > newest {
				folded = folded.Add(after(float64(newest)*3600+1800), byHour[newest])
				newest = hour
			}
			byHour[newest] = series.Merge(byHour[newest], d)
			one = one.Add(after(at), d)
			if rapid.Bool().Draw(t, "read") {
				one, _ = one.At(after(at))
			}
		}
		folded = folded.Add(after(float64(newest)*3600+1800), byHour[newest])
		now := at + rapid.Float64Range(0, 2e6).Draw(t, "later")
		var all series.Durations
		for hour := newest; hour >= 0 && all.Count < least; hour-- {
			if float64(hour)*3600 >= now-float64(longest)*3600 {
				all = series.Merge(all, byHour[hour])
			}
		}
		want := series.Estimate(all, 0)
		one, got := one.At(after(now))
		_, again := one.At(after(now))
		_, of := folded.At(after(now))
		if got != again || got != of {
			t.Fatalf("found %+v, then %+v, and %+v of folded ones", got, again, of)
		}
		if diff := got.MeanSeconds - want.MeanSeconds; diff > 1e-9 || diff < -1e-9 {
			t.Fatalf("found %+v, want %+v", got, want)
		}
		if got.MeanSeconds = want.MeanSeconds; got != want {
			t.Fatalf("found %+v, want %+v", got, want)
		}
	})
}
