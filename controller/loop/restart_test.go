package loop_test

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller/loop"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

// A controller that was stopped for a day still knows how long the work takes, and the desired size.
func TestADayOfDowntimeForgetsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPorts()
		set := settings(t, policy.Spec{Name: "dynamic-backlog"}, 10)
		s.backlog = 1
		l, stop := newLoop(t, s, set)
		time.Sleep(1500 * time.Millisecond) // between two polls
		s.set(func() { s.backlog = 0 })
		id := s.orders[0].Launch[0]
		first, done := report(id, 1, protocol.Receiving, ""), report(id, 2, protocol.Receiving, "")
		done.Finished, done.Processing = 1, series.Add(series.Durations{}, 2*time.Second)
		for _, r := range []protocol.Report{first, done} {
			if _, err := l.Report(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(3 * time.Minute)
		o, _ := l.Last()
		before, desired := o.Observation.Processing, o.Decision.Desired
		if err := stop(); err != nil || !before.Known || before.Prior {
			t.Fatalf("%v; before the stop %+v was known, want a measured duration", err, before)
		}
		time.Sleep(24 * time.Hour)
		again := loop.New(loop.Options{Settings: set, Sources: []muster.Source{s}, Fleet: s, History: s,
			Logger: slog.New(slog.DiscardHandler)})
		p, err := again.Preview(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if after := p.Observation.Processing; !after.Known || after.Prior || after.MeanSeconds != before.MeanSeconds ||
			p.Decision.Previous != desired {
			t.Errorf("processing %+v, desired %d; want %+v and %d", after, p.Decision.Previous, before, desired)
		}
	})
}

// Work is so rare that a start reads no other duration within the hours that it reads first: it reads on.
func TestARestartRemembersRareWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPorts()
		set := settings(t, policy.Spec{Name: "deadline"}, 10)
		set.Poll = time.Minute
		s.backlog = 1
		l, stop := newLoop(t, s, set)
		time.Sleep(2 * time.Minute)
		s.set(func() { s.backlog = 0 })
		id := s.orders[0].Launch[0]
		for k, took := range []time.Duration{0, 2 * time.Second, 40 * time.Second} {
			r := report(id, int64(k+1), protocol.Receiving, "")
			if took > 0 {
				r.Finished, r.Processing = int64(k), series.Add(series.Durations{}, took)
			}
			if _, err := l.Report(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			time.Sleep([]time.Duration{0, 7 * time.Hour, 3 * time.Minute}[k])
		}
		o, _ := l.Last()
		before := o.Observation.Processing
		if err := stop(); err != nil || before.Count != 2 || before.MeanSeconds != 21 {
			t.Fatalf("%v; before the stop %+v was known, want 2 durations", err, before)
		}
		again := loop.New(loop.Options{Settings: set, Sources: []muster.Source{s}, Fleet: s, History: s,
			Logger: slog.New(slog.DiscardHandler)})
		p, err := again.Preview(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if after := p.Observation.Processing; after != before {
			t.Errorf("found %+v, want %+v", after, before)
		}
	})
}
