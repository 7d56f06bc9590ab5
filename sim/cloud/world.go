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

// Settings are the settings of a world. The zero value of every field but Start means a default.
type Settings struct {
	// Start is the first instant; required.
	Start time.Time
	// Seed decides everything that is drawn by chance.
	Seed uint64
	// Region is us-east-1 when empty, Account is 000000000000.
	Region, Account string
	// Caller is the ARN of the caller of every action; a role of the account when empty. A group with another
	// Operator refuses it.
	Caller string
	// Machines says how instances behave whose group has no Machines of its own.
	Machines groups.Machines
	// Tasks says how tasks behave.
	Tasks containers.Tasks
	// Counts says how far the visible counts of queues are from the truth.
	Counts queues.Counts
	// Metrics says how late CloudWatch shows values.
	Metrics monitoring.MetricDelays
	// Tracking says what target tracking does where AWS does not say it.
	Tracking scaling.Tracking
	// Rates are the token buckets of the API, by service and action; DefaultRates when nil.
	Rates []account.Rate
	// WarmPoolsMayMix lets a group have both a warm pool and a mixed instances policy. AWS's documentation of 2023
	// excludes it; whether that still holds is not known.
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

// New returns a world at its start, with nothing in it. The services are made in the order of what they need:
// CloudWatch first, because the others publish, and the policies last, because they scale the others.
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

// service finds a service for Application Auto Scaling. It returns a nil interface for none, which a nil pointer
// inside an interface would not be.
func (w *World) service(cluster, name string) scaling.Service {
	if s, found := w.tasks.Scalable(cluster, name); found {
		return s
	}
	return nil
}

// AutoScaling returns the API of EC2 Auto Scaling, without its scaling policies.
func (w *World) AutoScaling() *groups.AutoScaling { return w.groups }

// GroupPolicies returns the scaling policies of the API of EC2 Auto Scaling.
func (w *World) GroupPolicies() *scaling.GroupPolicies { return w.policies }

// ECS returns the API of Amazon ECS.
func (w *World) ECS() *containers.ECS { return w.tasks }

// ApplicationScaling returns the API of Application Auto Scaling.
func (w *World) ApplicationScaling() *scaling.ApplicationScaling { return w.targets }

// CloudWatch returns the API of CloudWatch.
func (w *World) CloudWatch() *monitoring.CloudWatch { return w.watch }

// SQS returns the API of SQS, as far as it concerns counts.
func (w *World) SQS() *queues.SQS { return w.queues }

// minute publishes the metrics of all services at each full minute, then schedules itself. The order is fixed, so
// that a world repeats.
func (w *World) minute() {
	w.queues.Minute()
	w.groups.Minute()
	w.tasks.Minute()
	w.watch.Forget()
	w.At(w.Now().Add(time.Minute), w.minute)
}

func nextMinute(t time.Time) time.Time { return t.Truncate(time.Minute).Add(time.Minute) }
