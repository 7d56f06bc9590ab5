// Package controller is the step from what was seen to what is done, and says when one is due.
//
// [Settings.Step] is a pure function: from a state and timestamped inputs (queue measurements, listings, worker
// reports, results of earlier effects) it computes a decision, the records to keep, the effects to execute and the next
// state. [Shell], as pure, says what stands around the steps: when to look, when to step, whom to answer. Package
// controller/loop drives both in real time, and package sim in simulated time.
//
// To follow one decision: a source measures (package source/...), the loop passes it to [Settings.Step] (step.go),
// which asks the policy (package policy), brings the roster to the desired size (reconcile.go) and hands an order to
// the fleet (package fleet/...).
package controller
