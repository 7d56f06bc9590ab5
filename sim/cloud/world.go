package cloud

import "time"

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
	Machines Machines
	// Tasks is how tasks behave.
	Tasks Tasks
	// Counts is how the counts of queues look from outside.
	Counts Counts
	// Metrics is how CloudWatch takes in metrics.
	Metrics MetricDelays
	// Tracking is how target tracking of groups works.
	Tracking Tracking
	// Rates are the token buckets of the API, by service and action; DefaultRates when nil.
	Rates []Rate
	// WarmPoolsMayMix lets a group have a warm pool and a mixed instances policy at a time. The documentation of 2023
	// says no; whether it is still so could not be settled.
	WarmPoolsMayMix bool
}

// World is one account in one region, at one instant, with its services. It is not safe for concurrent use.
type World struct {
	*Account
	groups   *AutoScaling
	tasks    *ECS
	queues   *SQS
	watch    *CloudWatch
	policies *GroupPolicies
	targets  *ApplicationScaling
}

// New returns a world at its start, with nothing in it.
func New(s Settings) *World {
	w := &World{Account: newAccount(Identity{Start: s.Start, Seed: s.Seed, Region: s.Region, Account: s.Account,
		Caller: s.Caller, Rates: s.Rates})}
	w.watch = newCloudWatch(w.Account, s.Metrics)
	w.queues = newSQS(w.Account, s.Counts, w.watch.publishFor)
	w.groups = newAutoScaling(w.Account, s.Machines, s.WarmPoolsMayMix, w.watch.publishFor)
	w.tasks = newECS(w.Account, s.Tasks, provided{w.groups}, w.watch.publishFor)
	w.policies = newGroupPolicies(w.Account, w.watch, s.Tracking, tracked{w.groups})
	w.targets = newApplicationScaling(w.Account, w.watch, s.Tracking, countedServices{w.tasks}.service)
	w.groups.connect(Listeners{
		Serves:  func(i Machine) { w.tasks.join(Host(i)) },
		Leaves:  w.tasks.leave,
		Deleted: w.policies.forget,
	})
	w.at(nextMinute(s.Start), w.minute)
	return w
}

// AutoScaling is the API of EC2 Auto Scaling in this world, but for its scaling policies.
func (w *World) AutoScaling() *AutoScaling { return w.groups }

// GroupPolicies is the rest of that API.
func (w *World) GroupPolicies() *GroupPolicies { return w.policies }

// ECS is the API of Amazon ECS in this world.
func (w *World) ECS() *ECS { return w.tasks }

// ApplicationScaling is the API of Application Auto Scaling in this world.
func (w *World) ApplicationScaling() *ApplicationScaling { return w.targets }

// CloudWatch is the API of CloudWatch in this world.
func (w *World) CloudWatch() *CloudWatch { return w.watch }

// SQS is the API of SQS in this world.
func (w *World) SQS() *SQS { return w.queues }

// minute is what happens once a minute: metrics are published.
func (w *World) minute() {
	w.queues.publishQueues()
	w.groups.publishGroups()
	w.tasks.publishECS()
	w.watch.forget()
	w.at(w.Now().Add(time.Minute), w.minute)
}

func nextMinute(t time.Time) time.Time { return t.Truncate(time.Minute).Add(time.Minute) }
