// Package leader decides which of several controllers sizes which fleet, so that each fleet has one controller, and
// another within five seconds when that one is gone.
//
// Controllers share a [Store], such as a table or a database. In it, each controller has a session, which it renews
// with a beat every half second. Each fleet has a claim that names the session of its leader. A controller leads a
// fleet while both hold: its session is fresh, and the claim names it.
//
//	m := leader.New(leader.Options{ID: random, Name: host, Timing: leader.DefaultTiming(), Fleets: names})
//	actions := m.Step(now, leader.Tick{})   // what to do: Beat, Read, Evict, Take, and Lead or Yield a fleet
//	...                                     // carry them out, and step with each result
//	m.Until()                               // until when the led fleets may be acted on
//
// [Machine] is a pure state machine; time is an argument, a duration of the controller's own monotonic clock. No two
// clocks are ever compared, so a wall clock that jumps changes nothing. Package leader/term drives the machine in real
// time; the tests drive many of them in virtual time.
//
// Why no two controllers act for one fleet at the same time:
//
//   - A leader stops acting at [Timing.Stop] after the start of its last successful beat, by its own clock.
//   - Another controller evicts a session only after it saw the same beat for [Timing.Lease], by its own clock. That
//     began later than the beat. So clocks may run at rates that differ by up to a third.
//   - Eviction and beat are conditional writes of one element: one of both fails. A controller whose beat fails so
//     knows that it leads nothing, and begins a new session.
//   - A claim is taken by a conditional write, and only when its holder's session is gone.
//
// A process that is paused between a check of its clock and the call that follows can still act late. What that can do
// is bounded elsewhere: each order is recorded first, by an append that is conditional on the epoch of the fleet's
// history, and a new leader begins a new epoch. See docs/availability.md.
//
// Many fleets spread over the controllers: a fleet without a leader goes to the controller that its name and the
// sessions rank first (rendezvous hashing), so all agree without a word. A controller with clearly more than its share
// hands fleets over to the one with the fewest, only after the sessions have been the same for a while.
//
// The package knows nothing of what a fleet is, or what leading one means.
package leader
