package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/limit"
)

// arena makes runs, some at a time and each once: parts that need the same run share it. It may be used by several
// goroutines.
type arena struct {
	ctx context.Context
	// turns bounds how many runs are made at a time.
	turns  chan struct{}
	limits *limitFile
	// runs keeps those of peers, and peersPrint is the fingerprint of the code that plays them; empty while nothing may
	// be taken from there.
	runs       *store[sim.Result]
	peersPrint string

	lock     sync.Mutex
	events   map[place]func() (contest.Prepared, error)
	bounds   map[place]func() (limit.Bounds, error)
	outcomes map[match]func() (outcome, error)
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

// outcome is what a run came to.
type outcome struct {
	sim.Result
	// blindFalls counts decisions for a smaller size while a signal that must be known for that was unknown.
	blindFalls int
	// boundCausal is the least for those who may not launch before the first message; with it and Clairvoyant comes
	// Ratio.
	boundCausal float64
}

func newArena(ctx context.Context, parallel int, limits *limitFile, runs *store[sim.Result], log io.Writer) *arena {
	return &arena{
		ctx: ctx, turns: make(chan struct{}, parallel), limits: limits, runs: runs, log: log, said: time.Now(),
		events: map[place]func() (contest.Prepared, error){},
		bounds: map[place]func() (limit.Bounds, error){}, outcomes: map[match]func() (outcome, error){},
	}
}

func (a *arena) say(format string, args ...any) {
	a.lock.Lock()
	defer a.lock.Unlock()
	fmt.Fprintf(a.log, format+"\n", args...)
}

// ours is the policy under test, with nothing configured.
func ours() contest.Contender {
	return contest.Ours(policy.Spec{Name: policy.Default}, 0, 0)
}

// once returns the function kept for a key, which does its work at the first call; make makes it.
func once[K comparable, V any](a *arena, kept map[K]func() (V, error), key K, make func() (V, error)) func() (V,
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

// prepared makes and measures the trace of an event.
func (a *arena) prepared(e contest.Event, seed uint64) (contest.Prepared, error) {
	return once(a, a.events, place{e.Name, seed},
		func() (contest.Prepared, error) { return contest.Prepare(e, seed) })()
}

// turn waits for a turn; the function it returns gives it back.
func (a *arena) turn() (done func(), err error) {
	select {
	case a.turns <- struct{}{}:
		return func() { <-a.turns }, a.ctx.Err()
	case <-a.ctx.Done():
		return func() {}, a.ctx.Err()
	}
}

// bound returns what nobody can beat.
func (a *arena) bound(e contest.Event, seed uint64) (limit.Bounds, error) {
	return once(a, a.bounds, place{e.Name, seed}, func() (limit.Bounds, error) {
		p, err := a.prepared(e, seed)
		if err != nil {
			return limit.Bounds{}, err
		}
		done, err := a.turn()
		defer done()
		if err != nil {
			return limit.Bounds{}, err
		}
		return a.limits.of(p)
	})()
}

// run plays one contender.
func (a *arena) run(e contest.Event, c contest.Contender, seed uint64) (outcome, error) {
	key := match{place{e.Name, seed}, c.Name}
	if c.Setting != "" { // a name may hide the setting
		key.policy = fmt.Sprintf("%s=%g", c.With(c.Value).Name, c.Value)
	}
	return once(a, a.outcomes, key, func() (outcome, error) {
		p, err := a.prepared(e, seed)
		if err != nil {
			return outcome{}, err
		}
		if !c.Peer || a.peersPrint == "" {
			return a.simulate(p, c)
		}
		circumstances, err := circumstancesOf(p)
		if err != nil {
			return outcome{}, err
		}
		result, err := a.runs.get(fmt.Sprintf("%s %s %s %d %s %+v %+v %v %v %v", a.peersPrint, key.policy, e.Name, seed,
			circumstances, e.World, e.Limits, p.Event.Prior, e.BootPrior, e.Poll), func() (sim.Result, error) {
			o, err := a.simulate(p, c)
			return o.Result, err
		})
		return outcome{Result: result}, err
	})()
}

// simulate makes a run when it is its turn.
func (a *arena) simulate(p contest.Prepared, c contest.Contender) (o outcome, err error) {
	done, err := a.turn()
	defer done()
	if err != nil {
		return outcome{}, err
	}
	o.Result, err = p.Run(a.ctx, c, o.watch, nil)
	if a.count(c.Name + " on " + p.Event.Name) {
		if err := a.runs.write(); err != nil { // who stops a long run keeps what was played
			a.say("   what was played is not kept: %v", err)
		}
	}
	return o, err
}

// watch counts falls that nobody could be sure of.
func (o *outcome) watch(v sim.View) {
	d, seen := v.Outcome.Decision, v.Outcome.Observation
	if v.Outcome.Ready && d.Desired < d.Previous &&
		!(seen.Capacity.Known && seen.Backlog().Known && seen.InFlight().Known) {
		o.blindFalls++
	}
}

// count says now and then how far it is, and whether it said so.
func (a *arena) count(last string) bool {
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

// request asks for one run.
type request struct {
	event     contest.Event
	contender contest.Contender
	seed      uint64
}

// all makes the requested runs and returns the outcomes in the same order; withLimits compares them with the least
// cost.
func (a *arena) all(requests []request, withLimits bool) ([]outcome, error) {
	found := make([]outcome, len(requests))
	err := each(len(requests), func(i int) error {
		r := requests[i]
		o, err := a.run(r.event, r.contender, r.seed)
		if err == nil && withLimits {
			var b limit.Bounds
			b, err = a.bound(r.event, r.seed)
			o.Clairvoyant, o.Method, o.boundCausal = b.Prescient.WorkerSeconds, b.Prescient.Method,
				b.Causal.WorkerSeconds
			if o.Clairvoyant > 0 {
				o.Ratio = o.WorkerSeconds / o.Clairvoyant
			}
		}
		o.Policy = r.contender.Name
		found[i] = o
		return err
	})
	return found, err
}

// each calls f for 0 to n-1, all at once, and returns the first error in that order.
func each(n int, f func(i int) error) error {
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

// over asks for a contender on an event with each seed.
func over(e contest.Event, c contest.Contender, seeds []uint64) []request {
	var all []request
	for _, seed := range seeds {
		all = append(all, request{e, c, seed})
	}
	return all
}

// figure sums up the runs of one contender on one event.
type figure struct {
	contest.Row
	// blindFalls and broken count over all runs what must never be: falls while a signal is unknown, and promises that
	// the simulator found broken.
	blindFalls, broken int
}

// figures plays each of the requested events and contenders with each seed and sums up.
func (a *arena) figures(pairs []request, seeds []uint64, withLimits bool) ([]figure, [][]outcome, error) {
	var requests []request
	for _, p := range pairs {
		requests = append(requests, over(p.event, p.contender, seeds)...)
	}
	found, err := a.all(requests, withLimits)
	if err != nil {
		return nil, nil, err
	}
	var all []figure
	var runs [][]outcome
	for i := range pairs {
		mine := found[i*len(seeds) : (i+1)*len(seeds)]
		all, runs = append(all, sum(mine)), append(runs, mine)
	}
	return all, runs, nil
}

func sum(runs []outcome) figure {
	var f figure
	var results []sim.Result
	for _, o := range runs {
		f.blindFalls += o.blindFalls
		f.broken += len(o.Faults)
		results = append(results, o.Result)
	}
	f.Row = contest.Rows(results)[0]
	return f
}
