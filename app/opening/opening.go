package opening

import (
	"context"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/settings"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/loop"
	"github.com/muster-scale/muster/event"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/kind"
)

// Loop returns the options of a loop that sizes the fleet c by these settings and ports: its sources, signals, stored
// reports and delegator. It makes no call but those that the credentials of AWS need. History, Logger, Notify and Trees
// are left to the caller. The members that opened the ports must be those of the table.
func Loop(ctx context.Context, table kind.Table, h *kind.Host, c config.Fleet, s controller.Settings,
	ports *kind.Ports) (loop.Options, error) {
	o := loop.Options{
		Settings: s, Meter: table.Meter(h, c), Fleet: ports.Fleet, Releaser: ports.Releaser,
		Protector: ports.Protector, Trimmer: ports.Trimmer,
	}
	if err := sources(ctx, table, h, c, &o); err != nil {
		return o, err
	}
	if ports.Expecter != nil {
		o.Expecters, o.Listing = append(o.Expecters, ports.Expecter), ports.Expecter
	}
	var err error
	if sizer := kind.SizerOf(c); sizer != nil {
		if o.Delegator, err = sizer.Open(ctx, h, c, nil); err != nil {
			return o, err
		}
	}
	if c.ReportsTable != "" {
		o.Stored, err = storedReports(ctx, h, c)
	}
	return o, err
}

// sources opens the queues and signals of a fleet and adds them to o.
func sources(ctx context.Context, table kind.Table, h *kind.Host, c config.Fleet, o *loop.Options) error {
	for i, q := range c.Queues {
		row, err := table.Queue(q)
		if err != nil {
			return err
		}
		one, err := row.Open(ctx, h, c, i)
		if err != nil {
			return err
		}
		o.Sources = append(o.Sources, one.Source)
		if one.Wakes != nil {
			o.Wakes = append(o.Wakes, one.Wakes)
		}
		if one.Expecter != nil {
			o.Expecters = append(o.Expecters, one.Expecter)
		}
	}
	for _, signal := range kind.SignalsOf(c) {
		// A signal may replace some measurements of a queue and take the others from it.
		var base muster.Source
		if len(o.Sources) > 0 {
			base = o.Sources[0]
		}
		measured, err := signal.Open(ctx, h, c, base)
		if err != nil {
			return err
		}
		o.Sources = []muster.Source{measured}
	}
	return nil
}

// Settings returns the controller's settings for a fleet.
func Settings(c config.Fleet) (controller.Settings, error) { return settings.Of(c, awsapi.Slow) }

// Named returns the fleet c by the names that events use. Its members are unknown.
func Named(c config.Fleet) event.Fleet {
	facts := c.Facts()
	one := event.Fleet{Name: c.Name, Group: facts.Tracked.Group, Service: facts.Tracked.Service,
		Cluster: facts.Around.Cluster, Family: facts.Around.Family, Hosts: facts.Around.Hosts}
	for _, q := range c.Queues {
		one.Queues = append(one.Queues, q.Name)
	}
	return one
}
