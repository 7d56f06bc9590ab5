package comparison

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/muster-scale/muster/internal/terminal"
	"github.com/muster-scale/muster/sim"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/report"
	"github.com/muster-scale/muster/sim/scoring"
)

// Comparison says what is played. Its zero fields switch their part off.
type Comparison struct {
	Events     []contest.Event
	Contenders []contest.Contender
	Seeds      []uint64
	// Told names the contenders to which the true durations are stated.
	Told []string
	// Sweep adds each other autoscaler with its main setting tuned in hindsight. Limits computes lower bounds of the
	// cost.
	Sweep, Limits bool
	// Record keeps the curves of the first seed of each policy.
	Record bool
	// Parallel is how many runs are made at a time, at least 1.
	Parallel int
	// Progress displays how many runs are done.
	Progress io.Writer
}

// Play makes the runs, event by event. It returns their results and, with Record, their curves.
func (c Comparison) Play(ctx context.Context) ([]scoring.Result, []report.Run, error) {
	var results []scoring.Result
	var runs []report.Run
	efforts, err := c.efforts()
	if err != nil {
		return nil, nil, err
	}
	stages := terminal.NewStages(efforts)
	for i, e := range c.Events {
		field := c.Contenders
		if c.Sweep {
			tuned, err := c.tune(ctx, e)
			if err != nil {
				return nil, nil, err
			}
			field = slices.Concat(c.Contenders, tuned)
		}
		what := fmt.Sprintf("runs on %s (%d of %d):", e.Name, i+1, len(c.Events))
		bar := terminal.NewProgress(c.Progress, what, len(field)*len(c.Seeds))
		bar.Left = stages.After(i, bar.Total)
		watch, recorded := c.watch(e)
		found, err := contest.Play(ctx, contest.Plan{
			Events: []contest.Event{e}, Contenders: field, Seeds: c.Seeds, Told: c.Told, Limits: c.Limits,
			Parallel: c.Parallel,
			Done:     func(done, _ int) { bar.At(done) }, Stepped: watch,
		})
		bar.Done()
		if err != nil {
			return nil, nil, err
		}
		results = append(results, found...)
		runs = append(runs, recorded(found)...)
	}
	return results, runs, nil
}

// efforts estimates the work of each event's runs, for the progress display.
func (c Comparison) efforts() ([]float64, error) {
	if len(c.Events) == 1 {
		return []float64{1}, nil // with one event there is nothing to weigh
	}
	var all []float64
	for _, e := range c.Events {
		effort, err := contest.Effort(e, c.Seeds[0])
		if err != nil {
			return nil, err
		}
		all = append(all, effort)
	}
	return all, nil
}

// watch returns two functions: one that attaches recorders to the first seed of each policy, and one that returns the
// recorded curves together with the results.
func (c Comparison) watch(e contest.Event) (
	func(contest.Event, contest.Contender, uint64) func(sim.View), func([]scoring.Result) []report.Run,
) {
	if !c.Record {
		return nil, func([]scoring.Result) []report.Run { return nil }
	}
	var lock sync.Mutex
	recorders := map[string]*report.Recorder{}
	watch := func(_ contest.Event, who contest.Contender, seed uint64) func(sim.View) {
		if seed != c.Seeds[0] {
			return nil
		}
		r := report.NewRecorder(e.Objective)
		lock.Lock()
		defer lock.Unlock()
		recorders[who.Name] = r
		return r.Stepped
	}
	return watch, func(results []scoring.Result) (runs []report.Run) {
		for _, r := range results {
			if recorder := recorders[r.Policy]; recorder != nil && r.Seed == c.Seeds[0] {
				runs = append(runs, recorder.Run(r))
			}
		}
		return runs
	}
}

// designSeeds returns the seeds on which settings are tuned.
func designSeeds() []uint64 { return []uint64{1, 2, 3, 4, 5} }

// tune returns the contenders with a main setting, each with the value that would have been best on the event.
func (c Comparison) tune(ctx context.Context, e contest.Event) ([]contest.Contender, error) {
	total := 0
	for _, x := range c.Contenders {
		total += len(x.Sweep) * len(designSeeds())
	}
	bar := terminal.NewProgress(c.Progress, "settings tried on "+e.Name+":", total)
	defer bar.Done()
	tried := func(done, _ int) { bar.At(done) }
	return contest.Hindsight(ctx, e, c.Contenders, designSeeds(), c.Parallel, tried)
}

// Informed returns the contenders for events like e, and the names of those to which the true durations are stated.
// Each policy of ours gets a second run with the true durations; with once it does not. A contender that cannot run
// with what is stated is left out. That is an error when it was named and has no second run.
func Informed(contenders []contest.Contender, e contest.Event, once, named bool) (
	all []contest.Contender, told []string, err error,
) {
	for _, x := range contenders {
		err := x.Runnable(e)
		if err == nil {
			all = append(all, x)
		} else if once && named {
			return nil, nil, err
		}
		if x.Peer || once {
			continue
		}
		x.Name += " (told)"
		told, all = append(told, x.Name), append(all, x)
	}
	return all, told, nil
}
