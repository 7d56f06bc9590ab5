package app

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/fleet/asg"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/source/embedded"
)

// localFleet is a fleet with its loop. Its methods are called one at a time, but for change, which is called while run
// runs.
type localFleet struct {
	app    *App
	config config.Fleet
	// parts are the process fleets of one on this machine, group is the Auto Scaling group of one on AWS.
	parts parts
	group *asg.Fleet
	loop  *controller.Loop // nil when it could not be opened whole
}

// run implements [worked].
func (o *localFleet) run(ctx context.Context, began func()) error {
	if o.group != nil && !o.config.Policy.Shadow {
		o.app.prepare(ctx, o)
	}
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

// change implements [worked].
func (o *localFleet) change(ctx context.Context, c config.Fleet) error {
	settings, err := liveSettings(c)
	if err != nil {
		return err
	}
	if err := o.parts.change(o.app, c); err != nil {
		return err
	}
	if !o.loop.Change(ctx, settings) {
		return errors.New("it is about to end")
	}
	o.config = c
	return nil
}

// close implements [worked]. The workers of a fleet that another system sizes are not ended.
func (o *localFleet) close() {
	if !o.config.Policy.Shadow {
		o.parts.close()
	}
}

// openFleet opens a fleet for its life. See [fleets.open].
func (a *App) openFleet(ctx context.Context, c config.Fleet, left *opened) (*opened, error) {
	var workers parts
	if left != nil {
		workers = left.workers
	}
	own, err := a.newFleet(ctx, c, workers)
	whole := &opened{worked: own, workers: own.parts}
	if own.loop != nil {
		whole.serves = own.loop
	}
	return whole, err
}

// newFleet opens a fleet, with the workers that are left of an earlier start; nil for none. When it fails, what it
// returns can be closed.
func (a *App) newFleet(ctx context.Context, c config.Fleet, workers parts) (own *localFleet, err error) {
	own = &localFleet{app: a, config: c, parts: workers}
	switch {
	case c.Away():
	case workers != nil:
		err = workers.change(a, c)
	default:
		own.parts, err = a.partsOf(c)
	}
	if err != nil {
		return own, err
	}
	o, err := a.loopOptions(ctx, c, own)
	if err == nil {
		own.loop = controller.NewLoop(o)
	}
	return own, err
}

// loopOptions is all that the loop of a fleet drives.
func (a *App) loopOptions(ctx context.Context, c config.Fleet, own *localFleet) (controller.LoopOptions, error) {
	settings, err := liveSettings(c)
	if err != nil {
		return controller.LoopOptions{}, err
	}
	o := controller.LoopOptions{Settings: settings, Meter: a.aws.Meter(c), History: a.history, Logger: a.options.Logger}
	o.Notify = func(out controller.Outcome) { a.options.Notify(out) }
	if err := a.sources(ctx, c, &o); err != nil {
		return o, err
	}
	if !c.Away() {
		o.Fleet, o.Releaser = own.parts.whole()
		return o, nil
	}
	if own.group, err = a.aws.Members(ctx, c, &o); err != nil {
		return o, err
	}
	if err := a.keepFleetToken(c); err != nil {
		return o, err
	}
	if c.ReportsTable != "" {
		o.Stored, err = a.aws.storedReports(ctx, c)
	}
	return o, err
}

// sources puts what measures a fleet into o.
func (a *App) sources(ctx context.Context, c config.Fleet, o *controller.LoopOptions) error {
	dead := Kinds(c)[0].Workers.DeadLetter // that of the queue unless it is stated
	for i, q := range c.Queues {
		if q.URL == "" {
			source := embedded.New(a.queues, q.Name)
			if i == 0 && dead.URL == "" { // once, however many queues have their dead letters there
				source = source.WithDeadLetters(dead.Name)
			}
			o.Sources, o.Wakes = append(o.Sources, source), append(o.Wakes, source)
			continue
		}
		source, err := a.aws.Queue(ctx, c, q.URL)
		if err != nil {
			return err
		}
		o.Sources, o.Wakes, o.Expecters = append(o.Sources, source), append(o.Wakes, source), append(o.Expecters, source)
	}
	if len(c.Queues) > 0 {
		o.Trees = a.trees.of(c.Queues)
	}
	if c.Metrics == nil {
		return nil
	}
	var base muster.Source
	if len(o.Sources) > 0 {
		base = o.Sources[0]
	}
	measured, err := a.aws.Metrics(ctx, c, base)
	if err != nil {
		return err
	}
	o.Sources = []muster.Source{measured}
	return nil
}

// liveSettings are the settings of a fleet that runs: it looks at the trees, too, and knows the cores that its workers
// share.
func liveSettings(c config.Fleet) (controller.Settings, error) {
	s, err := Settings(c)
	s.Trees = len(c.Queues) > 0
	if !c.Away() {
		s.Cores = host.Cores()
	}
	return s, err
}

// Settings are the controller's settings for a fleet.
func Settings(c config.Fleet) (controller.Settings, error) {
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

// sameFleet tells whether nothing of a fleet has changed.
func sameFleet(a, b config.Fleet) bool { return reflect.DeepEqual(a, b) }

// sameKind tells whether a fleet can go from one configuration to the other without ending first. A fleet on AWS begins
// anew more often: its group or service is told more, and none of its workers has to end for that.
func sameKind(a, b config.Fleet) bool {
	if (a.Away() || b.Away()) && (a.Limits != b.Limits || a.Poll != b.Poll) {
		return false
	}
	if a.Delegate != nil && !reflect.DeepEqual(a.Policy, b.Policy) {
		return false // what AWS tracks follows from the policy
	}
	return reflect.DeepEqual(a.Queues, b.Queues) && reflect.DeepEqual(a.ASG, b.ASG) && reflect.DeepEqual(a.ECS, b.ECS) &&
		reflect.DeepEqual(
			a.Metrics,
			b.Metrics,
		) && reflect.DeepEqual(a.Delegate, b.Delegate) && a.ReportsTable == b.ReportsTable &&
		slices.EqualFunc(a.Split, b.Split, samePart)
}

func samePart(a, b config.Part) bool {
	return a.Name == b.Name && a.Base == b.Base && a.Weight == b.Weight && a.Max == b.Max
}
