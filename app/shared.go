package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/muster-scale/muster/app/sharing"
	"github.com/muster-scale/muster/config"
	stated "github.com/muster-scale/muster/config/sharing"
	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/internal/lifecycle"
	"github.com/muster-scale/muster/leader"
	"github.com/muster-scale/muster/leader/term"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/server"
)

// This file lets several controllers take turns. On one machine the lock of the queue directory is the lease: the
// kernel drops it with the process, however that ends. On several machines each fleet has a lease in a shared store;
// then only the fleets that this controller leads are wanted of [fleets].

// turnEvery is how often a standby on the same machine tries to take over.
const turnEvery = 100 * time.Millisecond

// openQueues opens the embedded queues. A standby waits here until the controller before it has ended, however that
// ends, before it opens anything.
func (a *App) openQueues(ctx context.Context, o queue.Options) (*queue.Service, error) {
	waits := a.config.Controllers.Store == stated.File && !a.options.Look
	for told := false; ; told = true {
		q, err := queue.Open(o)
		if !waits || !errors.Is(err, queue.ErrLocked) {
			if told && err == nil {
				a.options.Told("this controller takes over")
			}
			return q, err
		}
		if !told {
			a.options.Told("standby: another controller uses " + a.config.Data + "; this one follows when it ends")
		}
		if err := host.Sleep(ctx, turnEvery); err != nil {
			return nil, err
		}
	}
}

// shares are the fleets of several controllers, as this one takes part in them. Any goroutine may use it.
type shares struct {
	app  *App
	term *term.Term

	mu sync.Mutex
	// wanted are the configured fleets, led the names of those that this controller leads.
	wanted []config.Fleet
	led    map[string]term.Right

	// applying keeps the changes of what is sized in order.
	applying sync.Mutex
	starting sync.WaitGroup // the goroutines of lead
}

// openShares opens what controllers of several machines share; nil for a controller alone.
func (a *App) openShares(ctx context.Context) error {
	c := a.config.Controllers
	if !c.Several() || a.options.Ephemeral {
		return nil
	}
	place, err := sharing.Open(ctx, c, a.config.AWS)
	if err != nil {
		return err
	}
	a.history = place.History
	if a.options.Look {
		return nil
	}
	name := c.Name
	if name == "" {
		if name, err = os.Hostname(); err != nil {
			return fmt.Errorf("find the name of this controller: %w; state controllers.name", err)
		}
	}
	a.share(place.Leases, name)
	return nil
}

// share makes a one of several controllers, under a name.
func (a *App) share(leases leader.Store, name string) {
	s := &shares{app: a, wanted: a.shadowed(a.config.Fleets), led: map[string]term.Right{}}
	s.term = term.New(term.Options{Store: leases, Name: name, Fleets: namesOf(s.wanted), Lead: s.lead,
		Yield: s.yield, Logger: a.options.Logger})
	a.shares, a.fleets.retriesConflicts = s, true
}

func namesOf(fleets []config.Fleet) []string {
	var names []string
	for _, f := range fleets {
		names = append(names, f.Name)
	}
	return names
}

// want makes c the configured fleets, and returns the notes that result. Without other controllers all are sized here.
func (a *App) want(ctx context.Context, c []config.Fleet, retry bool) []lifecycle.Note {
	if a.shares == nil {
		return a.fleets.want(ctx, c, retry)
	}
	a.shares.term.Want(namesOf(c))
	return a.shares.apply(ctx, retry, func() { a.shares.wanted = c })
}

// apply changes the state by change, under the lock, and sizes the fleets that this controller then leads.
func (s *shares) apply(ctx context.Context, retry bool, change func()) []lifecycle.Note {
	s.applying.Lock()
	defer s.applying.Unlock()
	s.mu.Lock()
	change()
	s.mu.Unlock()
	return s.app.fleets.want(ctx, s.leads(), retry)
}

// leads returns the fleets that this controller leads.
func (s *shares) leads() []config.Fleet {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.wanted), func(f config.Fleet) bool { return s.led[f.Name] == nil })
}

// right returns the right to act for a fleet as it is when asked: none while another controller leads it.
func (s *shares) right(fleet string) term.Right {
	return func() (time.Time, bool) {
		s.mu.Lock()
		own := s.led[fleet]
		s.mu.Unlock()
		if own == nil {
			return time.Time{}, false
		}
		return own()
	}
}

// lead begins to size a fleet, in a goroutine of its own: a start may take a while. If the fleet is yielded again before
// that, its right is over, and nothing is done for it.
func (s *shares) lead(fleet string, right term.Right) {
	s.app.options.Told("this controller leads the fleet " + fleet)
	s.starting.Go(func() {
		s.apply(context.Background(), false, func() {
			if _, ok := right(); ok {
				s.led[fleet] = right
			}
		})
	})
}

// yield stops sizing a fleet, and returns when that is done.
func (s *shares) yield(fleet string) {
	s.app.options.Told("this controller does not lead the fleet " + fleet + " any more")
	s.apply(context.Background(), false, func() { delete(s.led, fleet) })
	for s.app.fleets.has(fleet) {
		time.Sleep(10 * time.Millisecond)
	}
}

// has tells whether anything is left of a fleet.
func (f *fleets) has(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all[name] != nil ||
		slices.ContainsFunc(f.phases, func(p lifecycle.Fleet[config.Fleet]) bool { return p.Name == name })
}

// run takes part until ctx ends, and then hands all fleets over.
func (s *shares) run(ctx context.Context) {
	defer s.starting.Wait()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.term.Run(ctx)
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
			text := ""
			if err, since := s.term.Failing(); err != nil {
				text = fmt.Sprintf("fleets are not sized by this controller, because its store of leases cannot be used "+
					"since %s: %v", since.UTC().Format(time.RFC3339), err)
			}
			s.app.faults.set(storeFault, text)
		}
	}
}

// runShared runs the fleets that this controller leads. When ctx ends, the fleets are handed over first, and what runs
// them ends behind that.
func (a *App) runShared(ctx context.Context) {
	fleets, stop := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { a.fleets.run(fleets, nil) })
	a.shares.run(ctx)
}

// standing returns the phase of each fleet, also of those that another controller leads.
func (a *App) standing() map[string]server.Standing {
	all := a.fleets.standing()
	if a.shares == nil {
		return all
	}
	a.shares.mu.Lock()
	wanted := a.shares.wanted
	a.shares.mu.Unlock()
	for _, f := range wanted {
		s, here := all[f.Name]
		s.Leader, _ = a.shares.term.Leader(f.Name)
		if !here {
			s.Phase = server.Standby
		}
		all[f.Name] = s
	}
	return all
}

// served returns the fleets as the API serves them, also those that another controller leads.
func (a *App) served() map[string]server.Fleet {
	all := a.fleets.served()
	if a.shares == nil {
		return all
	}
	a.shares.mu.Lock()
	defer a.shares.mu.Unlock()
	for _, f := range a.shares.wanted {
		if all[f.Name] == nil {
			all[f.Name] = absent{}
		}
	}
	return all
}
