package contest

import (
	"context"
	"fmt"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/sim"
	"github.com/muster-scale/muster/sim/limit"
	"github.com/muster-scale/muster/sim/trace"
)

// Event is a trace with the circumstances under which every contender runs on it.
type Event struct {
	// Name is what tables call it.
	Name string
	// Trace makes the trace for a seed; one from a file is the same for every seed.
	Trace func(seed uint64) (trace.Trace, error)
	// Objective and Limits hold for every contender; one that works with no smaller minimum gets that.
	Objective muster.Objective
	Limits    muster.Limits
	// World is the world; its Boot is also what the limit is computed with.
	World sim.World
	// Prior is the figure for the mean processing duration that every contender is told; zero takes the trace's own mean.
	// BootPrior is the same for boots; zero takes the world's mean.
	Prior, BootPrior time.Duration
	// Poll is the time between two looks of the controller; a second when zero.
	Poll time.Duration
}

// Scenario returns the event of a scenario of the built-in suite.
func Scenario(s trace.Scenario) Event {
	return Event{
		Name: s.Name, Trace: s.Trace, Objective: s.Objective, Limits: muster.Limits{Max: s.Max, LaunchesPerHour: LaunchesPerHour},
		World: sim.World{Boot: sim.Draw{Mean: s.Boot}, Slots: s.Slots},
	}
}

// LaunchesPerHour is a limit that bounds nobody in a contest.
const LaunchesPerHour = 1_000_000

// Prepared is an event with its trace for one seed, and what is known of that before anybody runs on it.
type Prepared struct {
	Event Event
	Seed  uint64
	Trace trace.Trace
	// Statistics are those of the trace, Limits what nobody can beat on it.
	Statistics trace.Statistics
	Limits     limit.Bounds
	limited    bool
}

// Prepare makes and measures the trace of an event for a seed.
func Prepare(e Event, seed uint64) (Prepared, error) {
	t, err := e.Trace(seed)
	if err != nil {
		return Prepared{}, err
	}
	p := Prepared{Event: e, Seed: seed, Trace: t}
	goal := trace.Goal{Objective: e.Objective, Boot: e.World.Boot.Mean, Slots: max(1, e.World.Slots)}
	if p.Statistics, err = trace.Measure(t, goal); err != nil {
		return Prepared{}, err
	}
	if p.Event.Prior == 0 {
		p.Event.Prior = time.Duration(p.Statistics.Service.MeanSeconds * float64(time.Second))
	}
	if p.Event.BootPrior == 0 {
		p.Event.BootPrior = e.World.Boot.Mean
	}
	return p, nil
}

// Effort estimates how long a run on e takes, in seconds on some machine: only the ratio to other events means something.
func Effort(e Event, seed uint64) (float64, error) {
	p, err := Prepare(e, seed)
	if err != nil {
		return 0, err
	}
	// What was measured for the events of the suite: a share of the limit, the controller's steps, the reports of its
	// workers, the messages.
	const limits, second, workerSecond, message = 0.1, 10e-6, 1e-6, 5e-6
	busy := 0.0
	if s := p.Statistics; s.Workers.Known {
		busy = s.Workers.Value
	}
	return limits + p.Statistics.DurationSeconds*(second+busy*workerSecond) + float64(p.Statistics.Messages)*message, nil
}

// problem is what the limit is computed of.
func (p Prepared) problem() limit.Problem {
	boot := p.Event.World.Boot.Least()
	if w := p.Event.World.Warm; w.Size > 0 {
		boot = min(boot, w.Boot.Least())
	}
	return limit.Problem{
		Trace: p.Trace, Latency: p.Event.Objective.Latency, Quantile: p.Event.Objective.Quantile, Boot: boot,
		Slots: max(1, p.Event.World.Slots), Min: p.Event.Limits.Min, Max: p.Event.Limits.Max,
	}
}

// Schedule looks for a cheap schedule of who knows the future: [limit.Clairvoyant]. It takes seconds, and reads the whole trace into
// memory.
func (p Prepared) Schedule() (limit.Schedule, error) {
	return limit.Clairvoyant(p.problem(), limit.Prescient)
}

// Limit computes what nobody can beat.
func (p *Prepared) Limit() error {
	f, err := limit.Read(p.problem())
	if err != nil {
		return err
	}
	p.Limits, err = limit.Strongest(f, 0)
	p.limited = err == nil
	return err
}

// Run runs one contender.
func (p Prepared) Run(ctx context.Context, c Contender, stepped func(sim.View), progress func(time.Duration)) (sim.Result, error) {
	settings, world, err := c.settings(p.Event)
	if err != nil {
		return sim.Result{}, err
	}
	r, err := sim.Run(sim.Options{
		Settings: settings, World: world, Trace: p.Trace, Seed: p.Seed, Stepped: stepped,
		Progress: func(d time.Duration) error {
			if progress != nil {
				progress(d)
			}
			return ctx.Err()
		},
	})
	if err != nil {
		return sim.Result{}, fmt.Errorf("%s on %s: %w", c.Name, p.Event.Name, err)
	}
	r.Policy, r.Trace = c.Name, p.Event.Name
	if p.limited {
		r.Clairvoyant, r.Method = p.Limits.Prescient.WorkerSeconds, p.Limits.Prescient.Method
		if r.Clairvoyant > 0 {
			r.Ratio = r.WorkerSeconds / r.Clairvoyant
		}
	}
	return r, nil
}
