// Package limit computes how little a latency objective can cost on a trace. It has lower bounds of the worker-seconds
// that any schedule pays which meets the objective, each with a proof, and schedules of an oracle, which knows the
// whole trace, as upper bounds. A policy that pays 1.3 times the lower bound can save at most the 0.3.
//
//	profile, err := limit.Read(limit.Problem{Trace: t, Latency: time.Minute, Quantile: 0.99, Boot: boot, Slots: 1})
//	bounds, err := limit.Strongest(profile, 0)
//	fmt.Println(bounds.Causal.WorkerSeconds, bounds.Causal.Method)
//
// A [Problem] is read once into a [Profile] of bounded size. The methods of a Profile are the bounds, and [Strongest]
// takes the highest one:
//
//	Work    the work has to be done by someone         (any load)
//	Rush    many messages at once need many workers    (bursts)
//	Lull    whole workers idle or boot again           (sparse loads)
//	Crews   whole workers, by a dynamic program        (a few workers)
//	Prices  fractions of workers, by a linear program  (large loads)
//
// The bound by prices carries a [Certificate], which [Check] verifies in whole numbers and without a solver: a reader
// who does not trust the search for prices does not have to. [Oracle] searches a cheap schedule of the oracle; the
// gap between the two tells how far either can be from the truth.
//
// Invariants: a bound never exceeds what some schedule pays, so each rounding favours the schedule; nothing here reads
// a clock or draws a number; the same trace gives the same bytes on the same architecture. The package knows neither
// policies nor the simulator. The model and the proofs are in docs/limit.md.
//
// For something else: package uninformed, below, bounds what a policy must lose that does not know how long messages
// take, and package sim/scoring scores what a policy did pay.
package limit
