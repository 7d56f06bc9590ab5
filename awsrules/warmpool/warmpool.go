// Package warmpool is the published rule by which the warm pool of an EC2 Auto Scaling group gets its size.
//
// A warm pool keeps instances prepared outside the group. A growing group takes instances from there first, and the
// pool then launches others. [Pool.Size] says how many it should have:
//
//	max(MinSize, MaxGroupPreparedCapacity - desired capacity)
//
// where MaxGroupPreparedCapacity is the maximum size of the group unless it is stated. [Pool.Lacks] compares that with
// what is there and on its way. A pool with both numbers equal has the same size at every size of the group; that is
// how Muster configures one.
//
// AWS publishes no times. [Start] are those that the models assume for an instance to leave the pool.
//
// The package has no instances, states or clock. Package sim/cloud/groups follows the states of AWS's API, and package
// sim has a pool of members that boot sooner; both use this rule.
//
// Source: EC2 Auto Scaling user guide, "Decrease latency for applications with long boot times using warm pools".
package warmpool

import "time"

// Pool says how many instances a pool keeps. Numbers are in instances, 0 or more.
type Pool struct {
	// Min is the least size of the pool.
	Min int
	// Prepared is the least capacity of group and pool together.
	Prepared int
}

// Of is the pool that keeps n instances prepared at any size of the group.
func Of(n int) Pool { return Pool{Min: n, Prepared: n} }

// Size returns how many instances the pool should have while the group's desired capacity is desired.
func (p Pool) Size(desired int) int { return max(p.Min, p.Prepared-desired, 0) }

// Lacks returns how many instances the pool must launch, below 0 how many it must end. have are those in the pool and
// on their way there.
func (p Pool) Lacks(desired, have int) int { return p.Size(desired) - have }

// The times that the models assume for an instance to leave a pool and run: a stopped or hibernated machine is started,
// a running one only enters service.
const (
	fromStopped = 20 * time.Second
	fromRunning = 2 * time.Second
)

// Start returns the assumed time from a pool, whose instances wait running or not, until an instance runs.
func Start(running bool) time.Duration {
	if running {
		return fromRunning
	}
	return fromStopped
}
