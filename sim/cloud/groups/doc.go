// Package groups models EC2 Auto Scaling groups: the lifecycle of their instances with hooks and warm pools, launches
// over zones, types and markets, scale-in, instance refreshes, and the metrics of groups.
//
// [AutoScaling] is the API. It has one method for each action, named after the action, with inputs and answers from
// package groupapi. A call checks its input, changes settings, and schedules a reconciliation of the group:
//
//	SetDesiredCapacity -> reconcileSoon -> (React later) -> reconcile
//	                                                          |-- grow: from the warm pool first, then cold
//	                                                          |-- shrink: in the order of package termination
//	                                                          |-- balance: level the zones
//	                                                          |-- fillPool: size the warm pool
//	                                                          `-- continueRefresh: replace old instances
//
// One reconciliation brings the capacity to the desired capacity at once; the instances then move through their
// states in virtual time. A launch passes these states, where a state in brackets is entered only with a hook:
//
//	Pending -> [Pending:Wait] -> Pending:Proceed -> InService
//	InService -> Terminating -> [Terminating:Wait -> Terminating:Proceed] -> gone
//	Warmed:Pending -> [Warmed:Pending:Wait -> Warmed:Pending:Proceed] -> Warmed:Stopped, Running or Hibernated
//
// How long each step takes is a setting of [Machines], for the world or for one group. Spot interruptions come by
// chance from the account's seed, or from a test through [AutoScaling.InterruptSpot].
//
// Other services do not see these types. They see a group as a [Size] and an instance in service as a [Machine], and
// learn about changes through [Listeners]. This package knows nothing of clusters, scaling policies or alarms:
// package containers and package scaling do, and package cloud connects them.
//
// Invariants: the sum of counted weights is what reconcile compares with the desired capacity; every instance that
// was launched is listed or has ended ([Census]); a protected instance never ends by scale-in; what was scheduled for
// an earlier state of an instance is dropped (see instance.turn).
//
// For the choice of the instance that ends use package termination, for checks that need no group package groupapi,
// for target tracking of a group package scaling.
package groups
