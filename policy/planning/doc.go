// Package planning has the policies that go by messages and by how long they take: [Deadline] and [Exact].
//
// Both are functions of an observation, as every muster.Policy. [Deadline] asks how many workers it takes that all
// messages end in time, those that wait and those that will have come by the time a worker launched now is ready, and
// launches when waiting longer would not need fewer. [Exact] gives every message a slot of its own. Both know running
// trees of messages, whose nodes are announced before they come.
//
//	d := planning.Deadline{}.Decide(observation, nil)
//	fmt.Println(d.Sentence())
//
// [OutlookOf] and [ArrivingNow] tell by the same arithmetic what to expect of a size, for pages that explain.
//
// Read deadline.go first, which decides. plan.go says who must begin by when, keep.go which workers stay, warm.go what
// a warm pool changes, shared_cores.go what a shared machine does to durations, forecast.go what a forecast adds. How
// long the work takes is policy/internal/durations. docs/arithmetic.md has the formulas with the names of the fields,
// and a test recomputes its numbers.
//
// To build a policy from a configuration, with its limits, use package policy.
package planning
