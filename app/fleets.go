package app

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/loop"
	"github.com/muster-scale/muster/internal/lifecycle"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/server"
	"github.com/muster-scale/muster/worker/protocol"
)

// fleets carry out the orders of a [lifecycle.Machine]: they open, change and end fleets while Muster runs. One
// goroutine, that of run, owns the machine. Every order has its own goroutine, so that no fleet waits for another. The
// machine is pure: it decides what to do and when, and knows no fleet. The fields below mu are shared with the
// goroutines of the orders and of the API.
type fleets struct {
	// open opens a fleet. The workers of an earlier start in left, which may be nil, become workers of the new one.
	// When open fails, its result holds what the next start takes over.
	open func(ctx context.Context, c config.Fleet, left *opened) (*opened, error)
	// tell prints what happened to a fleet, in a line for a person.
	tell   func(string)
	logger *slog.Logger
	// retriesConflicts is true where several controllers share the fleets; it is set before run.
	retriesConflicts bool

	// events carries events to run, which alone steps the machine.
	events chan machineEvent
	over   chan struct{} // closed when no further event is accepted
	orders sync.WaitGroup

	mu sync.Mutex
	// all holds the fleets that were opened, phases the state of each fleet's life.
	all    map[string]*ownFleet
	phases []lifecycle.Fleet[config.Fleet]
}

// opened is a fleet as open returns it.
type opened struct {
	sizedFleet
	// serves is the fleet as the API serves it; nil when opening failed.
	serves server.Fleet
	// left are the ports of local workers, which the next start takes over; nil for a remote fleet.
	left *kind.Ports
}

// sizedFleet is what a fleet does during its life.
type sizedFleet interface {
	// run sizes the fleet until ctx ends, and calls began after the first step. Its error says why sizing ended.
	run(ctx context.Context, began func()) error
	// change applies another configuration, of the same kind, to the running fleet.
	change(ctx context.Context, c config.Fleet) error
	// close stops the workers after their messages in progress. The fleet does not run any more.
	close()
}

// ownFleet is a fleet that was started.
type ownFleet struct {
	*opened
	stop  context.CancelFunc
	ended chan struct{} // closed when run has returned
}

// machineEvent is an event for the machine, and where to send the notes that result.
type machineEvent struct {
	event lifecycle.Event
	notes chan<- []lifecycle.Note // nil: print them
}

func newFleets(
	open func(context.Context, config.Fleet, *opened) (*opened, error), say func(string), logger *slog.Logger,
) *fleets {
	return &fleets{open: open, tell: say, logger: logger, events: make(chan machineEvent), over: make(chan struct{}),
		all: map[string]*ownFleet{}}
}

// run runs the fleets, beginning with those in c, until ctx ends and all workers have finished the messages in
// progress.
func (f *fleets) run(ctx context.Context, c []config.Fleet) {
	defer f.orders.Wait()
	defer close(f.over)
	// Equal, InPlace and Conflict are all that the machine knows of configurations.
	m := lifecycle.New(lifecycle.Rules[config.Fleet]{Equal: sameFleet, InPlace: sameKind, Conflict: sizedBySame})
	// step gives one event to the machine and starts the orders that result. It returns the notes for people.
	step := func(e lifecycle.Event) []lifecycle.Note {
		var orders []lifecycle.Order[config.Fleet]
		var notes []lifecycle.Note
		m, orders, notes = m.Step(time.Now(), e)
		f.mu.Lock()
		f.phases = m.Fleets()
		f.mu.Unlock()
		for _, o := range orders {
			f.orders.Go(func() { f.carryOut(ctx, o) })
		}
		return f.logged(notes)
	}
	step(wanted(c, false))
	timer, quit := time.NewTimer(0), ctx.Done()
	defer timer.Stop()
	for !m.Over() {
		if at, ok := m.NextTick(); ok {
			timer.Reset(time.Until(at))
		}
		select {
		case <-quit:
			// A closed channel would be ready in every round.
			quit = nil
			step(lifecycle.Quit{})
		case t := <-f.events:
			notes := step(t.event)
			if t.notes != nil {
				t.notes <- notes
				continue
			}
			f.say(notes)
		case <-timer.C:
			f.say(step(lifecycle.Tick{}))
		}
	}
}

// served returns the fleets as the API serves them, including fleets that do not run.
func (f *fleets) served() map[string]server.Fleet {
	f.mu.Lock()
	defer f.mu.Unlock()
	served := map[string]server.Fleet{}
	for _, p := range f.phases {
		served[p.Name] = absent{}
		if own := f.all[p.Name]; own != nil && own.serves != nil {
			served[p.Name] = own.serves
		}
	}
	return served
}

// standing returns the phase of each fleet's life.
func (f *fleets) standing() map[string]server.Standing {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := map[string]server.Standing{}
	for _, p := range f.phases {
		all[p.Name] = server.Standing{Phase: string(p.Phase), Since: p.Since, Failure: p.Failure, RetryAt: p.RetryAt}
	}
	return all
}

// absent is a fleet that is not open yet. Workers of an earlier run go on and report again later.
type absent struct{}

