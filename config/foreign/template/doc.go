// Package template tells what the values of a CloudFormation template come to, as far as the template itself says.
//
// A [Template] has resources, parameters with defaults, mappings and conditions. [Template.Resolve] computes a node: a
// [Value] is a text or a list, or says why it cannot be told and what stands for it. [Template.ResourceOf] finds the
// resource that a value refers to, and [Template.Unroll] writes out the loops of the language extensions. What
// Terraform states and what the AWS CLI prints are brought into the same shape before.
//
// Nothing here knows what a resource means: scaling policies are the matter of package aws.
package template
