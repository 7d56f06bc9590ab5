package roster

import (
	"time"

	"github.com/muster-scale/muster"
)

// Coming returns the members that were launched and take no messages yet, oldest first, by the second of their launch.
// When there are too many groups, later ones join the one before, which makes them look older by a few seconds.
func (r Roster) Coming(now time.Time, rules Rules) []muster.Coming {
	var groups []muster.Coming
	for i := range r.members {
		m := &r.members[i]
		if s := m.State(now, rules); s != Ordered && s != Booting {
			continue
		}
		age := max(0, now.Sub(m.LaunchedAt).Seconds())
		n := len(groups)
		if n == 0 || n < muster.MaxGroups && groups[n-1].AgeSeconds-age >= 1 {
			groups = append(groups, muster.Coming{AgeSeconds: age})
			n++
		}
		groups[n-1].Members++
		if m.Warm {
			groups[n-1].Warm++
		}
	}
	return groups
}
