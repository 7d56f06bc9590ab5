package app

import (
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

// fleets carry out what a [lifecycle.Machine] orders: they open, change and end the fleets of a muster up while it
// runs. One goroutine, that of run, owns the machine; every order has a goroutine of its own, so that no fleet waits
// for another.
type fleets struct {
	// open opens a fleet. It takes over from left, which is nil for nothing, what an earlier start has left of it: the
	// same workers, not sized. When it fails, what it returns is what is left for the next start.
	open func(ctx context.Context, c config.Fleet, left *opened) (*opened, error)
	// tell says, in a line for a person, what happened to a fleet.
	tell   func(string)
	logger *slog.Logger

	events   chan machineEvent
	over     chan struct{} // closed when no event is taken any more
	carrying sync.WaitGroup

	mu     sync.Mutex
	all    map[string]*ownFleet
	phases []lifecycle.Fleet[config.Fleet]
}

// opened is a fleet that was opened.
type opened struct {
	worked
	// serves is what the API has of it; nil when it could not be opened whole.
	serves server.Fleet
	// left are the ports of workers that this program starts, for the next start; nil where it starts none.
	left *kind.Ports
}

// worked is a fleet as its life needs it.
type worked interface {
	// run sizes the fleet until ctx ends. It calls began once the fleet is sized. An error says why it is sized no
	// more.
	run(ctx context.Context, began func()) error
	// change brings the running fleet to another configuration of the same kind.
	change(ctx context.Context, c config.Fleet) error
	// close ends the workers once they have finished what they hold. The fleet does not run.
	close()
}

// ownFleet is what is there of one fleet.
type ownFleet struct {
	*opened
	stop  context.CancelFunc
	ended chan struct{} // closed when it is sized no more
}

// machineEvent is an event for the machine, and where the notes go that it leads to.
type machineEvent struct {
	event lifecycle.Event
	notes chan<- []lifecycle.Note // nil: they are said
}

func newFleets(
	open func(context.Context, config.Fleet, *opened) (*opened, error),
	say func(string),
	logger *slog.Logger,
) *fleets {
	return &fleets{
		open:   open,
		tell:   say,
		logger: logger,
		events: make(chan machineEvent),
		over:   make(chan struct{}),
		all:    map[string]*ownFleet{},
	}
}

// run runs the fleets, at first those of the configuration c, until ctx ends and all workers have finished what they
// hold.
func (f *fleets) run(ctx context.Context, c []config.Fleet) {
	defer f.carrying.Wait()
	defer close(f.over)
	m := lifecycle.New(lifecycle.Rules[config.Fleet]{Equal: sameFleet, InPlace: sameKind, Conflict: sizedBySame})
	step := func(e lifecycle.Event) []lifecycle.Note {
		var orders []lifecycle.Order[config.Fleet]
		var notes []lifecycle.Note
		m, orders, notes = m.Step(time.Now(), e)
		f.mu.Lock()
		f.phases = m.Fleets()
		f.mu.Unlock()
		for _, o := range orders {
			f.carrying.Go(func() { f.carryOut(ctx, o) })
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

// served returns the fleets as the API needs them, those that do not run among them.
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

// standing returns where the fleets stand in their lives.
func (f *fleets) standing() map[string]server.Standing {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := map[string]server.Standing{}
	for _, p := range f.phases {
		all[p.Name] = server.Standing{Phase: string(p.Phase), Since: p.Since, Failure: p.Failure, RetryAt: p.RetryAt}
	}
	return all
}

// absent is a fleet that could not be opened yet. Its workers, if there are any from before, go on and report again.
type absent struct{}

// Report implements [server.Fleet].
func (absent) Report(context.Context, protocol.Report) (protocol.Directive, error) {
	return protocol.Directive{}, loop.ErrNotReady
}

// Last implements [server.Fleet].
func (absent) Last() (controller.Outcome, bool) { return controller.Outcome{}, false }

// Wake implements [server.Fleet].
func (absent) Wake() {}

func wanted(c []config.Fleet, retry bool) lifecycle.Want[config.Fleet] {
	w := lifecycle.Want[config.Fleet]{Fleets: map[string]config.Fleet{}, Retry: retry}
	for _, one := range c {
		w.Fleets[one.Name] = one
	}
	return w
}

// want makes the fleets of c those that are wanted, and returns what comes of it. With retry, what failed is tried
// again at once. It returns nothing when all fleets end.
func (f *fleets) want(ctx context.Context, c []config.Fleet, retry bool) []lifecycle.Note {
	notes := make(chan []lifecycle.Note, 1)
	select {
	case f.events <- machineEvent{wanted(c, retry), notes}:
		return <-notes
	case <-f.over:
	case <-ctx.Done():
	}
	return nil
}

// logged logs what failed, and returns the other notes.
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

func (f *fleets) say(notes []lifecycle.Note) {
	for _, n := range notes {
		f.tell(n.String())
	}
}

// carryOut carries out one order, and tells the machine what came of it. Orders for one fleet come one after the other.
func (f *fleets) carryOut(ctx context.Context, o lifecycle.Order[config.Fleet]) {
	f.mu.Lock()
	own := f.all[o.Name]
	f.mu.Unlock()
	switch o.Verb {
	case lifecycle.Start:
		f.start(ctx, o, own)
	case lifecycle.Change:
		f.done(o, own.change(ctx, o.Config))
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

// start opens a fleet and runs it. It returns when the fleet is sized no more.
func (f *fleets) start(ctx context.Context, o lifecycle.Order[config.Fleet], left *ownFleet) {
	own := &ownFleet{stop: func() {}, ended: make(chan struct{})}
	var before *opened
	if left != nil {
		before = left.opened
	}
	var err error
	if own.opened, err = f.open(ctx, o.Config, before); own.opened == nil {
		f.done(o, err)
		return
	}
	// What runs outlives ctx: it ends when it is stopped, in order.
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
	f.carrying.Go(func() {
		defer close(own.ended)
		ended <- own.run(running, sync.OnceFunc(func() { close(began) }))
	})
	select {
	case <-began:
	case err := <-ended:
		f.done(o, cmpError(err, errEnded))
		return
	case <-ctx.Done(): // everything ends; that the start takes long holds up nothing
		stop()
		<-own.ended
		f.done(o, ctx.Err())
		return
	}
	f.done(o, nil)
	if err := <-ended; running.Err() == nil {
		f.happened(
			lifecycle.Ended{Run: o.ID, Failure: cmpError(err, errEnded).Error(),
				Final: errors.Is(err, muster.ErrConflict)},
		)
	}
}

// errEnded is why a fleet is not sized when it does not say why.
var errEnded = errors.New("it has ended by itself")

func cmpError(err, otherwise error) error {
	if err == nil {
		return otherwise
	}
	return err
}

func (f *fleets) done(o lifecycle.Order[config.Fleet], err error) {
	d := lifecycle.Done{ID: o.ID}
	if err != nil {
		d.Failure, d.Final = err.Error(), errors.Is(err, muster.ErrConflict)
	}
	f.happened(d)
}

// happened tells the machine of an event. It takes events until every fleet has ended; what comes later changes
// nothing.
func (f *fleets) happened(e lifecycle.Event) {
	select {
	case f.events <- machineEvent{event: e}:
	case <-f.over:
	}
}
