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
// The other types: [Clusters] describes what all fleets need in few calls, [Config] is the configuration of a fleet,
// and [Capacity] is an Auto Scaling group under a service. The group rises together with the service, and instances
// that hold no task end once the service has no use for them.
//
// Members are tasks, by the last part of their ARN. They are described every few seconds while they change, and twice a
// minute while they do not.
//
// A reading costs one call while nothing changes: the service with its newest event, or the list of the running tasks.
// Only a changed fingerprint of these, an Expect, or six minutes make it read the tasks as well. The files:
//
//	service.go   sizes a service: the count, and the order of calls by which it falls
//	tasks.go     starts and stops tasks without a service
//	reader.go    reads tasks, and remembers those that a list does not have yet, or no more
//	quiet.go     tells whether anything changed since the last full reading
//	protect.go   the protection of tasks from scale-in, which decides what ECS may stop
//	capacity.go  the Auto Scaling group under a service
//	notes.go     what a person should know: deployments, other scaling policies, tasks that find no place
//	reasons.go   why tasks ended or did not start, with what to do about it
//
// The package keeps these invariants:
//
//   - ECS never chooses a busy task: before a count falls, all running tasks but the released ones are protected.
//   - A call that is repeated, after a crash or a lost answer, changes nothing the second time.
//   - A task that was ordered and cannot be placed is reported as ended with the reason, so that the controller decides
//     when to retry.
//   - What cannot be read is an error. A missing permission for notes alone only costs the notes.
//
// For something else: instances without ECS are package fleet/asg. Leaving the size to AWS is package fleet/delegate.
// The worker's protection of its task is in worker/lease, and called in worker/placement.
package ecs
