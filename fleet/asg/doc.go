// Package asg sizes a fleet of EC2 instances through an Auto Scaling group.
//
// The group starts and replaces instances; Muster sets its size and chooses the instances that end. The main types:
// [Fleet] is the muster.Fleet of one group, [Groups] describes the groups of all fleets together, [WarmPool] configures
// prepared instances, and [Config] is the configuration of a fleet:
//
//	asg: {group: renders}
//
// A rise sets the group's desired size, or launches the instances by name where the group allows that, so that a lack
// of capacity is known at once ([Launching]). A fall never lowers the size below the living instances: the worker on an
// instance first gives its release token, and then that one instance is ended, and the desired size lowered by the same
// call. Instances are protected from the group's own scale-in from birth, by the group or as soon as they are in
// service.
//
// Members are instances, by their ids. Instances in a warm pool are no members. Those in standby, and those that are
// retained, are left alone.
//
// The group is described every few seconds while it changes and twice a minute while it does not, together with up to
// 49 others.
//
// The files:
//
//	groups.go   reads the groups of a region, many in a call, each at its own pace
//	survey.go   sorts the instances of a described group, and converts between instances and the group's units
//	size.go     raises the size, by number or by name, and finds out why launches failed
//	zones.go    launches by name, spread over the zones of the group
//	end.go      ends released instances, protects others, and configures the warm pool
//	pool.go     reads the warm pool, to tell warm boots from cold starts
//
// The package keeps these invariants:
//
//   - Muster ends only named instances. The one exception is an order with Shrink, where the group chooses.
//   - A repeated call changes nothing: sizes are absolute, and launches by name have client tokens of their order.
//   - A group that another service operates, or that is being deleted, is never changed.
//   - A launch that failed is reported as an ended member with the reason of the group.
//
// For something else: tasks on such a group are package fleet/ecs. Leaving the size to AWS is package fleet/delegate.
// The worker's side, notices and lifecycle hooks, is worker/placement and worker/autoscaling. How AWS is modelled in
// tests is package sim/cloud. docs/aws.md has what must be set up.
package asg
