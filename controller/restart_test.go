package controller_test

import (
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/worker/protocol"
)

// served is a world with so many workers that have been busy for ten minutes.
func served(t *testing.T, n int) *world {
	w := newWorld(t, settings(t, policy.Spec{Name: "exact"}, 10))
	w.backlog = n
	w.step(0)
	w.obey()
	w.backlog, w.inFlight = 0, n
	busy := make([]int, n)
	for i := range busy {
		busy[i] = 1
	}
	w.step(time.Second, w.receiving(busy...)...)
	for range 120 {
		w.step(5*time.Second, w.everybody()...)
	}
	return w
}

func TestAfterARestartLongServingWorkersAreNotDoubledBeforeTheyReport(t *testing.T) {
	w := served(t, 3)
	w.restart()
	for range 5 {
		if o := w.step(time.Second); launched(o) != 0 || o.Decision.Desired != 3 {
			t.Fatalf("launched %d, desired %d; want 0 and 3", launched(o), o.Decision.Desired)
		}
	}
	if o := w.step(time.Second, w.everybody()...); o.Observation.Capacity.Busy != 3 || launched(o) != 0 {
		t.Errorf("once they report: busy %d, launched %d; want 3 and 0", o.Observation.Capacity.Busy, launched(o))
	}
}

func TestWorkersNobodyRemembersAreAdoptedWithoutLearningABootTime(t *testing.T) {
	w := served(t, 2)
	w.records = nil // the history was deleted
	w.restart()
	w.step(time.Second)
	o := w.step(time.Second, w.everybody()...)
	w.step(10 * time.Second)
	if c := o.Observation.Capacity; c.Busy != 2 || launched(o) != 0 {
		t.Errorf("busy %d, launched %d; want 2 and 0", c.Busy, launched(o))
	}
	if b := w.last.Observation.Boot; !b.Prior {
		t.Errorf("learned a boot time of %v s from workers that were there already", b.MeanSeconds)
	}
}

func TestWorkersThatEndedWhileNobodyLookedAreNoFailures(t *testing.T) {
	w := served(t, 4)
	w.members = nil
	w.restart()
	w.inFlight, w.backlog = 0, 4
	if o := w.step(time.Hour); launched(o) != 4 || o.Decision.Reason == muster.LaunchesFailing {
		t.Errorf("launched %d (%s), want the 4 that are missing", launched(o), o.Decision.Sentence())
	}
}

func TestAGrantIsRememberedOverARestart(t *testing.T) {
	w := newWorld(t, settings(t, policy.Spec{Name: "exact"}, 10))
	w.backlog = 1
	w.step(0)
	w.obey()
	w.backlog = 0
	w.step(time.Second, w.receiving()...)
	m := w.members[0]
	w.step(time.Second, w.offer(m))
	if w.ask(m) != protocol.Leave {
		t.Fatal("its release was not granted")
	}
	w.restart()
	o := w.step(time.Second, w.say(m, 0))
	if got := w.ask(m); got != protocol.Leave || o.Observation.Capacity.Released != 1 {
		t.Errorf("after a restart it is told %s, and %d are released; want the grant to stand", got,
			o.Observation.Capacity.Released)
	}
}

func TestABackoffIsRememberedOverARestart(t *testing.T) {
	w := newWorld(t, settings(t, policy.Spec{Name: "exact"}, 10))
	w.backlog = 6
	w.step(0)
	w.obey()
	for _, m := range append([]*worker(nil), w.members...) {
		w.gone(m, "exit status 1")
	}
	before := w.step(time.Second)
	w.restart()
	w.ended = nil
	after := w.step(time.Second)
	if before.Decision.Reason != muster.LaunchesFailing && launched(before) > 0 {
		t.Fatalf("before: %s", before.Decision.Sentence())
	}
	if a, b := after.Observation.Launches, before.Next; launched(after) != 0 || a.Failed != 6 || a.LastHour != 6 {
		t.Errorf("after a restart %d launched, %+v (%v)", launched(after), a, b.Position)
	}
}

func TestAnOrderUnderWayAtARestartIsGivenAgainAndNeverDoubled(t *testing.T) {
	for _, x := range []struct {
		name     string
		resulted bool
		later    time.Duration
		again    bool
		launched int
	}{
		{"nobody knows whether it arrived", false, time.Second, true, 3},
		{"its result is in the history", true, time.Second, false, 3},
		{"no result can come any more", false, 3 * time.Minute, false, 3},
	} {
		t.Run(x.name, func(t *testing.T) {
			w := newWorld(t, settings(t, policy.Spec{Name: "exact"}, 4))
			w.backlog = 3
			order := w.step(0).Effects[0].(controller.SetDesired)
			if x.resulted {
				w.stepOn(controller.Resulted{At: w.now, Effect: order.ID})
			}
			w.restart()
			o := w.step(x.later)
			if got, ok := o.Effects[0].(controller.SetDesired); !ok || (got.ID == order.ID) != x.again ||
				launched(o) != x.launched {
				t.Errorf("ordered %+v after the restart, %+v before; want the same order again: %v, and %d launches",
					o.Effects, order, x.again, x.launched)
			}
			if n := o.Observation.Capacity.Ordered; x.again && n != 3 {
				t.Errorf("%d count as ordered, want 3: they may still appear", n)
			}
			if next := w.step(time.Second); launched(next) != 0 {
				t.Errorf("launched %d while an order is under way", launched(next))
			}
			w.stepOn(controller.Resulted{At: w.now, Effect: order.ID})
			if c := w.last.Observation.Capacity; c.Live() > 3 {
				t.Errorf("found %+v, want 3 members at most", c)
			}
		})
	}
}

func TestARestartCountsFailedLaunchesAsTheyWereCounted(t *testing.T) {
	w := newWorld(t, settings(t, policy.Spec{Name: "exact"}, 10))
	w.backlog = 6
	w.step(0)
	w.obey()
	m := w.members[0]
	m.state = protocol.Receiving
	w.step(time.Second, w.say(m, 0))
	for _, other := range append([]*worker(nil), w.members[1:]...) {
		w.gone(other, "exit status 1")
	}
	// In one step five launches are found to have failed, and then a worker proves that launching works.
	before := w.step(time.Second, w.say(m, 1)).Next
	w.restart()
	was, is := w.settings.Step(before, w.now, w.look()), w.settings.Step(w.state, w.now, w.look())
	if a, b := was.Observation.Launches, is.Observation.Launches; a.Failed != 0 || b.Failed != 0 {
		t.Errorf("before the restart %+v, after it %+v; want no failure that counts", a, b)
	}
}
