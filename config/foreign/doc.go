// Package foreign reads how other systems scale, and writes the configuration that means the same: CloudFormation and
// SAM templates, Terraform, what the AWS CLI prints, and ScaledObjects, ScaledJobs and HorizontalPodAutoscalers of
// Kubernetes.
//
// [Read] is pure. Its way: read the texts with places (read.go), bring what is not a template of CloudFormation into
// the shape of one (package terraform, cli.go) or read it as an object of Kubernetes (kubernetes.go, keda.go,
// trigger.go), resolve what a template says of itself (resolve.go), find the scaling policies, what they scale and the
// queues that they go by (template.go, queues.go), turn each policy into ours (tracking.go, setter.go, steps.go,
// alarm.go, scheduled.go, cron.go), and write the configuration (write.go).
//
// What cannot be carried over is a note with its place, in the result and as a comment in what is written. What is
// written never sizes or starts anything: every fleet begins in shadow, without a command. Size, depth and work are
// bounded, and aliases are refused.
package foreign
