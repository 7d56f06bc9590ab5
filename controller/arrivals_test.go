package controller_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/learning"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/series"
)

// counting is a world whose queue counts what is sent to it, and whose fleet has no workers: a maximum of zero.
func counting(t testing.TB) *world {
	s := settings(t, policy.Spec{Name: "deadline", Processing: 25 * time.Second}, 0)
	s.Learn = 10 * time.Minute // so that it is the arrivals that decide how far back a start reads
	w := newWorld(t, s)
	w.counts = true
	return w
}

// send lets so many messages come now.
func (w *world) send(n int) {
	for range n {
		w.sent = append(w.sent, w.now)
	}
	w.backlog += n
}

// reread restarts with what a start reads: the records of as far back as it needs.
func (w *world) reread(later time.Duration) {
	w.now = w.now.Add(later)
	read := func(age time.Duration) controller.State {
		from := w.now.Add(-age)
		recent := slices.DeleteFunc(slices.Clone(w.records), func(r muster.Record) bool { return r.At.Before(from) })
		at := muster.Position{Epoch: w.state.Position.Epoch + 1, Seq: int64(len(w.records))}
		state, err := w.settings.Restore(at, recent)
		if err != nil {
			w.t.Fatal(err)
		}
		return state
	}
	first := w.settings.RestoreFirst()
	state := read(first)
	if w.settings.Lacks(&state, w.now.Add(-first)) {
		state = read(w.settings.RestoreFrom())
	}
	w.state = state
}

func TestWhatWasLearnedSurvivesItsRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := learning.Learned{
			Arrived: rapid.Float64Range(0, 1e9).Draw(t, "arrived"), Sent: map[string]float64{},
			Counted: rapid.Bool().Draw(t, "counted"),
			Came:    series.CameIn(t0, t0.Add(time.Minute), rapid.Float64Range(0, 1e6).Draw(t, "came"), false),
		}
		if l.Arrived > 0 {
			l.Since = t0.Add(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "since")))
		}
		for range rapid.IntRange(0, 5).Draw(t, "durations") {
			l.Processing = series.Add(l.Processing,
				time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "took")))
			l.Boots = series.Add(l.Boots, time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "boot")))
		}
		for _, q := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "päckchen", ""}), rapid.ID).Draw(t,
			"queues") {
			l.Sent[q] = rapid.Float64Range(0, 1e15).Draw(t, "sent")
		}
		text, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		var again learning.Learned
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatal(err)
		}
		if len(l.Sent) == 0 {
			l.Sent, again.Sent = nil, nil
		}
		if diff := cmp.Diff(l, again); diff != "" {
			t.Fatalf("%s reads back as another (-written +read):\n%s", text, diff)
		}
	})
}

func TestArrivalsAloneAreWorthARecord(t *testing.T) {
	w := counting(t)
	w.step(0)
	w.send(40)
	w.step(time.Second)
	before := w.step(10 * time.Second).Observation.Arrivals
	w.reread(0)
	if after := w.stepOn(w.look()...).Observation.Arrivals; !before.Known || before.Minute == 0 ||
		!cmp.Equal(before, after) {
		t.Errorf("before a restart %+v, after it %+v", before, after)
	}
}

func TestAQuietTimeIsRememberedAsWatched(t *testing.T) {
	for _, row := range []struct {
		name    string
		history []time.Duration // from one look to the next, before the messages come
	}{
		{"watched since the start, and nothing ever came", slices.Repeat([]time.Duration{10 * time.Second}, 60)},
		{"watched for longer than is remembered", slices.Repeat([]time.Duration{30 * time.Second}, 400)},
		{"just started", []time.Duration{time.Second}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := counting(t)
			w.step(0)
			for _, later := range row.history {
				w.step(later)
			}
			kept := *w
			w.reread(0)
			for _, x := range []*world{w, &kept} {
				x.now = x.now.Add(time.Second)
				x.send(30)
				x.stepOn(x.look()...)
				x.step(6 * time.Second)
			}
			a, b := kept.last.Observation.Arrivals, w.last.Observation.Arrivals
			if !a.Known || a.FiveMinutes == 0 || a.FiveMinutes != b.FiveMinutes || a.Hour != b.Hour {
				t.Errorf("without a restart %+v, after one %+v", a, b)
			}
		})
	}
}

func TestWhatComesRightAfterARestartCountsAsJustCome(t *testing.T) {
	w := counting(t)
	w.step(0)
	for range 50 { // nothing is worth a record
		w.step(time.Second)
	}
	w.reread(0)
	w.send(200)
	w.step(time.Second)
	w.step(6 * time.Second)
	for _, b := range w.last.Observation.Arrivals.Busiest {
		if b.OverSeconds >= 10 && b.Messages < 197 {
			t.Errorf("within %v s came %v at the busiest times, want 99 in a hundred of 200", b.OverSeconds, b.Messages)
		}
	}
}

