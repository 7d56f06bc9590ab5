// Package placement knows the machine or task that a worker runs on: its identity, and notices that it will end.
//
//   - [EC2] and [FindECSTask] return the identity: an instance's id, a task's id and service. The id names the member
//     in reports, so that the controller knows which member a worker belongs to.
//   - [EC2Notices] and [ECSNotices] are worker.Notices. They poll the metadata and report each change: the interruption
//     of a Spot instance, a termination by the group, a move to the warm pool, a stop of the task.
//   - [ECSProtection] is worker.Protection for a task of a service, by the agent's endpoint.
//
// All of it is read from services on the same machine: the instance metadata (IMDSv2, with a token) and the endpoints
// of the ECS agent, whose addresses are in the task's environment. No proxy is used and no redirection followed.
// Requests are bounded in time and size, because a container without access to them must still start.
//
// A notice is a state and not an event: it is read again at every interval, so a missed one loses nothing, and a worker
// that starts late still sees it.
//
// For something else: the protection and the lifecycle hook of an Auto Scaling group are package worker/autoscaling.
// What a worker does after a notice is decided in package worker, and when a task needs protection in package
// worker/lease.
package placement
