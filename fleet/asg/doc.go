// Package asg sizes a fleet of EC2 instances through an Auto Scaling group.
//
// The group starts and replaces instances; Muster says how many there shall be and which of them end. The main types:
// [Fleet] is the muster.Fleet of one group, [Groups] describes the groups of all fleets together, [WarmPool] is how
// many instances are kept prepared, and [Config] is what a fleet states:
//
//	asg: {group: renders}
//
// A rise sets the group's desired size, or launches the instances by name where the group allows that, so that a lack
// of capacity is known at once ([Launching]). A fall never lowers the size below what lives: the worker on an instance
// first gives its release token, and then that one instance is ended, and the desired size lowered by the same call.
// Instances are protected from the group's own scale-in from birth, by the group or as soon as they are in service.
//
// Members are instances, by their ids. Instances in a warm pool are no members. Those in standby, and those that are
// retained, are left alone.
//
// The group is described every few seconds while it changes and twice a minute while it does not, together with up to
// 49 others.
//
// For something else: tasks on such a group are package fleet/ecs. Leaving the size to AWS is package fleet/delegate.
// The worker's side, notices and lifecycle hooks, is worker/placement and worker/autoscaling. How AWS is modelled in
// tests is package sim/cloud. docs/aws.md has what must be set up.
package asg
