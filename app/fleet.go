package app

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/muster-scale/muster/app/opening"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/loop"
	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/kinds"
)

// runningFleet is a fleet with its loop. Its methods are called one at a time, except change, which is called while
// run runs.
type runningFleet struct {
	app    *App
	config config.Fleet
	// ports are the fleet's connections to what it sizes; nil when they could not be opened.
	ports *kind.Ports
	loop  *loop.Loop // nil when opening failed
}

// run implements [sizedFleet].
func (o *runningFleet) run(ctx context.Context, began func()) error {
	if o.ports.Prepare != nil && !o.config.Policy.Shadow {
		if err := o.ports.Prepare(ctx); err != nil {
			o.app.options.Logger.Warn("preparing the fleet failed; it runs all the same", "fleet", o.config.Name,
				"error", err)
		}
	}
	// The goroutine calls began at most once, and has ended before run returns.
	ended, watching := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watching)
		select {
		case <-o.loop.Began():
			began()
		case <-ended:
		}
	}()
	err := o.loop.Run(ctx)
	close(ended)
	<-watching
	return err
}

// change implements [sizedFleet]. The loop is asked last: when the ports refuse the change, the fleet goes on as it
// was.
func (o *runningFleet) change(ctx context.Context, c config.Fleet) error {
	settings, err := o.app.liveSettings(c)
	if err != nil {
		return err
	}
	if o.ports.Change != nil {
		if err := o.ports.Change(c); err != nil {
			return err
		}
	}
	if !o.loop.Change(ctx, settings) {
		return errors.New("the fleet is about to end")
	}
	o.config = c
	return nil
}

// close implements [sizedFleet]. A fleet in shadow mode keeps its workers: another system sizes it.
func (o *runningFleet) close() {
	if o.ports != nil && o.ports.Close != nil && !o.config.Policy.Shadow {
		o.ports.Close()
	}
}

// openFleet opens a fleet for [fleets], which says in open what left is.
func (a *App) openFleet(ctx context.Context, c config.Fleet, left *opened) (*opened, error) {
	var ports *kind.Ports
	if left != nil {
		ports = left.left
	}
	own, err := a.newFleet(ctx, c, ports)
	whole := &opened{sizedFleet: own}
	if own.ports != nil && own.ports.Change != nil {
		whole.left = own.ports
	}
	if own.loop != nil {
		whole.serves = own.loop
	}
	return whole, err
}

// newFleet opens a fleet. It takes over the workers of an earlier start in left, unless that is nil. When it fails, its
// result must still be closed.
func (a *App) newFleet(ctx context.Context, c config.Fleet, left *kind.Ports) (own *runningFleet, err error) {
	own = &runningFleet{app: a, config: c, ports: left}
	o, err := a.loopOptions(ctx, c, own)
	if err == nil {
		own.loop = loop.New(o)
	}
	return own, err
}

// loopOptions opens the ports, sources and stored reports of a fleet, as its loop needs them.
func (a *App) loopOptions(ctx context.Context, c config.Fleet, own *runningFleet) (loop.Options, error) {
	table := kinds.Table()
	members, err := table.MembersOf(c)
	if err != nil {
		return loop.Options{}, err
	}
	// Open may return ports with an error: local workers that were taken over, which close must still stop.
	ports, err := members.Open(ctx, a.host, c, own.ports)
	if ports != nil {
		own.ports = ports
	}
	if err != nil {
		return loop.Options{}, err
	}
	settings, err := a.liveSettings(c)
	if err != nil {
		return loop.Options{}, err
	}
	o, err := opening.Loop(ctx, table, a.host, c, settings, ports)
	if err != nil {
		return o, err
	}
	o.History, o.Logger = a.history, a.options.Logger
	if a.turns != nil {
		o.Leads = a.turns.Right(c.Name)
	}
	o.Notify = func(out controller.Outcome) { a.options.Notify(out) }
	if len(c.Queues) > 0 {
		o.Trees = a.trees.of(c.Queues)
	}
	return o, a.keepFleetToken(c)
}

// liveSettings are the settings of a fleet that runs. Beside [Settings], it reads trees and knows the cores that its
// workers share.
func (a *App) liveSettings(c config.Fleet) (controller.Settings, error) {
	s, err := Settings(c)
	s.Trees = len(c.Queues) > 0
	if c.Local() {
		s.Cores = cmp.Or(a.options.Cores, host.Cores())
	}
	return s, err
}

// Settings returns the controller's settings for a fleet: see [opening.Settings].
func Settings(c config.Fleet) (controller.Settings, error) { return opening.Settings(c) }

// sameFleet tells whether a fleet's configuration is unchanged.
func sameFleet(a, b config.Fleet) bool { return reflect.DeepEqual(a, b) }

// sameKind tells whether a fleet can change from a to b without a restart. A remote fleet restarts more often: its
// group or service must be told of the change, and none of its workers stops for it.
func sameKind(a, b config.Fleet) bool {
	elsewhere := !a.Local() || !b.Local()
	switch {
	case elsewhere && (a.Limits != b.Limits || a.Poll != b.Poll):
		return false
	case a.Sizer != nil && !reflect.DeepEqual(a.Policy, b.Policy):
		return false // the target that AWS tracks follows from the policy
	}
	return reflect.DeepEqual(a.Queues, b.Queues) && reflect.DeepEqual(a.Members, b.Members) &&
		reflect.DeepEqual(a.Signals, b.Signals) && reflect.DeepEqual(a.Sizer, b.Sizer) &&
		a.ReportsTable == b.ReportsTable &&
		slices.EqualFunc(a.Split, b.Split, samePart)
}

// samePart compares what a fleet cannot change while it runs. The workers of a part may change.
func samePart(a, b config.Part) bool {
	return a.Name == b.Name && a.Base == b.Base && a.Weight == b.Weight && a.Max == b.Max
}

// sizedBySame tells whether two fleets would set the desired count of the same group or service.
func sizedBySame(a, b config.Fleet) bool {
	if a.Policy.Shadow || b.Policy.Shadow {
		return false
	}
	// A fleet that sets no number of another system, such as a local one, conflicts with none.
	number := a.Sets()
	return number.Name != "" && number == b.Sets()
}
