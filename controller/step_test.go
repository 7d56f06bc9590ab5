package controller_test

import (
	"slices"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/worker/protocol"
)

func TestNothingIsDoneBeforeQueueAndFleetWereSeen(t *testing.T) {
	w := newWorld(t, settings(t, policy.Spec{Name: "exact"}, 10))
	w.backlog = 5
	for name, in := range map[string][]controller.Input{"nothing": nil, "only the queue": w.look()[:1],
		"only the fleet": w.look()[1:]} {
		if o := w.settings.Step(w.state, w.now, in); o.Ready || len(o.Effects) > 0 || len(o.Records) > 0 {
			t.Errorf("having seen %s: ready %v, %d effects, %d records", name, o.Ready, len(o.Effects), len(o.Records))
		}
	}
	if o := w.step(0); launched(o) != 5 {
		t.Errorf("having seen both: launched %d, want 5", launched(o))
	}
}

func TestTheFirstStartAdoptsWhatItFinds(t *testing.T) {
	w := newWorld(t, settings(t, policy.Spec{Name: "exact"}, 10))
	w.members = []*worker{{id: "a", at: t0}, {id: "b", at: t0}}
	w.backlog = 3
	o := w.step(0)
	if o.Decision.Previous != 2 || launched(o) != 1 {
		t.Errorf("previous %d, launched %d; want 2 that are there already and 1 more", o.Decision.Previous, launched(o))
	}
}

func TestWhatBootsIsNotOrderedTwice(t *testing.T) {
	w := newWorld(t, settings(t, policy.Spec{Name: "exact"}, 10))
	w.backlog = 4
	o := w.step(0)
	if launched(o) != 4 {
		t.Fatalf("launched %d, want 4", launched(o))
	}
	if again := w.step(time.Second); launched(again) != 0 {
		t.Fatalf("launched %d more while the order is under way", launched(again))
	}
	w.last = o
	w.obey()
	for range 20 {
		if again := w.step(time.Second, w.everybody()...); launched(again) != 0 {
			t.Fatalf("launched %d more while they boot", launched(again))
		}
	}
	if c := w.last.Observation.Capacity; c.Booting != 4 || c.Pending() != 4 {
		t.Errorf("booting %d, pending %d, want 4 and 4", c.Booting, c.Pending())
	}
}

func TestOneOrderIsUnderWayAtATime(t *testing.T) {
	w := newWorld(t, settings(t, policy.Spec{Name: "exact"}, 10))
	w.backlog = 2
	order := w.step(0).Effects[0]
	w.backlog = 5
	if o := w.step(time.Second); launched(o) != 0 || o.Decision.Desired != 5 {
		t.Errorf("launched %d, desired %d; want none while an order is under way, and 5", launched(o),
			o.Decision.Desired)
	}
	if o := w.stepOn(controller.Resulted{At: w.now, Effect: order.EffectID()}); launched(o) != 3 {
		t.Errorf("launched %d once it was answered, want the 3 that are missing", launched(o))
	}
}

func TestAWorkerThatOffersToLeaveGoesOnlyWhenNoWorkNeedsIt(t *testing.T) {
	w := newWorld(t, settings(t, policy.Spec{Name: "exact"}, 10))
	w.backlog = 3
	w.step(0)
	w.obey()
	w.backlog, w.inFlight = 0, 2
	w.step(time.Second, w.receiving(1, 1, 0)...)
	idle := w.members[2]

	w.backlog = 1
	w.step(time.Second, w.offer(idle))
	if got := w.ask(idle); got != protocol.Work {
		t.Fatalf("a message waits: the idle worker is told %s, want %s", got, protocol.Work)
	}
	w.backlog, idle.epoch = 0, 1
	w.step(time.Second, w.receiving(1, 1, 0)...)
	o := w.step(time.Second, w.offer(idle))
	if got := w.ask(idle); got != protocol.Leave {
		t.Fatalf("nothing waits: the idle worker is told %s, want %s\n%s", got, protocol.Leave, o.Decision.Sentence())
	}
	w.gone(idle, "")
	if o := w.step(time.Second, w.everybody()...); launched(o) != 0 || o.Decision.Desired != 2 {
		t.Errorf("after it left: launched %d, desired %d; want 0 and 2", launched(o), o.Decision.Desired)
	}
}

