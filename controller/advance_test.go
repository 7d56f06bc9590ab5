package controller_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/worker/protocol"
)

// Advance is Step without the copy: whoever gives the state away gets the same, also for reports by pointer.
func TestInAnyStoryAdvanceDoesWhatStepDoes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, storySettings(rt, t))
		given := w.state
		step := func(in ...controller.Input) []controller.Effect {
			want := w.stepOn(in...)
			again := slices.Clone(in)
			for i := range again {
				if report, ok := again[i].(controller.Reported); ok && i%2 == 0 {
					again[i] = &report
				}
			}
			got := w.settings.Advance(given, w.now, again)
			if a, b := text(t, got), text(t, want); a != b {
				rt.Fatalf("found %s\nwant  %s", a, b)
			}
			given = got.Next
			return want.Effects
		}
		for range rapid.IntRange(5, 60).Draw(rt, "steps") {
			in := live(rt, w)
			w.now = w.now.Add(time.Duration(rapid.IntRange(50, 3000).Draw(rt, "ms")) * time.Millisecond)
			for _, e := range step(append(w.look(), in...)...) {
				if order, ok := e.(controller.SetDesired); ok {
					for _, id := range order.Launch {
						w.members = append(w.members, &worker{id: id, at: w.now, state: protocol.Starting})
					}
				}
				step(controller.Resulted{At: w.now, Effect: e.EffectID()})
			}
			leave(rt, w)
		}
	})
}
