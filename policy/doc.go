// Package policy holds the scaling policies and their combinators, one file each.
//
// A policy is a pure function from an observation and the recent decisions to a decision: it has no state, no clock and
// no I/O. The same observation gives the same decision, byte for byte, which is how a recorded decision is verified.
// What cannot be known becomes a hold with a reason, never a zero.
//
// The main types:
//
//   - [Spec] is a policy as it is configured. [New] builds it, or returns every fault of it.
//   - [BacklogPerWorker], [DynamicBacklog], [WorkerUtilization], [MetricMath], [Step], [Schedule] and [Largest] compute
//     what the work needs. The policies deadline and exact, which plan by messages and durations, are in package
//     policy/planning.
//   - [Headroom], [Budget], [Stabilised], [Rate], [Cautious], [LaunchLimits] and [Bounds] are the combinators: each
//     wraps another policy and changes its number. [Shadow] and [Delegated] change what is done with it. Those that
//     carry out the instructions of operators are in package policy/instructed.
//
// New wraps the named policy in the combinators that every fleet has, in this order:
//
//	policy -> headroom -> stabilisation -> rate -> reservations -> budget -> caution -> launches -> instructions
//	       -> bounds
//
// Each appends a term to the decision's trail when it changes the number, so the trail reads as the calculation:
//
//	p, err := policy.New(policy.Spec{Name: "dynamic-backlog", HeadroomWorkers: 1})
//	d := p.Decide(observation, recent)
//	fmt.Println(d.Desired, d.Sentence())
//
// docs/policies.md says when to choose which, docs/arithmetic.md has the formulas with the names of the fields.
//
// To add a policy, write its file with a type and a Decide method, and give it a row in the table in spec.go.
//
// Invariants that every policy here keeps, and that property tests check:
//
//   - min <= desired <= max, whatever the policy recommends;
//   - no fall while the capacity, the backlog or the messages in flight are unknown;
//   - one more waiting message never means one worker fewer;
//   - the trail of a decision shows each change of the number, with its inputs and the reason.
//
// A policy must not know how a fleet or a queue is reached, which policy comes before or after it, or what became of
// its decisions beyond what [muster.Recent] tells.
//
// Use package policy/outlook for the expected results of a size, package controller to run a policy and carry out its
// decisions, package policy/peer for the rules of other autoscalers, and package metricmath for expressions alone.
package policy
