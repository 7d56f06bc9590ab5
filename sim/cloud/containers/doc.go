// Package containers models Amazon ECS: services with their deployments, tasks with protection, Fargate, and the
// instances of Auto Scaling groups that tasks are placed on.
//
// [ECS] is the API, with one method for each action. Most actions find a cluster, change settings and schedule a
// reconciliation of the service, which starts what it lacks and stops what it has too much:
//
//	UpdateService -> reconcileSoon -> (React later) -> reconcile -> place  -> a task moves through its states
//	                                                            `-> stop   -> SIGTERM, SIGKILL after the timeout
//
// A task passes these states; how long each takes is a setting of [Tasks]:
//
//	PROVISIONING -> PENDING -> ACTIVATING -> RUNNING -> STOPPING -> DEPROVISIONING -> STOPPED
//	(Fargate, or     (image
//	waiting for a     pull)
//	host)
//
// A task has two states: DesiredStatus says what ECS wants, LastStatus where the task is. "Runs" below means that
// both are RUNNING; a task that is ordered to stop has the desired status STOPPED while its container still works.
//
// Tasks run on Fargate or on a host: an instance of a group that a capacity provider ties to the cluster. The package
// knows groups through the interface [Groups] alone, learns of instances through [ECS.Join] and [ECS.Leave], and
// sizes a group itself when its provider has managed scaling. An autoscaler sees a service as a [Scalable].
//
// Invariants: a service never stops a protected task; the resources of a host plus those of its tasks are constant; a
// task is listed until an hour after it stopped; nothing depends on the order of a map.
//
// Package scaling has the target tracking of services, package groups the groups; package cloud connects all three.
package containers
