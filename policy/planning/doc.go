// Package planning has the two policies that size a fleet by messages and by how long they take: [Deadline] and
// [Exact].
//
// Deadline is the default policy. It launches the fewest workers with which every message ends within the latency
// objective, and launches them as late as the objective allows: a worker that starts later often serves messages that
// arrive in the meantime. Exact gives each message a slot of its own at once. Both plan for the messages that running
// trees are expected to send.
//
//	d := planning.Deadline{}.Decide(observation, nil)
//	fmt.Println(d.Desired, d.Sentence())
//
// One decision of Deadline passes through these steps:
//
//	durations.Of     how long a message takes: mean, deviation, tail
//	newPlan          when each group of waiting messages must begin, and what the present workers begin by then
//	plan.needAfter   how many more workers a launch takes, now or one decision later
//	keptWorkers      how many workers stay although nothing waits for them
//	sizeByPlan       launches now if waiting costs more workers or misses the objective, else waits
//	plan.fewest      launches fewer where the last ones save next to nothing
//	plan.sooner      launches more where to wait saves nothing, or the maximum may be too small later
//	applyForecast    replaces the past busiest times with forecast ones, if the fleet has a forecast
//	decideWithTrees  adds what running trees are expected to send
//
// The main type is plan: one observation, converted to slots, messages and seconds from now. deadline.go decides,
// plan.go computes the need, boots.go how far boots vary and what follows from that, keep.go the workers that stay,
// also while nothing arrives. warm.go has the effect of a warm pool, shared_cores.go that of a shared machine on
// durations, forecast.go that of a forecast, trees*.go that of running trees. words.go writes the sentence.
// docs/arithmetic.md has the formulas with the names of the fields; a test recomputes its numbers.
//
// Invariants:
//
//   - Each function is pure: the same observation gives the same decision, bit for bit. Time is in the observation.
//   - An unknown backlog or an unlisted fleet is a hold. An unknown duration never counts as zero.
//   - One more waiting message never means one worker fewer.
//   - Package policy applies the limits. This package reads max, because a postponed launch must still find room, and
//     launches_per_hour, because a stopped worker may not come back while launches are scarce.
//
// Numbers about slots and messages are float64, because a mean is not whole. Only the decision rounds, with rules.Ceil.
//
// Use package policy, not this one, to build a policy from a configuration with all its limits. How long the work takes
// is in policy/internal/durations, what the arrivals tell in policy/internal/arrivals, what late messages pay for in
// policy/internal/lateness, how many messages are likely late in policy/internal/risk, how many messages slots begin in
// policy/internal/renewal, how much sooner the first of several workers is ready in policy/internal/race, what follows
// from a maximum that is near in policy/internal/scarcity, and fleets whose workers do not report in
// policy/internal/silent.
// Use policy/outlook for the expected results of a size, and policy/peer for other autoscalers to compare with.
package planning
