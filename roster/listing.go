package roster

import (
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
)

// Gone tells that a member has ended.
type Gone struct {
	Member string
	// Failure says why, and is empty for an orderly end.
	Failure string
	// Wasted is true when it never was of use: its launch counts as failed.
	Wasted bool
	// Departed is true for one that nobody answers, and that ended in order: it left by itself, which was not told
	// before.
	Departed bool
	// Exists is true for a member that is given up although the fleet still has it: it is left alone, because nobody
	// can say that it is idle.
	Exists bool
}

// Launched notes that the named members were ordered at now.
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

// NotLaunched notes that the order of the named members failed at the instant at. Part of it may have been carried out
// all the same: the next listing shows which of them exist, and until then they count as ordered.
func (r *Roster) NotLaunched(at time.Time, ids []string, why string) {
	for _, id := range ids {
		if i, ok := r.find(id); ok {
			f := r.members[i].change()
			f.doubtAt, f.doubt = at, why
		}
	}
}

// doubted tells whether a listing of the instant at, which lacks m, shows that m was never launched.
func (m *Member) doubted(at time.Time) bool {
	return !m.doubtAt.IsZero() && !at.Before(m.doubtAt) && !m.Listed && len(m.Workers) == 0
}

// Listed takes a listing into r and returns the members found to have ended. Members that nobody here ordered are
// adopted. A member that was listed before and is no more has ended.
func (r *Roster) Listed(l muster.Listing) (gone []Gone) {
	var room [smallRoster]int32
	present := r.present(l, room[:0]) // where the listing has each, plus 1
	for i := range r.members {
		m := &r.members[i]
		at := present[i]
		switch {
		case at > 0 && l.Members[at-1].Ended:
			g := r.end(i, l.At, l.Members[at-1].Failure)
			g.Departed = g.Failure == "" && m.deaf() && m.depart()
			gone = append(gone, g)
		case at > 0:
			m.listed(l.At, &l.Members[at-1])
		case m.doubted(l.At):
			gone = append(gone, r.end(i, l.At, m.doubt))
		case m.failed && !m.Listed && len(m.Workers) == 0:
			gone = append(gone, r.end(i, l.At, "the fleet never listed it"))
		case m.recalled:
			// It ended while no controller looked, most likely in order; nobody can say more.
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

// listed takes in what a listing of the instant at says of m, which exists.
func (m *Member) listed(at time.Time, as *muster.Member) {
	if m.Listed && m.Serving == as.Serving && m.Exposed == as.Exposed && !m.recalled {
		return // as nearly always
	}
	f := m.change()
	f.Listed, f.Serving, f.Exposed = true, as.Serving, as.Exposed
	if f.recalled {
		f.recalled, f.SeenAt = false, at
	}
}

// present adopts the members of a listing that nobody knew, and returns for each member of r its place in the listing
// plus 1, or 0 where it is not listed, appended to what is given.
func (r *Roster) present(l muster.Listing, to []int32) []int32 {
	adopted := false
	present := append(to, make([]int32, len(r.members))...)
	next := 0 // most listings have the members in our order
	for k := range l.Members {
		m := &l.Members[k]
		i, known := next, next < len(r.members) && r.members[next].ID == m.ID
		if !known {
			i, known = r.find(m.ID)
		}
		switch {
		case known && adopted: // the places have moved: see below
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

// Tidy gives up members that took no message within the boot deadline, and counts their launches as failed; one that
// was never listed either keeps its place until a listing shows that it does not exist. It also gives up members known
// only by reports that stopped long ago, and forgets what is long past.
func (r *Roster) Tidy(now time.Time, rules Rules) (gone []Gone) {
	for i := range r.members {
		m := &r.members[i]
		if m.recalled {
			continue // whether it still exists is for the first listing to say
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

func (r *Roster) end(i int, now time.Time, failure string) Gone {
	m := &r.members[i]
	m.change().EndedAt = now
	if failure != "" && m.ReleasedAt.IsZero() && !m.Proved && !m.failed {
		r.fail(m, now, failure)
	}
	return Gone{Member: m.ID, Failure: failure, Wasted: m.failed}
}

func (r *Roster) fail(m *Member, now time.Time, why string) {
	m.change().failed = true
	r.failed++
	r.failedAt, r.lastErr = now, why
}

// Launches returns what a policy may know about launching. After a failure the next launch waits 1 s, doubled for each
// further failure in a row up to 5 minutes.
func (r Roster) Launches() muster.Launches {
	l := muster.Launches{LastHour: r.attempts, Failed: r.failed, LastError: r.lastErr}
	if r.failed > 0 {
		wait := min(time.Second<<min(r.failed-1, 20), 5*time.Minute)
		l.RetryAt = r.failedAt.Add(wait)
	}
	return l
}

// OnTrial tells whether a member launched after the last failure still has to prove itself. While launches fail, one
// member at a time is tried; one that is lost will prove nothing and makes way for the next.
func (r Roster) OnTrial(now time.Time, rules Rules) bool {
	for i := range r.members {
		m := &r.members[i]
		if !m.Proved && !m.failed && m.LaunchedAt.After(r.failedAt) && m.State(now, rules) != Lost {
			return true
		}
	}
	return false
}
