// Package stack says which resources of AWS a fleet of a configuration is made of, so that one template makes all of
// them: queues, workers with their roles, an Auto Scaling group or tasks of ECS, and what sizes them.
//
// [Make] returns a [Stack], which is plain data. Two packages write it as text:
//
//	s, err := stack.Make(config, kinds.Table(), "images", stack.Options{})
//	text := cloudformation.Write(s) // or terraform.Write(s)
//
// What the configuration states is in the template: the names of queues, groups and services, the limits, the
// objective, the slots, the target. What it does not state, such as subnets, an image or where the programs are, is a
// [Parameter] with a description. No parameter has a default that could be wrong. A text with parameters in it is a
// [Text], which each writer expresses in its own language.
//
// The resources follow from the kind of fleet, and the kinds state them ([kind.Templated], [kind.Tracker]): this
// package names no kind. They are
//
//   - for each queue, a queue for dead letters; both encrypted;
//   - for a group, a launch template with the worker as a service of systemd, and instance requirements instead of
//     types;
//   - for a service or tasks of ECS, a cluster and a task definition, and with a group under them a capacity provider;
//   - for target tracking, the policy, and the functions that publish its metric and move its target;
//   - for events, a queue with the rules that feed it.
//
// Some rules hold for every stack. No size is stated but the limits, because a second deployment would set it back.
// Instances are protected from scale-in from their launch on, and zones are not rebalanced, so nothing but the fleet's
// own rules ends a busy worker. Roles come from package deploy/iam, with the few permissions that a template needs
// besides. Logs have a retention.
//
// The package is pure: equal configurations give equal stacks.
package stack
