// Package roster knows each member of a fleet and its workers.
//
// It merges three views that never agree at every instant: what was ordered, what the fleet lists and what the workers
// report. A member is ordered, booting, idle, busy, draining, released or lost:
//
//	ordered --listed--> booting --receiving--> idle <--> busy
//	idle, busy --asked, signalled--> draining --token granted--> released --ended--> (gone)
//	idle --offers to leave, token granted--> released
//	booting, idle, busy --silent--> lost --reports again--> where it says it is
//
// Lost is not idle: what a silent worker does is unknown, so it is neither counted as capacity nor released. Only a
// worker's own report ever makes a member idle, and only its release token, in its current lease epoch, makes it
// released.
//
// A [Roster] is a value. Its methods that change it work on a clone that the caller made with [Roster.Clone]; nothing
// here reads a clock.
package roster