func TestWhyAWorkerMayLeaveIsRecorded(t *testing.T) {
	for cause, want := range map[protocol.Cause]string{protocol.IdleTooLong: "no message came for it",
		protocol.EndOfBilling: "it is idle, and its paid period ends"} {
		w := newWorld(t, settings(t, policy.Spec{Name: "exact"}, 10))
		w.backlog = 1
		w.step(0)
		w.obey()
		w.backlog = 0
		w.step(time.Second, w.receiving(0)...)
		m := w.members[0]
		w.offer(m)
		m.cause = cause
		o := w.step(time.Second, w.say(m, 0))
		if len(o.Changes) != 1 || o.Changes[0].What != roster.Left || o.Changes[0].Why != want {
			t.Errorf("%s: found %+v, want that it left because %s", cause, o.Changes, want)
		}
	}
}

func TestNobodyLeavesBelowTheMinimumOrWhileASignalIsUnknown(t *testing.T) {
	s := settings(t, policy.Spec{Name: "exact"}, 10)
	s.Limits.Min = 1
	w := newWorld(t, s)
	w.step(0)
	w.obey()
	w.step(time.Second, w.receiving()...)
	w.step(time.Second, w.offer(w.members[0]))
	if got := w.ask(w.members[0]); got != protocol.Work {
		t.Errorf("the last worker of a minimum of one is told %s", got)
	}
	w.backlog = 2
	w.step(time.Second)
	w.obey()
	w.backlog, w.members[0].epoch = 0, 1
	w.step(time.Second, w.receiving()...)
	w.blind = true
	w.step(10*time.Second, w.offer(w.members[0]))
	if got := w.ask(w.members[0]); got != protocol.Work {
		t.Errorf("while the queue is unknown an idle worker is told %s", got)
	}
}

func TestAFallDrainsIdleWorkersFirstAndReleasesNoBusyOne(t *testing.T) {
	w := newWorld(t, settings(t, policy.Spec{Name: "backlog-per-worker", Acceptable: 1}, 10))
	w.backlog = 3
	w.step(0)
	w.obey()
	w.backlog, w.inFlight = 1, 2
	w.step(time.Second, w.receiving(1, 1, 0)...)
	if got := w.asks(); slices.Contains(got, protocol.Drain) {
		t.Fatalf("asks %v: want nobody asked who has just joined", got)
	}
	w.step(10*time.Second, w.receiving(1, 1, 0)...)
	if got := w.asks(); !slices.Equal(got, []protocol.Ask{protocol.Work, protocol.Drain, protocol.Drain}) {
		t.Fatalf("asks %v: want the idle one and the newest busy one to drain", got)
	}
	// The busy one goes on with its message for an hour; its silence about a token keeps it.
	for range 720 {
		for _, m := range w.members[1:] {
			m.state, m.cause = protocol.Draining, protocol.Asked
		}
		w.step(5*time.Second, w.everybody()...)
		if got := w.ask(w.members[1]); got != protocol.Drain {
			t.Fatalf("a busy worker is told %s", got)
		}
	}
	busy := w.members[1]
	busy.busy, busy.state, busy.token = 0, protocol.Idle, "done"
	w.step(time.Second, w.say(busy, 1))
	if d := w.state.Directive(busy.id, busy.id); d.Ask != protocol.Leave || d.Token != "done" {
		t.Errorf("with its token minted it is told %+v, want to leave", d)
	}
}

