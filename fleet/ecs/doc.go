// Package ecs sizes fleets of Amazon ECS tasks, in one of two ways.
//
// [Service] sizes the tasks of a service. A rise sets the service's desired count. A fall never lowers the count alone,
// because ECS then chooses which tasks to stop: the worker in a task first gives its release token; then every other
// running task is protected, the released ones are not, and only then the count falls by as many, so that ECS can stop
// no other. A worker in such a task must not exit by itself, or the service starts another in its place; it waits for
// SIGTERM.
//
// [Tasks] starts tasks without a service, ten in a call, with client tokens that derive from the order, so that an
// order given twice starts nothing twice. Their workers exit by themselves when nothing is left to do, down to none.
//
//	ecs: {cluster: prod, service: web}          # a service
//	ecs: {cluster: prod, task_definition: work} # tasks without one
//
// The other types: [Clusters] describes what all fleets need in few calls, [Config] is what a fleet states, and
// [Capacity] is an Auto Scaling group under a service. The group rises together with the service, and instances that
// hold no task end once the service has no use for them.
//
// Members are tasks, by the last part of their ARN. They are described every few seconds while they change, and twice a
// minute while they do not.
//
// For something else: instances without ECS are package fleet/asg. Leaving the size to AWS is package fleet/delegate.
// The worker's protection of its task is in worker/lease, and called in worker/placement.
package ecs
