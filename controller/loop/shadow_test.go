package loop_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/worker/protocol"
)

// charged puts so many members into the fleet, as the system in charge does.
func (s *ports) charged(n int) {
	s.set(func() {
		for i := len(s.members); i < n; i++ {
			s.members = append(s.members, muster.Member{ID: fmt.Sprintf("i-%d", i), LaunchedAt: time.Now().UTC()})
		}
		s.members = s.members[:n]
	})
}

func TestInShadowNoEffectIsExecuted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPorts()
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
		s := newPorts()
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
