package tournament

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/internal/terminal"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/limit"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/threshold"
	"github.com/muster-scale/muster/sim/worlds"
)

// Drawn holds what policies did in drawn worlds; [PlayDrawn] makes one. There is an outcome for each world and
// contender, which is nil where the run was not answered in time.
type Drawn struct {
	timeout    time.Duration
	worlds     []worlds.World
	contenders []contest.Contender
	outcomes   [][]*worlds.Outcome
	bounds     []limit.Bounds // one for each world; empty without Options.Limit
}

// Options say how the runs are made.
type Options struct {
	// Timeout is how long one run may take on this machine. A longer one counts as not answered.
	Timeout time.Duration
	// Parallel is how many runs are made at a time, at least 1.
	Parallel int
	// Limit computes lower bounds of the cost in each drawn world.
	Limit bool
	// Progress gets a display of how many runs are done.
	Progress io.Writer
}

// PlayDrawn plays each contender in the worlds of the numbers. There is at least one contender, and the first is
// judged.
func PlayDrawn(ctx context.Context, x Options, numbers []uint64, contenders []contest.Contender) (Drawn, error) {
	found := Drawn{timeout: x.Timeout, contenders: contenders}
	var prepared []func() (contest.Prepared, error)
	for _, n := range numbers {
		w := worlds.Draw(n)
		found.worlds = append(found.worlds, w)
		found.outcomes = append(found.outcomes, make([]*worlds.Outcome, len(contenders)))
		// The trace of a world is made once, by the first run that needs it.
		prepared = append(prepared, sync.OnceValues(func() (contest.Prepared, error) {
			p, err := worlds.Prepare(w)
			if err == nil && x.Limit {
				err = p.Limit()
			}
			return p, err
		}))
	}
	if x.Limit {
		found.bounds = make([]limit.Bounds, len(numbers))
	}
	var lock sync.Mutex
	left := make([]int, len(numbers))
	err := x.runs(ctx, "runs on worlds:", len(numbers)*len(contenders), func(ctx context.Context, i int) error {
		world, policy := i/len(contenders), i%len(contenders)
		// Runs of one world may begin at the same time; the trace is made once and shared, because it is not changed.
		p, err := prepared[world]()
		if err != nil {
			return err
		}
		err = x.within(ctx, func(ctx context.Context) error {
			o, err := worlds.Play(ctx, found.worlds[world], p, contenders[policy])
			if err == nil && ctx.Err() == nil {
				found.outcomes[world][policy] = &o
			}
			return err
		})
		lock.Lock()
		defer lock.Unlock()
		if x.Limit {
			found.bounds[world] = p.Limits
		}
		// After the last run of a world nothing needs its trace.
		if left[world]++; left[world] == len(contenders) {
			prepared[world] = nil // 20,000 messages take megabytes
		}
		return err
	})
	return found, err
}

// Named holds what policies did in a named world; [PlayNamed] makes some. A result is nil where the run was not
// answered in time.
type Named struct {
	timeout    time.Duration
	world      worlds.Named
	bound      float64 // prescient lower bound of the cost, in worker-seconds
	contenders []contest.Contender
	results    []*scoring.Result
}

