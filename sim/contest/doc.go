// Package contest makes simulated runs of several policies comparable: ours and the rules of other autoscalers, on the
// same traces, with the same random draws, the same limits and the same bill, and with a lower bound of the cost.
//
//	event := contest.Scenario(scenario)
//	results, err := contest.Play(ctx, contest.Plan{
//		Events: []contest.Event{event}, Contenders: contest.All(), Seeds: trace.Seeds(), Limits: true,
//	})
//	rows := contest.Rows(results)
//
// The main types:
//
//   - [Contender] is a policy that is ready to run: [All] lists them, [Find] finds one by its name, [Ours] and
//     [Configured] make one of a policy or of a configured fleet.
//   - [Event] is a trace with the circumstances of a run: objective, limits, world, and what the configuration states.
//   - [Prepared] is an event with its trace for one seed, its statistics and its lower bounds. It runs one contender.
//   - [Plan] is every contender on every event with every seed, and [Row] a mean over the seeds.
//
// A policy knows what its configuration states and what was measured. Events state nothing by default; [Told] states
// the true mean duration and boot time. Other autoscalers whose rule needs the mean duration are always told the true
// one.
//
// Results do not depend on how many runs are made at a time. The package prints and draws nothing: package
// sim/comparison plays what a command asks for, sim/tables prints results, sim/report draws them.
package contest
