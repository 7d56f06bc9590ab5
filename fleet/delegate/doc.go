// Package delegate hands the size of a fleet to the target tracking of AWS: of EC2 Auto Scaling for a group, and of
// Application Auto Scaling for a service of ECS. It publishes what is tracked, keeps the scaling policy as it should
// be, and sets its target. It sets no size.
//
// [Delegate] is the muster.Delegator of one fleet, and [Publisher] publishes without sizing, for "muster publish" from
// cron. [Config] is what a fleet states:
//
//	delegate: {change: 20, every: 5m}
//
// What is tracked is the backlog per worker or the worker utilization ([Formula]), as a metric that Muster publishes or
// as metric math over those of the queue and the fleet. With no worker in service and messages waiting, the tracked
// number is above its target, so that a fleet rises from none.
//
// A policy that is put anew makes AWS measure anew, which costs minutes. So it is put only when it differs from what
// there is.
//
// Use it where another team must keep the scaling policy in AWS, or where Muster may not change sizes. What is given
// up: AWS ends members of its own choice, so workers must protect themselves, and there is no launch at the last
// moment.
//
// For something else: packages fleet/asg and fleet/ecs size the same fleets themselves. Which target counts is decided
// by policy.Delegated. The policy metric-math does what target tracking does, without AWS.
package delegate
