package roster

import (
	"slices"
	"time"
)

// Change is what becomes of a member. Changes are recorded, and recalled after a restart.
type Change string

// The changes.
const (
	// Joined: it took messages for the first time.
	Joined Change = "joined"
	// Proved: it was of use after other launches had failed.
	Proved Change = "proved"
	// AskedToDrain: it is to go. Kept: it is to stay after all.
	AskedToDrain Change = "asked to drain"
	Kept         Change = "kept"
	// ReleaseGranted: it was asked to go and may. Left: it offered to go and may.
	ReleaseGranted Change = "released"
	Left           Change = "left"
	// Departed: it left by itself, because nobody answers it.
	Departed Change = "left by itself"
	// GivenUp: it never took a message in time. Gone members have ended.
	GivenUp  Change = "given up"
	HasEnded Change = "ended"
	// HadIncident: something went wrong at a worker of it.
	HadIncident Change = "incident"
	// Named: the fleet's own service gave it another name.
	Named Change = "named"
	// CameWarm: it came from the warm pool, and was not expected to. CameCold: it did not, and was.
	CameWarm Change = "warm"
	CameCold Change = "cold"
)

// RecallLaunch takes a recorded launch order back into r. Records come oldest first, and before any listing.
func (r *Roster) RecallLaunch(at time.Time, ids []string) {
	r.Launched(at, ids)
	for _, id := range ids {
		if i, ok := r.find(id); ok {
			r.members[i].recalled, r.members[i].timed = true, false // it may have joined while nobody looked
		}
	}
}

// Expect notes at now that the named members, recalled from an order without a result, may still appear: that a listing
// lacks them does not mean that they have ended.
func (r *Roster) Expect(now time.Time, ids []string) {
	for _, id := range ids {
		if i, ok := r.find(id); ok && r.members[i].recalled && r.members[i].JoinedAt.IsZero() {
			r.members[i].recalled, r.members[i].SeenAt = false, now
		}
	}
}

// Recall takes a recorded change of a member back into r; wasted and why are those of a launch that failed. The first
// listing shows which of the recalled members still exist.
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
		i = r.add(Member{ID: member, LaunchedAt: at, recalled: true})
	}
	r.recall(&r.members[i], at, c, wasted, why)
	if c == HasEnded {
		r.bury()
	}
}

func (r *Roster) recall(m *Member, at time.Time, c Change, wasted bool, why string) {
	switch c {
	case Joined:
		m.JoinedAt, m.Proved = at, true
	case Proved:
		r.failed, r.failedAt, r.lastErr = 0, time.Time{}, ""
	case AskedToDrain:
		m.DrainAt = at
	case Kept:
		m.DrainAt = time.Time{}
	case ReleaseGranted, Left:
		m.ReleasedAt = at
	case CameWarm, CameCold:
		m.Warm = c == CameWarm
	case Departed:
		m.departed = true
	case HasEnded:
		m.EndedAt, m.recalled = at, false
	}
	if wasted && !m.failed { // a member that was given up ends later
		r.fail(m, at, why)
	}
}
