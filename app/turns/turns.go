// Package turns lets the controllers of one configuration take turns.
//
// On one machine the lock of the queue directory is the lease: [OpenQueues] waits for it. The kernel drops it with the
// process, however that ends.
//
// On several machines each fleet has a lease in a shared store. [Turns] takes part for one controller, and has exactly
// the fleets sized that this controller leads:
//
//	t := turns.New(turns.Options{Leases: leases, Name: host, Fleets: fleets, Wanted: c.Fleets, ...})
//	t.Run(ctx)                  // until ctx ends; then all fleets are handed over
//	notes := t.Want(ctx, c, false) // after the configuration has changed
//	t.Right("web")              // until when calls may act for the fleet web
//
// Who leads is decided by package leader. How a fleet is started and stopped is the business of [Fleets].
package turns

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/internal/lifecycle"
	"github.com/muster-scale/muster/leader"
	"github.com/muster-scale/muster/leader/term"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/server"
)

// every is how often a standby on the same machine tries to take over, and gone how often it is checked whether a fleet
// has stopped.
const (
	every = 100 * time.Millisecond
	gone  = 10 * time.Millisecond
)

// OpenQueues opens the embedded queues. If waits is true and another process has them open, it waits until that process
// ends, and tells so.
func OpenQueues(ctx context.Context, o queue.Options, waits bool, tell func(string)) (*queue.Service, error) {
	for told := false; ; told = true {
		q, err := queue.Open(o)
		if !waits || !errors.Is(err, queue.ErrLocked) {
			if told && err == nil {
				tell("this controller takes over")
			}
			return q, err
		}
		if !told {
			tell("standby: another controller uses " + o.Dir + "; this one follows when it ends")
		}
		if err := host.Sleep(ctx, every); err != nil {
			return nil, err
		}
	}
}

// Fleets are what [Turns] has sized.
type Fleets interface {
	// Want sizes these fleets and no others, because the configuration changed, and returns what people should know.
	// It does not wait for starts and stops.
	Want(ctx context.Context, c []config.Fleet, retry bool) []lifecycle.Note
	// HandOver does the same because fleets came from other controllers, or go to them.
	HandOver(ctx context.Context, c []config.Fleet)
	// Has tells whether anything is left of a fleet that was sized.
	Has(name string) bool
}

// Options configure [Turns]. All fields are required.
type Options struct {
	Leases leader.Store
	// Name is the name of this controller, for people.
	Name   string
	Fleets Fleets
	// Wanted are the configured fleets.
	Wanted []config.Fleet
	// Tell gets lines for a person. Fault gets the problem of the store; empty for none.
	Tell   func(string)
	Fault  func(string)
	Logger *slog.Logger
}

// Turns is one controller among several. Its methods may be called from any goroutine; Run is called once.
type Turns struct {
	o    Options
	term *term.Term

	mu sync.Mutex
	// wanted are the configured fleets, led the rights for those that this controller leads.
	wanted []config.Fleet
	led    map[string]term.Right

	applying sync.Mutex     // keeps the changes of what is sized in order
	starting sync.WaitGroup // the goroutines of lead
}

// New returns a controller that leads nothing until [Turns.Run].
func New(o Options) *Turns {
	t := &Turns{o: o, wanted: o.Wanted, led: map[string]term.Right{}}
	t.term = term.New(term.Options{Store: o.Leases, Name: o.Name, Fleets: namesOf(o.Wanted), Lead: t.lead,
		Yield: t.yield, Logger: o.Logger})
	return t
}

func namesOf(fleets []config.Fleet) []string {
	var names []string
	for _, f := range fleets {
		names = append(names, f.Name)
	}
	return names
}

// Run takes part until ctx ends, and then hands all fleets over.
func (t *Turns) Run(ctx context.Context) {
	defer t.starting.Wait()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		t.term.Run(ctx)
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
			t.o.Fault(t.fault())
		}
	}
}

// fault says why the store cannot be used; empty if it can.
func (t *Turns) fault() string {
	err, since := t.term.Failing()
	if err == nil {
		return ""
	}
	return fmt.Sprintf("fleets are not sized by this controller, because its store of leases cannot be used since "+
		"%s: %v", since.UTC().Format(time.RFC3339), err)
}

// Want makes c the configured fleets, and returns what people should know. With retry, failed fleets are retried.
func (t *Turns) Want(ctx context.Context, c []config.Fleet, retry bool) (notes []lifecycle.Note) {
	// First the fleets here: one that is removed ends, and is not handed over.
	t.apply(func() { t.wanted = c }, func(led []config.Fleet) { notes = t.o.Fleets.Want(ctx, led, retry) })
	t.term.Want(namesOf(c))
	return notes
}

// apply changes the state by change, under the lock, and passes the fleets that this controller then leads to size.
func (t *Turns) apply(change func(), size func([]config.Fleet)) {
	t.applying.Lock()
	defer t.applying.Unlock()
	t.mu.Lock()
	change()
	led := slices.DeleteFunc(slices.Clone(t.wanted), func(f config.Fleet) bool { return t.led[f.Name] == nil })
	t.mu.Unlock()
	size(led)
}

// handOver changes the fleets that this controller leads.
func (t *Turns) handOver(change func()) {
	t.apply(change, func(led []config.Fleet) { t.o.Fleets.HandOver(context.Background(), led) })
}

// Right returns the right to act for a fleet, as it is when asked: none while another controller leads the fleet.
func (t *Turns) Right(fleet string) term.Right {
	return func() (time.Time, bool) {
		t.mu.Lock()
		own := t.led[fleet]
		t.mu.Unlock()
		if own == nil {
			return time.Time{}, false
		}
		return own()
	}
}

// lead has a fleet sized, in a goroutine of its own: a start may take a while. If the fleet is yielded again before
// that, its right is over, and nothing is done for it.
func (t *Turns) lead(fleet string, right term.Right) {
	t.o.Tell("this controller leads the fleet " + fleet + " now")
	t.starting.Go(func() {
		t.handOver(func() {
			if _, ok := right(); ok {
				t.led[fleet] = right
			}
		})
	})
}

// yield stops sizing a fleet, and returns when that is done.
func (t *Turns) yield(fleet string) {
	t.o.Tell("this controller does not lead the fleet " + fleet + " any more; its workers go on")
	t.handOver(func() { delete(t.led, fleet) })
	for t.o.Fleets.Has(fleet) {
		time.Sleep(gone)
	}
}

// Add adds to the phases of the fleets that are sized here those that other controllers lead, and says who leads. While
// the store cannot be used, who leads is unknown, and no fleet can be taken over.
func (t *Turns) Add(all map[string]server.Standing) map[string]server.Standing {
	t.mu.Lock()
	wanted := t.wanted
	t.mu.Unlock()
	failure, _ := t.term.Failing()
	for _, f := range wanted {
		s, here := all[f.Name]
		leader, own := t.term.Leader(f.Name)
		s.Leader = leader
		switch {
		case here:
		case own: // its start is about to begin
			s.Phase = string(lifecycle.Starting)
		case failure != nil:
			s.Phase, s.Leader = server.Standby, ""
			s.Failure = "the store of leases cannot be used: " + failure.Error()
		default:
			s.Phase = server.Standby
		}
		all[f.Name] = s
	}
	return all
}

// Names returns the names of the configured fleets.
func (t *Turns) Names() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return namesOf(t.wanted)
}
