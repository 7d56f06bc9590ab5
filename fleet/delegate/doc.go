// Package delegate hands the size of a fleet to the target tracking of AWS: of EC2 Auto Scaling for a group, and of
// Application Auto Scaling for a service of ECS. It publishes the tracked metric, keeps the scaling policy as
// configured, and sets its target. It sets no size.
//
// [Delegate] is the muster.Delegator of one fleet, and [Publisher] publishes without sizing, for "muster publish" from
// cron. [Config] is the configuration of a fleet:
//
//	delegate: {change: 20, every: 5m}
//
// The tracked number is the backlog per worker or the worker utilization ([Formula]), as a metric that Muster publishes
// or as metric math over those of the queue and the fleet. With no worker in service and messages waiting, the tracked
// number is above its target, so that a fleet rises from none.
//
// A replaced policy makes AWS measure anew, which costs minutes. So it is replaced only when it differs from the
// present one by more than ChangePercent.
//
// Use it where another team must keep the scaling policy in AWS, or where Muster may not change sizes. The price is
// that AWS ends members of its own choice, so workers must protect themselves, and that it reacts minutes later than
// Muster.
//
// An unknown metric is not published. A gap makes the alarms of target tracking wait, and a zero would shrink the
// fleet.
//
// For something else: packages fleet/asg and fleet/ecs size the same fleets themselves. Which target counts is decided
// by policy.Delegated. The policy metric-math does what target tracking does, without AWS.
package delegate
