package history_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/learning"
	"github.com/muster-scale/muster/history/historytest"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/series"
)

// arrived is a learned record of so many messages that came since the given instant.
func arrived(t testing.TB, since, at time.Time, n float64) muster.Record {
	t.Helper()
	body, err := json.Marshal(learning.Learned{Arrived: n, Since: since, Counted: true,
		Sent: map[string]float64{"q": n}})
	if err != nil {
		t.Fatal(err)
	}
	return record(at, muster.Learned, string(body))
}

func came(t testing.TB, r muster.Record) []series.Came {
	t.Helper()
	var l learning.Learned
	if err := json.Unmarshal(r.Body, &l); err != nil {
		t.Fatal(err)
	}
	if len(l.Came) == 0 {
		return series.CameIn(l.Since, r.At, l.Arrived, l.Counted)
	}
	return l.Came
}

func TestAFoldedRecordKeepsWhenMessagesCame(t *testing.T) {
	both(t, func(t *testing.T, h store) {
		ten := noon.Add(-26 * time.Hour)
		at := func(minutes float64) time.Time { return ten.Add(time.Duration(minutes * float64(time.Minute))) }
		fill(t, h, "a",
			arrived(t, at(-1), at(1), 10), // half of them came in the hour before
			arrived(t, at(1), at(2), 5),
			historytest.Learned(t, at(3), 2, 20), // says nothing of arrivals
			arrived(t, time.Time{}, at(14), 0),
			arrived(t, at(14), at(40), 1000), // nobody looked
			arrived(t, at(41), at(51), 100))
		prune(t, h, noon, 0)
		left := read(t, h, "a")
		if len(left) != 1 {
			t.Fatalf("left are %d records, want one", len(left))
		}
		in := func(minutes, messages int64) series.Came {
			return series.Came{From: ten.Unix() + 60*minutes, Messages: messages}
		}
		want := []series.Came{in(-5, 5), in(0, 10), in(10, 0), in(40, 40), in(45, 50), in(50, 10)}
		if diff := cmp.Diff(want, came(t, left[0])); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A restart reads folded records of days. What it knows then of durations is what it knew; a message is as old as it
// was, to five minutes and a step of the count, also one that came while the controller was stopped.
func TestFoldingForgetsNeitherDurationsNorAges(t *testing.T) {
	rules := learning.Rules{Learn: 6 * time.Hour, LookBack: 12 * time.Hour, Waits: 80 * time.Hour, Lasting: true,
		Poll: time.Second}
	ago := func(hours float64) time.Time { return noon.Add(-time.Duration(hours * float64(time.Hour))) }
	learned := func(since, at time.Time, came float64, took ...time.Duration) muster.Record {
		body, err := json.Marshal(learning.Learned{Arrived: came, Since: since,
			Processing: series.Add(series.Durations{}, took...)})
		if err != nil {
			t.Fatal(err)
		}
		return record(at, muster.Learned, string(body))
	}
	memory := func(records []muster.Record) learning.Memory {
		m := learning.New(rules)
		for _, r := range records {
			var l learning.Learned
			if err := json.Unmarshal(r.Body, &l); err != nil {
				t.Fatal(err)
			}
			m.Recall(r.At, l)
		}
		return m
	}
	waits := muster.Observation{At: noon, Queues: []muster.QueueObservation{{Queue: "q",
		Backlog:   muster.Measured(noon, 12),
		OldestAge: muster.Unknown(noon, "the source does not tell ages")}}}
	want := []struct{ least, most, n float64 }{{69, 71, 1}, {49, 51, 3}, {39, 41, 5}, {0.9, 1.4, 3}} // ages in hours
	both(t, func(t *testing.T, h store) {
		fill(t, h, "a",
			learned(ago(70.01), ago(70), 2, time.Second, 3*time.Second),
			learned(ago(69.95), ago(69.94), 0, 10*time.Millisecond, time.Hour),
			learned(ago(50.2), ago(49.6), 3), // nobody looked for 36 minutes
			learned(ago(49.59), ago(49.58), 0, 7*time.Second),
			learned(ago(40.01), ago(40), 5, 5*time.Second),
			learned(ago(1.01), ago(1), 3, 2*time.Second))
		before := memory(read(t, h, "a"))
		prune(t, h, noon, 0)
		left := read(t, h, "a")
		if len(left) != 4 {
			t.Fatalf("left are %d records, want 4", len(left))
		}
		after := memory(left)
		was, is := before.Processing(noon, muster.Estimate{}, 0), after.Processing(noon, muster.Estimate{}, 0)
		if is != was || is.Count != 7 {
			t.Errorf("of durations it knows %+v, and knew %+v of seven", is, was)
		}
		for _, of := range want {
			n := 0.0
			for _, g := range after.Waiting(noon, waits, 6*time.Second) {
				if hours := g.AgeSeconds / 3600; hours >= of.least && hours <= of.most {
					n += g.Messages
				}
			}
			if math.Abs(n-of.n) > 1e-6 {
				t.Errorf("%v messages are %v to %v h old, want %v", n, of.least, of.most, of.n)
			}
		}
	})
}

func TestLearnedRecordsStayForFourWeeks(t *testing.T) {
	both(t, func(t *testing.T, h store) {
		ago := func(days int) time.Time { return noon.Add(-time.Duration(days) * 24 * time.Hour) }
		fill(t, h, "a",
			arrived(t, ago(30), ago(30), 1), arrived(t, ago(28), ago(28), 2), record(ago(28), muster.Decided, `3`),
			record(ago(6), muster.Decided, `4`),
			arrived(t, ago(1), ago(1), 5))
		prune(t, h, noon, 0)
		var left []int64
		for _, r := range read(t, h, "a") {
			left = append(left, r.Position.Seq)
		}
		if want := []int64{2, 4, 5}; !cmp.Equal(left, want) {
			t.Errorf("left are records %d, want %d", left, want)
		}
	})
}

// What a controller restores from records that were folded is what it restores from those that were not.
func TestFoldingChangesNoForecast(t *testing.T) {
	settings, err := controller.NewSettings(controller.Settings{
		Fleet: "a", Queues: []string{"q"}, Spec: policy.Spec{Name: "deadline", Forecast: policy.ForecastSeasonal},
		Objective: muster.Objective{Latency: 30 * time.Second, Quantile: 0.99},
		Limits:    muster.Limits{Max: 10, LaunchesPerHour: 100},
	})
	if err != nil {
		t.Fatal(err)
	}
	forecast := func(records []muster.Record) muster.Forecast {
		records = slices.DeleteFunc(records, func(r muster.Record) bool { return !settings.Restores(r, noon) })
		st, err := settings.Restore(muster.Position{}, records)
		if err != nil {
			t.Fatal(err)
		}
		return settings.Step(st, noon, nil).Observation.Forecast
	}
	both(t, func(t *testing.T, h store) {
		var all []muster.Record
		for at := noon.Add(-5 * 24 * time.Hour); at.Before(noon); at = at.Add(time.Minute) {
			n := float64(1 + at.Minute()%7)
			if at.Hour() >= 9 && at.Hour() < 17 {
				n *= 50
			}
			all = append(all, arrived(t, at, at.Add(61*time.Second), n))
		}
		fill(t, h, "a", all...)
		before := read(t, h, "a")
		prune(t, h, noon, 0)
		after := read(t, h, "a")
		if len(after) > len(before)/3 {
			t.Fatalf("%d records were folded into %d", len(before), len(after))
		}
		want := forecast(before)
		if got := forecast(after); got != want || !got.Known || !got.Used {
			t.Errorf("from folded records %+v, want %+v, known and used", got, want)
		}
	})
}
