package roster

import (
	"slices"
	"time"

	"github.com/muster-scale/muster"
)

// Naming maps an ordered member to its name, in a fleet whose own service chooses the names.
type Naming struct{ Ordered, Member string }

// Name assigns unknown members of a listing to ordered members that were never seen, oldest first, because the fleet's
// own service chooses the names. Call it before [Roster.Listed] with the same listing.
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

// NameOne is [Roster.Name] for a member that reported before it was listed.
func (r *Roster) NameOne(id string) (Naming, bool) { return r.nameOne(id, "") }

// nameOne assigns the member to the oldest ordered one of its tier, or to the oldest of all if there is none or the
// tier is unknown.
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

// Rename renames a member. It does nothing if there is no such member, or if the new name is taken.
func (r *Roster) Rename(from, to string) {
	i, ok := r.find(from)
	if _, taken := r.find(to); !ok || taken {
		return
	}
	m := r.members[i]
	f := m.change()
	f.ID, f.named, f.doubt = to, true, nil // it exists, so it was launched
	r.members = slices.Delete(r.members, i, i+1)
	r.reindex(0)
	r.insert(m) // members of the same launch time are sorted by name
}

// Serve records members that the fleet's own service has newly reported in service, for a fleet whose workers do not
// report. It returns their boot times. Call it after [Roster.Listed] with the listing of the time at.
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
