// Package sim replays a trace against any policy in virtual time. The world (queue, fleet, workers, with their delays
// and faults) is simulated; the controller, the policies, the roster and the worker's lease are those of production.
// One thread and one seed: the same run gives the same bytes.
//
//	result, err := sim.Run(sim.Options{Settings: settings, World: world, Trace: messages, Seed: 1})
//	fmt.Println(result.WorkerSeconds)
//
// The main types:
//
//   - [Options] say what a run is of: the settings of a fleet, a trace of messages, a seed and a world.
//   - [World] is what production would find: boots, slots, failures, delays of reports and counts, a [WarmPool], [Spot]
//     interruptions. A [Draw] is a random duration. [Parameters] lists everything, for docs/simulation.md.
//   - [Result] is what came of it: the share in time, the times of messages, worker-seconds, launches, the price of
//     what was late.
//   - [Bare] replays a trace without a controller, with sizes that follow from the truth at once ([Size]), so that
//     theories of queues can be tried on long traces.
//
// A run is a loop over events in the order of their instants. The trace is read as it goes, so memory depends on the
// work in the system and not on the length of the trace. Polls in which nothing can change are left out.
//
// For something else: package sim/trace reads and makes traces, sim/worlds draws worlds at random, sim/limit computes
// the lower bound of the cost, sim/cloud is what AWS does with the size of a fleet, and sim/comparison and
// sim/tournament play many policies on many traces. app.World makes a world from a configured fleet.
package sim
