// Package controller is the step from what was seen to what is done, and the loop that drives it in real time.
//
// [Settings.Step] is a pure function: from a state and timestamped inputs (queue measurements, listings, worker
// reports, results of earlier effects) it computes a decision, the records to keep, the effects to execute and the next
// state. It owns no goroutine, timer, lock or I/O, and reads no clock. [Loop] gathers the inputs, appends the records
// to the history and only then executes the effects; a simulator is another executor of the same step.
//
// To follow one decision: a source measures (package source/...), [Loop] passes it to [Settings.Step] (step.go), which
// asks the policy (package policy), brings the roster to the desired size (reconcile.go) and hands an order to the
// fleet (package fleet/...).
package controller
