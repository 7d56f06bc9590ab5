package recorded_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller/learning"
	"github.com/muster-scale/muster/history"
	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/sim"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/trace/recorded"
	"github.com/muster-scale/muster/sim/world"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return noon.Add(d) }

// learned is a record of n messages that came since the given time, and of durations that finished.
func learned(t *testing.T, when, since time.Duration, n float64, took ...time.Duration) muster.Record {
	t.Helper()
	return record(t, muster.Learned, when, learning.Learned{Arrived: n, Since: at(since),
		Processing: series.Add(series.Durations{}, took...)})
}

// decided is a record of a decision; present is how many messages wait, and negative where nothing is known.
func decided(t *testing.T, when time.Duration, present float64) muster.Record {
	t.Helper()
	q := muster.QueueObservation{Queue: "q"}
	if present >= 0 {
		q.Sent, q.Backlog = muster.Measured(at(when), 1000), muster.Measured(at(when), present)
		q.InFlight = muster.Measured(at(when), 0)
	}
	return record(t, muster.Decided, when, map[string]any{
		"observation": muster.Observation{Queues: []muster.QueueObservation{q}}})
}

func record(t *testing.T, kind muster.RecordKind, when time.Duration, body any) muster.Record {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return muster.Record{At: at(when), Kind: kind, Body: text}
}

