// Package box judges the policy in worlds drawn at random, by comparison with other autoscalers and with the lower
// bound of the cost. It is part box of the page on quality.
//
// A [Box] says which worlds are played. [Box.Play] plays them (box.go), judges them (goals.go) and shows them
// (tables.go). In each world it makes these runs:
//
//	the policy        untold, as it is by default
//	the baselines     other autoscalers at their defaults, and the policy exact
//	one baseline      tuned on worlds that are never judged
//	the lower bound   and, in worlds with slack, a schedule that knows the future (the oracle)
//
// The policy regrets a world in which a baseline has a loss a tenth smaller. The loss is worker-seconds plus the price
// of late messages, so that neither cheap and late nor early and dear can win.
//
// A run of the policy that takes a minute counts as not answered, one of a baseline that takes ten. Runs of baselines
// and oracles are kept in a cache from one time to the next; those of the policy never are.
//
// Package arena makes the runs, package sim/worlds draws the worlds. The box does not know how either works.
package box
