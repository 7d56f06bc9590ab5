// Package autoscaling keeps an instance of an EC2 Auto Scaling group alive while its workers work.
//
// Two means of the group serve that, and a worker may use both:
//
//   - [Protection] is scale-in protection: the group chooses another instance. It does not help against a replacement
//     of an unhealthy instance, or an end that a person orders.
//   - [Hook] is the group's lifecycle hook for terminating instances: it delays a termination that was decided, by
//     heartbeats, until the workers have finished. [Shared] is the hook of one of several workers.
//
// Several workers on one instance share a directory, in which each has a locked file while it needs the instance:
//
//	worker starts work   its file is locked
//	worker is idle       the lock is released; the last of them lifts the protection, or completes the hook
//	worker crashes       the system releases its lock, so the others do not wait for it
//
// A call of AWS without an answer may still be carried out later. So after a call to lift the protection that failed
// in that way, the instance counts as unprotected for another 30 seconds, whatever a later call says.
//
// For something else: noticing that an instance will end is package worker/placement, and so is the protection of tasks
// of ECS. When a worker needs protection is decided by package worker/lease. Muster's own side, which sizes groups and
// protects instances, is package fleet/asg.
package autoscaling