// PlayNamed plays each contender in each named world.
func PlayNamed(ctx context.Context, x Options, contenders []contest.Contender) ([]Named, error) {
	all := worlds.All()
	found := make([]Named, len(all))
	err := x.runs(ctx, "named worlds:", len(all), func(ctx context.Context, i int) error {
		p, err := all[i].Prepare(false)
		if err != nil {
			return err
		}
		// The lower bound belongs to schedules that know the future from the start.
		found[i] = Named{x.Timeout, all[i], p.Limits.Prescient.WorkerSeconds, contenders,
			make([]*scoring.Result, len(contenders))}
		for k, c := range contenders {
			err := x.within(ctx, func(ctx context.Context) error {
				r, err := p.Run(ctx, c, nil, nil)
				if err == nil && ctx.Err() == nil {
					found[i].results[k] = &r
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return found, err
}

// runs calls run for 0 to n-1, several at a time, and displays the progress. The first error ends it.
func (x Options) runs(ctx context.Context, what string, n int, run func(ctx context.Context, i int) error) error {
	bar := terminal.NewProgress(x.Progress, what, n)
	defer bar.Done()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	// The workers of this pool take the next number when they are free.
	work := make(chan int)
	var lock sync.Mutex
	done := 0
	var all sync.WaitGroup
	for range min(n, x.Parallel) {
		all.Go(func() {
			for i := range work {
				if ctx.Err() != nil {
					continue
				}
				err := run(ctx, i)
				lock.Lock()
				if err != nil {
					stop(err)
				}
				done++
				bar.At(done)
				lock.Unlock()
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	all.Wait()
	return context.Cause(ctx)
}

// within calls f with a context that ends after the timeout. An error of f counts only when the time was not over.
func (x Options) within(ctx context.Context, f func(context.Context) error) error {
	// The outer context tells an interrupt by the user from a run that takes too long.
	limited, stop := context.WithTimeout(ctx, x.Timeout)
	defer stop()
	err := f(limited)
	if limited.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}

// unanswered returns the runs that took longer than the timeout.
func (d Drawn) unanswered() (all []Missing) {
	for i, w := range d.worlds {
		for k, c := range d.contenders {
			if d.outcomes[i][k] == nil {
				all = append(all, Missing{World: w.Number, Policy: c.Name})
			}
		}
	}
	return all
}

// Missing names a run that was not answered in time.
type Missing struct {
	World  uint64 `json:"world"`
	Policy string `json:"policy"`
}

// answered returns the outcomes of all runs that were answered, by world and then by policy.
func (d Drawn) answered() (all []worlds.Outcome) {
	for _, row := range d.outcomes {
		for _, o := range row {
			if o != nil {
				all = append(all, *o)
			}
		}
	}
	return all
}

// notAnswered returns an error that names the runs which took longer than the timeout; nil for none.
func notAnswered(names []string, timeout time.Duration) error {
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("%s not answered within %s: %s; give a longer --timeout or a smaller --parallel",
		render.Plural(len(names), "run"), timeout, strings.Join(names, ", "))
}

// brokenPromise returns the error of a run with faults.
func brokenPromise(policy, world string, faults []string) error {
	return fmt.Errorf(
		"%s in %s: the simulator violated an invariant, please report it: %s",
		policy,
		world,
		strings.Join(slices.Compact(faults), "; "),
	)
}

// Verdict returns an error when a run violated an invariant or was not answered. Otherwise it returns a
// [threshold.MissedError] when the summary misses a threshold.
func (d Drawn) Verdict(thresholds []threshold.Threshold) error {
	var names []string
	for _, m := range d.unanswered() {
		names = append(names, fmt.Sprintf("%s in world %d", m.Policy, m.World))
	}
	// A run without an answer may hide the worst result, so it fails the command whatever the thresholds say.
	failed := []error{notAnswered(names, d.timeout)}
	for _, o := range d.answered() {
		if len(o.Faults) > 0 {
			failed = append(failed, brokenPromise(o.Policy, fmt.Sprintf("world %d", o.World), o.Faults))
		}
	}
	// A figure that is absent from the summary cannot meet a threshold.
	found := threshold.Numbers(d.summary())
	var missed []error
	for _, t := range thresholds {
		if v, ok := found[t.Field]; !ok {
			missed = append(missed, fmt.Errorf("%s cannot be judged, there is no %s of these runs", t, t.Field))
		} else if !t.Met(v) {
			missed = append(missed, fmt.Errorf("%s is missed, found %.4g", t, v))
		}
	}
	return ended(failed, missed)
}

// NamedVerdict returns an error when a run violated an invariant or was not answered. Otherwise it returns a
// [threshold.MissedError] when the first policy misses a limit of a world.
func NamedVerdict(all []Named) error {
	var names []string
	var failed, missed []error
	for _, n := range all {
		for k, r := range n.results {
			switch {
			case r == nil:
				names = append(names, fmt.Sprintf("%s in %q", n.contenders[k].Name, n.world.Name))
			case len(r.Faults) > 0:
				failed = append(failed, brokenPromise(r.Policy, fmt.Sprintf("%q", n.world.Name), r.Faults))
			}
		}
		if r := n.results[0]; r != nil {
			if faults := n.world.Missed(*r); len(faults) > 0 {
				missed = append(missed, fmt.Errorf("%s in %q: %s", r.Policy, n.world.Name, strings.Join(faults, ", ")))
			}
		}
	}
	return ended(append([]error{notAnswered(names, all[0].timeout)}, failed...), missed)
}

// ended joins all errors: to a failure when there is one, and else to missed thresholds.
func ended(failed, missed []error) error {
	failure, miss := errors.Join(failed...), errors.Join(missed...)
	switch {
	case failure != nil:
		// A failure has exit code 1, also when thresholds are missed as well.
		return errors.Join(failure, miss)
	case miss != nil:
		return &threshold.MissedError{Err: miss}
	}
	return nil
}
