// Package uninformed bounds what a policy must lose that meets a burst of messages without knowing how long they take.
//
//	burst := uninformed.Burst{Messages: 50, Objective: objective, Boot: time.Minute}
//	s, err := burst.Solve(uninformed.Prior{Shortest: time.Second, Longest: time.Hour}, uninformed.MeanMultiple)
//	fmt.Println(s.Mean, s.Bound, s.Told)
//
// A [Burst] is judged in the mean over a [Prior] of durations. [Burst.Solve] returns launches with a small mean loss,
// and a bound that no policy can go below. [Burst.Told] is the loss of a policy that is told the duration. The
// difference is the price of not knowing it.
//
// The package knows single bursts only: bounds for whole traces are in package limit. The model and the proofs are in
// docs/limit.md. Nothing here reads a clock or draws a number.
package uninformed
