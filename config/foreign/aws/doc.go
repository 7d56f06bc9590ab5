// Package aws reads how Auto Scaling groups and ECS services are scaled, as fleets of a configuration.
//
// [Read] finds the scaling policies of a template, what they scale (scaling.go) and the queues that they go by
// (queues.go), and turns each policy into ours: target tracking (tracking.go, setter.go), steps and the alarms that
// call them (steps.go, alarm.go), scheduled actions (scheduled.go). [Outputs] makes a template of what the AWS CLI
// prints. How references are resolved is the matter of package template.
package aws
