package roster

import (
	"cmp"
	"slices"
	"time"

	"github.com/muster-scale/muster/worker/protocol"
)

// Offers returns the members that may be released now: all their workers are idle, have a release token of their
// current epoch, repeated the challenge and reported recently. asked are those with a stop request, from Muster or
// another system. offered are those that became ready to stop by themselves, because no message came or their paid
// period ends.
func (r Roster) Offers(now time.Time, rules Rules) (asked, offered []string) {
	for i := range r.members {
		m := &r.members[i]
		if !m.ReleasedAt.IsZero() || len(m.Workers) == 0 || !m.releasable(now, rules) {
			continue
		}
		if m.State(now, rules) == Draining {
			asked = append(asked, m.ID)
		} else {
			offered = append(offered, m.ID)
		}
	}
	return asked, offered
}

// releasable tells whether every worker of m has proved that it is idle: a token that was not refused, of a worker that
// has repeated the present challenge, in a report that is not too old.
func (m *Member) releasable(now time.Time, rules Rules) bool {
	for i := range m.Workers {
		w := &m.Workers[i]
		if w.Stored || w.State != protocol.Idle || w.Token == "" || w.Busy != 0 || w.Refused ||
			w.Repeated != w.Challenge || now.Sub(w.ReportedAt) > rules.Silence {
			return false
		}
	}
	return true
}

// Cause returns why a member is ready to stop: its paid period ends, if one of its workers reports that.
func (r Roster) Cause(id string) protocol.Cause {
	i, ok := r.find(id)
	if !ok {
		return ""
	}
	cause := protocol.IdleTooLong
	for k := range r.members[i].Workers {
		if r.members[i].Workers[k].Cause == protocol.EndOfBilling {
			cause = protocol.EndOfBilling
		}
	}
	return cause
}

// Release grants the release of a member that [Roster.Offers] returned.
func (r *Roster) Release(id string, now time.Time) {
	if i, ok := r.find(id); ok {
		r.members[i].change().ReleasedAt = now
	}
}

// Refuse tells a member that is ready to stop that it is still needed.
func (r *Roster) Refuse(id string) {
	if i, ok := r.find(id); ok {
		for j := range r.members[i].Workers {
			r.members[i].Workers[j].refuse()
		}
	}
}

// Drain sends n members a stop request and returns their names: first idle ones, the longest idle first; then members
// not in service yet, newest first; then busy ones, newest first, which finish their messages. It skips members that
// joined within the grace and have not finished a message, and those that get no answers and so would never hear of it.
func (r *Roster) Drain(n int, now time.Time, rules Rules) []string {
	rank := map[State]int{Idle: 1, Booting: 2, Busy: 3}
	var order []int
	for i := range r.members {
		m := &r.members[i]
		if rank[m.State(now, rules)] > 0 && !m.fresh(now, rules) && !m.storedOnly() {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := r.members[a], r.members[b]
		by := cmp.Compare(rank[x.State(now, rules)], rank[y.State(now, rules)])
		if by == 0 && x.State(now, rules) == Idle {
			by = x.idleSince().Compare(y.idleSince())
		}
		return cmp.Or(by, cmp.Compare(b, a))
	})
	var ids []string
	for _, i := range order[:min(n, len(order))] {
		r.members[i].change().DrainAt = now
		ids = append(ids, r.members[i].ID)
	}
	return ids
}

// Dismiss sends a stop request to a member in service, and does not withdraw it later. there is false for an unknown
// member. refused says why it sends none, because the member is not in service or gets no answers to its reports.
func (r *Roster) Dismiss(id string, now time.Time, rules Rules) (refused string, there bool) {
	i, ok := r.find(id)
	if !ok {
		return "", false
	}
	m := &r.members[i]
	switch s := m.State(now, rules); {
	case s != Idle && s != Busy:
		return "it is " + string(s), true
	case m.storedOnly() || len(m.Workers) == 0:
		return "its worker gets no answers to its reports", true
	}
	f := m.change()
	f.DrainAt, f.Dismissed = now, true
	return "", true
}

