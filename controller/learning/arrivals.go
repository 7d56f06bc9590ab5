package learning

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
func (m *Memory) arrived(now time.Time, q muster.QueueObservation, poll time.Duration) {
	if !q.Sent.Known {
		return
	}
	last, known := m.sent.of(q.Queue)
	came := q.Sent.Value - last.n
	if came < 0 {
		came = q.Sent.Value // the queue counts anew
	}
	if known && came == 0 {
		return
	}
	if !known {
		m.sent = m.sent.with(q.Queue, counted{n: q.Sent.Value, at: now})
		return
	}
	m.sent = m.sent.with(q.Queue, counted{q.Sent.Value, last.at, last.blind})
	since := now.Add(-poll)
	if last.blind || now.Sub(last.at) > NotedEvery+Every+2*poll {
		since = last.at // nobody looked, or what was sent was not known
	}
	if m.measured.Arrived == 0 || since.Before(m.measured.Since) {
		m.measured.Since = since
	}
	m.measured.Arrived += came
}

// Watch notes that arrivals are counted from the first recorded decision on that knew what had been sent.
func (m *Memory) Watch(o muster.Observation) {
	for _, q := range o.Queues {
		if _, watched := m.arrivals.Since(o.At); !watched && q.Sent.Known {
			m.arrivals = m.arrivals.Watch(o.At.Add(-Every))
		}
	}
}

// Noted takes from a recorded decision when it was last known what had been sent, and whether it still is. A restart
// takes back from it also what had been sent, where nothing else says so.
func (m *Memory) Noted(at time.Time, o muster.Observation) {
	for _, q := range o.Queues {
		last, known := m.sent.of(q.Queue)
		switch {
		case !q.Sent.Known && known:
			m.sent = m.sent.with(q.Queue, counted{last.n, last.at, true})
		case q.Sent.Known && (!known || last.n == q.Sent.Value) && (last.blind || !last.at.Equal(at)):
			m.sent = m.sent.with(q.Queue, counted{n: q.Sent.Value, at: at})
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
			a.QuietSeconds = max(0, min(began.Seconds(), a.QuietSeconds)-Every.Seconds())
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
