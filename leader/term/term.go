// Package term drives the state machine of package leader in real time: it owns the clock, the goroutines and the calls
// to the store.
//
//	t := term.New(term.Options{Store: store, Name: host, Fleets: names, Lead: lead, Yield: yield, Logger: logger})
//	err := t.Run(ctx)       // until ctx ends; then all fleets are handed over
//
// Lead hands over a [Right] for each fleet, which is asked before each call that acts, and while one is under way.
//
// Each call to the store has a goroutine and a time limit of its own, so that a store that hangs costs a lease and not
// the process.
//
// Time is that of the process's monotonic clock, and the time that the machine was suspended, which that clock leaves
// out: other machines counted it, and may have taken the fleets over.
//
// The package decides nothing: [leader.Machine] does.
package term

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/leader"
)

// handover bounds how long Run waits at its end until all fleets are handed over. Others take them after a lease in any
// case.
const handover = 15 * time.Second

// hangs is how long after its time limit a call to the store is waited for.
const hangs = 100 * time.Millisecond

// Options configure a [Term]. All fields but Timing and Suspended are required.
type Options struct {
	Store leader.Store
	// Name tells people which controller this is.
	Name string
	// Timing is that of all controllers of the store; zero means the default.
	Timing leader.Timing
	// Fleets are the fleets that this controller may lead.
	Fleets []string
	// Lead is called when this controller leads a fleet from now on, and must return soon. The function right returns
	// the time until which calls may act for the fleet; ok is false from the moment on that it must yield, and after it
	// for good.
	Lead func(fleet string, right Right)
	// Yield is called, in a goroutine of its own, when this controller must stop acting for a fleet. It returns when
	// nothing acts for it any more.
	Yield  func(fleet string)
	Logger *slog.Logger
	// Suspended returns how long the machine has been suspended since some time in the past; nil asks the system.
	Suspended func() time.Duration
}

// Right tells until when calls may act for a fleet, with a monotonic reading; ok is false if they may not.
type Right func() (until time.Time, ok bool)

// Term is a controller's part in sharing fleets. Its methods may be called from any goroutine; Run is called once.
type Term struct {
	o       Options
	started time.Time
	slept   atomic.Int64 // the highest result of Suspended, in nanoseconds
	before  int64        // slept when the Term was made
	inputs  chan leader.Input
	over    chan struct{} // closed when Run takes no more inputs
	calls   sync.WaitGroup
	until   atomic.Int64 // in nanoseconds since started; negative for no time

	mu      sync.Mutex
	machine *leader.Machine // stepped by Run alone, under mu
	yielded map[string]*atomic.Bool
	failing error     // the last failure of the store; nil after a success
	since   time.Time // of failing
}

// New returns a Term that does nothing until [Term.Run].
func New(o Options) *Term {
	if o.Timing == (leader.Timing{}) {
		o.Timing = leader.DefaultTiming()
	}
	if o.Suspended == nil {
		o.Suspended = host.Suspended
	}
	t := &Term{o: o, started: time.Now(), inputs: make(chan leader.Input), over: make(chan struct{}),
		yielded: map[string]*atomic.Bool{},
		machine: leader.New(leader.Options{ID: rand.Text(), Name: o.Name, Timing: o.Timing, Fleets: o.Fleets})}
	t.until.Store(-1)
	t.elapsed()
	t.before = t.slept.Load()
	return t
}

// elapsed returns the time since the Term was made. It never falls, and no pause of process or machine is left out.
func (t *Term) elapsed() time.Duration {
	slept := int64(t.o.Suspended())
	for {
		known := t.slept.Load()
		if slept <= known {
			slept = known // two readings of the same time may differ
			break
		}
		if t.slept.CompareAndSwap(known, slept) {
			break
		}
	}
	return time.Since(t.started) + time.Duration(slept-t.before)
}

// lease returns the time until which calls may act for the fleets that this controller leads, with a monotonic reading.
// ok is false if there is no such time, or it has passed.
func (t *Term) lease() (until time.Time, ok bool) {
	at, now := time.Duration(t.until.Load()), t.elapsed()
	return time.Now().Add(at - now), at >= 0 && now < at
}

// Want replaces the fleets that this controller may lead.
func (t *Term) Want(fleets []string) { t.send(leader.Want{Fleets: fleets}) }

// Leader returns the name of the controller that leads a fleet, as far as is known, and whether it is this one.
func (t *Term) Leader(fleet string) (name string, own bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.machine.Leader(fleet)
}

// Controllers returns the names of all live controllers, sorted.
func (t *Term) Controllers() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.machine.Controllers()
}

// Failing returns why the store cannot be used, and since when; nil if it can.
func (t *Term) Failing() (error, time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failing, t.since
}

