package function

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/muster-scale/muster"
)

// Stepped is what a step did with one fleet.
type Stepped struct {
	Fleet string `json:"fleet"`
	// Current is the desired count before the step, Desired the decided one; both are absent when nothing was done.
	Current int `json:"current"`
	Desired int `json:"desired"`
	// Verdict says what became of the decision, Why explains it in a sentence.
	Verdict muster.Verdict `json:"verdict,omitzero"`
	Why     string         `json:"why,omitzero"`
	// Effects counts what was carried out.
	Effects int `json:"effects"`
	// Elsewhere is true if another invocation stepped the fleet at the same time. This one did nothing then.
	Elsewhere bool `json:"elsewhere,omitzero"`
	// Failure says why the step failed.
	Failure string `json:"failure,omitzero"`
}

// Steps is the answer of the function step.
type Steps struct {
	Fleets []Stepped `json:"fleets"`
}

// stepper steps fleets. Steps of one environment come one after the other.
type stepper struct {
	env    environment
	mu     sync.Mutex
	fleets []*sized
}

// openStep opens the function step. Its payload is not read: an event only says that something may have changed.
func openStep(ctx context.Context, e environment) (invocation, error) {
	s, err := newStepper(ctx, e)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, _ []byte) (any, error) { return s.step(ctx, nil) }, nil
}

// newStepper opens the fleets of the environment with its history.
func newStepper(ctx context.Context, e environment) (*stepper, error) {
	c, fleets, err := e.fleets()
	if err != nil {
		return nil, err
	}
	host := e.host(c)
	past, err := e.history(ctx, host)
	if err != nil {
		return nil, err
	}
	if past == nil {
		return nil, fmt.Errorf("found no history: set %s to %sTABLE", VariableHistory, tablePrefix)
	}
	s := &stepper{env: e}
	s.fleets, err = e.open(ctx, host, fleets, past)
	return s, err
}

// step makes one step of each fleet for which chosen is true; nil chooses all. It fails when a fleet failed, so that
// Lambda counts and repeats the invocation. That another invocation was faster is no failure.
func (s *stepper) step(ctx context.Context, chosen func(*sized) bool) (Steps, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := Steps{Fleets: []Stepped{}}
	var some []*sized
	for _, f := range s.fleets {
		if chosen == nil || chosen(f) {
			some = append(some, f)
		}
	}
	all.Fleets = make([]Stepped, len(some))
	var running errgroup.Group
	running.SetLimit(atOnce)
	for i, f := range some {
		running.Go(func() error {
			all.Fleets[i] = s.one(ctx, f)
			return nil
		})
	}
	_ = running.Wait() // failures are in the results
	var failures []error
	for _, f := range all.Fleets {
		if f.Failure != "" {
			failures = append(failures, fmt.Errorf("fleet %s: %s", f.Fleet, f.Failure))
		}
	}
	return all, errors.Join(failures...)
}

// one steps a fleet.
func (s *stepper) one(ctx context.Context, f *sized) Stepped {
	logger := s.env.Logger.With("fleet", f.config.Name)
	if f.ports.Prepare != nil && !f.prepared && !f.config.Policy.Shadow {
		if err := f.ports.Prepare(ctx); err != nil {
			logger.Warn("preparing the fleet failed; it is sized all the same", "error", err)
		} else {
			f.prepared = true
		}
	}
	out := Stepped{Fleet: f.config.Name}
	o, err := f.loop.Once(ctx)
	switch {
	case errors.Is(err, muster.ErrConflict):
		out.Elsewhere = true
		logger.Info("another invocation has stepped the fleet; this one did nothing")
		return out
	case err != nil:
		out.Failure = err.Error()
		return out
	}
	out.Current, out.Desired, out.Verdict = o.Decision.Previous, o.Decision.Desired, o.Decision.Verdict
	out.Why, out.Effects = o.Decision.Sentence(), len(o.Effects)
	logger.Info("step", "current", out.Current, "desired", out.Desired, "verdict", out.Verdict, "why", out.Why,
		"effects", out.Effects)
	return out
}