// Report implements [server.Fleet].
func (absent) Report(context.Context, protocol.Report) (protocol.Directive, error) {
	return protocol.Directive{}, loop.ErrNotReady
}

// Last implements [server.Fleet].
func (absent) Last() (controller.Outcome, bool) { return controller.Outcome{}, false }

// Wake implements [server.Fleet].
func (absent) Wake() {}

// wanted is the event that says which fleets there should be.
func wanted(c []config.Fleet, retry bool) lifecycle.Want[config.Fleet] {
	w := lifecycle.Want[config.Fleet]{Fleets: map[string]config.Fleet{}, Retry: retry}
	for _, one := range c {
		w.Fleets[one.Name] = one
	}
	return w
}

// want makes other fleets the wanted ones and returns the notes that result. It returns nil when Muster is stopping.
func (f *fleets) want(ctx context.Context, w lifecycle.Want[config.Fleet]) []lifecycle.Note {
	notes := make(chan []lifecycle.Note, 1)
	select {
	case f.events <- machineEvent{w, notes}:
		return <-notes
	case <-f.over:
	case <-ctx.Done():
	}
	return nil
}

// logged logs failures and retries, and returns the other notes.
func (f *fleets) logged(notes []lifecycle.Note) []lifecycle.Note {
	return slices.DeleteFunc(notes, func(n lifecycle.Note) bool {
		switch n.What {
		case lifecycle.DoesNotRun, lifecycle.ChangeFailed:
			f.logger.Error(n.String(), "fleet", n.Fleet)
		case lifecycle.RunsAgain:
			f.logger.Info(n.String(), "fleet", n.Fleet)
		default:
			return false
		}
		return true
	})
}

// say prints notes.
func (f *fleets) say(notes []lifecycle.Note) {
	for _, n := range notes {
		f.tell(n.String())
	}
}

// carryOut carries out one order and tells the machine the result. Orders for one fleet come one after the other.
func (f *fleets) carryOut(ctx context.Context, o lifecycle.Order[config.Fleet]) {
	f.mu.Lock()
	own := f.all[o.Name]
	f.mu.Unlock()
	switch o.Verb {
	case lifecycle.Start:
		f.start(ctx, o, own)
	case lifecycle.Change:
		f.done(o, own.change(ctx, o.Config))
	// The fleet may have ended by itself, or never have been opened; then nothing is left to stop.
	case lifecycle.Stop:
		if own != nil {
			own.stop()
			<-own.ended
			own.close()
			f.mu.Lock()
			delete(f.all, o.Name)
			f.mu.Unlock()
		}
		f.done(o, nil)
	}
}

// start opens a fleet and runs it. It returns when run has returned.
func (f *fleets) start(ctx context.Context, o lifecycle.Order[config.Fleet], left *ownFleet) {
	own := &ownFleet{stop: func() {}, ended: make(chan struct{})}
	var before *opened
	if left != nil {
		before = left.opened
	}
	var err error
	// A failed open may still return local workers of an earlier start, which the next start takes over.
	if own.opened, err = f.open(ctx, o.Config, before); own.opened == nil {
		f.done(o, err)
		return
	}
	// The fleet outlives ctx: the machine stops it in order.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	own.stop = stop
	f.mu.Lock()
	f.all[o.Name] = own
	f.mu.Unlock()
	if err != nil {
		close(own.ended)
		f.done(o, err)
		return
	}
	began := make(chan struct{})
	ended := make(chan error, 1)
	f.orders.Go(func() {
		defer close(own.ended)
		ended <- own.run(running, sync.OnceFunc(func() { close(began) }))
	})
	select {
	case <-began:
	case err := <-ended:
		f.done(o, cmp.Or(err, errEnded))
		return
	case <-ctx.Done(): // Muster stops: a slow start must not delay that
		stop()
		<-own.ended
		f.done(o, ctx.Err())
		return
	}
	f.done(o, nil)
	if err := <-ended; running.Err() == nil {
		f.send(
			lifecycle.Ended{Run: o.ID, Failure: cmp.Or(err, errEnded).Error(),
				Final: f.isFinal(err)},
		)
	}
}

// errEnded is the failure of a fleet that ended without an error.
var errEnded = errors.New("the fleet ended by itself")

// done tells the machine that an order was carried out, or why it failed. A conflict with another fleet is final: no
// retry can help.
func (f *fleets) done(o lifecycle.Order[config.Fleet], err error) {
	d := lifecycle.Done{ID: o.ID}
	if err != nil {
		d.Failure, d.Final = err.Error(), f.isFinal(err)
	}
	f.send(d)
}

// isFinal tells whether no retry can help. Where controllers take turns, a conflict is the last sign of the one before.
func (f *fleets) isFinal(err error) bool {
	return errors.Is(err, muster.ErrConflict) && !f.retriesConflicts
}

// send sends an event to the machine. After the last fleet has ended, events are dropped: they change nothing.
func (f *fleets) send(e lifecycle.Event) {
	select {
	case f.events <- machineEvent{event: e}:
	case <-f.over:
	}
}