func TestWhoHoldsAMessageStaysWhereAnotherIsIdle(t *testing.T) {
	w := newWorld(t, settings(t, policy.Spec{Name: "backlog-per-worker", Acceptable: 1}, 10))
	w.backlog = 2
	w.step(0)
	w.obey()
	w.backlog, w.inFlight = 1, 2
	w.step(time.Second, w.receiving(1, 1)...)
	w.step(10*time.Second, w.receiving(1, 1)...)
	if got := w.asks(); !slices.Equal(got, []protocol.Ask{protocol.Work, protocol.Drain}) {
		t.Fatalf("asks %v: want the newest of two busy ones to drain", got)
	}
	w.inFlight = 1
	for _, row := range []struct {
		after time.Duration
		want  []protocol.Ask
	}{
		{time.Second, []protocol.Ask{protocol.Work, protocol.Drain}},
		{time.Second, []protocol.Ask{protocol.Drain, protocol.Work}},
		{time.Second, []protocol.Ask{protocol.Drain, protocol.Work}},
	} {
		out := w.step(row.after, w.receiving(0, 1)...)
		if got := w.asks(); !slices.Equal(got, row.want) || out.Decision.Desired != 1 {
			t.Fatalf("at %v asks %v, want %v of one that is idle for two seconds, and one that holds a message",
				out.Decision.At, got, row.want)
		}
	}
}

func TestDemandThatReturnsKeepsDrainingWorkersBeforeLaunching(t *testing.T) {
	w := newWorld(t, settings(t, policy.Spec{Name: "backlog-per-worker", Acceptable: 1}, 10))
	w.backlog = 4
	w.step(0)
	w.obey()
	w.backlog, w.inFlight = 1, 1
	w.step(time.Second, w.receiving(1)...)
	w.step(10*time.Second, w.receiving(1)...)
	if got := w.asks(); !slices.Contains(got, protocol.Drain) {
		t.Fatalf("asks %v, want some asked to go", got)
	}
	w.backlog = 6
	for _, m := range w.members[1:] {
		m.state, m.cause = protocol.Draining, protocol.Asked
	}
	o := w.step(time.Second, w.everybody()...)
	if got := w.asks(); slices.Contains(got, protocol.Drain) || launched(o) != 2 {
		t.Errorf("asks %v, launched %d: want everybody kept and 2 launched for a backlog of 6", got, launched(o))
	}
	w.obey()
	if more := launched(w.last) + launched(w.step(50*time.Millisecond)); more != 0 {
		t.Errorf("launched %d for those who were kept and have not heard of it yet, want none", more)
	}
}

// TestDemandThatReturnsCancelsTheReleaseOfAMintedToken: a token is void once its worker is told to go on, and only a
// new one is granted.
func TestDemandThatReturnsCancelsTheReleaseOfAMintedToken(t *testing.T) {
	w := newWorld(t, settings(t, policy.Spec{Name: "backlog-per-worker", Acceptable: 1}, 10))
	w.backlog = 2
	w.step(0)
	w.obey()
	w.backlog, w.inFlight = 0, 1
	w.step(time.Second, w.receiving(1)...)
	w.step(10*time.Second, w.receiving(1)...)
	m := w.members[1]
	if w.ask(m) != protocol.Drain {
		t.Fatalf("the idle one is told %s, want to drain", w.ask(m))
	}
	m.state, m.cause = protocol.Draining, protocol.Asked
	late := w.say(m, 0)
	m.state, m.token = protocol.Idle, "first"
	offer := w.say(m, 0)
	w.backlog = 2
	w.step(time.Second, late, w.say(w.members[0], 0)) // its offer is still on its way
	if w.ask(m) != protocol.Work {
		t.Fatalf("when demand is back it is told %s, want to work", w.ask(m))
	}
	w.step(time.Second, offer)
	if d := w.state.Directive(m.id, m.id); d.Ask == protocol.Leave {
		t.Errorf("its offer was granted although it is needed: %+v", d)
	}
	w.backlog = 0
	w.step(time.Second, w.say(m, 0), w.say(w.members[0], 0))
	if d := w.state.Directive(m.id, m.id); d.Ask == protocol.Leave && d.Token == "first" {
		t.Errorf("a token was granted that was refused before: %+v", d)
	}
}

