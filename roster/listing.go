package roster

import (
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
)

// Gone is a member that has ended or was given up.
type Gone struct {
	Member string
	// Failure says why; empty for a normal end.
	Failure string
	// Wasted is true when it never took a message: its launch counts as failed.
	Wasted bool
	// Departed is true for a member with only stored reports that ended normally: it left by itself.
	Departed bool
	// Exists is true for a member that was given up although the fleet still has it. It is left alone, because it may
	// be busy.
	Exists bool
}

// Launched records that the named members were ordered at now.
func (r *Roster) Launched(now time.Time, ids []string) {
	for _, id := range ids {
		if r.full() {
			break
		}
		_, lives := r.find(id)
		if _, over := r.buried(id); !lives && !over {
			r.add(Facts{ID: id, LaunchedAt: now, timed: true})
		}
	}
	if len(ids) > 0 {
		r.attempted(now, len(ids))
	}
}

// NotLaunched records that the order of the named members failed. Part of it may have been carried out: they count as
// ordered until a listing shows which of them exist.
func (r *Roster) NotLaunched(at time.Time, ids []string, why string) {
	for _, id := range ids {
		if i, ok := r.find(id); ok {
			r.members[i].change().doubt = &doubt{at, why}
		}
	}
}

// doubted tells whether a listing without m proves that m was never launched.
func (m *Member) doubted(at time.Time) bool {
	return m.doubt != nil && !at.Before(m.doubt.at) && !m.Listed && len(m.Workers) == 0
}

// Listed applies a listing and returns the members that have ended. It adopts unknown members. A member that was listed
// before and is missing has ended.
func (r *Roster) Listed(l muster.Listing) (gone []Gone) {
	var room [smallRoster]int32
	present := r.present(l, room[:0]) // the index of each member in the listing, plus 1
	for i := range r.members {
		m := &r.members[i]
		at := present[i]
		switch {
		case at > 0 && l.Members[at-1].Ended:
			g := r.end(i, l.At, l.Members[at-1].Failure)
			g.Departed = g.Failure == "" && m.storedOnly() && m.depart()
			gone = append(gone, g)
		case at > 0:
			m.listed(l.At, &l.Members[at-1])
		case m.doubted(l.At):
			gone = append(gone, r.end(i, l.At, m.doubt.why))
		case m.failed && !m.Listed && len(m.Workers) == 0:
			gone = append(gone, r.end(i, l.At, "the fleet never listed it"))
		case m.recalled:
			// It ended while no controller ran, most likely normally.
			gone = append(gone, r.end(i, l.At, ""))
		case m.Listed:
			gone = append(gone, r.end(i, l.At, "the fleet lists it no more"))
		}
	}
	if len(gone) > 0 {
		r.bury()
	}
	return gone
}

// listed applies the listing's entry of the existing member m.
func (m *Member) listed(at time.Time, as *muster.Member) {
	if m.Listed && m.Serving == as.Serving && m.Exposed == as.Exposed && !m.recalled {
		return // the usual case
	}
	f := m.change()
	f.Listed, f.Serving, f.Exposed = true, as.Serving, as.Exposed
	if f.recalled {
		f.recalled, f.SeenAt = false, at
	}
}

// present adopts unknown members of a listing. It appends to to, for each member of r, its index in the listing plus 1,
// or 0 if it is missing.
func (r *Roster) present(l muster.Listing, to []int32) []int32 {
	adopted := false
	present := append(to, make([]int32, len(r.members))...)
	next := 0 // most listings have the same order
	for k := range l.Members {
		m := &l.Members[k]
		i, known := next, next < len(r.members) && r.members[next].ID == m.ID
		if !known {
			i, known = r.find(m.ID)
		}
		switch {
		case known && adopted: // the indexes have changed: repeat below
		case known:
			present[i] = int32(k + 1)
			next = i + 1
		case m.Ended || r.full():
		default:
			if _, over := r.buried(m.ID); !over {
				r.add(Facts{ID: m.ID, LaunchedAt: m.LaunchedAt, SeenAt: l.At, Listed: true})
				adopted = true
			}
		}
	}
	if adopted {
		return r.present(l, to)
	}
	return present
}

// Tidy gives up members that took no message within the boot deadline, and counts their launches as failed. One that
// was never listed stays until a listing shows that it does not exist. Tidy also gives up members known only by old
// reports, and drops old records.
func (r *Roster) Tidy(now time.Time, rules Rules) (gone []Gone) {
	for i := range r.members {
		m := &r.members[i]
		if m.recalled {
			continue // the first listing decides whether it exists
		}
		if !m.Listed && len(m.Workers) > 0 && now.Sub(m.reportedAt()) > rules.Silence+rules.Remember {
			gone = append(gone, r.end(i, now, "it went silent, and the fleet never listed it"))
			continue
		}
		if m.JoinedAt.IsZero() && m.State(now, rules) == Lost && !m.failed {
			why := "it took no message within " + render.Seconds(rules.BootWithin.Seconds())
			r.fail(m, now, why)
			gone = append(gone, Gone{Member: m.ID, Failure: why, Wasted: true, Exists: true})
		}
	}
	if len(gone) > 0 {
		r.bury()
	}
	r.forget(now, rules.Remember)
	return gone
}

// end marks member i as ended. A failure before the member has proved itself, or was released, counts as a failed
// launch. The caller buries ended members.
func (r *Roster) end(i int, now time.Time, failure string) Gone {
	m := &r.members[i]
	m.change().EndedAt = now
	if failure != "" && m.ReleasedAt.IsZero() && !m.Proved && !m.failed {
		r.fail(m, now, failure)
	}
	return Gone{Member: m.ID, Failure: failure, Wasted: m.failed}
}

// fail counts the launch of m as failed, which delays further launches.
func (r *Roster) fail(m *Member, now time.Time, why string) {
	m.change().failed = true
	r.failed++
	r.failedAt, r.lastErr = now, why
}

// Launches returns the state of launching for a policy. After a failure the next launch waits 1 s, doubled for each
// further failure in a row up to 5 minutes.
func (r Roster) Launches() muster.Launches {
	l := muster.Launches{LastHour: r.attempts, Failed: r.failed, LastError: r.lastErr}
	if r.failed > 0 {
		wait := min(time.Second<<min(r.failed-1, 20), 5*time.Minute)
		l.RetryAt = r.failedAt.Add(wait)
	}
	return l
}

// OnTrial tells whether a member that was launched after the last failure has not proved itself yet. While launches
// fail, one member is tried at a time; a lost one makes way for the next.
func (r Roster) OnTrial(now time.Time, rules Rules) bool {
	for i := range r.members {
		m := &r.members[i]
		if !m.Proved && !m.failed && m.LaunchedAt.After(r.failedAt) && m.State(now, rules) != Lost {
			return true
		}
	}
	return false
}
