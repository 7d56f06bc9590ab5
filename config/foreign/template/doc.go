// Package template tells what the values of a CloudFormation template come to, as far as the template says it.
//
// A [Template] has resources, parameters with defaults, mappings and conditions. [Template.Resolve] computes a node:
// the [Value] is a text or a list, or says why it is not known here and what stands in for it:
//
//	v := t.Resolve(nodes.Get(properties, "QueueName"))
//	if v.Why != "" {
//		t.Notes.Add(n, "the queue's name is not known: %s", v.Why) // v.Best() stands in for it
//	}
//
// [Template.ResourceOf] finds the resource that a value refers to: by reference, by a name that the resource states,
// or by the same words. [Template.Unroll] writes out the loops of the language extensions.
//
// The functions are those of CloudFormation: Ref, GetAtt, Sub, Join, Select, Split, FindInMap, If with conditions,
// and ImportValue; Fn::Unknown is this product's own. What is known only in the deployed stack, such as an ARN or a
// name that AWS makes, is a value with a reason, never a guess without one.
//
// Terraform and the output of the AWS CLI are brought into the form of a template before. Nothing here knows what a
// resource means: scaling policies are the matter of package aws.
package template