// Exchange sends stop requests to members that are surely idle, and withdraws as many from busy ones: a member that
// looked idle when the desired count fell may just have received a message. It returns the names of both.
func (r *Roster) Exchange(now time.Time, rules Rules) (kept, asked []string) {
	if !slices.ContainsFunc(r.members, func(m Member) bool { return !m.DrainAt.IsZero() }) {
		return nil, nil // the usual case
	}
	var idle, busy []int
	for i := range r.members {
		m := &r.members[i]
		switch m.State(now, rules) {
		case Idle:
			if !m.fresh(now, rules) && !m.storedOnly() && now.Sub(m.idleSince()) >= surelyIdle {
				idle = append(idle, i)
			}
		case Draining:
			if !m.DrainAt.IsZero() && m.busy() > 0 && !m.signalled() && !m.Dismissed {
				busy = append(busy, i)
			}
		}
	}
	for k := range min(len(idle), len(busy)) {
		from, to := &r.members[busy[k]], &r.members[idle[k]]
		if to.idleSince().After(from.DrainAt) && now.Sub(from.DrainAt) < longDrain {
			continue
		}
		from.change().DrainAt = time.Time{}
		to.change().DrainAt = now
		kept, asked = append(kept, from.ID), append(asked, to.ID)
	}
	return kept, asked
}

// longDrain is how long a member with a stop request must stay busy until one that became idle later takes its place.
// Before that it may finish any moment. If messages came to both by turns, immediate exchanges would stop neither.
const longDrain = 30 * time.Second

// surelyIdle is how long a member must be idle so that none of its reports can be outdated.
const surelyIdle = 2 * time.Second

// fresh tells whether m joined so recently that it gets no stop request: the work for which it was launched may still
// be coming. A member that has finished a message is not fresh.
func (m *Member) fresh(now time.Time, rules Rules) bool {
	return !m.used && !m.JoinedAt.IsZero() && now.Sub(m.JoinedAt) < rules.Grace
}

// Keep withdraws the stop requests of at most n members that have not been released, the latest first, and returns
// their names. So returning demand is served by existing workers before new ones are launched. A member that the system
// stops is not kept.
func (r *Roster) Keep(n int, now time.Time, rules Rules) []string {
	var order []int
	for i := range r.members {
		m := &r.members[i]
		if !m.DrainAt.IsZero() && m.State(now, rules) == Draining && !m.signalled() && !m.Dismissed {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(r.members[b].DrainAt.Compare(r.members[a].DrainAt), cmp.Compare(b, a))
	})
	var ids []string
	for _, i := range order[:min(n, len(order))] {
		r.members[i].change().DrainAt = time.Time{}
		for j := range r.members[i].Workers {
			r.members[i].Workers[j].refuse()
		}
		ids = append(ids, r.members[i].ID)
	}
	return ids
}

// signalled tells whether the system, and not Muster, stops a worker of m.
func (m *Member) signalled() bool {
	return slices.ContainsFunc(m.Workers, func(w Worker) bool { return w.Cause == protocol.Signalled })
}

// Overdue returns the members that still exist so long after their release. It leaves out members that report a message
// in progress again.
func (r Roster) Overdue(now time.Time, after time.Duration) []string {
	var ids []string
	for i := range r.members {
		m := &r.members[i]
		if !m.ReleasedAt.IsZero() && m.busy() == 0 && now.Sub(m.ReleasedAt) > after {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// Exposed returns the members that the fleet's own service may stop although they were not released, in the order of
// their launch.
func (r Roster) Exposed() (ids []string) {
	for i := range r.members {
		if m := &r.members[i]; m.Exposed && m.ReleasedAt.IsZero() {
			ids = append(ids, m.ID)
		}
	}
	return ids
}
