// Package controller turns what was observed of a fleet into what is done about it: one pure step for each fleet.
//
// It has no clock, goroutine, timer, lock or I/O. The live loop and the simulator drive the same code, so what is
// tested in simulated time is what runs in production.
//
// The main types:
//
//   - [Settings] is the configuration of one fleet; make it with [NewSettings]. [Settings.Step] computes an [Outcome]
//     from a [State] and inputs.
//   - [Input] is an event with its instant: [Measured], [Listed], [Reported], [Resulted] and others.
//   - [Outcome] has the decision, the records for the history, the effects to carry out and the next state. Records
//     come first: what is not recorded is not done.
//   - [Effect] is one of five actions on a fleet: [SetDesired], [End], [Protect], [Trim] and [HandOver]. Instructions
//     to workers are no effects; they are read from the state as answers to reports.
//   - [State] is the memory of a fleet. [Settings.Restore] rebuilds it from the history.
//   - [Shell] decides what happens around the steps: when to poll, when to step, which reports are answered at once and
//     which after the step that they cause.
//
// One step:
//
//	o := settings.Step(state, now, []controller.Input{measured, listed})
//	// append o.Records to the history, answer the workers, then carry out o.Effects
//	state = o.Next
//
// The parts of a step and their files:
//
//	inputs -> fold (step.go) -> observe (observe.go) -> policy.Decide -> write (reconcile.go) -> records, effects
//	             |                  |                                      |
//	             +-> roster         +-> learning                           +-> roster
//
// Invariants:
//
//   - Equal arguments give equal outcomes, byte for byte, and the given state is not changed.
//   - The state is a function of the records: a restart at any point continues with the same decisions.
//   - At most one order of a size is under way. Its intent is recorded before it is carried out.
//   - Where workers report, no worker is stopped that did not report itself idle with a release token.
//   - While the members are unknown, nothing is launched. While they or a count of a queue are unknown, no worker that
//     became ready to stop by itself is released.
//
// The package must not know how queues are measured, fleets are sized or histories are stored: those are ports of
// package muster, and their adapters never appear here.
//
// Use package controller/loop to run a fleet in real time and package sim in simulated time. Package
// controller/learning has the learned quantities, controller/audit explains and verifies recorded decisions, package
// roster keeps the members and their workers, and package policy decides.
package controller
