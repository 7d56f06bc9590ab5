package cloud

import (
	"time"

	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/containers"
	"github.com/muster-scale/muster/sim/cloud/groups"
	"github.com/muster-scale/muster/sim/cloud/monitoring"
	"github.com/muster-scale/muster/sim/cloud/queues"
	"github.com/muster-scale/muster/sim/cloud/scaling"
)

// Settings make a world. The zero value of every field but Start is a default.
type Settings struct {
	// Start is the first instant; needed.
	Start time.Time
	// Seed decides everything that is drawn.
	Seed uint64
	// Region is us-east-1 when empty, Account 000000000000.
	Region, Account string
	// Caller is who calls: a group with another Operator refuses it.
	Caller string
	// Machines is how instances of groups behave that have no Machines of their own.
	Machines groups.Machines
	// Tasks is how tasks behave.
	Tasks containers.Tasks
	// Counts is how the counts of queues look from outside.
	Counts queues.Counts
	// Metrics is how CloudWatch takes in metrics.
	Metrics monitoring.MetricDelays
	// Tracking is how target tracking of groups works.
	Tracking scaling.Tracking
	// Rates are the token buckets of the API, by service and action; DefaultRates when nil.
	Rates []account.Rate
	// WarmPoolsMayMix lets a group have a warm pool and a mixed instances policy at a time. The documentation of 2023
	// says no; whether it is still so could not be settled.
	WarmPoolsMayMix bool
}

// World is one account in one region, at one instant, with its services. It is not safe for concurrent use.
type World struct {
	*account.Account
	groups   *groups.AutoScaling
	tasks    *containers.ECS
	queues   *queues.SQS
	watch    *monitoring.CloudWatch
	policies *scaling.GroupPolicies
	targets  *scaling.ApplicationScaling
}

// New returns a world at its start, with nothing in it.
func New(s Settings) *World {
	w := &World{Account: account.New(account.Identity{Start: s.Start, Seed: s.Seed, Region: s.Region,
		Account: s.Account,
		Caller:  s.Caller, Rates: s.Rates})}
	w.watch = monitoring.New(w.Account, s.Metrics)
	w.queues = queues.New(w.Account, s.Counts, w.watch.Publish)
	w.groups = groups.New(w.Account, s.Machines, s.WarmPoolsMayMix, w.watch.Publish)
	w.tasks = containers.New(w.Account, s.Tasks, provided{w.groups}, w.watch.Publish)
	w.policies = scaling.NewGroupPolicies(w.Account, w.watch, s.Tracking, tracked{w.groups})
	w.targets = scaling.NewApplicationScaling(w.Account, w.watch, s.Tracking, w.service)
	w.groups.Connect(groups.Listeners{
		Serves:  func(i groups.Machine) { w.tasks.Join(containers.Host(i)) },
		Leaves:  w.tasks.Leave,
		Deleted: w.policies.Forget,
	})
	w.At(nextMinute(s.Start), w.minute)
	return w
}

// service finds a service for Application Auto Scaling, nil for none.
func (w *World) service(cluster, name string) scaling.Service {
	if s, found := w.tasks.Scalable(cluster, name); found {
		return s
	}
	return nil
}

// AutoScaling is the API of EC2 Auto Scaling in this world, but for its scaling policies.
func (w *World) AutoScaling() *groups.AutoScaling { return w.groups }

// GroupPolicies is the rest of that API.
func (w *World) GroupPolicies() *scaling.GroupPolicies { return w.policies }

// ECS is the API of Amazon ECS in this world.
func (w *World) ECS() *containers.ECS { return w.tasks }

// ApplicationScaling is the API of Application Auto Scaling in this world.
func (w *World) ApplicationScaling() *scaling.ApplicationScaling { return w.targets }

// CloudWatch is the API of CloudWatch in this world.
func (w *World) CloudWatch() *monitoring.CloudWatch { return w.watch }

// SQS is the API of SQS in this world.
func (w *World) SQS() *queues.SQS { return w.queues }

// minute is what happens once a minute: metrics are published.
func (w *World) minute() {
	w.queues.Minute()
	w.groups.Minute()
	w.tasks.Minute()
	w.watch.Forget()
	w.At(w.Now().Add(time.Minute), w.minute)
}

func nextMinute(t time.Time) time.Time { return t.Truncate(time.Minute).Add(time.Minute) }
