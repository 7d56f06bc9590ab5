package learning

import (
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/series"
)

// counted is the number of messages ever sent to a queue, and the time of the last record that has it: the one that a
// restart finds.
type counted struct {
	n  float64
	at time.Time
	// blind is true once a later record says that the number was unknown.
	blind bool
}

// totals are the numbers of several queues, sorted by name. They are replaced, never changed.
type totals []total

// total is the number of one queue.
type total struct {
	queue string
	counted
}

// of returns the number of a queue; false if it is not known.
func (t totals) of(queue string) (counted, bool) {
	for i := range t {
		if t[i].queue == queue {
			return t[i].counted, true
		}
	}
	return counted{}, false
}

// with returns a copy of t with c for the queue.
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

// arrived counts the messages sent to a queue that counts them itself, since its last measurement. As long as records
// have the number every minute, all of them arrived since the last poll, at most poll ago. After a gap they may have
// arrived at any time since the last record.
func (m *Memory) arrived(now time.Time, q muster.QueueObservation, poll time.Duration) {
	if !q.Sent.Known {
		return
	}
	last, known := m.sent.of(q.Queue)
	came := q.Sent.Value - last.n
	if came < 0 {
		came = q.Sent.Value // the queue was created anew
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
		since = last.at // the controller was stopped, or the number was unknown
	}
	if m.measured.Arrived == 0 || since.Before(m.measured.Since) {
		m.measured.Since = since
	}
	m.measured.Arrived += came
}

// Watch begins counting arrivals at the first recorded decision that knew the number of sent messages. Quiet time
// before the first message then counts as quiet, not as unknown.
func (m *Memory) Watch(o muster.Observation) {
	for _, q := range o.Queues {
		if _, watched := m.arrivals.Since(o.At); !watched && q.Sent.Known {
			m.arrivals = m.arrivals.Watch(o.At.Add(-Every))
		}
	}
}

// Noted takes from a recorded decision whether the number of sent messages was known, and when. A restart also takes
// the number itself from it, if no Learned record has it.
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

// rates summarises the arrivals until now.
func rates(c series.Counts, now time.Time) muster.Arrivals {
	var a muster.Arrivals
	over := []time.Duration{10 * time.Second, time.Minute, 5 * time.Minute, 20 * time.Minute, time.Hour, 4 * time.Hour,
		12 * time.Hour}
	to := []*float64{&a.TenSeconds, &a.Minute, &a.FiveMinutes, &a.TwentyMinutes, &a.Hour, &a.FourHours, &a.TwelveHours}
	for over[len(over)-1] > max(c.Length, time.Hour) { // what is not remembered has no rate
		over = over[:len(over)-1]
	}
	found := make([]float64, len(over))
	a.Known = c.Rates(now, over, found)
	for i, r := range found {
		*to[i] = r
	}
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

// windows are the window lengths of [muster.Arrivals].Busiest.
func windows() []time.Duration {
	const s = time.Second
	return []time.Duration{5 * s, 10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 320 * s, 640 * s}
}

// busiest summarises the busiest windows of the past.
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

// Counting tells whether the number of messages sent to every queue is known.
func Counting(o muster.Observation) bool {
	for i := range o.Queues {
		if !o.Queues[i].Sent.Known {
			return false
		}
	}
	return len(o.Queues) > 0
}
