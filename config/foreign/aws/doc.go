// Package aws reads how Auto Scaling groups and ECS services are scaled, as fleets of a configuration.
//
// [Read] takes a template, from CloudFormation, Terraform or the AWS CLI alike; [Outputs] makes a template of what
// the CLI prints. First it finds what is scaled: the group or the scalable target of each policy and scheduled action
// (scaling.go). Then it finds the queues that their metrics name, and sets dead-letter and notification queues apart
// (queues.go). Last it turns each policy into one of Muster's:
//
//	target tracking of a metric        -> metric-math           (tracking.go)
//	  of the backlog per instance      -> backlog-per-worker    (setter.go)
//	  whose target a function sets     -> dynamic-backlog       (setter.go)
//	step and simple scaling, an alarm  -> step                  (steps.go, alarm.go)
//	scheduled actions                  -> schedule              (scheduled.go)
//	predictive scaling                 -> a note                (scheduled.go)
//
// A policy that cannot be carried over is a note at its place, with the reason; so is every setting that Muster has
// no equivalent of. Where AWS waits, a window of the configuration waits as long: see draft.Draft.Falling.
//
// The bounds are those of a configuration (package draft). How references and functions of a template are resolved is
// the matter of package template; how the configuration is written is that of package foreign.
package aws