// Run takes part until ctx ends. Then it hands over all fleets, for at most 15 s, and returns.
func (t *Term) Run(ctx context.Context) {
	defer t.calls.Wait()
	defer close(t.over)
	timer := time.NewTimer(0)
	defer timer.Stop()
	quit := ctx.Done()
	var late <-chan time.Time
	for {
		var in leader.Input = leader.Tick{}
		select {
		case <-quit:
			in, quit = leader.Quit{}, nil
			late = time.After(handover)
		case in = <-t.inputs:
		case <-timer.C:
		case <-late:
			return
		}
		next, over := t.step(context.WithoutCancel(ctx), in)
		if over {
			return
		}
		timer.Reset(max(time.Millisecond, next))
	}
}

// step steps the machine, carries out its actions, and returns how long to wait for the next step.
func (t *Term) step(ctx context.Context, in leader.Input) (wait time.Duration, over bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.elapsed()
	actions := t.machine.Step(now, in)
	t.until.Store(int64(t.machine.Until()))
	for _, a := range actions {
		t.carryOut(ctx, a)
	}
	return t.machine.Next() - now, t.machine.Over()
}

// carryOut begins an action.
func (t *Term) carryOut(ctx context.Context, action leader.Action) {
	switch a := action.(type) {
	case leader.Beat:
		t.write(ctx, func(ctx context.Context) error { return t.o.Store.Beat(ctx, a.Session) },
			func(err error) leader.Input { return leader.Beaten{Session: a.Session, Err: t.noted(err)} })
	case leader.Read:
		call(ctx, t, func(ctx context.Context) (leader.Board, error) { return t.o.Store.Read(ctx, a.Claims) },
			func(b leader.Board, err error) leader.Input { return leader.Found{Board: b, Err: err} })
	case leader.Evict:
		t.write(ctx, func(ctx context.Context) error { return t.o.Store.Evict(ctx, a.Session) },
			func(err error) leader.Input { return leader.Evicted{Session: a.Session, Err: err} })
	case leader.Take:
		t.write(ctx, func(ctx context.Context) error { return t.o.Store.Take(ctx, a.Fleet, a.Was, a.To) },
			func(err error) leader.Input { return leader.Took{Take: a, Err: err} })
	case leader.Lead:
		over := &atomic.Bool{}
		t.yielded[a.Fleet] = over
		t.o.Lead(a.Fleet, func() (time.Time, bool) {
			until, ok := t.lease()
			return until, ok && !over.Load()
		})
	case leader.Yield:
		// At once, within the step: a new session must not give back the right of the one before.
		t.yielded[a.Fleet].Store(true)
		delete(t.yielded, a.Fleet)
		t.calls.Go(func() {
			t.o.Yield(a.Fleet)
			t.send(leader.Yielded{Fleet: a.Fleet})
		})
	}
}

// write makes a call to the store that returns an error alone.
func (t *Term) write(ctx context.Context, do func(context.Context) error, answer func(error) leader.Input) {
	call(ctx, t, func(ctx context.Context) (struct{}, error) { return struct{}{}, do(ctx) },
		func(_ struct{}, err error) leader.Input { return answer(err) })
}

// call makes a call to the store in a goroutine, and passes its answer to Run. It is bounded by half a lease, also if
// the store's client does not return by then: that of PostgreSQL waits for a server that is silent. What such a call
// still does is like that of one whose answer was lost.
func call[T any](ctx context.Context, t *Term, do func(context.Context) (T, error),
	answer func(T, error) leader.Input) {
	type result struct {
		found T
		err   error
	}
	t.calls.Go(func() {
		limited, stop := context.WithTimeout(ctx, t.o.Timing.Lease/2)
		done := make(chan result, 1)
		go func() {
			defer stop()
			found, err := do(limited)
			done <- result{found, err}
		}()
		var r result
		select {
		case r = <-done:
		case <-limited.Done():
			select {
			case r = <-done: // its own error says more
			case <-time.After(hangs):
				r.err = fmt.Errorf("the store has not answered within %s", t.o.Timing.Lease/2)
			}
		}
		t.send(answer(r.found, r.err))
	})
}

// noted remembers whether the store can be used, by the result of a beat, and logs when that changes.
func (t *Term) noted(err error) error {
	failed := err != nil && err != leader.ErrEvicted
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case failed && t.failing == nil:
		t.since = time.Now()
		t.o.Logger.Error("the controllers' store cannot be used; fleets are not sized after the lease", "error", err)
	case !failed && t.failing != nil:
		t.o.Logger.Info("the controllers' store can be used again", "after", time.Since(t.since).Round(time.Second))
	}
	if t.failing = nil; failed {
		t.failing = err
	}
	return err
}

// send passes an input to Run, unless that has ended.
func (t *Term) send(in leader.Input) {
	select {
	case t.inputs <- in:
	case <-t.over:
	}
}
