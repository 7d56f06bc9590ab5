// Package rules is what policies are written with: the decision that they begin with, rounding, values of a term, and
// the parts of sentences that several of them say.
package rules
