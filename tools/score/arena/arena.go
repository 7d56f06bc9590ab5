package arena

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/limit"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/tools/score/report"
)

// Arena makes runs, some at a time and each once: parts that need the same run share it. It may be used by several
// goroutines.
type Arena struct {
	ctx context.Context
	// turns bounds how many runs are made at a time.
	turns chan struct{}
	// Limits has the lower bounds.
	Limits *Limits
	// Runs keeps those of peers, and PeersPrint is the fingerprint of the code that plays them; empty while nothing may
	// be taken from there.
	Runs       *Store[scoring.Result]
	PeersPrint string

	// lock guards all fields below. The functions in the maps do their work at the first call, outside the lock.
	lock     sync.Mutex
	events   map[place]func() (contest.Prepared, error)
	bounds   map[place]func() (limit.Bounds, error)
	outcomes map[match]func() (Outcome, error)
	made     int
	said     time.Time
	log      io.Writer
}

// place is an event with a seed; the name of an event stands for all its circumstances.
type place struct {
	event string
	seed  uint64
}

// match is one contender at a place.
type match struct {
	place
	policy string
}

// Outcome is the result of a run, compared with the lower bounds if the request asked for them.
type Outcome struct {
	scoring.Result
	// blindFalls counts decisions for a smaller size while a signal that must be known for that was unknown.
	blindFalls int
	// BoundCausal is the least for those who may not launch before the first message; with it and Bound comes
	// Ratio.
	BoundCausal float64
}

// New makes an arena that makes parallel runs at a time. It stops with ctx and writes its progress to log.
func New(ctx context.Context, parallel int, limits *Limits, runs *Store[scoring.Result], log io.Writer) *Arena {
	return &Arena{
		ctx: ctx, turns: make(chan struct{}, parallel), Limits: limits, Runs: runs, log: log, said: time.Now(),
		events: map[place]func() (contest.Prepared, error){},
		bounds: map[place]func() (limit.Bounds, error){}, outcomes: map[match]func() (Outcome, error){},
	}
}

// Say writes a line to the log.
func (a *Arena) Say(format string, args ...any) {
	a.lock.Lock()
	defer a.lock.Unlock()
	fmt.Fprintf(a.log, format+"\n", args...)
}

// Ours is the policy under test in its default configuration.
func Ours() contest.Contender {
	return contest.Ours(policy.Spec{Name: policy.Default}, 0, 0)
}

// once returns the function that is kept for a key, and keeps make if there is none. The returned function does its
// work at its first call; further calls wait for that and get the same result.
func once[K comparable, V any](a *Arena, kept map[K]func() (V, error), key K, make func() (V, error)) func() (V,
	error) {
	a.lock.Lock()
	defer a.lock.Unlock()
	f, ok := kept[key]
	if !ok {
		f = sync.OnceValues(make)
		kept[key] = f
	}
	return f
}

// Prepared makes and measures the trace of an event.
func (a *Arena) Prepared(e contest.Event, seed uint64) (contest.Prepared, error) {
	return once(a, a.events, place{e.Name, seed},
		func() (contest.Prepared, error) { return contest.Prepare(e, seed) })()
}

// Turn waits until fewer runs than allowed are under way. Call done after the run, also after an error.
func (a *Arena) Turn() (done func(), err error) {
	select {
	case a.turns <- struct{}{}:
		return func() { <-a.turns }, a.ctx.Err()
	case <-a.ctx.Done():
		return func() {}, a.ctx.Err()
	}
}

// bound returns the lower bounds of the cost of an event.
func (a *Arena) bound(e contest.Event, seed uint64) (limit.Bounds, error) {
	return once(a, a.bounds, place{e.Name, seed}, func() (limit.Bounds, error) {
		p, err := a.Prepared(e, seed)
		if err != nil {
			return limit.Bounds{}, err
		}
		done, err := a.Turn()
		defer done()
		if err != nil {
			return limit.Bounds{}, err
		}
		return a.Limits.Of(p)
	})()
}

// Run plays one contender on an event with a seed, once for all callers. Runs of peers are taken from the store, under
// a key with everything that they depend on.
func (a *Arena) Run(e contest.Event, c contest.Contender, seed uint64) (Outcome, error) {
	key := match{place{e.Name, seed}, c.Name}
	if c.Setting != "" { // a name may hide the setting
		key.policy = fmt.Sprintf("%s=%g", c.With(c.Value).Name, c.Value)
	}
	return once(a, a.outcomes, key, func() (Outcome, error) {
		p, err := a.Prepared(e, seed)
		if err != nil {
			return Outcome{}, err
		}
		if !c.Peer || a.PeersPrint == "" {
			return a.simulate(p, c)
		}
		circumstances, err := CircumstancesOf(p)
		if err != nil {
			return Outcome{}, err
		}
		result, err := a.Runs.Get(fmt.Sprintf("%s %s %s %d %s %+v %+v %v %v %v", a.PeersPrint, key.policy, e.Name, seed,
			circumstances, e.World, e.Limits, p.Event.Prior, e.BootPrior, e.Poll), func() (scoring.Result, error) {
			o, err := a.simulate(p, c)
			return o.Result, err
		})
		return Outcome{Result: result}, err
	})()
}

// simulate makes a run when it is its turn.
func (a *Arena) simulate(p contest.Prepared, c contest.Contender) (o Outcome, err error) {
	done, err := a.Turn()
	defer done()
	if err != nil {
		return Outcome{}, err
	}
	o.Result, err = p.Run(a.ctx, c, o.watch, nil)
	if a.Count(c.Name + " on " + p.Event.Name) {
		if err := a.Runs.Write(); err != nil { // who stops a long run keeps what was played
			a.Say("   what was played is not kept: %v", err)
		}
	}
	return o, err
}

