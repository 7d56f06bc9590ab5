package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/fleet/asg"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/server"
	"github.com/muster-scale/muster/source/embedded"
)

// fleets are the fleets of a muster up. They may be added, changed and removed while it runs.
type fleets struct {
	local *local

	mu      sync.Mutex
	all     map[string]*ownFleet
	run     context.Context // nil until start
	fail    func(error)
	running sync.WaitGroup
}

// ownFleet is one fleet with its loop.
type ownFleet struct {
	config config.Fleet
	// parts are the process fleets of one on this machine, group is the Auto Scaling group of one on AWS.
	parts parts
	group *asg.Fleet
	loop  *controller.Loop
	stop  context.CancelFunc
	ended chan struct{} // closed when the loop has ended
}

// close ends the workers of the fleet once they have finished what they hold, unless another system sizes it.
func (o *ownFleet) close() {
	if !o.config.Policy.Shadow {
		o.parts.close()
	}
}

func newFleets(l *local) *fleets { return &fleets{local: l, all: map[string]*ownFleet{}} }

// served returns the loops as the API needs them.
func (f *fleets) served() map[string]server.Fleet {
	f.mu.Lock()
	defer f.mu.Unlock()
	served := map[string]server.Fleet{}
	for name, own := range f.all {
		served[name] = own.loop
	}
	return served
}

// names returns the names of the fleets, sorted.
func (f *fleets) names() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.all))
}

// loop returns the loop of the named fleet, which exists.
func (f *fleets) loop(name string) *controller.Loop {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all[name].loop
}

// open adds a fleet. It starts at once when the others run.
func (f *fleets) open(ctx context.Context, c config.Fleet) error {
	l := f.local
	c = l.options.watched(c)
	settings, err := settingsOf(c)
	if err != nil {
		return err
	}
	settings.Trees = len(c.Queues) > 0
	o := controller.LoopOptions{Settings: settings, Meter: meter{l, c}, History: l.history, Logger: l.options.logger}
	if err := l.sources(ctx, c, &o); err != nil {
		return fmt.Errorf("fleet %s: %w", c.Name, err)
	}
	own := &ownFleet{config: c, stop: func() {}, ended: make(chan struct{})}
	if c.Away() {
		if err := l.away(ctx, c, own, &o); err != nil {
			return fmt.Errorf("fleet %s: %w", c.Name, err)
		}
		if err := l.keepFleetToken(c); err != nil {
			return fmt.Errorf("fleet %s: %w", c.Name, err)
		}
		if c.ReportsTable != "" {
			if o.Stored, err = l.storedReports(ctx, c); err != nil {
				return fmt.Errorf("fleet %s: %w", c.Name, err)
			}
		}
	} else {
		if own.parts, err = l.partsOf(c); err != nil {
			return err
		}
		o.Fleet, o.Releaser = own.parts.whole()
	}
	o.Notify = func(out controller.Outcome) { l.options.notify(out) }
	f.mu.Lock()
	defer f.mu.Unlock()
	own.loop = controller.NewLoop(o)
	f.all[c.Name] = own
	if f.run != nil {
		f.begin(own)
	}
	return nil
}

// sources puts what measures a fleet into o.
func (l *local) sources(ctx context.Context, c config.Fleet, o *controller.LoopOptions) error {
	for _, q := range c.Queues {
		if q.URL == "" {
			source := embedded.New(l.queues, q.Name)
			o.Sources, o.Wakes = append(o.Sources, source), append(o.Wakes, source)
			continue
		}
		source, err := l.amazonQueue(ctx, c, q.URL)
		if err != nil {
			return err
		}
		o.Sources, o.Wakes, o.Expecters = append(o.Sources, source), append(o.Wakes, source), append(o.Expecters, source)
	}
	if len(c.Queues) > 0 {
		o.Trees = l.trees.of(c.Queues)
	}
	if c.Metrics == nil {
		return nil
	}
	var base muster.Source
	if len(o.Sources) > 0 {
		base = o.Sources[0]
	}
	measured, err := l.amazonMetrics(ctx, c, base)
	if err != nil {
		return err
	}
	o.Sources = []muster.Source{measured}
	return nil
}

// settingsOf are the controller's settings for a fleet.
func settingsOf(c config.Fleet) (controller.Settings, error) {
	s := controller.Settings{
		Fleet: c.Name, Spec: c.Policy, Objective: c.Objective, Limits: c.Limits,
		Slots: c.Workers.AtOnce(), BootPrior: c.Workers.Boot, Poll: c.Poll,
	}
	for _, q := range c.Queues {
		s.Queues = append(s.Queues, q.Name)
	}
	if c.Metrics != nil && len(s.Queues) == 0 {
		s.Queues = []string{c.Name} // what the metrics count has no other name
	}
	if c.OnAWS() {
		s.Stale = 3 * max(awsapi.Slow, c.Poll)
	}
	s.Unreported = unreported(c)
	s.Protect = c.Delegate == nil && (c.ASG != nil && c.ASG.Protect || c.ECS != nil && c.ECS.Protect)
	if c.Delegate != nil {
		s.HandEvery = c.Delegate.Period
	}
	return controller.NewSettings(s)
}

// start lets all loops run until ctx ends; fail is called with the error of one that ends before.
func (f *fleets) start(ctx context.Context, fail func(error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.run, f.fail = ctx, fail
	for _, own := range f.all {
		f.begin(own)
	}
}

// begin starts the loop of one fleet. The caller holds the lock.
func (f *fleets) begin(own *ownFleet) {
	ctx, stop := context.WithCancel(f.run)
	own.stop = stop
	f.running.Go(func() {
		defer close(own.ended)
		if own.group != nil && !own.config.Policy.Shadow {
			f.local.prepare(ctx, own)
		}
		if err := own.loop.Run(ctx); err != nil {
			f.fail(err)
		}
	})
}

// change puts another configuration of a fleet in force. A fleet whose queues or parts are others ends and begins anew.
func (f *fleets) change(ctx context.Context, c config.Fleet) error {
	c = f.local.options.watched(c)
	f.mu.Lock()
	own := f.all[c.Name]
	f.mu.Unlock()
	if !sameKind(own.config, c) {
		// Its workers first finish what they hold, which may take long: nothing else waits for that.
		f.running.Go(func() {
			f.remove(c.Name)
			if ctx.Err() != nil {
				return
			}
			if err := f.open(ctx, c); err != nil {
				f.local.options.told(err.Error())
				return
			}
			f.local.options.told("fleet " + c.Name + " begins anew: its workers have finished")
		})
		return nil
	}
	settings, err := settingsOf(c)
	if err != nil {
		return err
	}
	settings.Trees = len(c.Queues) > 0
	if !c.Away() {
		if err := own.parts.change(f.local, c); err != nil {
			return err
		}
	}
	own.loop.Change(ctx, settings)
	f.mu.Lock()
	defer f.mu.Unlock()
	own.config = c
	return nil
}

// remove ends a fleet: its loop first, then its workers, which finish what they hold.
func (f *fleets) remove(name string) {
	f.mu.Lock()
	own := f.all[name]
	delete(f.all, name)
	f.mu.Unlock()
	own.stop()
	<-own.ended
	own.close()
}

// stop waits for the loops, whose context has ended, and ends all workers once they have finished what they hold.
func (f *fleets) stop() {
	f.running.Wait()
	f.mu.Lock() // not while workers finish: the API, to which they report, asks for the fleets
	all := slices.Collect(maps.Values(f.all))
	f.mu.Unlock()
	var closing sync.WaitGroup
	for _, own := range all {
		closing.Go(own.close)
	}
	closing.Wait()
}
