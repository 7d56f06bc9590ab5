// Package foreign reads how other systems scale, and writes the configuration that means the same: CloudFormation and
// SAM templates, Terraform, what the AWS CLI prints, and ScaledObjects, ScaledJobs and HorizontalPodAutoscalers of
// Kubernetes.
//
// [Read] is pure. Its way: read the texts with places (read.go, package nodes), bring Terraform (package terraform) and
// what the AWS CLI prints into the shape of a template, read the templates (packages template and aws) and the objects
// of Kubernetes (package kubernetes) as fleets (package draft), and write the configuration (write.go).
//
// What cannot be carried over is a note with its place, in the result and as a comment in what is written. What is
// written never sizes or starts anything: every fleet begins in shadow, without a command. Size, depth and work are
// bounded, and aliases are refused.
package foreign
