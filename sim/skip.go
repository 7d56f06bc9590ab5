package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/sim/internal/kernel"
)

// postpone postpones the poll that is due now, and returns true: to the first poll that changes something, or else to
// the last poll that is answered before the next event. When that is the present poll, postpone returns false.
//
// A step of the controller is a function of its state and its inputs. So what a poll would come to can be computed in
// advance, on a copy. A poll that would change something would still do so later, until something else happens; so
// bisection finds the first.
func (r *run) postpone() bool {
	if r.quiet.off || r.now == r.quiet.until || !r.atRest() {
		return false
	}
	poll := int64(r.settings.Poll)
	// A policy that acts at times of its own must be polled then, whatever else happens.
	strikes := r.nextClock()
	answered := r.nextEvent() - 1 - int64(r.world.API.Mean)
	n := min((answered-r.now)/poll, int64(r.longest())/poll, strikes) // polls from now
	if n < 2 {
		return false
	}
	if foreseen := min(n, strikes-1); !r.unchangedAt(r.now + foreseen*poll) {
		n = foreseen
		for low := int64(-1); n-low > 1; { // polls up to low change nothing, and the poll n does
			if middle := (low + n) / 2; r.unchangedAt(r.now + middle*poll) {
				low = middle
			} else {
				n = middle
			}
		}
	}
	if n == 0 {
		return false
	}
	r.skip(r.now + n*poll)
	return true
}

// unchangedAt tells whether a poll at the given time changes nothing, if nothing happens before. It makes the step with
// the inputs that the poll and the reports until then would bring, and throws the outcome away.
func (r *run) unchangedAt(poll int64) bool {
	now, seenAt, treesReadAt := r.now, r.seenAt, r.treesReadAt
	r.now = poll + int64(r.world.API.Mean)
	in := []controller.Input{
		controller.Measured{QueueObservation: r.measure()}, controller.Listed{Listing: r.present()},
	}
	if r.world.Trees {
		in = append(in, r.expected())
	}
	for _, i := range r.listed {
		m := r.members[i]
		sent := m.reportedAt + r.turns(m, r.now) + r.reportTurn()
		if taken := sent + int64(r.world.Report.Mean); m.stage == working && taken <= r.now {
			lease := m.lease
			report := lease.Report(r.at(sent))
			report.At = r.at(taken)
			in = append(in, r.shell.spare.report(&report))
		}
	}
	o := r.settings.Step(*r.shell.State(), r.time(), slices.Concat(r.shell.Pending(), in))
	r.now, r.seenAt, r.treesReadAt = now, seenAt, treesReadAt
	r.shell.spare.keep(in)
	return r.quiet.unchanged(o)
}

// present returns the listing of the fleet. Unlike [run.list] it forgets no member that has ended, so it may be called
// for a poll that is never made.
func (r *run) present() muster.Listing {
	l := muster.Listing{At: r.time(), Members: r.shell.spare.listing(len(r.listed))}
	for _, i := range r.listed {
		m := r.members[i]
		l.Members = append(l.Members, muster.Member{
			ID: m.id, LaunchedAt: r.at(m.launched), Ended: m.stage == over, Failure: m.failure, Tier: r.tier(m),
		})
	}
	if r.world.Warm.Size > 0 {
		ready := r.warm
		l.Ready = &ready
	}
	return l
}

// skip postpones the poll that is due now, and with it reports, receive calls and snapshots, each by whole turns of its
// own. So the poll finds what it would have found: a fresh report of each worker, and the workers waiting in the same
// order.
func (r *run) skip(to int64) {
	r.quiet.until = to
	call := int64(min(receiveWait, r.world.Visibility/2))
	snapshot := int64(cmp.Or(r.world.MetricPeriod, time.Second))
	for i := range r.events.All() {
		e := &r.events.All()[i]
		switch e.Kind {
		case evReceiveEnd:
			e.At += max(0, to-e.At) / call * call
		case evSnapshot:
			e.At += max(0, to-e.At) / snapshot * snapshot
		case evReportDue, evTimeout:
			e.At += r.turns(r.members[e.Who], to)
		case evReport, evAnswer:
			c := &r.transits[e.What].call
			turns := r.turns(r.members[c.member], to)
			e.At += turns
			c.report.SentAt = c.report.SentAt.Add(time.Duration(turns))
		}
	}
	r.events.Moved()
	for _, i := range r.listed {
		m := r.members[i]
		turns := r.turns(m, to)
		m.reportedAt += turns
		if m.reportDue != never {
			m.reportDue += turns
		}
	}
	r.events.Add(to, evPoll, kernel.None, 0)
}

// turns returns by how much the reports of a worker are postponed, so that the next one arrives by the given time.
func (r *run) turns(m *member, by int64) int64 {
	if m.stage != working {
		return 0
	}
	turn, way := r.reportTurn(), int64(r.world.Report.Mean)
	arrives := m.reportedAt + turn + way
	if way > 0 {
		arrives++ // a report that arrives at the time of a poll comes after it
	}
	return max(0, by-arrives) / turn * turn
}

// reportTurn returns the time from a report of a worker to its next one, which waits for the answer to the first.
func (r *run) reportTurn() int64 { return int64(max(r.world.ReportEvery, 2*r.world.Report.Mean)) }
