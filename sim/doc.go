// Package sim replays a trace against any policy in virtual time: hours of traffic in milliseconds. The queue, the
// fleet and the workers are simulated, with their delays and faults. The controller, the policies, the roster and the
// worker's lease are those of production, so what is simulated is what will run.
//
//	result, err := sim.Run(sim.Options{Settings: settings, World: w, Trace: messages, Seed: 1})
//	fmt.Println(result.WorkerSeconds, result.InTimeRatio)
//
// The main types:
//
//   - [Options] say what a run is of: the settings of a fleet, a world, a trace of messages and a seed.
//   - world.World, of package sim/world, says what production would find: boot times, failures, delays of reports and
//     counts, a warm pool, spot interruptions.
//   - scoring.Result, of package sim/scoring, says what the run came to: the share in time, the quantiles, the
//     worker-seconds, the launches, the price of late messages, and the invariants that were violated.
//   - [View] is the true state after each step, for curves, tests and other observers.
//
// A run is a loop over events in the order of their times, as package sim/internal/kernel explains:
//
//	trace --> queue --> workers --reports--> controller.Shell --> policy
//	            |          ^                      ^    |
//	            +--counts--|----------------------+    | orders
//	                       +------ fleet <-------------+
//
// The files follow that picture: run.go has the loop, worker.go the workers, fleet.go their members, source.go what a
// poll reads, shell.go the controller, transit.go what is on its way between them, check.go the invariants. Polls in
// which nothing can change are left out (quiet.go, skip.go), so that a quiet night costs little.
//
// The invariants of the package: a run depends on its options alone, and equal options give equal bytes; leaving out
// polls changes no decision; memory depends on the work in the system, and not on the length of the trace. One run uses
// one goroutine and may run beside others. The package must not read a clock, and must not import what acts on the
// world: AWS, SQLite, HTTP.
//
// For something else: package sim/trace reads and makes traces, sim/queueing simulates a queue without a controller,
// sim/worlds draws worlds at random, sim/limit computes lower bounds of the cost, sim/cloud models the services of AWS,
// sim/contest sets up policies to compare, and sim/comparison and sim/tournament play many of them on many traces.
// app.World makes a world that resembles a configured fleet.
package sim
