// Package limit computes what no policy can beat on a trace: lower bounds of the worker-seconds that any schedule pays
// which keeps the latency objective, each with a proof, and schedules that know the future as upper bounds.
//
// A [Problem] is read once into a [Profile] of bounded size. Its methods are the bounds: Work, Rush, Lull, Crews and
// Prices. [Strongest] takes the highest. The bound by prices carries a [Certificate] that [Check] verifies in whole
// numbers, without a solver: whoever does not trust the search for prices does not have to. [Clairvoyant] looks for a
// cheap schedule; the gap between the two tells how much either could be off.
//
// Package uninformed asks the opposite: what a policy loses at least that was told nothing of how long messages take.
// The linear programs are solved by package linear.
//
// The model and the proofs are in docs/limit.md. Nothing here reads a clock or draws a number; the same trace gives the
// same bytes on the same architecture.
package limit
