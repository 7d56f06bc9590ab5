package controller_test

import (
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
