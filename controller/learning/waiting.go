package learning

import (
	"time"

	"github.com/muster-scale/muster"
)

// Waiting tells the ages of the backlog, oldest first. A queue hands out what came first, so what waits is what came
// last: the newest arrivals that add up to the backlog. Arrivals too new to be counted are no older than fresh, unless
// nobody looked for minutes. No age is above that of the oldest message, where it is known, and one has it.
func (m *Memory) Waiting(now time.Time, o muster.Observation, fresh time.Duration) []muster.Waiting {
	backlog := o.Backlog()
	if !backlog.Known || backlog.Value < 1 {
		return nil
	}
	oldest := o.OldestAge()
	newest := min(now.Sub(m.learnedAt), fresh)
	if longest := now.Sub(m.measured.Since); longest > max(fresh, NotedEvery) {
		newest = longest // shorter gaps leave no trace in the history
	}
	left := backlog.Value
	var groups []muster.Waiting // newest first
	add := func(n, seconds float64) {
		k := len(groups) - 1
		if k >= 0 {
			seconds = max(seconds, groups[k].AgeSeconds) // it came before, whatever the clock says
		}
		if oldest.Known {
			seconds = min(seconds, oldest.Value)
		}
		seconds = max(0, seconds)
		switch {
		case n <= 0:
		case k >= 0 && groups[k].AgeSeconds == seconds:
			groups[k].Messages += n
		default:
			groups = append(groups, muster.Waiting{AgeSeconds: seconds, Messages: n})
		}
	}
	recent := min(left, m.measured.Arrived)
	add(recent, newest.Seconds())
	left -= recent
	m.arrivals.Newest(now, func(n float64, began time.Duration) bool {
		n = min(n, left)
		add(n, began.Seconds())
		left -= n
		return left > 0
	})
	if left > 0 {
		// Messages that were there before anything was counted.
		age := 0.0
		if since, watched := m.arrivals.Since(now); watched {
			age = now.Sub(since).Seconds()
			if counted := backlog.Value - left; counted > 0 && age >= m.arrivals.Length.Seconds() {
				age *= 1 + left/counted // what is older than all that is kept came at the same rate
			}
		}
		if oldest.Known {
			age = oldest.Value
		}
		add(left, age)
	}
	if k := len(groups) - 1; k >= 0 && oldest.Known && groups[k].AgeSeconds < oldest.Value {
		// One at least is older than its place tells, as one that failed and came back.
		for one := 1.0; one > 0 && k >= 0; k-- {
			part := min(one, groups[k].Messages)
			one -= part
			if groups[k].Messages -= part; groups[k].Messages <= 0 {
				groups = groups[:k]
			}
		}
		groups = append(groups, muster.Waiting{AgeSeconds: oldest.Value, Messages: 1})
	}
	return grouped(groups)
}

// grouped returns the groups, which are newest first, oldest first and merged so that there are not too many. A merged
// group counts as old as its oldest.
func grouped(groups []muster.Waiting) []muster.Waiting {
	per := (len(groups) + muster.MaxGroups - 1) / muster.MaxGroups
	var out []muster.Waiting
	for end := len(groups); end > 0; end -= per {
		g := groups[end-1]
		for _, x := range groups[max(0, end-per) : end-1] {
			g.Messages += x.Messages
		}
		out = append(out, g)
	}
	return out
}
