// Package prior judges the policy on bursts when nothing says how long a message takes. It is part prior of the page on
// quality.
//
// [Part] plays each burst with many durations, which are equally likely by a stated prior. The policy's loss is
// compared with the least loss of any policy that is told nothing either (package sim/limit/uninformed): an untold
// policy cannot be judged by what a told one pays.
//
// There are two measures, because a mean of losses is mostly that of the longest work: the mean loss, and the mean of
// the loss as a multiple of a told policy's.
package prior
