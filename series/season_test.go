package series_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-scale/muster/series"
)

const quarter = 15 * time.Minute

func TestMessagesComeWithinTheFiveMinutesTheyCameIn(t *testing.T) {
	at := func(minutes float64) time.Time { return noon.Add(time.Duration(minutes * float64(time.Minute))) }
	in := func(minutes, messages int64) series.Came {
		return series.Came{From: noon.Unix() + 60*minutes, Messages: messages}
	}
	for _, row := range []struct {
		name        string
		since, till float64
		n           float64
		counted     bool
		want        []series.Came
	}{
		{"within five minutes", 1, 1.1, 7, false, []series.Came{in(0, 7)}},
		{"across a border, in proportion", 4, 6, 10, false, []series.Came{in(0, 5), in(5, 5)}},
		{"whole messages, and all of them", 4, 7, 10, false, []series.Came{in(0, 3), in(5, 7)}},
		{"the middle is told too", 4, 11, 7, false, []series.Came{in(0, 1), in(5, 5), in(10, 1)}},
		{"at one instant", 6, 6, 3, false, []series.Came{in(5, 3)}},
		{"the wrong way round counts at the later instant", 9, 6, 3, false, []series.Came{in(5, 3)}},
		{"over more than ten minutes nobody looked", 0, 10.1, 1000, true, nil},
		{"none came and somebody looked", 0, 11, 0, true, []series.Came{in(10, 0)}},
		{"none came and nobody can tell", 0, 1, 0, false, nil},
		{"fewer than none is none", 0, 1, -5, true, []series.Came{in(0, 0)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, series.CameIn(at(row.since), at(row.till), row.n, row.counted)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoMessageIsLostOrCountedTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		since := noon.Add(time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "since")))
		at := since.Add(time.Duration(rapid.Int64Range(0, int64(10*time.Minute)).Draw(t, "span")))
		n := rapid.Int64Range(0, 1e9/2).Draw(t, "n")
		all := series.CameIn(since, at, float64(n), true)
		sum := int64(0)
		for _, c := range all {
			sum += c.Messages
			if c.From > at.Unix() || c.From+300 <= since.Unix() && n > 0 {
				t.Errorf("of %s to %s something came at %s", since, at, time.Unix(c.From, 0).UTC())
			}
		}
		if sum != n || !series.ValidCame(all) || len(all) > 3 {
			t.Errorf("of %d messages %d came: %+v", n, sum, all)
		}
	})
}

// filled is a season of so many days up to noon in which so many messages came in each quarter of an hour; a negative
// number is one in which nobody looked.
func filled(days int, messages func(at time.Time) float64) series.Season {
	var s series.Season
	for at := noon.Add(-time.Duration(days) * 24 * time.Hour); at.Before(noon); at = at.Add(quarter) {
		if n := messages(at); n >= 0 {
			for k := range 3 {
				from := at.Add(time.Duration(k) * 5 * time.Minute)
				// A third of them, and what is left over at last.
				part := math.Floor(n*float64(k+1)/3) - math.Floor(n*float64(k)/3)
				s = s.Add(series.CameIn(from, from.Add(299*time.Second), part, true))
			}
		}
	}
	return s
}

// office is an hour of the working day.
func office(at time.Time) bool { return at.Hour() >= 9 && at.Hour() < 17 }

func daily(at time.Time) float64 {
	if office(at) {
		return 1800
	}
	return 90
}

