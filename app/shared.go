package app

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/muster-scale/muster/app/sharing"
	"github.com/muster-scale/muster/app/turns"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/lifecycle"
	"github.com/muster-scale/muster/leader"
	"github.com/muster-scale/muster/server"
)

// openShared opens what controllers of several machines share: history and leases.
func (a *App) openShared(ctx context.Context) error {
	c := a.config.Controllers
	if !c.Several() || a.options.Ephemeral {
		return nil
	}
	place, err := sharing.Open(ctx, c, a.config.AWS)
	if err != nil {
		return err
	}
	a.history = place.History
	host, err := os.Hostname()
	if name := cmp.Or(c.Name, host); name == "" {
		return fmt.Errorf("find the name of this controller: %w; state controllers.name", err)
	} else if !a.options.Look {
		a.share(place.Leases, name)
	}
	return nil
}

// share makes a one of several controllers, under a name.
func (a *App) share(leases leader.Store, name string) {
	a.fleets.retriesConflicts = true
	a.turns = turns.New(turns.Options{Leases: leases, Name: name, Fleets: sized{a.fleets},
		Wanted: a.shadowed(a.config.Fleets), Tell: a.options.Told, Logger: a.options.Logger,
		Fault: func(text string) { a.faults.set(storeFault, text) }})
}

// sized are the fleets of this controller; it implements [turns.Fleets].
type sized struct{ *fleets }

// Want implements [turns.Fleets].
func (f sized) Want(ctx context.Context, c []config.Fleet, retry bool) []lifecycle.Note {
	return f.want(ctx, wanted(c, retry))
}

// HandOver implements [turns.Fleets].
func (f sized) HandOver(ctx context.Context, c []config.Fleet) {
	w := wanted(c, false)
	w.Handover = true
	f.say(f.want(ctx, w))
}

// Has implements [turns.Fleets].
func (f sized) Has(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all[name] != nil ||
		slices.ContainsFunc(f.phases, func(p lifecycle.Fleet[config.Fleet]) bool { return p.Name == name })
}

// runFleets runs all fleets, or those that this controller leads. At the end of ctx these are handed over first.
func (a *App) runFleets(ctx context.Context) {
	if a.turns == nil {
		a.fleets.run(ctx, a.shadowed(a.config.Fleets))
		return
	}
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { a.fleets.run(inner, nil) })
	a.turns.Run(ctx)
}

// want makes c the configured fleets, and returns the notes that result.
func (a *App) want(ctx context.Context, c []config.Fleet, retry bool) []lifecycle.Note {
	if a.turns != nil {
		return a.turns.Want(ctx, c, retry)
	}
	return a.fleets.want(ctx, wanted(c, retry))
}

// standing returns the phase of each fleet, also of those that another controller leads.
func (a *App) standing() map[string]server.Standing {
	if a.turns != nil {
		return a.turns.Add(a.fleets.standing())
	}
	return a.fleets.standing()
}

// served returns the fleets as the API serves them, also those that another controller leads.
func (a *App) served() map[string]server.Fleet {
	all := a.fleets.served()
	if a.turns != nil {
		for _, name := range a.turns.Names() {
			if all[name] == nil {
				all[name] = absent{}
			}
		}
	}
	return all
}
