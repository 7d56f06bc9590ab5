package roster

import (
	"time"

	"github.com/muster-scale/muster"
)

// workless is the state of a member none of whose workers ever reported, where members need not: it counts as booting for the time
// that a boot takes, then as in service. Whether it is idle only a worker could say, so it is not.
func (m *Member) workless(now time.Time, rules Rules) State {
	if now.Sub(m.LaunchedAt) < rules.WatchedAfter {
		return Booting
	}
	return Busy
}

// silent tells whether a member counts although it says nothing.
func (m *Member) silent(rules Rules) bool {
	return rules.Watched > 0 && m.Listed && len(m.Workers) == 0 && m.DrainAt.IsZero() && m.ReleasedAt.IsZero()
}

// Supposed puts into c what is supposed of the members in service that do not report, from the messages in flight: those that no
// reporting worker holds are in their hands. It changes nothing where rules ask members to report. Where the messages in flight
// are not known all of them are busy.
func (r Roster) Supposed(c muster.Capacity, now time.Time, rules Rules, inFlight muster.Sample) muster.Capacity {
	members := 0
	for i := range r.members {
		if m := &r.members[i]; m.silent(rules) && m.State(now, rules) == Busy {
			members++
		}
	}
	if members == 0 {
		return c
	}
	slots := members * rules.Watched
	busy := slots
	if n, known := inFlight.Count(); known {
		busy = min(slots, max(0, n-c.BusySlots))
	}
	idle := (slots - busy) / rules.Watched
	c.Slots, c.BusySlots = c.Slots+slots, c.BusySlots+busy
	c.Busy, c.Idle = c.Busy-idle, c.Idle+idle
	return c
}

// Forgive forgets that launches failed: members that somebody else launched and ended tell nothing of ours.
func (r *Roster) Forgive() { r.failed, r.lastErr = 0, "" }

// KeepAll asks nobody to go: members that were asked to drain are kept, workers that offer to leave are told to go on. It returns
// the members for which that is news. Releases that were granted stay granted.
func (r *Roster) KeepAll() (kept []string) {
	for i := range r.members {
		m := &r.members[i]
		if !m.ReleasedAt.IsZero() {
			continue
		}
		news := !m.DrainAt.IsZero()
		m.DrainAt = time.Time{}
		for j := range m.Workers {
			if w := &m.Workers[j]; w.Token != w.Refused {
				w.Refused, news = w.Token, news || w.Token != ""
			}
		}
		if news {
			kept = append(kept, m.ID)
		}
	}
	return kept
}
