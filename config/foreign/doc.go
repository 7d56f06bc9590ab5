// Package foreign reads what other autoscalers were told, CloudFormation and SAM templates and ScaledObjects of KEDA, and
// writes the configuration that means the same.
//
// [Read] is pure. Its way: read the text with places (read.go), resolve what a template says of itself (resolve.go), find the
// scaling policies and what they scale (template.go, tracking.go, steps.go, keda.go), write the configuration (write.go). What
// cannot be carried over is a note with its place, in the result and as a comment in what is written. Size, depth and
// work are bounded, and aliases are refused.
package foreign
