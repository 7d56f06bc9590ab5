package learning

import (
	"time"

	"github.com/muster-scale/muster"
)

// Waiting returns the backlog by age, oldest first. A queue hands out the oldest messages first, so the backlog
// consists of the newest arrivals: those that add up to it.
//
// Arrivals that are not recorded yet are at most fresh old, unless the controller was stopped for minutes. No age is
// above that of the oldest message, if that is known, and one message has it. If it is not known and the count is
// approximate, the messages are spread over as many arrivals as may wait. A count that is a fifth too low would
// otherwise make all of them a fifth younger.
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
	left, spread := backlog.Value, 1.0
	if !oldest.Known {
		spread += m.balance.uncounted(backlog, o.InFlight()) / left
	}
	var groups []muster.Waiting // newest first
	add := func(n, seconds float64) {
		k := len(groups) - 1
		if k >= 0 {
			seconds = max(seconds, groups[k].AgeSeconds) // older than the group before, even if the clock was set back
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
	recent := min(left, m.measured.Arrived/spread)
	add(recent, newest.Seconds())
	left -= recent
	known := 0.0
	m.arrivals.Newest(now, func(n float64, began time.Duration) bool {
		known += n
		n = min(n/spread, left)
		add(n, began.Seconds())
		left -= n
		return left > 0
	})
	if left > 0 {
		m.longArrivals.Newest(now, func(n float64, began time.Duration) bool {
			same := min(n, known) // the newest ones are those of above
			known -= same
			n = min((n-same)/spread, left)
			add(n, began.Seconds())
			left -= n
			return left > 0
		})
	}
	if left > 0 {
		// Messages from before the first count.
		age, window := 0.0, max(m.arrivals.Length, m.longArrivals.Length).Seconds()
		if began, watched := m.arrivals.Began(); watched {
			age = min(now.Sub(began).Seconds(), window)
			if counted := backlog.Value - left; counted > 0 && age >= window {
				age *= 1 + left/counted // assume the same rate before the window
			}
		}
		if oldest.Known {
			age = oldest.Value
		}
		add(left, age)
	}
	if k := len(groups) - 1; k >= 0 && oldest.Known && groups[k].AgeSeconds < oldest.Value {
		// At least one message is older than its place suggests, for example one that failed and came back.
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

// grouped reverses the groups, which are newest first, and merges neighbours down to the allowed number. A merged group
// has the age of its oldest message.
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
