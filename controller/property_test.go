package controller_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/worker/protocol"
)

func text(t testing.TB, o controller.Outcome) string {
	type plain struct {
		Observation muster.Observation
		Decision    muster.Decision
		Effects     []controller.Effect
		Changes     []controller.Changed
		Records     []string
	}
	p := plain{Observation: o.Observation, Decision: o.Decision, Effects: o.Effects, Changes: o.Changes}
	for _, r := range o.Records {
		p.Records = append(p.Records, string(r.Body))
	}
	out, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func storySettings(t *rapid.T, tb testing.TB) controller.Settings {
	spec := policy.Spec{
		Name: rapid.SampledFrom([]string{"exact", "backlog-per-worker", "worker-utilization",
			"dynamic-backlog"}).Draw(t, "policy"),
		Acceptable: 2,
		In:         policy.Shape{Stabilization: time.Duration(rapid.IntRange(0, 8).Draw(t, "in")) * time.Second},
		Out:        policy.Shape{Stabilization: time.Duration(rapid.IntRange(0, 3).Draw(t, "out")) * time.Second},
	}
	s := settings(tb, spec, rapid.IntRange(1, 12).Draw(t, "max"))
	s.Limits.Min = rapid.IntRange(0, s.Limits.Max).Draw(t, "min")
	return s
}

// live lets the world go on by one random event. The workers are honest: they hold messages, finish, and mint a token
// only when they hold none and have stopped receiving.
func live(t *rapid.T, w *world) []controller.Input {
	var in []controller.Input
	w.blind = rapid.IntRange(0, 9).Draw(t, "blind") == 0
	for range rapid.IntRange(0, 3).Draw(t, "arrivals") {
		w.backlog, w.sent = w.backlog+1, append(w.sent, w.now)
	}
	for _, m := range w.members {
		directive := w.state.Directive(m.id, m.id)
		switch act := rapid.IntRange(0, 6).Draw(t, "act"); {
		case act == 0: // silent
			continue
		case m.state == protocol.Starting:
			m.state = protocol.Receiving
		case m.state == protocol.Idle && directive.Ask == protocol.Work:
			m.state, m.token, m.cause = protocol.Receiving, "", ""
			m.epoch++
		case m.state == protocol.Receiving && directive.Ask == protocol.Drain:
			m.state, m.cause = protocol.Draining, protocol.Asked
		case m.state == protocol.Draining && m.busy == 0:
			m.state, m.token = protocol.Idle, fmt.Sprintf("t%d", m.epoch)
		case m.state == protocol.Receiving && m.busy == 0 && w.backlog > 0:
			w.backlog--
			w.inFlight++
			m.busy = 1
		case m.busy > 0 && act > 3:
			w.inFlight--
			m.busy = 0
			in = append(in, w.say(m, 1))
			continue
		case m.state == protocol.Receiving && m.busy == 0 && act == 6:
			in = append(in, w.offer(m))
			continue
		}
		in = append(in, w.say(m, 0))
	}
	return in
}

// leave removes the workers that were told to leave, and checks that each was idle with the very token.
func leave(t *rapid.T, w *world) {
	for _, m := range append([]*worker(nil), w.members...) {
		d := w.state.Directive(m.id, m.id)
		if d.Ask != protocol.Leave {
			continue
		}
		if m.busy != 0 || m.state != protocol.Idle || d.Token != m.token {
			t.Fatalf("%s is told to leave with token %q; it is %s, holds %d and minted %q", m.id, d.Token, m.state,
				m.busy, m.token)
		}
		if rapid.Bool().Draw(t, "leaves") {
			w.gone(m, "")
		}
	}
}

func TestInAnyStoryNoBusyWorkerIsReleasedAndEverySizeIsLimited(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, storySettings(rt, t))
		for range rapid.IntRange(5, 60).Draw(rt, "steps") {
			o := w.step(time.Duration(rapid.IntRange(50, 3000).Draw(rt, "ms"))*time.Millisecond, live(rt, w)...)
			limits := w.settings.Limits
			for _, e := range o.Effects {
				if d, ok := e.(controller.SetDesired); ok &&
					(d.Desired < limits.Min || d.Desired > limits.Max || len(w.members)+len(d.Launch) > limits.Max) {
					rt.Fatalf("order %+v with %d members, limits %+v", d, len(w.members), limits)
				}
			}
			w.obey()
			leave(rt, w)
		}
	})
}

