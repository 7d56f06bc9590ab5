// Package loop runs a fleet's controller in real time: it owns the clock, the goroutines and the calls to ports.
//
// A [Loop] is made with [New] from [Options] and driven by [Loop.Run] in one goroutine:
//
//	l := loop.New(loop.Options{Settings: settings, Sources: sources, Fleet: fleet, History: history, Logger: logger})
//	go l.Run(ctx)
//	directive, err := l.Report(ctx, report) // for each worker report
//
// What Run does, for each step:
//
//	poll (own goroutine): sources, listing, extra inputs --> inputs
//	inputs --> controller.Settings.Step --> outcome
//	outcome: append records --> answer workers --> start effects (own goroutines) --> results become inputs
//
// The order of the last line is the crash safety: nothing is done that a restart would not know of. If the history
// cannot be written, nothing is done at all, and the next poll tries again.
//
// [Loop.Report] answers workers, [Loop.Wake] announces an event, [Loop.Change] sets new settings, [Loop.Last] returns
// the last outcome. [Loop.Preview] computes the first step without carrying it out. [Loop.Once] makes one step and
// ends, for programs that run only at intervals.
//
// Invariants: one order of a size in flight; one step at a time; all goroutines have ended when Run returns. Time
// is counted by the monotonic clock, so that a clock that is set back does not stop the loop.
//
// The package decides nothing. What is done is decided by [controller.Settings], and when a step is due by
// [controller.Shell]; the simulator (package sim) drives the same two in virtual time. Use package app to run a whole
// configuration with several fleets.
package loop
