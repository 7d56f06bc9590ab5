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
	newest := min(now.Sub(m.learnedAt), fresh)
	if longest := now.Sub(m.measured.Since); longest > max(fresh, NotedEvery) {
		newest = longest // shorter gaps leave no trace in the history
	}
	q := backlogByAge{left: backlog.Value, spread: 1, rounding: 1e-3 + 1e-6*backlog.Value, oldest: o.OldestAge()}
	if !q.oldest.Known {
		q.spread += m.balance.uncounted(backlog, o.InFlight()) / q.left
	}
	more, known := q.take(m.measured.Arrived, newest), 0.0
	if more {
		m.arrivals.Newest(now, func(n float64, began time.Duration) bool {
			known += n
			more = q.take(n, began)
			return more
		})
	}
	if more {
		m.longArrivals.Newest(now, func(n float64, began time.Duration) bool {
			same := min(n, known) // the newest ones are those of above
			known -= same
			more = q.take(n-same, began)
			return more
		})
	}
	if more || len(q.groups) == 0 {
		// Messages from before the first count.
		age, window := 0.0, max(m.arrivals.Length, m.longArrivals.Length).Seconds()
		if began, watched := m.arrivals.Began(); watched {
			age = min(now.Sub(began).Seconds(), window)
			if counted := backlog.Value - q.left; counted > 0 && age >= window {
				age *= 1 + q.left/counted // assume the same rate before the window
			}
		}
		if q.oldest.Known {
			age = q.oldest.Value
		}
		q.add(q.left, age)
	} else {
		q.groups[len(q.groups)-1].Messages += q.left
	}
	q.keepOldest()
	return grouped(q.groups)
}

// backlogByAge divides a backlog into groups by age, newest first. left is what is not in a group yet, spread how many
// arrivals there are for each message, and oldest the age of the oldest message. The parts of messages that were spread
// over several steps do not add up to whole ones to the last digit: rounding is how much may be missing.
type backlogByAge struct {
	groups                 []muster.Waiting
	left, spread, rounding float64
	oldest                 muster.Sample
}

// take moves up to n arrivals, which came so long ago, into the groups. It returns false once none is left.
func (q *backlogByAge) take(n float64, ago time.Duration) bool {
	n = min(n/q.spread, q.left)
	q.add(n, ago.Seconds())
	q.left -= n
	return q.left > q.rounding
}

// add adds n messages of an age to the groups.
func (q *backlogByAge) add(n, seconds float64) {
	k := len(q.groups) - 1
	if k >= 0 {
		seconds = max(seconds, q.groups[k].AgeSeconds) // older than the group before, even if the clock was set back
	}
	if q.oldest.Known {
		seconds = min(seconds, q.oldest.Value)
	}
	seconds = max(0, seconds)
	switch {
	case n <= 0:
	case k >= 0 && q.groups[k].AgeSeconds == seconds:
		q.groups[k].Messages += n
	default:
		q.groups = append(q.groups, muster.Waiting{AgeSeconds: seconds, Messages: n})
	}
}

// keepOldest makes one message as old as the oldest is, if all look younger.
func (q *backlogByAge) keepOldest() {
	k := len(q.groups) - 1
	if k < 0 || !q.oldest.Known || q.groups[k].AgeSeconds >= q.oldest.Value {
		return
	}
	// At least one message is older than its place suggests, for example one that failed and came back.
	for one := 1.0; one > 0 && k >= 0; k-- {
		part := min(one, q.groups[k].Messages)
		one -= part
		if q.groups[k].Messages -= part; q.groups[k].Messages <= 0 {
			q.groups = q.groups[:k]
		}
	}
	q.groups = append(q.groups, muster.Waiting{AgeSeconds: q.oldest.Value, Messages: 1})
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
