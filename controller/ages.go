package controller

import (
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/series"
)

// counted is how many messages a queue had counted in all, and when the last record said so: what a restart finds.
type counted struct {
	n  float64
	at time.Time
	// blind is true once a record said that it was not known any more.
	blind bool
}

// totals are what queues had counted, sorted by name. They are replaced, never changed.
type totals []total

type total struct {
	queue string
	counted
}

// of returns what a queue had counted; false if that is not known.
func (t totals) of(queue string) (counted, bool) {
	for i := range t {
		if t[i].queue == queue {
			return t[i].counted, true
		}
	}
	return counted{}, false
}

// with returns t with c for the queue.
func (t totals) with(queue string, c counted) totals {
	i := 0
	for i < len(t) && t[i].queue < queue {
		i++
	}
	if i < len(t) && t[i].queue == queue {
		t = slices.Clone(t)
		t[i].counted = c
		return t
	}
	return slices.Insert(slices.Clip(t), i, total{queue, c})
}

// arrived counts what came to a queue since it was last measured: what it counted itself, where it does. While records
// say every minute what it had counted, all of it came since the look before, which was at most poll ago.
func (st *State) arrived(now time.Time, q muster.QueueObservation, poll time.Duration) {
	if !q.Sent.Known {
		return
	}
	last, known := st.sent.of(q.Queue)
	came := q.Sent.Value - last.n
	if came < 0 {
		came = q.Sent.Value // the queue counts anew
	}
	if known && came == 0 {
		return
	}
	if !known {
		st.sent = st.sent.with(q.Queue, counted{n: q.Sent.Value, at: now})
		return
	}
	st.sent = st.sent.with(q.Queue, counted{q.Sent.Value, last.at, last.blind})
	since := now.Add(-poll)
	if last.blind || now.Sub(last.at) > holdEvery+learnEvery+2*poll {
		since = last.at // nobody looked, or what was sent was not known
	}
	if st.measured.Arrived == 0 || since.Before(st.measured.Since) {
		st.measured.Since = since
	}
	st.measured.Arrived += came
}

// watch notes that arrivals are counted from the first recorded decision on that knew what had been sent.
func (st *State) watch(o muster.Observation) {
	for _, q := range o.Queues {
		if _, watched := st.arrivals.Since(o.At); !watched && q.Sent.Known {
			st.arrivals = st.arrivals.Watch(o.At.Add(-learnEvery))
		}
	}
}

// noted takes from a recorded decision when it was last known what had been sent, and whether it still is. A restart
// takes back from it also what had been sent, where nothing else says so.
func (st *State) noted(at time.Time, o muster.Observation) {
	for _, q := range o.Queues {
		last, known := st.sent.of(q.Queue)
		switch {
		case !q.Sent.Known && known:
			st.sent = st.sent.with(q.Queue, counted{last.n, last.at, true})
		case q.Sent.Known && (!known || last.n == q.Sent.Value) && (last.blind || !last.at.Equal(at)):
			st.sent = st.sent.with(q.Queue, counted{n: q.Sent.Value, at: at})
		}
	}
}

// rates summarises the arrivals.
func rates(c series.Counts, now time.Time) muster.Arrivals {
	var a muster.Arrivals
	var r [5]float64
	a.Known = c.Rates(now, []time.Duration{10 * time.Second, time.Minute, 5 * time.Minute, 20 * time.Minute, time.Hour},
		r[:])
	a.TenSeconds, a.Minute, a.FiveMinutes, a.TwentyMinutes, a.Hour = r[0], r[1], r[2], r[3], r[4]
	if since, ok := c.Since(now); ok {
		a.WatchedSeconds = min(now.Sub(since), time.Hour).Seconds()
		a.QuietSeconds = a.WatchedSeconds
		c.Newest(now, func(n float64, began time.Duration) bool {
			a.QuietSeconds = max(0, min(began.Seconds(), a.QuietSeconds)-learnEvery.Seconds())
			return n <= 0
		})
	}
	return a
}

// windows are those over which the busiest times are told.
func windows() []time.Duration {
	const s = time.Second
	return []time.Duration{5 * s, 10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 320 * s, 640 * s}
}

// busiest tells the busiest times.
func busiest(c series.Counts, now time.Time, quantile float64) []muster.Busiest {
	over := windows()
	all := make([]muster.Busiest, len(over))
	shares := muster.RoomShares()
	rooms := c.Envelope(now, append(shares[:], quantile), over)
	for i := range all {
		all[i].OverSeconds = over[i].Seconds()
		all[i].Messages = rooms[i][len(shares)]
		for k := range shares {
			all[i].Rooms[k] = min(rooms[i][k], all[i].Messages)
		}
	}
	return all
}

// waiting tells the ages of the backlog, oldest first. A queue hands out what came first, so what waits is what came
// last: the newest arrivals that add up to the backlog. Arrivals too new to be counted are no older than fresh, unless
// nobody looked for minutes. No age is above that of the oldest message, where it is known, and one has it.
func waiting(st *State, now time.Time, o muster.Observation, fresh time.Duration) []muster.Waiting {
	backlog := o.Backlog()
	if !backlog.Known || backlog.Value < 1 {
		return nil
	}
	oldest := o.OldestAge()
	newest := min(now.Sub(st.learnedAt), fresh)
	if longest := now.Sub(st.measured.Since); longest > max(fresh, holdEvery) {
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
	recent := min(left, st.measured.Arrived)
	add(recent, newest.Seconds())
	left -= recent
	st.arrivals.Newest(now, func(n float64, began time.Duration) bool {
		n = min(n, left)
		add(n, began.Seconds())
		left -= n
		return left > 0
	})
	if left > 0 {
		// Messages that were there before anything was counted.
		age := 0.0
		if since, watched := st.arrivals.Since(now); watched {
			age = now.Sub(since).Seconds()
			if counted := backlog.Value - left; counted > 0 && age >= st.arrivals.Length.Seconds() {
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
