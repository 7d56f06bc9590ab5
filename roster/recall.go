package roster

import (
	"slices"
	"time"
)

// Change is an event in a member's life. Changes are recorded, and recalled after a restart.
type Change string

// The changes.
const (
	// Joined: it received for the first time.
	Joined Change = "joined"
	// Proved: it succeeded after other launches had failed.
	Proved Change = "proved"
	// AskedToDrain: it got a stop request. Kept: the request was withdrawn.
	AskedToDrain Change = "asked to drain"
	Kept         Change = "kept"
	// Dismissed: an operator asked it to drain.
	Dismissed Change = "dismissed"
	// ReleaseGranted: it drained and got its stop permit. Left: it was ready to stop by itself and got its stop permit.
	ReleaseGranted Change = "released"
	Left           Change = "left"
	// Departed: it left by itself, because it gets no answers.
	Departed Change = "left by itself"
	// GivenUp: it received nothing before the boot deadline. HasEnded: it has ended.
	GivenUp  Change = "given up"
	HasEnded Change = "ended"
	// HadIncident: one of its workers had a problem.
	HadIncident Change = "incident"
	// Named: the fleet's own service named it.
	Named Change = "named"
	// CameWarm: it came from the warm pool against expectation. CameCold: it did not, against expectation.
	CameWarm Change = "warm"
	CameCold Change = "cold"
)

// RecallLaunch restores a recorded launch order. Records come oldest first, and before any listing.
func (r *Roster) RecallLaunch(at time.Time, ids []string) {
	r.Launched(at, ids)
	for _, id := range ids {
		if i, ok := r.find(id); ok {
			f := r.members[i].change()
			f.recalled, f.timed = true, false // it may have joined while no controller ran
		}
	}
}

// Expect says at now that the named members, recalled from an order without a result, may still appear: if a listing
// lacks them, they have not ended.
func (r *Roster) Expect(now time.Time, ids []string) {
	for _, id := range ids {
		if i, ok := r.find(id); ok && r.members[i].recalled && r.members[i].JoinedAt.IsZero() {
			f := r.members[i].change()
			f.recalled, f.SeenAt = false, now
		}
	}
}

// Recall restores a recorded change of a member. wasted and why describe a failed launch. The first listing shows which
// recalled members still exist.
func (r *Roster) Recall(at time.Time, member string, c Change, wasted bool, why string) {
	if k, over := r.buried(member); over {
		r.ended = slices.Clone(r.ended)
		again := *r.ended[k].Member
		r.recall(&again, at, c, wasted, why)
		r.ended[k].Member = &again
		return
	}
	i, ok := r.find(member)
	if !ok {
		i = r.add(Facts{ID: member, LaunchedAt: at, recalled: true})
	}
	r.recall(&r.members[i], at, c, wasted, why)
	if c == HasEnded {
		r.bury()
	}
}

// recall applies a recorded change to a member. It repeats what the live code did to the roster, and nothing else.
func (r *Roster) recall(m *Member, at time.Time, c Change, wasted bool, why string) {
	f := m.change()
	switch c {
	case Joined:
		f.JoinedAt, f.Proved = at, true
	case Proved:
		r.failed, r.failedAt, r.lastErr = 0, time.Time{}, ""
	case AskedToDrain:
		f.DrainAt = at
	case Dismissed:
		f.DrainAt, f.Dismissed = at, true
	case Kept:
		f.DrainAt, f.Dismissed = time.Time{}, false
	case ReleaseGranted, Left:
		f.ReleasedAt = at
	case CameWarm, CameCold:
		f.Warm = c == CameWarm
	case Departed:
		f.departed = true
	case HasEnded:
		f.EndedAt, f.recalled = at, false
	}
	if wasted && !m.failed { // a given-up member ends later
		r.fail(m, at, why)
	}
}
