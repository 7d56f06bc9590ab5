// Package learning remembers what a fleet's past tells: how long messages take, by class and by how many are worked on
// at once, how long members boot, what comes when, how much of the work fails or is late, and which messages wait for a
// retry.
//
// [Memory] is that of one fleet. It takes in measurements of queues and what workers report, gives out every few
// seconds what was measured since as a [Flush], and counts that from then on. A Flush is recorded, as [Learned], before
// anything is done from it, and the records of the time that counts make the same Memory again ([Memory.Recall]), so
// that a restart changes no decision. What it tells has the shapes of a [muster.Observation], with their units.
//
// Nothing here reads a clock or acts: instants are arguments. Which workers there are and what they hold is the
// roster's; the state of a controller as a whole is package controller's.
package learning
