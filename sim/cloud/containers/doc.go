// Package containers models Amazon ECS: services and their deployments, tasks with protection, Fargate, and instances
// of groups that tasks are placed on.
//
// [ECS] has a method for each action of the API. It knows the groups that its instances come from by the interface
// [Groups]; an autoscaler knows a service as a [Scalable].
package containers
