// Package policy holds the scaling policies and their combinators, one file each.
//
// A policy is a pure function from an observation and the recent decisions to a decision: it has no state, no clock and
// no I/O. The same observation gives the same decision, byte for byte, which is how a recorded decision is verified.
// What cannot be known becomes a hold with a reason, never a zero.
//
// The main types:
//
//   - [Spec] is a policy as it is configured. [New] builds it, or returns every fault of it.
//   - [BacklogPerWorker], [DynamicBacklog], [WorkerUtilization], [MetricMath], [Step], [Schedule] and [Largest] say
//     what the work needs. Those that plan by messages and their durations, deadline and exact, are in package
//     policy/planning.
//   - [Headroom], [Budget], [Stabilised], [Rate], [Cautious], [LaunchLimits] and [Bounds] each wrap another policy and
//     change its number: these are the combinators. [Shadow] and [Delegated] change what becomes of it.
//
// New wraps the named policy in the combinators that every fleet has, in this order:
//
//	policy -> headroom -> stabilisation -> rate -> budget -> caution -> launches -> bounds
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
// For something else: package policy/planning also tells what a size would make of the latency objective; package
// controller says when a policy is asked and carries out what it decides; package policy/peer restates the rules of
// other autoscalers, to compare with; package metricmath evaluates the expressions of metric-math.
package policy