func TestInAnyStoryARestartChangesNoDecision(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, storySettings(rt, t))
		for range rapid.IntRange(1, 40).Draw(rt, "steps before") {
			w.step(time.Duration(rapid.IntRange(50, 3000).Draw(rt, "ms"))*time.Millisecond, live(rt, w)...)
			w.obey()
			leave(rt, w)
		}
		w.blind = false
		w.now = w.now.Add(time.Second)
		in := append(w.look(), w.everybody()...)
		before := w.settings.Step(w.state, w.now, in)
		w.restart()
		after := w.settings.Step(w.state, w.now, in)
		a, b := before.Decision, after.Decision
		if a.Previous != b.Previous || a.Wish != b.Wish || a.Desired != b.Desired || a.Verdict != b.Verdict ||
			a.Reason != b.Reason {
			rt.Fatalf("without a restart %s\nafter a restart %s", a.Sentence(), b.Sentence())
		}
	})
}

// TestInAnyStoryARestartChangesNoDecisionOfDeadline is a test of its own, because deadline goes by the ages of
// messages, the pace of work and the busiest times, all of which a restart reads back from the history.
func TestInAnyStoryARestartChangesNoDecisionOfDeadline(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := settings(t, policy.Spec{Name: "deadline", Scale: rapid.Float64Range(0.1, 1).Draw(rt, "scale")},
			rapid.IntRange(1, 12).Draw(rt, "max"))
		s.Objective.Latency = time.Duration(rapid.IntRange(3, 60).Draw(rt, "latency")) * time.Second
		w := newWorld(t, s)
		w.counts = true
		for range rapid.IntRange(1, 60).Draw(rt, "steps before") {
			w.step(time.Duration(rapid.IntRange(50, 3000).Draw(rt, "ms"))*time.Millisecond, live(rt, w)...)
			w.obey()
			leave(rt, w)
		}
		w.blind = false
		w.now = w.now.Add(time.Second)
		in := append(w.look(), w.everybody()...)
		before := w.settings.Step(w.state, w.now, in)
		w.restart()
		after := w.settings.Step(w.state, w.now, in)
		if before.Observation.Capacity != after.Observation.Capacity {
			return // a member that just now is given up is the roster's matter
		}
		a, b := before.Decision, after.Decision
		if a.Previous != b.Previous || a.Desired != b.Desired || a.Floor != b.Floor || a.Verdict != b.Verdict ||
			a.Reason != b.Reason {
			rt.Fatalf("without a restart %s\nafter a restart %s\n%+v\n%+v", a.Sentence(), b.Sentence(),
				before.Observation, after.Observation)
		}
	})
}

func TestInAnyStoryEveryRecordedDecisionRecomputesToItself(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, storySettings(rt, t))
		for range rapid.IntRange(5, 60).Draw(rt, "steps") {
			w.step(time.Duration(rapid.IntRange(50, 3000).Draw(rt, "ms"))*time.Millisecond, live(rt, w)...)
			w.obey()
			leave(rt, w)
			if rapid.IntRange(0, 15).Draw(rt, "crash") == 0 {
				w.restart()
			}
		}
		checked, _, err := audit.Verify(w.records)
		if err != nil || checked == 0 {
			rt.Fatalf("verified %d decisions: %v", checked, err)
		}
		// Old records are removed in time: what is left still verifies, but for the first decisions.
		cut := rapid.IntRange(0, len(w.records)-1).Draw(rt, "removed")
		if _, _, err := audit.Verify(w.records[cut:]); err != nil {
			rt.Fatalf("without the first %d records: %v", cut, err)
		}
	})
}