func TestAForecastIsTheMeanOfTheSameTimeOfDaysOrWeeksAtTheLevelOfTheLastHour(t *testing.T) {
	nine := noon.Add(-3 * time.Hour)
	upTo := func(end time.Time, of func(time.Time) float64) func(time.Time) float64 {
		return func(at time.Time) float64 {
			if at.Before(end) {
				return of(at)
			}
			return -1
		}
	}
	weekly := func(at time.Time) float64 {
		if at.Weekday() == time.Sunday || at.Weekday() == time.Saturday {
			return 90
		}
		return daily(at)
	}
	for _, row := range []struct {
		name   string
		days   int
		of     func(time.Time) float64
		now    time.Time
		ahead  time.Duration
		season string
		rate   float64
		lately float64
	}{
		{"before the rise it is not expected yet", 4, upTo(nine, daily), nine.Add(-2 * time.Minute), time.Minute, "day",
			0.1, 0.1},
		{"it is once a launch would be in time for it", 4, upTo(nine, daily), nine.Add(-2 * time.Minute),
			2 * time.Minute, "day", 2, 0.1},
		{"a boot that takes longer than a quarter of an hour", 4, upTo(nine, daily), nine.Add(-28 * time.Minute),
			30 * time.Minute, "day", 2, 0.1},
		{"before the fall workers stay", 4, upTo(noon.Add(-19*time.Hour), daily), noon.Add(-19*time.Hour - time.Minute),
			2 * time.Minute, "day", 2, 2},
		{"after it they are not needed", 4, upTo(noon.Add(-19*time.Hour), daily), noon.Add(-19 * time.Hour),
			2 * time.Minute, "day", 0.1, 2},
		{"more than usual: (90 + 3 x 180 + 20) / (4 x 90 + 20) times", 4, func(at time.Time) float64 {
			if at.After(nine.Add(-time.Hour - time.Second)) {
				return upTo(nine, func(time.Time) float64 { return 180 })(at)
			}
			return daily(at)
		}, nine.Add(-time.Minute), 2 * time.Minute, "day", 2 * 650. / 380, 0.1 * 650. / 380},
		{"on a Sunday, after four weeks: the Sundays before tell it", 27, upTo(nine, weekly), nine.Add(-time.Minute),
			2 * time.Minute, "week", 0.1, 0.1},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := filled(row.days, row.of).Forecast(row.now, row.ahead)
			if !f.Known || !f.Used || f.Season != row.season || math.Abs(f.PerSecond-row.rate) > 1e-9 ||
				math.Abs(f.LatelyPerSecond-row.lately) > 1e-9 {
				t.Errorf("found %+v, want %v a second by the %s after %v", f, row.rate, row.season, row.lately)
			}
		})
	}
}

func TestAForecastIsUsedOnlyWhileItMissesByLessThanReacting(t *testing.T) {
	chance := func(seed uint64) func() float64 { return rand.New(rand.NewPCG(seed, 1)).Float64 }
	for _, row := range []struct {
		name string
		days int
		of   func(draw func() float64) func(time.Time) float64
		used bool
	}{
		{"the same every day", 3, func(func() float64) func(time.Time) float64 { return daily }, true},
		{"the same every day, but for chance", 7, func(draw func() float64) func(time.Time) float64 {
			return func(at time.Time) float64 { return math.Round(daily(at) * (0.8 + 0.4*draw())) }
		}, true},
		{"levels that last for hours and belong to no time of day", 7,
			func(draw func() float64) func(time.Time) float64 {
				level := 900.0
				return func(time.Time) float64 {
					if draw() < 0.05 {
						level = math.Round(100 + 3000*draw())
					}
					return level
				}
			}, false},
		{"always the same", 7, func(func() float64) func(time.Time) float64 {
			return func(time.Time) float64 { return 900 }
		}, false},
		{"nothing ever", 7, func(func() float64) func(time.Time) float64 {
			return func(time.Time) float64 { return 0 }
		}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			for seed := range uint64(20) {
				f := filled(row.days, row.of(chance(seed))).Forecast(noon, time.Minute)
				if !f.Known || f.Used != row.used || f.Used != (f.Reason == "") {
					t.Errorf("seed %d: %+v, want used: %v", seed, f, row.used)
				}
			}
		})
	}
}

