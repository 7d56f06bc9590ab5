package controller_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/worker/protocol"
)

// charged puts so many members into the fleet, as the system in charge does.
func (s *shell) charged(n int) {
	s.set(func() {
		for i := len(s.members); i < n; i++ {
			s.members = append(s.members, muster.Member{ID: fmt.Sprintf("i-%d", i), LaunchedAt: time.Now().UTC()})
		}
		s.members = s.members[:n]
	})
}

func TestInShadowNoEffectIsExecuted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShell()
		set := settings(t, policy.Spec{Name: "exact", Shadow: true}, 10)
		set.Poll = time.Second
		s.backlog = 7
		s.charged(2)
		loop, stop := newLoop(t, s, set)
		for _, x := range []struct {
			name              string
			backlog, fleet    int
			previous, desired int
			verdict           muster.Verdict
		}{
			{"more are wanted than are there", 7, 2, 2, 7, muster.Shadow},
			{"the system in charge launches", 9, 6, 6, 9, muster.Shadow},
			{"enough are there", 0, 6, 6, 6, muster.Hold},
			{"it ends some", 0, 1, 1, 1, muster.Hold},
			{"it ends all, and messages come", 4, 0, 0, 4, muster.Shadow},
		} {
			s.set(func() { s.backlog = x.backlog })
			s.charged(x.fleet)
			time.Sleep(20 * time.Second) // members that do not report are in service once a boot is over
			o, ok := loop.Last()
			d := o.Decision
			if !ok || d.Previous != x.previous || d.Desired != x.desired || d.Verdict != x.verdict {
				t.Errorf("%s: found %s from %d to %d, expected %s from %d to %d\n%s", x.name, d.Verdict, d.Previous,
					d.Desired, x.verdict, x.previous, x.desired, d.Sentence())
			}
			if c := o.Observation.Capacity; c.Desired != x.fleet || c.InService() != x.fleet {
				t.Errorf("%s: the fleet is seen as %+v, expected %d in service", x.name, c, x.fleet)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if len(s.orders) > 0 || len(s.ended) > 0 {
			t.Errorf("orders %v and ends %v reached the fleet", s.orders, s.ended)
		}
		var records []muster.Record
		shadows := 0
		s.Read(t.Context(), "f", time.Time{}, func(r muster.Record) bool {
			records = append(records, r)
			if r.Kind == muster.Intended {
				t.Errorf("an effect was intended: %s", r.Body)
			}
			if r.Kind == muster.Decided {
				shadows++
			}
			return true
		})
		if n, _, err := audit.Verify(records); err != nil || n != shadows || n < 5 {
			t.Errorf("verified %d of %d decisions: %v", n, shadows, err)
		}
	})
}

func TestInShadowAWorkerThatOffersToLeaveGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShell()
		set := settings(t, policy.Spec{Name: "exact", Shadow: true}, 10)
		set.Poll = time.Second
		s.charged(1)
		loop, stop := newLoop(t, s, set)
		time.Sleep(20 * time.Second)
		d, err := loop.Report(t.Context(), report("i-0", 1, protocol.Receiving, ""))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if d, err = loop.Report(t.Context(), answering(d, report("i-0", 2, protocol.Idle, "token"))); err != nil ||
			d.Ask != protocol.Work {
			t.Errorf("found %+v, %v; expected it to be told to work", d, err)
		}
		stop()
	})
}

// Whatever happens, a shadow intends nothing, asks nobody to go and follows the fleet.
func TestInShadowNothingIsEverDone(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom([]string{"deadline", "exact", "dynamic-backlog", "worker-utilization"}).Draw(rt,
			"policy")
		w := newWorld(t, settings(t, policy.Spec{Name: name, Shadow: true, Processing: 2 * time.Second}, 20))
		next := 0
		for range rapid.IntRange(3, 40).Draw(rt, "steps") {
			switch rapid.IntRange(0, 5).Draw(rt, "event") {
			case 0:
				next++
				w.members = append(w.members,
					&worker{id: fmt.Sprintf("i-%d", next), at: w.now, state: protocol.Starting})
			case 1:
				if len(w.members) > 0 {
					w.gone(w.members[0], rapid.SampledFrom([]string{"", "terminated"}).Draw(rt, "why"))
				}
			case 2:
				w.restart()
			}
			w.backlog, w.inFlight = rapid.IntRange(0, 60).Draw(rt, "backlog"), rapid.IntRange(0, 9).Draw(rt,
				"in flight")
			w.now = w.now.Add(time.Duration(rapid.IntRange(1, 90).Draw(rt, "later")) * time.Second)
			var reports []controller.Input
			for _, m := range w.members {
				switch rapid.IntRange(0, 3).Draw(rt, "says") {
				case 0:
					m.state, m.token, m.cause = protocol.Receiving, "", ""
					reports = append(reports, w.say(m, 0))
				case 1:
					m.epoch++
					reports = append(reports, w.offer(m))
				}
			}
			o := w.stepOn(append(w.look(), reports...)...)
			for _, r := range o.Records {
				if r.Kind == muster.Intended {
					rt.Fatalf("intended %s", r.Body)
				}
			}
			if len(o.Effects) > 0 || o.Ready && o.Decision.Previous != len(w.members) ||
				o.Decision.Verdict == muster.Apply {
				rt.Fatalf("effects %v, %s of %d members: %s", o.Effects, o.Decision.Verdict, len(w.members),
					o.Decision.Sentence())
			}
			for _, ask := range w.asks() {
				if ask != protocol.Work {
					rt.Fatalf("a worker was told to %s", ask)
				}
			}
		}
		if _, _, err := audit.Verify(w.records); err != nil {
			rt.Fatal(err)
		}
	})
}

// Who takes over from the system in charge begins with the size that it finds, not with one that was only thought of.
func TestAfterAShadowTheFleetIsTakenAsItIsFound(t *testing.T) {
	shadow, live := settings(t, policy.Spec{Name: "exact", Shadow: true}, 10), settings(t, policy.Spec{Name: "exact"},
		10)
	w := newWorld(t, shadow)
	w.backlog = 9
	w.members = append(w.members, &worker{id: "a", at: t0}, &worker{id: "b", at: t0})
	w.step(time.Second)
	if d := w.last.Decision; d.Verdict != muster.Shadow || d.Desired != 9 {
		t.Fatalf("found %s", d.Sentence())
	}
	w.settings = live
	w.restart()
	w.backlog = 0
	if d := w.step(time.Second, w.receiving()...).Decision; d.Previous != 2 || d.Desired != 2 {
		t.Errorf("found %s, expected the two that are there", d.Sentence())
	}
}
