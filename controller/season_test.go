package controller_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/series"
)

// office is a world that is looked at once a minute, and in which a message a second comes from nine to five and none
// at night.
func office(t testing.TB, forecast string) *world {
	s := settings(t, policy.Spec{Name: "deadline", Processing: 10 * time.Second, Forecast: forecast}, 50)
	s.Poll, s.BootPrior = time.Minute, time.Minute
	w := newWorld(t, s)
	w.counts = true
	return w
}

func (w *world) live(minutes int, each func(controller.Outcome)) {
	for range minutes {
		if hour := w.now.Hour(); hour >= 9 && hour < 17 {
			w.send(60)
			w.backlog = 0 // somebody else works on them
		}
		o := w.step(time.Minute)
		w.obey()
		each(o)
	}
}

func TestAForecastSurvivesARestartAndItsDecisionsRecompute(t *testing.T) {
	if raced {
		t.Skip("it only computes: make test runs it without the race detector")
	}
	w := office(t, policy.ForecastSeasonal)
	used, rises, steps := 0, 0, 0
	w.live(71*60, func(o controller.Outcome) {
		f := o.Observation.Forecast
		if f.Used {
			used++
		}
		if f.Used && f.PerSecond > 0.9 && f.LatelyPerSecond < 0.1 && o.Observation.Arrivals.FiveMinutes < 0.1 &&
			o.Decision.Desired >= 8 {
			rises++
		}
		// A restart every 131 minutes finds each time another minute of its quarter of an hour.
		if steps++; steps%131 != 0 || f.Tested == 0 {
			return
		}
		// One that starts now, from what a start reads, sees the same when both look at the same world.
		again := *w
		again.reread(0)
		w.now = w.now.Add(time.Second)
		a, b := w.settings.Step(w.state, w.now, w.look()), w.settings.Step(again.state, w.now, w.look())
		w.now = w.now.Add(-time.Second)
		if a.Observation.Forecast != b.Observation.Forecast || a.Decision.Desired != b.Decision.Desired {
			t.Fatalf("%s: without a restart %s\n%+v\nafter one %s\n%+v", w.now, a.Decision.Sentence(),
				a.Observation.Forecast, b.Decision.Sentence(), b.Observation.Forecast)
		}
	})
	if used < 20*60 || rises == 0 {
		t.Errorf("the forecast was used for %d minutes, %d of them before messages came; want 20 hours, and before "+
			"the morning", used, rises)
	}
	if checked, skipped, err := audit.Verify(w.records); err != nil || skipped > 0 || checked < 71*60 {
		t.Errorf("%d decisions recompute, %d were skipped: %v", checked, skipped, err)
	}
	last := w.last.Decision.Trail
	if i := slices.IndexFunc(last, func(t muster.Term) bool { return t.Rule == "forecast" }); i < 0 ||
		last[i].Why == "" || len(last[i].In) == 0 {
		t.Errorf("the trail has no term for the forecast: %+v", last)
	}
}

func TestThatNothingCameIsRecordedEveryFiveMinutesForAFleetWithAForecastAlone(t *testing.T) {
	for _, row := range []struct {
		name, forecast string
		blind          bool
		records        int
	}{
		{"with a forecast", policy.ForecastSeasonal, false, 12},
		{"without one", policy.ForecastNone, false, 0},
		{"while nobody knows what came", policy.ForecastSeasonal, true, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := office(t, row.forecast)
			w.now = time.Date(2026, 3, 1, 1, 0, 0, 0, time.UTC)
			w.blind = row.blind
			w.live(60, func(controller.Outcome) {})
			n := 0
			for _, r := range w.records {
				if r.Kind == muster.Learned {
					n++
				}
			}
			if n < row.records || n > row.records+1 {
				t.Errorf("%d records in an hour, want %d", n, row.records)
			}
		})
	}
}

func TestAFleetWithoutAForecastHasNoneInItsRecords(t *testing.T) {
	w := office(t, "")
	w.live(30, func(controller.Outcome) {})
	for _, r := range w.records {
		var body map[string]map[string]any
		if r.Kind != muster.Decided {
			continue
		}
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		if f, has := body["observation"]["forecast"]; has {
			t.Fatalf("found %v", f)
		}
	}
}

// What a start reads of the history. Decisions of hours count; measurements of weeks do where a forecast is made from
// them, and where few durations were measured: for the policy deadline.
func TestAStartReadsOfOldRecordsOnlyWhatWasLearned(t *testing.T) {
	for _, row := range []struct {
		name  string
		spec  policy.Spec
		from  time.Duration // at most
		weeks bool
	}{
		{"deadline", policy.Spec{Name: "deadline"}, series.SeasonLength + 24*time.Hour, true},
		{"with a forecast", policy.Spec{Name: "deadline", Forecast: policy.ForecastSeasonal},
			series.SeasonLength + 24*time.Hour, true},
		{"another policy", policy.Spec{Name: "exact"}, 24 * time.Hour, false},
	} {
		s, err := controller.NewSettings(controller.Settings{Fleet: "a", Queues: []string{"q"}, Spec: row.spec,
			Objective: muster.Objective{Latency: time.Minute, Quantile: 0.99}})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.RestoreFrom(); got > row.from || row.weeks && got < series.SeasonLength+time.Hour {
			t.Errorf("%s: a start reads %s, want %s", row.name, got, row.from)
		}
		now := time.Date(2026, 3, 1, 1, 0, 0, 0, time.UTC)
		old := muster.Record{At: now.Add(-20 * 24 * time.Hour), Kind: muster.Decided}
		learned := muster.Record{At: old.At, Kind: muster.Learned}
		if first := s.RestoreFirst(); first > 24*time.Hour && row.spec.Forecast == "" {
			t.Errorf("%s: a start reads %s at first, want at most a day", row.name, first)
		}
		if s.Restores(old, now) || !s.Restores(learned, now) {
			t.Errorf("%s: of weeks ago a start reads other than what was learned", row.name)
		}
	}
}
