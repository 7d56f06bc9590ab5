package roster

import "time"

// workless is the state of a member none of whose workers ever reported, where members need not: it counts as booting
// for the time that a boot takes, then as in service. Whether it is idle only a worker could say, so it is not.
func (m *Member) workless(now time.Time, rules Rules) State {
	if now.Sub(m.LaunchedAt) < rules.WatchedAfter {
		return Booting
	}
	return Busy
}

// silent tells whether a member counts although it says nothing.
func (m *Member) silent(rules Rules) bool {
	return rules.Watched && m.Listed && len(m.Workers) == 0 && m.DrainAt.IsZero() && m.ReleasedAt.IsZero()
}

// Forgive forgets that launches failed: members that somebody else launched and ended tell nothing of ours.
func (r *Roster) Forgive() { r.failed, r.lastErr = 0, "" }

// KeepAll asks nobody to go: members that were asked to drain are kept, workers that offer to leave are told to go on.
// It returns the members for which that is news. Releases that were granted stay granted.
func (r *Roster) KeepAll() (kept []string) {
	for i := range r.members {
		m := &r.members[i]
		if !m.ReleasedAt.IsZero() {
			continue
		}
		news := !m.DrainAt.IsZero()
		if news {
			m.change().DrainAt = time.Time{}
		}
		for j := range m.Workers {
			if m.Workers[j].refuse() {
				news = true
			}
		}
		if news {
			kept = append(kept, m.ID)
		}
	}
	return kept
}
