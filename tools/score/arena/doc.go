// Package arena plays policies on events, several runs at a time and each run once.
//
// An [Arena] makes runs: [Arena.Run] one, [Arena.Figures] many with their sums. It compares them with the lower bounds
// ([Limits]) and finds the best settings of other autoscalers ([Arena.Race], [Arena.Tune]). A [Store] keeps costly
// results from one time to the next.
//
// Parts may ask for the same run at the same time: the first one makes it, the others wait. The name of an event stands
// for all its properties, so two events that differ need different names.
//
// The package does not judge: what a figure has to be is known to the parts that ask for it.
package arena
