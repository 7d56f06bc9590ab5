// Package instructed has the combinators that carry out the instructions of operators, the overrides of an observation:
// [Reserved] raises the size to reserved workers, [Instructed] holds it during a pause, holds a fall, and shows limits.
//
//	p = instructed.Reserved{Of: p}   // before the budget, which binds reservations too
//	p = instructed.Instructed{Of: p} // after all other rules, before the bounds of the configuration
//
// Package policy puts both around every policy. Each instruction that acts is a term of the decision, also one that
// changes no number, so that a reader of the decision knows of it. The combinators are pure functions like all others,
// and must not know who asked or how instructions are kept: package override has what they are, package controller
// adds and ends them.
package instructed
