package advise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/muster-scale/muster/advice"
	"github.com/muster-scale/muster/app/simulation"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/terminal"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/trace/recorded"
)

const (
	// maxReplayed bounds the messages of a replay: a run takes some ten microseconds for each.
	maxReplayed = 100_000
	// leastReplayed is how many messages a replay needs to say something.
	leastReplayed = 10
	// seed is that of all runs, so that the same history gives the same output.
	seed = 1
)

// simulated makes the runs of one fleet.
type simulated struct {
	fleet config.Fleet
	// boot is the measured boot time; zero for the stated one.
	boot     time.Duration
	start    time.Time
	length   time.Duration
	trace    trace.Trace
	progress io.Writer
}

// effects simulates each change that can be, and notes in found what was replayed. Only the end of ctx and a history
// that cannot be read are errors: what cannot be simulated says why.
func (s *simulated) effects(ctx context.Context, h reader, w recorded.Window, all []Advised, found *Found) error {
	var runs []int
	for i := range all {
		if all[i].NotSimulated = unsimulated(all[i].Advice); all[i].NotSimulated == "" {
			runs = append(runs, i)
		}
	}
	if len(runs) == 0 {
		return nil
	}
	w, err := recorded.Newest(ctx, h, w.Trimmed(), maxReplayed)
	if err != nil {
		return err
	}
	missing, err := s.prepare(w)
	if err != nil {
		for _, i := range runs {
			all[i].NotSimulated = err.Error()
		}
		return nil
	}
	found.Replayed = w.Notes()
	for _, what := range missing {
		found.Replayed = append(found.Replayed, "not simulated: "+what)
	}
	bar := terminal.NewProgress(s.progress, "runs of what was recorded:", len(runs)+2)
	defer bar.Done()
	before, err := s.run(ctx, s.fleet)
	done, together := 1, s.fleet
	for _, i := range runs {
		bar.At(done)
		done++
		if err != nil {
			all[i].NotSimulated = err.Error()
			continue
		}
		changed := apply(s.fleet, all[i].Advice)
		after, failed := s.run(ctx, changed)
		if failed != nil {
			all[i].NotSimulated = failed.Error()
			continue
		}
		all[i].Effect = &Change{before, after}
		if advice.Effects(before, after, s.fleet.Objective.Quantile) {
			together = apply(together, all[i].Advice)
		}
	}
	if err == nil && worth(all, s.fleet.Objective.Quantile) > 1 {
		if after, failed := s.run(ctx, together); failed == nil {
			found.Together = &Change{before, after}
		}
	}
	return ctx.Err()
}

// worth counts the simulated changes that are worth making.
func worth(all []Advised, quantile float64) (n int) {
	for _, a := range all {
		if a.Effect != nil && advice.Effects(a.Effect.Before, a.Effect.After, quantile) {
			n++
		}
	}
	return n
}

// unsimulated returns why the simulation cannot show the effect of a change; empty if it can.
func unsimulated(a advice.Advice) string {
	switch a.Key {
	case advice.Members:
		return "how much sooner or later members of another size finish is not measured; try one of them, and advise " +
			"again"
	case advice.Visibility:
		return "no worker is lost in a replay, and workers extend the timeout"
	case advice.QueueRetention:
		return "a replay keeps every message"
	case advice.Slots:
		if a.Rule == advice.RuleSlots {
			return "the workers have these slots already, and the replay uses them; only launches change"
		}
		if a.Rule == "memory" {
			return "a replay has no memory that runs out"
		}
		if old, err := strconv.Atoi(a.Old); err != nil || a.Whole < old {
			return "how much sooner a call finishes with fewer of them beside it is not measured"
		}
	case advice.Max:
		if a.Rule == "processor time" {
			return "how much sooner a call finishes with fewer of them beside it is not measured"
		}
	}
	return ""
}

// apply returns the fleet with an advice followed. The fleet itself is not changed.
func apply(f config.Fleet, a advice.Advice) config.Fleet {
	switch a.Key {
	case advice.Slots:
		f.Workers.Slots = a.Whole
	case advice.Boot:
		f.Workers.Boot = a.Duration
	case advice.Processing:
		f.Policy.Processing = a.Duration
	case advice.Latency:
		f.Objective.Latency = a.Duration
	case advice.Max:
		f.Limits.Max = a.Whole
	case advice.Min:
		f.Limits.Min = a.Whole
	}
	return f
}

// prepare makes the trace. missing says what the simulation leaves out.
func (s *simulated) prepare(w recorded.Window) (missing []string, err error) {
	if w.Messages < leastReplayed {
		return nil, fmt.Errorf("%d messages were recorded, a replay needs %d", w.Messages, leastReplayed)
	}
	s.trace, err = w.Trace(recorded.Options{Seed: seed, Mean: s.fleet.Policy.Processing})
	if err != nil {
		return nil, err
	}
	s.start, s.length = w.From, w.To.Sub(w.From)
	_, _, missing, err = simulation.OfFleet(s.fleet, s.trace, simulation.Circumstances{})
	return missing, err
}

// run replays the trace under a fleet.
func (s *simulated) run(ctx context.Context, f config.Fleet) (advice.Effect, error) {
	e, who, _, err := simulation.OfFleet(f, s.trace, simulation.Circumstances{Start: s.start, Boot: s.boot})
	if err != nil {
		return advice.Effect{}, err
	}
	// A fleet is paid for in the window, as in a replay.
	e.World.Length, e.World.Tail = s.length, time.Nanosecond
	p, err := contest.Prepare(e, seed)
	if err != nil {
		return advice.Effect{}, err
	}
	if err := who.Runnable(p.Event); err != nil {
		return advice.Effect{}, errors.Join(errors.New("the policy cannot run in a replay"), err)
	}
	r, err := p.Run(ctx, who, nil, nil)
	if err == nil {
		err = contest.Broken([]scoring.Result{r})
	}
	if err != nil {
		return advice.Effect{}, err
	}
	x := advice.Effect{InTime: shorter(r.InTimeRatio), WorkerHours: shorter(r.WorkerSeconds / 3600)}
	if f.Policy.PricePerHour > 0 {
		x.Cost = shorter(r.Cost)
	}
	return x, nil
}