func TestWhereNobodyLookedIsUnknownAndNotZero(t *testing.T) {
	// Two days ago nobody looked from noon to one.
	gap := noon.Add(-48 * time.Hour)
	f := filled(4, func(at time.Time) float64 {
		if !at.Before(gap) && at.Before(gap.Add(time.Hour)) {
			return -1
		}
		return daily(at)
	}).Forecast(noon, time.Minute)
	if !f.Known || f.PerSecond != 2 {
		t.Errorf("found %+v, want the 2 a second of the days on which somebody looked", f)
	}
	f = filled(4, func(at time.Time) float64 {
		if at.Hour() == 12 {
			return -1
		}
		return daily(at)
	}).Forecast(noon, time.Minute)
	if f.Known || f.Used || f.PerSecond != 0 || f.Reason == "" {
		t.Errorf("found %+v for a time of day at which nobody ever looked, want that it is not known", f)
	}
	// A quarter of an hour in which somebody looked for ten minutes only is not known either.
	var s series.Season
	for at := noon.Add(-5 * 24 * time.Hour); at.Before(noon); at = at.Add(5 * time.Minute) {
		if at.Minute()%15 != 10 {
			s = s.Add(series.CameIn(at, at.Add(time.Minute), 30, true))
		}
	}
	if f := s.Forecast(noon, time.Minute); f.Known || f.Tested != 0 {
		t.Errorf("found %+v of quarters of an hour that are not whole", f)
	}
}

func TestADayMustHaveBeenTested(t *testing.T) {
	for days, known := range map[int]bool{0: false, 1: false, 2: true} {
		f := filled(days, daily).Forecast(noon, time.Minute)
		later := filled(days, daily).Forecast(noon.Add(time.Second), time.Minute)
		if f.Known != known || later != f {
			t.Errorf("after %d days: %+v, want known: %v", days, f, known)
		}
	}
}

func TestASeasonIsTheSameInWhateverOrderItWasFilledAndHoldsFourWeeks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []series.Came
		at := noon.Add(-time.Duration(rapid.IntRange(1, 35).Draw(t, "days")) * 24 * time.Hour)
		draw := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		for ; at.Before(noon); at = at.Add(5 * time.Minute) {
			if draw.IntN(20) > 0 {
				all = append(all, series.Came{From: at.Unix(), Messages: draw.Int64N(100)})
			}
		}
		var one, parts, backwards series.Season
		one = one.Add(all)
		for i := 0; i < len(all); i += 50 {
			some := all[i:min(i+50, len(all))]
			halves, rest := slices.Clone(some), slices.Clone(some)
			for k := range some {
				halves[k].Messages /= 2
				rest[k].Messages -= halves[k].Messages
			}
			parts = parts.Add(halves).Add(rest)
		}
		merged := []series.Came{}
		for i := len(all); i > 0; i -= min(i, 500) {
			backwards = backwards.Add(all[max(0, i-500):i])
			merged = series.MergeCame(merged, all[max(0, i-500):i])
		}
		if diff := cmp.Diff(all, merged); diff != "" {
			t.Errorf("merged (-want +got):\n%s", diff)
		}
		want := one.Forecast(noon, time.Minute)
		for name, s := range map[string]series.Season{"in parts": parts, "the newest first": backwards} {
			if got := s.Forecast(noon, time.Minute); got != want {
				t.Errorf("filled %s: %+v, want %+v", name, got, want)
			}
			if s.Days() > 29 {
				t.Errorf("filled %s it holds %d days", name, s.Days())
			}
		}
	})
}

func TestWhatIsInvalidIsLeftOut(t *testing.T) {
	s := filled(3, daily)
	for _, all := range [][]series.Came{
		{{From: noon.Unix() + 1, Messages: 1}}, {{From: -300, Messages: 1}}, {{From: noon.Unix(), Messages: -1}},
		{{From: noon.Unix(), Messages: 1 << 40}},
		{{From: noon.Unix(), Messages: 1}, {From: noon.Unix(), Messages: 1}},
	} {
		if got := s.Add(all); series.ValidCame(all) ||
			got.Forecast(noon.Add(24*time.Hour), 0) != s.Forecast(noon.Add(24*time.Hour), 0) {
			t.Errorf("%+v was taken", all)
		}
	}
}

func BenchmarkForecast(b *testing.B) {
	for _, days := range []int{7, 28} {
		s := filled(days, daily)
		b.Run(fmt.Sprintf("%d days", days), func(b *testing.B) {
			for b.Loop() {
				s.Forecast(noon, time.Minute)
			}
		})
	}
}
