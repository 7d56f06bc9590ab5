// Package roster knows each member of a fleet and its workers.
//
// It merges three views that rarely agree: what was ordered, what the fleet lists and what the workers report. A member
// is ordered, booting, idle, busy, draining, released or lost:
//
//	ordered --listed--> booting --receiving--> idle <--> busy
//	idle, busy --asked, signalled--> draining --token granted--> released --ended--> (gone)
//	idle --ready to stop, token granted--> released
//	booting, idle, busy --silent--> lost --reports again--> as it reports
//
// Lost is not idle: the state of a silent worker is unknown, so it is neither counted as capacity nor released. Only a
// worker's own report makes a member idle, and only its release token, in its current lease epoch, makes it released.
//
// The main types:
//
//   - [Roster] is all members of one fleet. It is a value: the methods that change it work on a clone that the caller
//     made with [Roster.Clone], and nothing here reads a clock.
//   - [Member] is one member with its [State] and its [Worker]s.
//   - [Rules] are the times that count: how long a member may boot, how long a worker may be silent. [Facts] are what a
//     restart must know of a member, [Terms] where its worker's lease stands.
//   - [News] is what a report told that was not known: what was finished, a boot, an [Incident]. [Gone] is a member
//     that ended, and why. The caller records both.
//
// [Check] refuses a report whose numbers cannot be.
//
// For something else: what a report says is package worker/protocol, what a worker may do is package worker/lease. How
// many members there shall be is decided by package policy, and which of them go is chosen in package controller.
package roster
