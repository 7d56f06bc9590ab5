// Package uninformed computes what a policy loses at least that meets a burst of messages and was told nothing of how
// long they take. A [Burst] is judged against a [Prior]. [Burst.Solve] returns launches with a small mean loss, and a
// bound below which no policy comes. [Burst.Told] is the loss of a policy that is told the duration.
//
// It knows bursts alone: bounds for whole traces are computed by package limit. The model and the proofs are in
// docs/limit.md. Nothing here reads a clock or draws a number.
package uninformed
