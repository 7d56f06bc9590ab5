package contest

import (
	"context"
	"fmt"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/sim"
	"github.com/muster-scale/muster/sim/limit"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/trace/statistics"
	"github.com/muster-scale/muster/sim/world"
)

// Event is a trace with the circumstances in which every contender runs on it.
type Event struct {
	// Name is its name in tables.
	Name string
	// Trace makes the trace for a seed. A trace from a file is the same for every seed.
	Trace func(seed uint64) (trace.Trace, error)
	// Objective and Limits hold for every contender. One that needs a larger minimum gets it.
	Objective muster.Objective
	Limits    muster.Limits
	// World is the simulated world; the lower bounds are computed with its Boot, too.
	World world.World
	// Prior is the mean processing duration that the configuration states, and BootPrior the boot time. With 0 nothing
	// is stated, and a policy knows only what was measured. TellMean and TellBoot state the true means of the trace and
	// of the world.
	//
	// Other autoscalers whose rule needs a duration are always told the true one, because an engineer who runs them
	// measures it first.
	Prior, BootPrior   time.Duration
	TellMean, TellBoot bool
	// Poll is the time between two polls of the controller; one second when zero.
	Poll time.Duration
}

// Scenario returns the event of a scenario of the built-in suite, which states nothing beforehand.
func Scenario(s trace.Scenario) Event {
	return Event{
		Name: s.Name, Trace: s.Trace, Objective: s.Objective,
		Limits: muster.Limits{Max: s.Max, LaunchesPerHour: LaunchesPerHour},
		World:  world.World{Boot: world.Draw{Mean: s.Boot}, Slots: s.Slots},
	}
}

// Told returns e with the true mean duration and the true boot time stated.
func Told(e Event) Event {
	e.TellMean, e.TellBoot = true, true
	return e
}

// LaunchesPerHour is a limit of launches that is too high to have an effect.
const LaunchesPerHour = 1_000_000

// Prepared is an event with its trace for one seed, and what is known about the trace before any run.
type Prepared struct {
	Event Event
	Seed  uint64
	Trace trace.Trace
	// Statistics are those of the trace. Limits are lower bounds of the cost on it, once [Prepared.Limit] was called.
	Statistics statistics.Statistics
	Limits     limit.Bounds
	limited    bool
	// Recorded gives the records that a stepped function sees their bodies: see [sim.Options].
	Recorded bool
}

// Prepare makes the trace of an event for a seed and measures it.
func Prepare(e Event, seed uint64) (Prepared, error) {
	t, err := e.Trace(seed)
	if err != nil {
		return Prepared{}, err
	}
	p := Prepared{Event: e, Seed: seed, Trace: t}
	goal := statistics.Goal{Objective: e.Objective, Boot: e.World.Boot.Mean, Slots: max(1, e.World.Slots)}
	if p.Statistics, err = statistics.Measure(t, goal); err != nil {
		return Prepared{}, err
	}
	p.tell()
	return p, nil
}

// tell states the true means where the event asks for it.
func (p *Prepared) tell() {
	if p.Event.TellMean {
		p.Event.Prior = p.mean()
	}
	if p.Event.TellBoot {
		p.Event.BootPrior = max(time.Millisecond, p.Event.World.Boot.Average())
	}
}

// mean returns the mean of the trace's services.
func (p Prepared) mean() time.Duration {
	return time.Duration(p.Statistics.Service.MeanSeconds * float64(time.Second))
}

// Effort estimates how long a run on e takes, for progress displays. The unit is a second on some machine, so only the
// ratio to other events has a meaning.
func Effort(e Event, seed uint64) (float64, error) {
	p, err := Prepare(e, seed)
	if err != nil {
		return 0, err
	}
	// Measured with the events of the suite: the lower bounds, and each second of polls, each second of a busy worker's
	// reports, and each message.
	const limits, second, workerSecond, message = 0.1, 10e-6, 1e-6, 5e-6
	busy := 0.0
	if s := p.Statistics; s.Workers.Known {
		busy = s.Workers.Value
	}
	return limits + p.Statistics.DurationSeconds*(second+busy*workerSecond) + float64(p.Statistics.Messages)*message,
		nil
}

// problem returns the problem whose cost the lower bounds bound. The boot is the shortest that can be drawn.
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

// Schedule searches a cheap schedule of an oracle: see [limit.Oracle]. It takes seconds and holds the whole trace
// in memory.
func (p Prepared) Schedule() (limit.Schedule, error) {
	return limit.Oracle(p.problem(), limit.Prescient)
}

// Limit computes the lower bounds of the cost. Later runs have them in their results.
func (p *Prepared) Limit() error {
	f, err := limit.Read(p.problem())
	if err != nil {
		return err
	}
	p.Limits, err = limit.Strongest(f, 0)
	p.limited = err == nil
	return err
}

// Run runs one contender. stepped and progress may be nil. It ends early with the error of ctx.
func (p Prepared) Run(ctx context.Context, c Contender, stepped func(sim.View),
	progress func(time.Duration)) (scoring.Result, error) {
	return p.Watch(ctx, c, stepped, nil, progress)
}

// Watch is [Prepared.Run] that also calls finished for each message whose work succeeded; see [sim.Options].
func (p Prepared) Watch(ctx context.Context, c Contender, stepped func(sim.View),
	finished func(sent, finished time.Duration), progress func(time.Duration)) (scoring.Result, error) {
	settings, world, err := c.settings(p.Event, p.mean())
	if err != nil {
		return scoring.Result{}, err
	}
	r, err := sim.Run(sim.Options{
		Settings: settings, World: world, Trace: p.Trace, Seed: p.Seed, Stepped: stepped, Finished: finished,
		Recorded: p.Recorded,
		Progress: func(d time.Duration) error {
			if progress != nil {
				progress(d)
			}
			return ctx.Err()
		},
	})
	if err != nil {
		return scoring.Result{}, fmt.Errorf("%s on %s: %w", c.Name, p.Event.Name, err)
	}
	r.Policy, r.Trace = c.Name, p.Event.Name
	if p.limited {
		r.Bound, r.Method = p.Limits.Prescient.WorkerSeconds, p.Limits.Prescient.Method
		if r.Bound > 0 {
			r.Ratio = r.WorkerSeconds / r.Bound
		}
		r.BoundCausal, r.Unreachable = p.Limits.Causal.WorkerSeconds, p.Limits.Prescient.Unreachable
	}
	return r, nil
}
