// Package controller turns what was seen of a fleet into what is done about it, and says when the next step is due.
//
// It is pure: no clock, goroutine, timer, lock or I/O. The live loop and the simulator drive the same code, so what is
// tested in simulated time is what runs.
//
// The main types:
//
//   - [Settings] is what is configured for one fleet; make it with [NewSettings]. [Settings.Step] is the step: from a
//     [State] and inputs it computes an [Outcome].
//   - [Input] is something that happened, with its instant: [Measured], [Listed], [Reported], [Resulted] and others.
//   - [Outcome] has the decision, the records to append to the history, the effects to carry out and the next state.
//     Records come first: what is not recorded is not done.
//   - [Effect] is one of five things to do to a fleet: [SetDesired], [End], [Protect], [Trim] and [HandOver]. What
//     workers are told is no effect; it is read from the state.
//   - [Shell] decides what stands around the steps: when to poll, when to step, which reports are answered at once and
//     which after the step that they cause.
//
// One step in short:
//
//	o := settings.Step(state, now, []controller.Input{measured, listed})
//	// append o.Records to the history, answer the workers, then carry out o.Effects
//	state = o.Next
//
// To follow one decision: a source measures (package source/...), the loop passes it to [Settings.Step] (step.go),
// which asks the policy (package policy), brings the roster to the desired count (reconcile.go) and hands an order to
// the fleet (package fleet/...).
//
// For something else: package controller/loop runs a fleet in real time, and package sim in simulated time. Package
// controller/learning remembers what a fleet's past tells, and package controller/audit explains and verifies recorded
// decisions. Package roster has the members and their workers.
package controller
