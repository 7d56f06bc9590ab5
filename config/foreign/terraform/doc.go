// Package terraform reads the scaling configuration of Terraform: modules written in HCL ([Read]), and what terraform
// show -json prints of a plan or a state ([Shown]). Both become a tree of the shape of a CloudFormation template, so
// that package foreign finds policies, alarms and queues in one way.
//
// The way of HCL: collect the blocks of all files (module.go), evaluate variables, locals and resources with what is
// stated there (evaluate.go, functions.go), turn each value into a node that says where it stands and what of it cannot
// be told (value.go), and rename what the AWS provider calls otherwise than CloudFormation does (rename.go). Nothing is
// fetched: neither modules nor state. Size and work are bounded.
package terraform
