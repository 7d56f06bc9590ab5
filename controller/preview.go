package controller

import (
	"context"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy"
)

// Preview is a step that was computed and not taken.
type Preview struct {
	Outcome
	// Spec and Recent are what the decision was made with, besides the observation.
	Spec   policy.Spec
	Recent muster.Recent
}

// Preview looks once and returns the step that [Loop.Run] would take first. Nothing is recorded or done, and the
// history is not taken over. It must not be called on a loop that runs.
func (l *Loop) Preview(ctx context.Context) (Preview, error) {
	st, err := l.remember(ctx, muster.Position{})
	if err != nil {
		return Preview{}, err
	}
	in := see(ctx, l.o)
	return Preview{l.o.Settings.Step(st, clock(), in), l.o.Settings.Spec, st.recent}, nil
}
