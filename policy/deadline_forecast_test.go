package policy_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/policy/planning"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
)

// dawn is a fleet whose objective leaves no time to boot, to which messages come at the given rate, by chance alone.
func dawn(rate float64, workers int, f muster.Forecast) muster.Observation {
	at := time.Date(2026, 3, 2, 8, 59, 0, 0, time.UTC)
	o := muster.Observation{
		Fleet: "f", At: at, Objective: muster.Objective{Latency: 30 * time.Second, Quantile: 0.99},
		Limits: muster.Limits{Max: 1000, LaunchesPerHour: 10_000},
		Queues: []muster.QueueObservation{{Queue: "q", Backlog: muster.Measured(at, 0),
			InFlight: muster.Measured(at, 0), OldestAge: muster.Measured(at, 0)}},
		Capacity: muster.Capacity{Known: true, Desired: workers, Idle: workers, Slots: workers, SlotsPerWorker: 1},
		Processing: muster.Estimate{Known: true, Count: 1000, MeanSeconds: 5, P50Seconds: 5, P95Seconds: 9,
			P99Seconds: 12},
		Boot: muster.Estimate{Known: true, Count: 100, MeanSeconds: 60, P50Seconds: 60, P95Seconds: 60,
			P99Seconds: 60},
		Arrivals: muster.Arrivals{Known: true, TenSeconds: rate, Minute: rate, FiveMinutes: rate, TwentyMinutes: rate,
			Hour: rate}, Forecast: f,
	}
	for w := 5.0; w <= 640; w *= 2 {
		n := rate*w + 2.3*math.Sqrt(rate*w)
		o.Arrivals.Busiest = append(o.Arrivals.Busiest,
			muster.Busiest{OverSeconds: w, Messages: n, Rooms: [4]float64{n, n, n, n}})
	}
	return o
}

func told(per, lately float64) muster.Forecast {
	return muster.Forecast{Known: true, Used: true, Season: "day", AheadSeconds: 62, PerSecond: per,
		LatelyPerSecond: lately, Tested: 96, MissPerSecond: 0.1, ReactingMissPerSecond: 0.2}
}

func TestAForecastSizesTheHeadroomForWhatIsToCome(t *testing.T) {
	seasonal, reacting := planning.Deadline{Seasonal: true}, planning.Deadline{}
	size := func(p planning.Deadline, o muster.Observation) int { return p.Decide(o, nil).Desired }
	night, day := size(reacting, dawn(0.1, 3, muster.Forecast{})), size(reacting, dawn(2, 30, muster.Forecast{}))
	if night >= 4 || day <= 8 {
		t.Fatalf("%d workers by night and %d by day", night, day)
	}
	unused := told(2, 0.1)
	unused.Used, unused.Reason = false, "it did not"
	fallen := dawn(2, 30, told(0.1, 2)) // the busiest times of the past hour are still those of the day
	fallen.Arrivals.TenSeconds, fallen.Arrivals.Minute, fallen.Arrivals.FiveMinutes = 0.1, 0.1, 0.1
	without := fallen
	without.Forecast = muster.Forecast{}
	if n := size(reacting, without); n < day-1 {
		t.Fatalf("without a forecast %d workers stay for the past hour's busiest times, want about %d", n, day)
	}
	long := dawn(0.1, 3, told(2, 0.1))
	long.Objective.Latency = time.Hour
	for _, row := range []struct {
		name string
		o    muster.Observation
		want int
		says string
	}{
		{"a rise: about what the day keeps", dawn(0.1, 3, told(2, 0.1)), day, "instead of"},
		{"a fall that has begun: what the night keeps", fallen, night, "instead of"},
		{"a fall that has not: those that are busy stay", dawn(2, 30, told(0.1, 2)), day, "forecast for when"},
		{"what was to be expected anyway", dawn(2, 30, told(2, 2)), day, "changes nothing"},
		{"a small rise is left to the last minutes", dawn(2, 30, told(2.4, 2)), day, "changes nothing"},
		{"a forecast that lost against reacting", dawn(0.1, 3, unused), night, "not used: over 96 tested quarters of " +
			"an hour its error was 0.1 messages a second, that of the rate of the last minutes 0.2"},
		{"none is known", dawn(0.1, 3, muster.Forecast{Reason: "12 quarters of an hour could be tested, it takes 96"}),
			night, "no forecast: 12 quarters"},
		{"the objective leaves time to launch", long, size(reacting, long), "a launch is in time"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := seasonal.Decide(row.o, nil)
			last := d.Trail[len(d.Trail)-1]
			if last.Rule != "forecast" || last.Out != d.Desired || !strings.Contains(last.Why, row.says) {
				t.Errorf("the last term is %+v, want one of the forecast that says %q", last, row.says)
			}
			if math.Abs(float64(d.Desired-row.want)) > 1 {
				t.Errorf("%d workers, want about %d: %s", d.Desired, row.want, d.Sentence())
			}
		})
	}
}

// More may come than a rise is forecast to bring: the past hour counts then, also for what late messages cost.
func TestARiseThatHasBegunIsNoFall(t *testing.T) {
	for _, rate := range []float64{0.05, 0.11, 0.12, 0.13, 0.2, 1} {
		o := dawn(rate, 0, told(0.047, 0.016))
		with, without := planning.Deadline{Seasonal: true}.Decide(o, nil), planning.Deadline{}.Decide(o, nil)
		if with.Desired < without.Desired {
			t.Errorf("%v a second came: %s, without a forecast %s", rate, with.Sentence(), without.Sentence())
		}
	}
}

func TestAForecastThatIsNotUsedChangesNoSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(0, 20).Draw(t, "rate")
		f := told(rapid.Float64Range(0, 50).Draw(t, "per"), rapid.Float64Range(0, 50).Draw(t, "lately"))
		f.ErrorPerSecond = rapid.Float64Range(0, 10).Draw(t, "error")
		f.Used = rapid.Bool().Draw(t, "used")
		o := dawn(rate, rapid.IntRange(0, 100).Draw(t, "workers"), f)
		o.Queues[0].Backlog = muster.Measured(o.At, float64(rapid.IntRange(0, 50).Draw(t, "waiting")))
		if rapid.Bool().Draw(t, "time") {
			o.Objective.Latency = time.Hour
		}
		with, without := planning.Deadline{Seasonal: true}.Decide(o, nil), planning.Deadline{}.Decide(o, nil)
		switch {
		case (!f.Used || o.Objective.Latency == time.Hour) &&
			(with.Desired != without.Desired || with.Floor != without.Floor):
			t.Errorf("%s, without a forecast %s", with.Sentence(), without.Sentence())
		case f.PerSecond > 1.25*f.LatelyPerSecond && with.Desired < without.Desired:
			t.Errorf("a rise made it smaller: %s, without a forecast %s", with.Sentence(), without.Sentence())
		case f.PerSecond+f.ErrorPerSecond < f.LatelyPerSecond && with.Desired > without.Desired:
			t.Errorf("a fall made it larger: %s, without a forecast %s", with.Sentence(), without.Sentence())
		}
	})
}
