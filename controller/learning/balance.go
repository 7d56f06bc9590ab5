package learning

import (
	"time"

	"github.com/muster-scale/muster"
)

// balance tells how many messages were sent to a queue that does not count them: those that are there and those that
// were finished must have been sent.
//
// Counts are approximate, and the next look may not find what this one did. So what a look found counts for the
// decision that is made from it, and for later ones only once a record says so: a restart must not change them.
type balance struct {
	// finished is how many messages the fleet's workers finished, up to the last record; soon is how many since.
	finished, soon float64
	// sent is how many were sent, by the last look; it means something once asked is true.
	sent  float64
	asked bool
	// corrected is true while the newest record has more sent than there can have been.
	corrected bool
}

// balanced puts into q how many messages were sent to it in all, and takes down how many of them came since the last
// record, where the source knows only how many are there; it is false where the source counts them itself. Counts fall
// at times although nothing was taken back: then nothing came. Once the queue is empty, the sum is exact again.
//
// A fleet's workers report what they finish, not from which queue, so that the queues of a fleet with several stay
// unknown.
func (m *Memory) balanced(now time.Time, r Rules, queues []muster.QueueObservation, q *muster.QueueObservation) bool {
	if q.Sent.Known || !r.OneQueue || !q.Backlog.Known || !q.InFlight.Known || !q.Delayed.Known {
		return false
	}
	for i := range queues {
		if old := &queues[i]; old.Queue == q.Queue && old.Sent.Known && old.Backlog.At.Equal(q.Backlog.At) {
			// the same look again, where looks are rare: what was finished since is still in its counts
			q.Sent = old.Sent
			return true
		}
	}
	there := q.Backlog.Value + q.InFlight.Value + q.Delayed.Value
	sent := there + m.balance.finished
	last, known := m.sent.of(q.Queue)
	m.measured.Arrived, m.measured.Since = 0, time.Time{}
	switch {
	case !known:
		m.sent = m.sent.with(q.Queue, counted{n: sent, at: now})
	case sent > last.n:
		m.measured.Arrived, m.measured.Since = sent-last.n, now.Add(-Every-r.Poll)
		if last.blind || m.measured.Since.Before(last.at) || now.Sub(last.at) > NotedEvery+Every+2*r.Poll {
			m.measured.Since = last.at
		}
	case sent < last.n && there > 0:
		sent = last.n
	case sent < last.n:
		m.balance.corrected = true
	}
	m.balance.sent, m.balance.asked = sent, true
	q.Sent = muster.Measured(q.Backlog.At, sent)
	return true
}

// record returns what a record says of a queue that had counted n: for one that does not count, what the last look
// found.
func (b balance) record(n float64) float64 {
	if b.asked {
		return b.sent
	}
	return n
}

// settled returns how many were finished in all as of the record that is made now.
func (b balance) settled() float64 { return b.finished + b.soon }
