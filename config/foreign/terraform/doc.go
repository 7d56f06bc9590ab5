// Package terraform reads the scaling configuration of Terraform, written in HCL or in its JSON syntax ([Read]), and
// what terraform show -json prints of a plan or a state ([Shown]). Both become a tree in the form of a CloudFormation
// template, so that one package finds policies, alarms and queues, wherever they come from.
//
// [Read] goes through these steps:
//
//	json.go                   JSON syntax -> the same blocks that HCL gives
//	module.go                 the blocks of all files of a directory -> a module
//	evaluate.go, functions.go variables, locals and expressions -> values
//	instance.go, call.go      count, for_each and called modules -> instances
//	value.go                  values -> nodes with their places
//	rename.go                 arguments of the AWS provider -> properties of CloudFormation
//
// [Shown] needs only the last step, because a state has values. A plan refers to what is not known yet.
//
// Terraform computes much that is not stated anywhere: ids, ARNs, data sources. Evaluation does not stop there. A
// value that is not known carries a mark ([cty.Value.Mark]) of the type doubt, which says why and what stands in for
// it; marks go wherever the value goes. So a text with one unknown part still shows its known parts, and a note can
// name the cause.
//
// References may go in any order and through modules, so a module is evaluated in rounds until nothing changes.
//
// Nothing is fetched: neither modules of a registry nor state nor providers. Functions that read files, the clock or
// chance are missing. Size and work are bounded, because a file may be made to explode.
package terraform
