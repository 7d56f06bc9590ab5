package roster

import (
	"slices"
	"time"

	"github.com/muster-scale/muster"
)

// Naming tells which member of a fleet with a service of its own is the one that was ordered under another name.
type Naming struct{ Ordered, Member string }

// Name gives the members of a listing that nobody knew the places of those that were ordered and never seen, oldest
// first: with a service of its own a fleet chooses the names. It is called before [Roster.Listed] with the same
// listing.
func (r *Roster) Name(l muster.Listing) (named []Naming) {
	for i := range l.Members {
		if m := &l.Members[i]; !m.Ended {
			if n, ok := r.nameOne(m.ID, m.Tier); ok {
				named = append(named, n)
			}
		}
	}
	return named
}

// NameOne is [Roster.Name] for a member that was seen without a listing, because it reported.
func (r *Roster) NameOne(id string) (Naming, bool) { return r.nameOne(id, "") }

// nameOne gives the member the place of the oldest that was ordered of its tier; of the oldest of all where there is
// none, or the tier is not known.
func (r *Roster) nameOne(id string, tier muster.Tier) (Naming, bool) {
	if _, known := r.find(id); known {
		return Naming{}, false
	}
	if _, over := r.buried(id); over {
		return Naming{}, false
	}
	first := -1
	for i := range r.members {
		m := &r.members[i]
		if m.Listed || m.named || m.recalled || m.failed || len(m.Workers) > 0 {
			continue
		}
		if first < 0 {
			first = i
		}
		if tier == "" || m.Warm == (tier == muster.Warm) {
			first = i
			break
		}
	}
	if first < 0 {
		return Naming{}, false
	}
	n := Naming{Ordered: r.members[first].ID, Member: id}
	r.Rename(n.Ordered, n.Member)
	return n, true
}

// Rename gives a member another name. It changes nothing where there is no such member, or the new name is taken.
func (r *Roster) Rename(from, to string) {
	i, ok := r.find(from)
	if _, taken := r.find(to); !ok || taken {
		return
	}
	m := r.members[i]
	f := m.change()
	f.ID, f.named, f.doubt, f.doubtAt = to, true, "", time.Time{} // it exists, so it was launched
	r.members = slices.Delete(r.members, i, i+1)
	r.reindex(0)
	r.insert(m) // among members of one instant the name decides the place
}

// Serve notes the members that the fleet's own service has said to be in service since the last call, for a fleet whose
// workers do not report, and returns what that shows of their boots. It is called after [Roster.Listed] with the
// listing of the instant at.
func (r *Roster) Serve(at time.Time) (all []News) {
	for i := range r.members {
		m := &r.members[i]
		if !m.Serving || !m.JoinedAt.IsZero() {
			continue
		}
		f := m.change()
		f.JoinedAt, f.Proved = at, true
		n := News{Member: m.ID, Joined: m.timed, Boot: max(0, at.Sub(m.LaunchedAt)), Warm: m.Warm, Proved: r.failed > 0}
		r.failed, r.failedAt, r.lastErr = 0, time.Time{}, ""
		all = append(all, n)
	}
	return all
}
