package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/sim"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/limit"
	"github.com/muster-scale/muster/sim/worlds"
)

// mostWorlds bounds the numbers of one range.
const mostWorlds = 100_000

// worldPlay is what muster worlds was asked for.
type worldPlay struct {
	g                  *global
	numbers            string
	policies           []string
	list, named, limit bool
	timeout            time.Duration
	parallel           int
	thresholds         []string
}

func newWorlds(g *global) *cobra.Command {
	x := &worldPlay{g: g}
	cmd := &cobra.Command{
		Use:   "worlds [--numbers 1-20] [--policies A,B,...]",
		Short: "Draw worlds at random and play policies on them",
		Long: `Worlds draws worlds at random and plays policies on them: how messages come, how long work and boots take,
what the objective leaves, what fails, what is seen late and what is stated beforehand. The first policy is judged
beside the others. It regrets a world in which the loss of another policy is a tenth smaller than its own.

The number of a world decides everything in it: the same number gives the same world, and the same result on the same
processor architecture. The distributions, each drawn apart:

` + quantityHelp() + `

docs/simulation.md has them in full. --named plays the worlds in which an autoscaler once did what none may do, and ends
with exit code 4 when the first policy misses a limit of one.`,
		Example: `  muster worlds --list --numbers 1-40
  muster worlds --numbers 1-200 --policies deadline,keda-job,exact --threshold 'regret_free>=0.97'
  muster worlds --numbers 17 --limit -o json
  muster worlds --named --policies deadline`,
		RunE: func(cmd *cobra.Command, _ []string) error { return x.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&x.numbers, "numbers", "1-20", "the numbers of the worlds, as 1-20 or 3,17,40-50")
	f.StringSliceVar(&x.policies, "policies", []string{contest.Default, worlds.Reference, "keda-job", "exact"},
		"the policies, the one that is judged first; there are "+strings.Join(contest.Names(), ", "))
	f.BoolVar(&x.list, "list", false, "print a line for each world and play nothing")
	f.BoolVar(&x.named, "named", false, "play the named worlds, and judge the first policy by their limits")
	f.BoolVar(&x.limit, "limit", false, "compute the lower bound of the cost in each world, in some seconds each")
	f.DurationVar(
		&x.timeout,
		"timeout",
		time.Minute,
		"how long one run may take on this machine; a longer one counts as not answered",
	)
	f.IntVar(&x.parallel, "parallel", runtime.NumCPU(), "how many runs at a time; the results do not depend on it")
	f.StringArrayVar(
		&x.thresholds,
		"threshold",
		nil,
		"fail with exit code 4 when the summary misses it, as 'regret_free>=0.97'; may be repeated",
	)
	cmd.RegisterFlagCompletionFunc("policies", completePolicy)
	return cmd
}

// quantityHelp says what is drawn, in lines of at most 120 columns.
func quantityHelp() string {
	const indent, width = "             ", 120
	var lines []string
	for _, q := range worlds.Quantities() {
		line := fmt.Sprintf("  %-10s", q.Name)
		for _, word := range strings.Fields(q.Distribution) {
			if len(line)+1+len(word) > width {
				lines, line = append(lines, line), indent+word
				continue
			}
			line += " " + word
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func (x *worldPlay) run(cmd *cobra.Command) error {
	thresholds, err := parseThresholdsOf(x.thresholds, numbers(fullSummary()), "regret_free>=0.97",
		"those of the summary of -o json with numbers, as "+strings.Join(summaryFields(), ", "))
	if err != nil {
		return usage(err)
	}
	drawn, err := numberRanges("--numbers", x.numbers, mostWorlds)
	if err != nil {
		return usage(err)
	}
	contenders, err := x.contenders()
	if err != nil {
		return usage(err)
	}
	slices.Sort(drawn)
	drawn = slices.Compact(drawn)
	out := cmd.OutOrStdout()
	switch {
	case x.timeout <= 0:
		return usage(fmt.Errorf("--timeout: found %s, allowed is above 0s", x.timeout))
	case x.parallel < 1 || x.parallel > 256:
		return usage(fmt.Errorf("--parallel: found %d, allowed is 1 to 256", x.parallel))
	case x.named && cmd.Flags().Changed("numbers"):
		return usage(errors.New("--numbers: the named worlds have no numbers; give it without --named"))
	case x.named && len(thresholds) > 0:
		return usage(errors.New("--threshold: the named worlds have limits of their own; give it without --named"))
	case x.list && x.named:
		return x.listNamed(out)
	case x.list:
		return x.listDrawn(out, drawn)
	}
	defer lessCollecting()()
	if x.named {
		found, err := x.playNamed(cmd, contenders)
		if err != nil {
			return err
		}
		return errors.Join(x.printNamed(out, found), namedVerdict(found, x.timeout))
	}
	found, err := x.play(cmd, drawn, contenders)
	if err != nil {
		return err
	}
	return errors.Join(x.print(out, found), found.verdict(thresholds, x.timeout))
}

// contenders returns the policies that the flag names.
func (x *worldPlay) contenders() ([]contest.Contender, error) {
	var all []contest.Contender
	for _, name := range x.policies {
		c, err := contest.Find(strings.TrimSpace(name))
		switch {
		case err != nil:
			return nil, fmt.Errorf("--policies: %w", err)
		case c.NeedsMean():
			return nil, fmt.Errorf(
				"--policies: %s needs the mean processing duration, and four worlds of ten state none",
				c.Name,
			)
		case slices.ContainsFunc(all, func(o contest.Contender) bool { return o.Name == c.Name }):
			return nil, fmt.Errorf("--policies: found %s twice", c.Name)
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, errors.New("--policies: found none, name at least one")
	}
	return all, nil
}

// drawnPlay is what policies came to on drawn worlds. An outcome is nil where the run was not answered; there is one
// for each world and contender.
type drawnPlay struct {
	worlds     []worlds.World
	contenders []contest.Contender
	outcomes   [][]*worlds.Outcome
	bounds     []limit.Bounds // empty without --limit
}

// play plays each contender on each world.
func (x *worldPlay) play(cmd *cobra.Command, numbers []uint64, contenders []contest.Contender) (drawnPlay, error) {
	found := drawnPlay{contenders: contenders}
	var prepared []func() (contest.Prepared, error)
	for _, n := range numbers {
		w := worlds.Draw(n)
		found.worlds = append(found.worlds, w)
		found.outcomes = append(found.outcomes, make([]*worlds.Outcome, len(contenders)))
		prepared = append(prepared, sync.OnceValues(func() (contest.Prepared, error) {
			p, err := worlds.Prepare(w)
			if err == nil && x.limit {
				err = p.Limit()
			}
			return p, err
		}))
	}
	if x.limit {
		found.bounds = make([]limit.Bounds, len(numbers))
	}
	var lock sync.Mutex
	left := make([]int, len(numbers))
	err := x.runs(cmd, "runs on worlds:", len(numbers)*len(contenders), func(ctx context.Context, i int) error {
		world, policy := i/len(contenders), i%len(contenders)
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
		if x.limit {
			found.bounds[world] = p.Limits
		}
		if left[world]++; left[world] == len(contenders) {
			prepared[world] = nil // a trace of 20,000 messages takes megabytes
		}
		return err
	})
	return found, err
}

// namedPlay is what policies came to on a named world. A result is nil where the run was not answered.
type namedPlay struct {
	world      worlds.Named
	bound      float64
	contenders []contest.Contender
	results    []*sim.Result
}

// playNamed plays each contender on each named world.
func (x *worldPlay) playNamed(cmd *cobra.Command, contenders []contest.Contender) ([]namedPlay, error) {
	all := worlds.All()
	found := make([]namedPlay, len(all))
	err := x.runs(cmd, "named worlds:", len(all), func(ctx context.Context, i int) error {
		p, err := all[i].Prepare(false)
		if err != nil {
			return err
		}
		found[i] = namedPlay{all[i], p.Limits.Prescient.WorkerSeconds, contenders, make([]*sim.Result, len(contenders))}
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

// runs calls run for 0 to n-1, some at a time, and shows how far it is. The first error ends it.
func (x *worldPlay) runs(cmd *cobra.Command, what string, n int, run func(ctx context.Context, i int) error) error {
	bar := newProgress(cmd.ErrOrStderr(), what, n)
	defer bar.done()
	ctx, stop := context.WithCancelCause(cmd.Context())
	defer stop(nil)
	work := make(chan int)
	var lock sync.Mutex
	done := 0
	var all sync.WaitGroup
	for range min(n, x.parallel) {
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
				bar.at(done)
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

// within calls f with a context that ends after the timeout. It returns the error of an f that failed for another
// reason.
func (x *worldPlay) within(ctx context.Context, f func(context.Context) error) error {
	limited, stop := context.WithTimeout(ctx, x.timeout)
	defer stop()
	err := f(limited)
	if limited.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}

// unanswered names the runs that took longer than the timeout.
func (d drawnPlay) unanswered() (all []missingRun) {
	for i, w := range d.worlds {
		for k, c := range d.contenders {
			if d.outcomes[i][k] == nil {
				all = append(all, missingRun{World: w.Number, Policy: c.Name})
			}
		}
	}
	return all
}

// missingRun is a run that was not answered.
type missingRun struct {
	World  uint64 `json:"world"`
	Policy string `json:"policy"`
}

// answered returns the outcomes there are, by world and then by policy.
func (d drawnPlay) answered() (all []worlds.Outcome) {
	for _, row := range d.outcomes {
		for _, o := range row {
			if o != nil {
				all = append(all, *o)
			}
		}
	}
	return all
}

// verdict is an error when a run broke a promise or was not answered, or when the summary misses a threshold.
func (d drawnPlay) verdict(thresholds []threshold, timeout time.Duration) error {
	var names []string
	for _, m := range d.unanswered() {
		names = append(names, fmt.Sprintf("%s in world %d", m.Policy, m.World))
	}
	failed := []error{notAnswered(names, timeout)}
	for _, o := range d.answered() {
		if len(o.Faults) > 0 {
			failed = append(failed, brokenPromise(o.Policy, fmt.Sprintf("world %d", o.World), o.Faults))
		}
	}
	found := numbers(d.summary())
	var missed []error
	for _, t := range thresholds {
		if v, ok := found[t.field]; !ok {
			missed = append(missed, fmt.Errorf("%s cannot be judged, there is no %s of these runs", t.text, t.field))
		} else if !t.met(v) {
			missed = append(missed, fmt.Errorf("%s is missed, found %.4g", t.text, v))
		}
	}
	return ended(failed, missed)
}

// namedVerdict is an error when a run broke a promise or was not answered, or when the first policy misses a limit of a
// world.
func namedVerdict(all []namedPlay, timeout time.Duration) error {
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
	return ended(append([]error{notAnswered(names, timeout)}, failed...), missed)
}

// notAnswered is an error that names runs which took longer than the timeout; nil for none.
func notAnswered(names []string, timeout time.Duration) error {
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("%s not answered within %s: %s; give a longer --timeout or a smaller --parallel",
		muster.Plural(len(names), "run"), timeout, strings.Join(names, ", "))
}

func brokenPromise(policy, world string, faults []string) error {
	return fmt.Errorf(
		"%s in %s: the simulator found a broken promise, please report it: %s",
		policy,
		world,
		strings.Join(slices.Compact(faults), "; "),
	)
}

// ended returns all errors as one: with the exit code of a failure when there is one of those, and else with that of a
// missed threshold.
func ended(failed, missed []error) error {
	failure, miss := errors.Join(failed...), errors.Join(missed...)
	switch {
	case failure != nil:
		return &exitError{exitFailed, errors.Join(failure, miss)}
	case miss != nil:
		return &exitError{exitThreshold, miss}
	}
	return nil
}
