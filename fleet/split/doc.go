// Package split makes one fleet of several: one total is decided, and divided among the parts by base and weight.
//
// That is how two fleets serve one queue, as an Auto Scaling group with On-Demand instances and one with Spot
// instances. Deciding for each of them alone would count the same messages twice.
//
// [Fleet] is a muster.Fleet over its [Part]s. A part gets its base first; the rest is divided by weight ([Shares]).
// With a base of 2 and weights of 1 and 3, ten workers are 4 and 6:
//
//	split.Shares(10, []split.Part{{Base: 2, Weight: 1}, {Weight: 3}})
//
// A part may have a maximum of its own; workers that no part can take are left out. A release goes to the part that
// lists the member.
//
// For something else: the parts are fleets of their own kinds, as package fleet/asg. Several zones of one group need no
// split.
package split
