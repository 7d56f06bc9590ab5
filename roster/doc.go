// Package roster knows each member of a fleet and its workers. It answers how many members are in which state, which of
// them may be stopped, and what a worker must do now.
//
// It merges three views that rarely agree: the orders, the listings of the fleet and the reports of workers. A member
// is ordered, booting, idle, busy, draining, released or lost:
//
//	ordered --listed--> booting --receiving--> idle <--> busy
//	idle, busy --stop request, signal--> draining --permit granted--> released --ended--> (gone)
//	idle --ready to stop, permit granted--> released
//	booting, idle, busy --silent--> lost --reports again--> as it reports
//
// The main types:
//
//   - [Roster] is all members of one fleet. It is a value: the methods that change it work on a clone that the caller
//     made with [Roster.Clone].
//   - [Member] is one member with its [State] and its [Worker]s.
//   - [Rules] are the durations that count: how long a member may boot, how long a worker may be silent. [Facts] are
//     the parts of a member that a restart must know, [Terms] the rarely changing parts of a worker's reports.
//   - [News] is what a report showed for the first time: finished messages, a boot, an [Incident]. [Gone] is a member
//     that ended, and why. The caller records both.
//
// One step of the controller uses it in this order:
//
//	r := state.Clone()
//	gone := r.Listed(listing)            // members that ended
//	taken, news := r.Reported(report)    // for each report
//	gone = r.Tidy(now, rules)            // members that are given up
//	capacity := r.Capacity(now, rules, slots)
//	asked, offered := r.Offers(now, rules)
//	r.Release(asked[0], now)             // and record it
//	directive := r.Directive(member, worker)
//
// Invariants:
//
//   - Lost is not idle. The state of a silent worker is unknown: it counts neither as capacity nor as idle.
//   - Only a worker's own report makes a member idle, and only its release token, in its current lease epoch and after
//     it repeated the challenge, makes it releasable.
//   - A granted release is never withdrawn.
//   - A member that ended does not come back through a late report.
//   - Recalling the records of all changes gives the same roster, up to what the next listing and reports show.
//   - Nothing here reads a clock, and every size is bounded, because reports come from outside.
//
// The package does not know how many members there should be (package policy) nor which of them stop (package
// controller). The content of a report is package worker/protocol, and what a worker may do is package worker/lease.
package roster
