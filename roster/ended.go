package roster

import (
	"slices"
	"time"
)

// ended is a member that has ended. It is remembered for a while, so that its late reports do not bring it back. Its
// content never changes.
type ended struct {
	hash uint32
	*Member
}

// launch is a number of launch attempts at one time.
type launch struct {
	at time.Time
	n  int
}

// bury moves ended members from members to ended.
func (r *Roster) bury() {
	keep := r.members[:0]
	for i := range r.members {
		if m := &r.members[i]; m.EndedAt.IsZero() {
			keep = append(keep, *m)
			continue
		}
		m := r.members[i]
		r.ended = append(r.ended, ended{hash(m.ID), &m})
	}
	if len(keep) < len(r.members) {
		clear(r.members[len(keep):])
		r.members = keep
		r.reindex(0)
	}
}

// buried returns the index of an ended member.
func (r *Roster) buried(id string) (int, bool) {
	if len(r.ended) == 0 {
		return -1, false
	}
	h := hash(id)
	i := slices.IndexFunc(r.ended, func(e ended) bool { return e.hash == h && e.ID == id })
	return i, i >= 0
}

// full tells whether the roster has no room for another member.
func (r *Roster) full() bool { return len(r.members)+len(r.ended) >= maxMembers }

// attempted records n launch attempts at now.
func (r *Roster) attempted(now time.Time, n int) {
	n = min(n, maxMembers)
	r.launches = append(r.launches, launch{now, n})
	for r.attempts += n; r.attempts > maxMembers; {
		first := r.launches[0]
		r.launches = r.launches[1:]
		r.attempts -= first.n
		if more := maxMembers - r.attempts; more > 0 {
			// Part of the oldest ones still counts.
			r.launches = append([]launch{{first.at, more}}, r.launches...)
			r.attempts += more
		}
	}
}

// forget drops ended members and launch attempts that are too old.
func (r *Roster) forget(now time.Time, remember time.Duration) {
	for len(r.ended) > 0 && now.Sub(r.ended[0].EndedAt) > remember {
		r.ended = r.ended[1:]
	}
	for len(r.launches) > 0 && now.Sub(r.launches[0].at) > time.Hour {
		r.attempts -= r.launches[0].n
		r.launches = r.launches[1:]
	}
}
