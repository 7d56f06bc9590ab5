package contest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/muster-scale/muster/sim"
	"github.com/muster-scale/muster/sim/scoring"
)

// Plan is a contest: every contender on every event with every seed.
type Plan struct {
	Events     []Event
	Contenders []Contender
	Seeds      []uint64
	// Told names the contenders to which the true mean duration and boot time are stated, whatever the events state.
	Told []string
	// Limits tells whether lower bounds of the cost are computed for each event and seed.
	Limits bool
	// Parallel is how many runs are made at a time, at least 1. The results do not depend on it.
	Parallel int
	// Done is called after each run with the number of runs that are done; it may be nil. Calls do not overlap.
	Done func(done, of int)
	// Stepped returns the function that observes a run ([sim.Options.Stepped]). It may be nil, and may return nil.
	Stepped func(Event, Contender, uint64) func(sim.View)
}

// Play makes every run and returns the results, ordered by event, then seed, then contender. The first error ends it.
func Play(ctx context.Context, p Plan) ([]scoring.Result, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	of := len(p.Events) * len(p.Seeds) * len(p.Contenders)
	results := make([]scoring.Result, of)
	var lock sync.Mutex
	done := 0
	work := make(chan func())
	var all sync.WaitGroup
	for range max(1, p.Parallel) {
		all.Go(func() {
			for f := range work {
				f()
			}
		})
	}
	for i, e := range p.Events {
		for j, seed := range p.Seeds {
			// The trace of an event and seed is made once, by the first run that needs it.
			prepared := sync.OnceValues(func() (Prepared, error) {
				x, err := Prepare(e, seed)
				if err == nil && p.Limits {
					err = x.Limit()
				}
				return x, err
			})
			for k, c := range p.Contenders {
				at := (i*len(p.Seeds)+j)*len(p.Contenders) + k
				work <- func() {
					if ctx.Err() != nil {
						return
					}
					x, err := prepared()
					if err == nil {
						if slices.Contains(p.Told, c.Name) {
							x.Event = Told(x.Event)
							x.tell()
						}
						var stepped func(sim.View)
						if p.Stepped != nil {
							stepped = p.Stepped(e, c, seed)
						}
						results[at], err = x.Run(ctx, c, stepped, nil)
					}
					lock.Lock()
					defer lock.Unlock()
					if err != nil {
						stop(err)
						return
					}
					if done++; p.Done != nil {
						p.Done(done, of)
					}
				}
			}
		}
	}
	close(work)
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return results, nil
}

// NeedsMean tells whether c is a policy of ours that cannot run unless a mean processing duration is stated.
func (c Contender) NeedsMean() bool { return !c.Peer && c.spec.Check() != nil }

// Row holds the means of the runs of one contender on one event over its seeds, unless a field says otherwise.
type Row struct {
	Event, Policy string
	Runs          int
	// InTimeLeast is the smallest share in time, InTimeMean the mean. RatioMean and RatioMost are multiples of the
	// lower bound.
	InTimeLeast, InTimeMean float64
	RatioMean, RatioMost    float64
	WorkerSeconds, Loss     float64
	P50, P95, P99           float64
	PeakWorkers, Launches   float64
	LaunchesPerHour         float64
	ScaleEvents, Reversals  float64
	Messages                float64
	// Bound is the lower bound, and BoundCausal that for schedules that launch nothing before the first message.
	Bound, BoundCausal float64
	// Unreachable counts the runs whose objective no schedule at all meets. Their lower bound is that of the work.
	Unreachable int
	Faults      int
}

// Rows sums up results by event and policy, in the order in which they first appear.
func Rows(results []scoring.Result) []Row {
	var rows []Row
	at := map[[2]string]int{}
	for _, r := range results {
		key := [2]string{r.Trace, r.Policy}
		i, ok := at[key]
		if !ok {
			i = len(rows)
			at[key] = i
			rows = append(rows, Row{Event: r.Trace, Policy: r.Policy, InTimeLeast: 1})
		}
		rows[i].add(r)
	}
	for i := range rows {
		rows[i].mean()
	}
	return rows
}

// add adds a run to the sums of the row.
func (x *Row) add(r scoring.Result) {
	x.Runs++
	x.InTimeLeast = min(x.InTimeLeast, r.InTimeRatio)
	x.InTimeMean += r.InTimeRatio
	x.RatioMean += r.Ratio
	x.RatioMost = max(x.RatioMost, r.Ratio)
	x.WorkerSeconds += r.WorkerSeconds
	x.Loss += r.Loss
	x.P50, x.P95, x.P99 = x.P50+r.P50, x.P95+r.P95, x.P99+r.P99
	x.PeakWorkers += float64(r.PeakWorkers)
	x.Launches += float64(r.Launches)
	x.LaunchesPerHour += r.LaunchesPerHour
	x.ScaleEvents += float64(r.ScaleEvents)
	x.Reversals += float64(r.Reversals)
	x.Messages += float64(r.Messages)
	x.Bound += r.Bound
	x.BoundCausal += r.BoundCausal
	if r.Unreachable {
		x.Unreachable++
	}
	x.Faults += len(r.Faults)
}

// mean turns the sums into means.
func (x *Row) mean() {
	n := float64(x.Runs)
	for _, v := range []*float64{&x.InTimeMean, &x.RatioMean, &x.WorkerSeconds, &x.Loss, &x.P50, &x.P95, &x.P99,
		&x.PeakWorkers, &x.Launches, &x.LaunchesPerHour, &x.ScaleEvents, &x.Reversals, &x.Messages, &x.Bound,
		&x.BoundCausal} {
		*v /= n
	}
}

// Hindsight tunes each other autoscaler that has a main setting: to the cheapest value that meets the objective on the
// event, over the given seeds, or where none does, to the value with the most messages in time. It returns the tuned
// contenders, whose names end in a star. tried is called after each run.
func Hindsight(ctx context.Context, e Event, contenders []Contender, seeds []uint64, parallel int,
	tried func(done, of int)) ([]Contender, error) {
	var all []Contender
	for _, c := range contenders {
		for _, v := range c.Sweep {
			all = append(all, c.With(v))
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	results, err := Play(ctx, Plan{Events: []Event{e}, Contenders: all, Seeds: seeds, Parallel: parallel, Done: tried})
	if err != nil {
		return nil, err
	}
	rows := Rows(results)
	var tuned []Contender
	next := 0
	for _, c := range contenders {
		if len(c.Sweep) == 0 {
			continue
		}
		best := rows[next]
		value := c.Sweep[0]
		for k := range c.Sweep {
			if x := rows[next+k]; better(x, best, e.Objective.Quantile) {
				best, value = x, c.Sweep[k]
			}
		}
		next += len(c.Sweep)
		t := c.With(value)
		t.Name = c.base + "*"
		t.What = tunedAs(c, value)
		tuned = append(tuned, t)
	}
	return tuned, nil
}

// better tells whether the runs of row a are a better choice than those of row b, for an objective of the given share.
func better(a, b Row, quantile float64) bool {
	keepsA, keepsB := a.InTimeMean >= quantile, b.InTimeMean >= quantile
	switch {
	case keepsA != keepsB:
		return keepsA
	case keepsA:
		return a.WorkerSeconds < b.WorkerSeconds
	}
	return a.InTimeMean > b.InTimeMean
}

// tunedAs describes a tuned contender.
func tunedAs(c Contender, value float64) string {
	return fmt.Sprintf("%s with %s %g, the best in hindsight", c.base, c.Setting, value)
}
