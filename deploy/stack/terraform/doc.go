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
package terraform