// window reads records through a history.
func window(t *testing.T, from, to time.Duration, records ...muster.Record) recorded.Window {
	t.Helper()
	h := history.NewMemory()
	position, err := h.Begin(context.Background(), "fleet")
	if err == nil && len(records) > 0 {
		_, err = h.Append(context.Background(), "fleet", position, records...)
	}
	if err != nil {
		t.Fatal(err)
	}
	w, err := recorded.Read(context.Background(), h, "fleet", at(from), at(to))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func messages(t *testing.T, w recorded.Window, o recorded.Options) (all []trace.Message) {
	t.Helper()
	tr, err := w.Trace(o)
	if err != nil {
		t.Fatal(err)
	}
	var order trace.Order
	if err := tr.Each(func(m trace.Message) bool {
		if err := order.Check(m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// A replay has the work of the original, and about its cost: messages arrive at other moments of the steps that counted
// them. Of one run that may change the cost by some percent, by a launch that is not made at the same time, so the cost
// is that of four.
func TestARunReplayedFromItsRecordsIsTheSameWork(t *testing.T) {
	near := func(what string, found, want, most float64) {
		t.Helper()
		if math.Abs(found-want) > most*want {
			t.Errorf("%s: the replay has %v, the original %v", what, found, want)
		}
	}
	var before, after scoring.Result
	for seed := uint64(1); seed <= 4; seed++ {
		original, again := runAndReplay(t, seed)
		near("work", again.BusySeconds, original.BusySeconds, 0.001)
		near("share in time", again.InTimeRatio, original.InTimeRatio, 0.01)
		before.WorkerSeconds += original.WorkerSeconds
		after.WorkerSeconds += again.WorkerSeconds
	}
	near("cost", after.WorkerSeconds, before.WorkerSeconds, 0.03)
}

// runAndReplay runs three hours of quiet and busy times, and replays them from the records of the run.
func runAndReplay(t *testing.T, seed uint64) (before, again scoring.Result) {
	t.Helper()
	event := contest.Event{
		Name: "original", Objective: muster.Objective{Latency: time.Minute, Quantile: 0.99},
		Limits: muster.Limits{Max: 40, LaunchesPerHour: contest.LaunchesPerHour},
		World:  world.World{Boot: world.Draw{Mean: 20 * time.Second}, Slots: 1, Start: noon},
		Trace: func(seed uint64) (trace.Trace, error) {
			return trace.Load("mmpp:duration=3h,rate=0.3,to=3,service=6s,cv=1",
				trace.Options{Seed: seed})
		},
	}
	prepared, err := contest.Prepare(event, seed)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := contest.Find("deadline")
	if err != nil {
		t.Fatal(err)
	}
	prepared.Recorded = true
	var records []muster.Record
	before, err = prepared.Run(context.Background(), policy, func(v sim.View) {
		records = append(records, v.Outcome.Records...)
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := window(t, 0, time.Duration(before.Seconds)*time.Second, records...)
	if w.Messages != before.Messages || w.Measured < before.Messages-1 || w.Coarse != 0 || w.Share() < 0.99 {
		t.Fatalf("of %d messages the records have %d, %d with a duration, %d coarse, covering %v; gaps %v",
			before.Messages, w.Messages, w.Measured, w.Coarse, w.Share(), w.Gaps)
	}
	event.Trace = func(seed uint64) (trace.Trace, error) { return w.Trace(recorded.Options{Seed: seed}) }
	if prepared, err = contest.Prepare(event, seed); err != nil {
		t.Fatal(err)
	}
	if again, err = prepared.Run(context.Background(), policy, nil, nil); err != nil {
		t.Fatal(err)
	}
	return before, again
}

func TestAMessageArrivesInTheIntervalThatCountedIt(t *testing.T) {
	w := window(t, 0, time.Minute, learned(t, 10*time.Second, 5*time.Second, 3),
		learned(t, 30*time.Second, 25*time.Second, 2, time.Second))
	var got []int
	for _, m := range messages(t, w, recorded.Options{}) {
		got = append(got, int(m.Arrival/(5*time.Second)))
	}
	if want := []int{1, 1, 1, 5, 5}; !slices.Equal(got, want) {
		t.Errorf("messages arrive in the five seconds %v, want %v", got, want)
	}
}

func TestTheMessageThatArrivedNthGetsTheNthDuration(t *testing.T) {
	second := time.Second
	w := window(t, 0, time.Minute,
		learned(t, 5*second, 0, 2), learned(t, 10*second, 5*second, 2, 3*second, 3*second),
		learned(t, 15*second, 10*second, 0, 30*second, 30*second))
	var got []float64
	for _, m := range messages(t, w, recorded.Options{}) {
		got = append(got, math.Round(m.Service.Seconds()*10)/10)
	}
	if want := []float64{3, 3, 30, 30}; !slices.Equal(got, want) || w.Measured != 4 {
		t.Errorf("durations %v, %d of them measured; want %v, all of them", got, w.Measured, want)
	}
}

func TestWhatTheWindowSaysOfItself(t *testing.T) {
	minute := time.Minute
	steady := func(from, to time.Duration, present float64) (all []muster.Record) {
		for d := from; d <= to; d += minute {
			all = append(all, decided(t, d, present))
		}
		return all
	}
	folded := record(t, muster.Learned, 59*minute, learning.Learned{
		Came:       []series.Came{{From: noon.Unix(), Messages: 7}, {From: noon.Unix() + 300, Messages: 3}},
		Processing: series.Add(series.Durations{}, time.Second, time.Second)})
	for _, row := range []struct {
		name      string
		records   []muster.Record
		messages  int64
		measured  int64
		share     float64
		gaps      int
		note      string // the words that its notes must have
		noDrawing error
	}{
		{"nothing was recorded", nil, 0, 0, 0, 1, "no message arrived", recorded.ErrNothing},
		{"quiet and counted", steady(0, 60*minute, 0), 0, 0, 1, 0, "no message arrived", recorded.ErrNothing},
		{"no duration", append(steady(0, 60*minute, 0), learned(t, 60*minute, 59*minute, 4)), 4, 0, 1, 0,
			"no duration of a message was recorded", recorded.ErrNoDurations},
		{"the controller was stopped", append(steady(0, 15*minute, 0), append(steady(45*minute, 60*minute, 0),
			learned(t, 60*minute, 59*minute, 1, time.Second))...), 1, 1, 0.5, 1,
			"in 30m0s of 1h0m0s arrivals were not counted", nil},
		{"counts were unknown", append(steady(0, 30*minute, 0), steady(31*minute, 60*minute, -1)...), 0, 0, 31. / 60, 1,
			"no message arrived", recorded.ErrNothing},
		{"folded records", append(steady(0, 60*minute, 0), folded), 10, 2, 1, 0,
			"10 of them are known to five minutes only", nil},
		{"messages came in a gap", append(steady(0, 0, 0), learned(t, 60*minute, 0, 5, time.Second)), 5, 1, 0, 1,
			"5 of them came while arrivals were not counted", nil},
		{"messages waited before", append(steady(0, 60*minute, 2),
			learned(t, 60*minute, 59*minute, 3, time.Second, time.Second, time.Second)), 3, 1, 1, 0,
			"left out: 2 messages that waited when", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := window(t, 0, 60*minute, row.records...)
			if w.Messages != row.messages || w.Measured != row.measured || math.Abs(w.Share()-row.share) > 0.01 ||
				len(w.Gaps) != row.gaps {
				t.Errorf("found %d messages, %d measured, a share of %v covered, gaps %v; want %d, %d, %v and %d gaps",
					w.Messages, w.Measured, w.Share(), w.Gaps, row.messages, row.measured, row.share, row.gaps)
			}
			if notes := strings.Join(w.Notes(), "\n"); !strings.Contains(notes, row.note) {
				t.Errorf("the notes do not say %q:\n%s", row.note, notes)
			}
			if _, err := w.Trace(recorded.Options{}); !errors.Is(err, row.noDrawing) {
				t.Errorf("found the error %v, want %v", err, row.noDrawing)
			}
		})
	}
}

func TestClassesStayWithTheirDurations(t *testing.T) {
	photo, thumb := series.Add(series.Durations{}, 4*time.Second), series.Add(series.Durations{}, time.Second)
	w := window(t, 0, time.Minute, record(t, muster.Learned, 10*time.Second, learning.Learned{
		Arrived: 2, Since: noon, Processing: series.Merge(photo, thumb),
		Classes: map[string]series.Durations{"photo": photo}}))
	for _, m := range messages(t, w, recorded.Options{Seed: 3}) {
		if slow := m.Service > 2*time.Second; slow != (m.Class == "photo") {
			t.Errorf("a message of class %q takes %s", m.Class, m.Service)
		}
	}
}

// The counts of a queue on SQS are approximate: what they had too much is taken back from the messages that follow.
func TestACorrectedCountIsTakenBack(t *testing.T) {
	total := func(when time.Duration, arrived, sent float64) muster.Record {
		return record(t, muster.Learned, when, learning.Learned{Arrived: arrived, Since: at(when - 5*time.Second),
			Sent: map[string]float64{"q": sent}, Processing: series.Add(series.Durations{}, time.Second)})
	}
	w := window(t, 0, time.Minute, total(10*time.Second, 10, 10), total(20*time.Second, 0, 7),
		total(30*time.Second, 2, 9), total(40*time.Second, 5, 14))
	if w.Messages != 14 {
		t.Errorf("found %d messages, want the 14 that were counted in the end", w.Messages)
	}
	again := window(t, 0, time.Minute, total(10*time.Second, 10, 10), total(20*time.Second, 3, 3))
	if again.Messages != 13 {
		t.Errorf("of a queue that was made anew: found %d messages, want 10 and 3", again.Messages)
	}
}

func TestTheTraceHasWhatWasRecordedWhateverThatIs(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var records []muster.Record
		when, sum := time.Duration(0), 0.0
		durations := 0
		for range rapid.IntRange(1, 40).Draw(r, "records") {
			step := time.Duration(rapid.IntRange(1, 2000).Draw(r, "seconds")) * time.Second
			n := float64(rapid.IntRange(0, 50).Draw(r, "arrived")) / float64(rapid.IntRange(1, 3).Draw(r, "over"))
			took := make([]time.Duration, rapid.IntRange(0, 30).Draw(r, "finished"))
			for i := range took {
				took[i] = time.Duration(rapid.IntRange(1, 90_000).Draw(r, "ms")) * time.Millisecond
			}
			records = append(records, learned(t, when+step, when, n, took...))
			when, sum, durations = when+step, sum+n, durations+len(took)
		}
		w := window(t, 0, when, records...)
		if math.Abs(float64(w.Messages)-sum) > 1 {
			t.Fatalf("of %v messages the window has %d", sum, w.Messages)
		}
		if w.Messages == 0 || durations == 0 {
			return
		}
		one, two := messages(t, w, recorded.Options{Seed: 1}), messages(t, w, recorded.Options{Seed: 1})
		if int64(len(one)) != w.Messages {
			t.Fatalf("the trace has %d messages, the window %d", len(one), w.Messages)
		}
		work, counted := time.Duration(0), int64(0)
		for i, m := range one {
			if m.Arrival != two[i].Arrival || m.Service != two[i].Service {
				t.Fatalf("message %d is %v, and read again %v", i, m, two[i])
			}
			work, counted = work+m.Service, counted+1
		}
		total := w.Durations.SumSeconds
		if counted == w.Durations.Count && math.Abs(work.Seconds()-total) > 1e-3*total {
			t.Fatalf("the trace has %v s of work, recorded are %v s", work.Seconds(), total)
		}
	})
}