func TestWhatCameWhileNobodyLookedCountsOverThatTime(t *testing.T) {
	for _, row := range []struct {
		name string
		away func(w *world)
	}{
		{"the controller was gone for ten minutes", func(w *world) {
			for range 600 {
				w.now = w.now.Add(time.Second)
				w.send(1)
			}
			w.reread(0)
		}},
		{"the queue did not answer for ten minutes", func(w *world) {
			w.blind = true
			for range 600 {
				w.now = w.now.Add(time.Second)
				w.send(1)
				w.stepOn(w.look()...)
			}
			w.blind = false
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := counting(t)
			w.step(0)
			w.step(time.Second)
			row.away(w)
			w.step(time.Second)
			groups := w.last.Observation.Waiting
			if len(groups) == 0 || groups[0].Messages != 600 || groups[0].AgeSeconds < 9*60 ||
				groups[0].AgeSeconds > 10*60+1 {
				t.Errorf("600 messages came within ten minutes, there waits %+v", groups)
			}
			w.step(10 * time.Second)
			a := w.last.Observation.Arrivals
			for _, b := range a.Busiest {
				// One a second, or a little more where up to a minute of it may have been watched in vain.
				if most := max(b.OverSeconds, 5) * 600 / 540 * 1.01; b.Messages > most {
					t.Errorf("within %v s came %v at the busiest times, want %v at most", b.OverSeconds, b.Messages,
						most)
				}
			}
			if all := a.Busiest[len(a.Busiest)-1]; all.OverSeconds < 600 || all.Messages < 500 {
				// Room for one in a hundred less than all suffices, and few windows had all.
				t.Errorf("within %v s came %v, want nearly 600", all.OverSeconds, all.Messages)
			}
		})
	}
}

func TestBusyTimesAreForgottenInTimeWhetherOrNotAnybodyRestarts(t *testing.T) {
	w := counting(t)
	w.step(0)
	w.send(500)
	w.step(time.Second)
	w.step(6 * time.Second)
	busy := w.last.Observation.Arrivals.Busiest
	for range 66 {
		w.step(time.Minute)
	}
	quiet := w.last.Observation.Arrivals.Busiest
	if busy[0].Messages < 494 || quiet[0].Messages != 0 {
		t.Errorf("the busiest five seconds had %v, and %v more than an hour later; want 99 in a hundred of 500, and 0",
			busy[0].Messages, quiet[0].Messages)
	}
}

func TestInAnyStoryARestartRemembersTheArrivals(t *testing.T) {
	if raced {
		t.Skip("it only computes: make test runs it without the race detector")
	}
	rapid.Check(t, func(rt *rapid.T) {
		w := counting(t)
		for range rapid.IntRange(1, 50).Draw(rt, "looks") {
			later := rapid.SampledFrom([]time.Duration{50 * time.Millisecond, time.Second, time.Second, 3 * time.Second,
				59 * time.Second, 30 * time.Minute}).Draw(rt, "later")
			for later > time.Minute { // looks go on, and nothing happens
				w.step(time.Minute)
				later -= time.Minute
			}
			w.now = w.now.Add(later)
			w.backlog -= rapid.IntRange(0, w.backlog).Draw(rt, "received")
			w.send(rapid.SampledFrom([]int{0, 0, 1, 5, 200}).Draw(rt, "sent"))
			w.stepOn(w.look()...)
			if rapid.IntRange(0, 9).Draw(rt, "crash") == 0 {
				w.reread(0)
			}
		}
		w.now = w.now.Add(time.Second)
		in := w.look()
		before := w.settings.Step(w.state, w.now, in)
		w.reread(0)
		after := w.settings.Step(w.state, w.now, in)
		if a, b := before.Observation.Arrivals, after.Observation.Arrivals; !cmp.Equal(a, b) {
			rt.Fatalf("without a restart %+v\nafter one %+v", a, b)
		}
		if a, b := before.Observation.Waiting, after.Observation.Waiting; !cmp.Equal(a, b) {
			rt.Fatalf("without a restart waits %+v\nafter one %+v", a, b)
		}
		if a, b := before.Decision, after.Decision; a.Wish != b.Wish || a.Sentence() != b.Sentence() {
			rt.Fatalf("without a restart %s\nafter one %s", a.Sentence(), b.Sentence())
		}
	})
}