// watch counts decreases that were decided while a required signal was unknown.
func (o *Outcome) watch(v sim.View) {
	d, seen := v.Outcome.Decision, v.Outcome.Observation
	if v.Outcome.Ready && d.Desired < d.Previous &&
		!(seen.Capacity.Known && seen.Backlog().Known && seen.InFlight().Known) {
		o.blindFalls++
	}
}

// Count counts a run. Every 20 s it writes its progress and returns true: a time to write caches, too.
func (a *Arena) Count(last string) bool {
	a.lock.Lock()
	defer a.lock.Unlock()
	a.made++
	if now := time.Now(); now.Sub(a.said) >= 20*time.Second {
		a.said = now
		fmt.Fprintf(a.log, "   %d runs made, the last: %s\n", a.made, last)
		return true
	}
	return false
}

// Request asks for one run.
type Request struct {
	Event     contest.Event
	Contender contest.Contender
	Seed      uint64
}

// All makes the requested runs and returns their outcomes in the same order. withLimits compares each with the lower
// bounds of its event.
func (a *Arena) All(requests []Request, withLimits bool) ([]Outcome, error) {
	found := make([]Outcome, len(requests))
	err := Each(len(requests), func(i int) error {
		r := requests[i]
		o, err := a.Run(r.Event, r.Contender, r.Seed)
		if err == nil && withLimits {
			var b limit.Bounds
			b, err = a.bound(r.Event, r.Seed)
			o.Bound, o.Method, o.BoundCausal = b.Prescient.WorkerSeconds, b.Prescient.Method,
				b.Causal.WorkerSeconds
			if o.Bound > 0 {
				o.Ratio = o.WorkerSeconds / o.Bound
			}
		}
		o.Policy = r.Contender.Name
		found[i] = o
		return err
	})
	return found, err
}

// Each calls f for 0 to n-1 in goroutines of their own, waits for all, and returns the error of the smallest index. The
// number of runs at a time is bounded by turns, not here.
func Each(n int, f func(i int) error) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = f(i) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// over returns the requests for a contender on an event with each seed.
func over(e contest.Event, c contest.Contender, seeds []uint64) []Request {
	var all []Request
	for _, seed := range seeds {
		all = append(all, Request{e, c, seed})
	}
	return all
}

// Figure is the sum of the runs of one contender on one event, over the seeds.
type Figure struct {
	contest.Row
	// BlindFalls and broken count over all runs what must never be: falls while a signal is unknown, and promises that
	// the simulator found broken.
	BlindFalls, broken int
}

// Figures plays each pair of event and contender with each seed. It returns the sums, and the single runs by pair and
// seed.
func (a *Arena) Figures(pairs []Request, seeds []uint64, withLimits bool) ([]Figure, [][]Outcome, error) {
	var requests []Request
	for _, p := range pairs {
		requests = append(requests, over(p.Event, p.Contender, seeds)...)
	}
	found, err := a.All(requests, withLimits)
	if err != nil {
		return nil, nil, err
	}
	var all []Figure
	var runs [][]Outcome
	for i := range pairs {
		mine := found[i*len(seeds) : (i+1)*len(seeds)]
		all, runs = append(all, Sum(mine)), append(runs, mine)
	}
	return all, runs, nil
}

// Sum sums up the runs of one contender on one event.
func Sum(runs []Outcome) Figure {
	var f Figure
	var results []scoring.Result
	for _, o := range runs {
		f.BlindFalls += o.blindFalls
		f.broken += len(o.Faults)
		results = append(results, o.Result)
	}
	f.Row = contest.Rows(results)[0]
	return f
}

// Alike plays the policy on events whose traces are those of runs that were made before with the same seeds, and takes
// the lower bounds from there.
func (a *Arena) Alike(events []contest.Event, seeds []uint64, before [][]Outcome) ([]Figure, [][]Outcome, error) {
	var pairs []Request
	for _, e := range events {
		pairs = append(pairs, Request{Event: e, Contender: Ours()})
	}
	_, runs, err := a.Figures(pairs, seeds, false)
	if err != nil {
		return nil, nil, err
	}
	var all []Figure
	for i := range runs {
		for k := range runs[i] {
			o, b := &runs[i][k], before[i][k]
			o.Bound, o.Method, o.BoundCausal = b.Bound, b.Method, b.BoundCausal
			if o.Bound > 0 {
				o.Ratio = o.WorkerSeconds / o.Bound
			}
		}
		all = append(all, Sum(runs[i]))
	}
	return all, runs, nil
}

// BrokenPromises returns a missed goal if the simulator found a broken promise in any run, such as a lost message: then
// no figure means anything. It returns none otherwise.
func BrokenPromises(all []Figure) []report.Goal {
	for _, f := range all {
		if f.broken > 0 {
			return []report.Goal{report.Judged("promises that the simulator checks", "none broken",
				fmt.Sprintf("%d broken", f.broken), []string{f.Event + ": run it with `muster simulate` to see which"})}
		}
	}
	return nil
}

// Described names a peer with its setting.
func Described(c contest.Contender) string {
	if c.Setting == "" {
		return c.Name
	}
	return fmt.Sprintf("%s, %s %g", c.With(c.Value).Name, c.Setting, c.Value)
}

// Keep writes the caches.
func (a *Arena) Keep() error { return errors.Join(a.Limits.Write(), a.Runs.Write()) }