func TestMembersThatDoNotStartAreTriedLessAndLessOften(t *testing.T) {
	w := newWorld(t, settings(t, policy.Spec{Name: "exact"}, 10))
	w.backlog = 10
	total := 0
	var reason muster.Reason
	for range 600 { // ten minutes
		o := w.step(time.Second)
		total += launched(o)
		if o.Decision.Reason != "" {
			reason = o.Decision.Reason
		}
		for _, e := range o.Effects {
			w.stepOn(controller.Resulted{At: w.now, Effect: e.EffectID(), Failure: "exec: no such program"})
		}
	}
	if total > 20 {
		t.Errorf("launched %d times in ten minutes, want at most the 10 of the first order and a few single tries",
			total)
	}
	if l := w.last.Observation.Launches; reason != muster.LaunchesFailing || l.LastError == "" {
		t.Errorf("reason %q, last error %q: want it explained", reason, l.LastError)
	}
	// Somebody repairs the program: one is tried, and once it proved itself the others follow.
	w.now = w.now.Add(10 * time.Minute)
	if o := w.step(0); launched(o) != 1 {
		t.Fatalf("launched %d, want one on trial", launched(o))
	}
	w.obey()
	w.step(time.Second, w.receiving()...)
	if o := w.step(time.Second); launched(o) != 0 {
		t.Fatalf("launched %d while the first is on trial", launched(o))
	}
	if o := w.step(time.Second, w.say(w.members[0], 1)); launched(o) != 9 {
		t.Errorf("launched %d after the first finished a message, want 9", launched(o))
	}
}

func TestALostWorkerIsNoCapacityAndIsNeverReleased(t *testing.T) {
	w := newWorld(t, settings(t, policy.Spec{Name: "exact"}, 10))
	w.backlog = 2
	w.step(0)
	w.obey()
	w.backlog, w.inFlight = 0, 2
	w.step(time.Second, w.receiving(1, 1)...)
	silent, other := w.members[0], w.members[1]
	var o controller.Outcome
	replaced := 0
	for range 44 {
		o = w.step(time.Second, w.say(other, 0))
		replaced += launched(o)
	}
	if c := o.Observation.Capacity; c.Lost != 0 || replaced != 0 {
		t.Fatalf("lost %d, replaced %d while a late report may still come; want none", c.Lost, replaced)
	}
	for range 3 {
		o = w.step(time.Second, w.say(other, 0))
		replaced += launched(o)
	}
	if c := o.Observation.Capacity; c.Lost != 1 || replaced != 1 {
		t.Fatalf("lost %d, replaced %d; want 1 and 1", c.Lost, replaced)
	}
	if got := w.ask(silent); got == protocol.Leave {
		t.Errorf("a silent worker is told %s", got)
	}
	o = w.step(time.Second, w.everybody()...)
	if c := o.Observation.Capacity; c.Lost != 0 {
		t.Errorf("it reported again and is still lost")
	}
}

func TestAReleasedWorkerThatStaysIsEndedAndNobodyElse(t *testing.T) {
	w := newWorld(t, settings(t, policy.Spec{Name: "exact"}, 10))
	w.backlog = 2
	w.step(0)
	w.obey()
	w.backlog = 0
	w.step(time.Second, w.receiving(0, 0)...)
	stays := w.members[0]
	w.step(time.Second, w.offer(stays))
	var ended []string
	for range 25 {
		for _, e := range w.step(time.Second, w.say(w.members[1], 0)).Effects {
			if end, ok := e.(controller.End); ok {
				ended = append(ended, end.Members...)
			}
		}
	}
	if len(ended) != 2 || ended[0] != stays.id || ended[1] != stays.id {
		t.Errorf("ended %v, want %s once every ten seconds", ended, stays.id)
	}
}

func TestAStepChangesNothingItWasGiven(t *testing.T) {
	w := newWorld(t, settings(t, policy.Spec{Name: "exact"}, 10))
	w.backlog = 4
	w.step(0)
	w.obey()
	in := append(w.look(), w.receiving(1, 0, 1, 0)...)
	in = append(in, w.offer(w.members[3]))
	first := w.settings.Step(w.state, w.now, in)
	second := w.settings.Step(w.state, w.now, in)
	if a, b := text(t, first), text(t, second); a != b {
		t.Errorf("the same step twice:\n%s\n%s", a, b)
	}
}
