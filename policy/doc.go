// Package policy holds the scaling policies and their combinators, one file each.
//
// A policy is a function from an observation and the recent decisions to a decision. [New] builds one from a [Spec] by
// wrapping the named policy in the combinators that every fleet has, in this order:
//
//	policy -> headroom -> stabilisation -> rate -> caution -> launches -> bounds
//
// Each appends its term to the decision's trail when it changes the number, so that the pipeline prints itself.
// To add a policy: write its file with a type and a Decide method, and give it a row in the table in spec.go.
package policy
