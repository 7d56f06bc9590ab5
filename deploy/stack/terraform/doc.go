// Package terraform writes a stack as a configuration of Terraform for the AWS provider, version 5 or newer:
//
//	text := terraform.Write(s)
//
// It is one root module in one file. The provider accepts the account of the stack alone, so a wrong profile changes
// nothing. Parameters are variables; those of numbers check their range.
//
// The types in hcl.go are bodies of blocks with ordered entries, and expressions. The printer quotes every text, so
// nothing of a configuration can become an expression.
//
// Terraform keeps the size of groups and services that it does not state: the lifecycle of both ignores it.
//
// What repeats is a local value with for_each: functions, and rules of events. A reader then sees what differs between
// them. Everything else has a resource of its own, under an address that does not depend on names in the configuration,
// so that a fleet can be renamed without a change of the state.
//
// Permissions refer to queues, tables and log groups of the stack by their resource, and name everything else by its
// ARN: a reference to the group would be a circle, because the group depends on a function with a role.
package terraform
