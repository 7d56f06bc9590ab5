package variants

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/sim"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

const (
	// Seed is that of all runs, so that the same question gets the same answer.
	Seed = 1
	// A queue that announces no message is polled once in a pollShare of the objective, or each longestPoll if that is
	// sooner, but not faster than the configuration says: a fleet that is sized so much later still has nearly all of
	// the objective left.
	pollShare   = 20
	longestPoll = 5 * time.Second
)

// OfFleet returns the event of a trace for a configured fleet: its objective, limits, slots and price. The world is
// that of no kind of fleet or queue: the caller adds their delays. start is the instant at which the trace starts.
func OfFleet(f config.Fleet, t trace.Trace, start time.Time) contest.Event {
	return contest.Event{
		Name: t.Name, Objective: f.Objective, Limits: f.Limits, Poll: f.Poll,
		Prior: f.Policy.Processing, BootPrior: f.Workers.Boot,
		Trace: func(uint64) (trace.Trace, error) { return t, nil },
		World: world.World{Boot: world.Draw{Mean: f.Workers.Boot}, Slots: f.Workers.AtOnce(), Start: start,
			PricePerHour: f.Policy.PricePerHour, Classes: f.Workers.ClassAttribute != ""},
	}
}

// Contender returns the contender of a configured fleet. Shadow mode is switched off, because in the simulation no
// other system sizes the fleet. settings makes the settings of its controller.
func Contender(f config.Fleet, settings func(config.Fleet) (controller.Settings, error)) (contest.Contender, error) {
	f.Policy.Processing = 0 // the event states it
	f.Policy.Shadow = false
	s, err := settings(f)
	return contest.Configured(s, f.Workers.Idle), err
}

// Missing says, as text, what of a configured fleet no simulation has, whatever its kind.
func Missing(f config.Fleet) (missing []string) {
	if len(f.Queues) > 1 {
		missing = append(missing, "it serves several queues; here all messages are in one")
	}
	if len(f.Split) > 0 {
		missing = append(missing, "it has several kinds of workers; here all are as the fleet's")
	}
	return missing
}

// Calm makes the queue of an event with more than most messages announce none: a step at every message costs four times
// as much as the message, and one at every second as much again. It returns a note that says so, or "".
func Calm(e *contest.Event, messages, most int64, o muster.Objective) string {
	if messages <= most || !e.World.Wakes {
		return ""
	}
	e.World.Wakes = false
	e.Poll = max(e.Poll, min(longestPoll, o.Latency/pollShare))
	return fmt.Sprintf("with more than %d messages, the simulated queue does not announce messages: it is polled "+
		"every %s", most, render.Seconds(e.Poll.Seconds()))
}

// Variant is one run to make. Kind is that of its [Run].
type Variant struct {
	Kind  string
	Event contest.Event
	Who   contest.Contender
}

// Plan is all that is to be run.
type Plan struct {
	// Variants are the runs, at least one; the first one is that of the present configuration. All have its trace,
	// which is made and measured once. Its messages come within Span, which bounds the curves.
	Variants []Variant
	Span     time.Duration
	// Skip is how many of the first variants are not run, because their runs are known already.
	Skip int
	// Bound computes the lower bound for the event of the first variant. With BoundOnly nothing else is done, and there
	// are no runs.
	Bound, BoundOnly bool
	// Parallel is how many runs are made at a time, at least 1. The results do not depend on it.
	Parallel int
	// Done is called with the number of runs that are done, the bound included; calls do not overlap. Within is called
	// during the runs with the index of the variant and the virtual time since the start of the trace; calls for
	// several variants may overlap. Both may be nil.
	Done   func(done, of int)
	Within func(variant int, at time.Duration)
}

// Play makes the runs. A policy that cannot run is a failure of its run, and no error. It ends early with the error of
// ctx.
func (p Plan) Play(ctx context.Context) ([]Run, *Bound, error) {
	prepared, err := contest.Prepare(p.Variants[0].Event, Seed)
	if err != nil {
		return nil, nil, err
	}
	if p.BoundOnly {
		bound, err := lowest(prepared)
		return []Run{}, bound, err
	}
	runs := make([]Run, len(p.Variants)-p.Skip)
	var bound *Bound
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(max(1, p.Parallel))
	of := len(runs)
	if p.Bound {
		of++
	}
	ended := make(chan struct{}, of)
	finished := make(chan error, 1)
	go func() {
		for i, v := range p.Variants[p.Skip:] {
			all.Go(func() (err error) {
				defer func() { ended <- struct{}{} }()
				runs[i], err = v.run(ctx, prepared, p.Span, func(at time.Duration) {
					if p.Within != nil {
						p.Within(p.Skip+i, at)
					}
				})
				return err
			})
		}
		if p.Bound {
			all.Go(func() (err error) {
				defer func() { ended <- struct{}{} }()
				if err = ctx.Err(); err == nil {
					bound, err = lowest(prepared)
				}
				return err
			})
		}
		finished <- all.Wait()
	}()
	for n := 0; ; {
		select {
		case <-ended:
			if n++; p.Done != nil {
				p.Done(n, of)
			}
		case err := <-finished:
			return runs, bound, err
		}
	}
}

// run makes one run on the prepared trace.
func (v Variant) run(ctx context.Context, prepared contest.Prepared, span time.Duration, within func(time.Duration)) (
	Run, error) {
	run := Run{Name: v.Who.Name, Kind: v.Kind}
	prepared.Event = v.Event
	if err := v.Who.Runnable(prepared.Event); err != nil {
		run.Failure = err.Error()
		return run, nil
	}
	curves := newCurves(span)
	result, err := prepared.Run(ctx, v.Who, func(v sim.View) { curves.see(v) }, within)
	if err == nil {
		err = contest.Broken([]scoring.Result{result})
	}
	if err != nil {
		return run, err
	}
	run.InTime, run.P50, run.P95, run.P99 = &result.InTimeRatio, &result.P50, &result.P95, &result.P99
	run.WorkerHours, run.ScaleEvents = new(result.WorkerSeconds/3600), &result.ScaleEvents
	run.Launches, run.PeakWorkers = &result.Launches, &result.PeakWorkers
	run.Curves = new(curves.ended())
	if v.Event.World.PricePerHour > 0 {
		run.Cost = &result.Cost
	}
	return run, nil
}

// lowest computes the lower bound of an event.
func lowest(prepared contest.Prepared) (*Bound, error) {
	if err := prepared.Limit(); err != nil {
		return nil, err
	}
	strongest := prepared.Limits.Prescient
	b := &Bound{WorkerHours: strongest.WorkerSeconds / 3600, Unreachable: strongest.Unreachable}
	if price := prepared.Event.World.PricePerHour; price > 0 {
		cost := b.WorkerHours * price
		b.Cost = &cost
	}
	return b, nil
}
