package learning

import (
	"time"

	"github.com/muster-scale/muster"
)

// balance derives the number of messages sent to a queue that does not count them:
//
//	sent = present (backlog + in flight + delayed) + finished
//
// Counts of a distributed queue are approximate, and the next poll may find less. So the result of a poll counts for
// the decision made from it, and for later decisions only once it is recorded: a restart must not change them.
type balance struct {
	// finished is how many messages the fleet's workers have finished by the last record; soon is how many since.
	finished, soon float64
	// sent is the result of the last poll; it is valid once polled is true.
	sent   float64
	polled bool
	// missing is how many messages the last poll found fewer than an earlier one did, although nothing tells that they
	// were finished. gone is its minimum over the last polls: so many have been missing for longer.
	missing float64
	gone    lowWater
	// polledAt is when, for a fleet whose workers do not report.
	polledAt time.Time
	// corrected is true while the newest record has more sent messages than there can have been.
	corrected bool
}

// balanced sets q.Sent by the balance, and notes the messages that arrived since the last record. It returns false for
// a source that counts sent messages itself, and if a count is unknown.
//
// Approximate counts fall at times although no message was finished: then nothing arrived, and sent stays. Once the
// queue is empty, the sum is exact again and may correct the record downwards.
//
// Workers report how many messages they finish, not from which queue, so a fleet with several queues has no balance.
func (m *Memory) balanced(now time.Time, r Rules, queues []muster.QueueObservation, q *muster.QueueObservation) bool {
	if q.Sent.Known || !r.OneQueue || !q.Backlog.Known || !q.InFlight.Known || !q.Delayed.Known {
		return false
	}
	for i := range queues {
		if old := &queues[i]; old.Queue == q.Queue && old.Sent.Known && old.Backlog.At.Equal(q.Backlog.At) {
			// The source repeated an old reading. Messages finished since are still in its counts.
			q.Sent = old.Sent
			return true
		}
	}
	there := q.Backlog.Value + q.InFlight.Value + q.Delayed.Value
	sent := there + m.balance.finished
	if r.Mean > 0 {
		m.estimateFinished(now, r, q)
		sent += m.balance.soon
	}
	last, known := m.sent.of(q.Queue)
	m.measured.Arrived, m.measured.Since = 0, time.Time{}
	m.balance.missing = 0
	switch {
	case !known:
		m.sent = m.sent.with(q.Queue, counted{n: sent, at: now})
	case sent > last.n:
		m.measured.Arrived, m.measured.Since = sent-last.n, now.Add(-Every-r.Poll)
		if last.blind || m.measured.Since.Before(last.at) || now.Sub(last.at) > NotedEvery+Every+2*r.Poll {
			m.measured.Since = last.at
		}
	case sent < last.n && there > 0:
		m.balance.missing = last.n - sent
		sent = last.n
	case sent < last.n:
		m.balance.corrected = true
	}
	m.balance.sent, m.balance.polled = sent, true
	m.balance.gone = m.balance.gone.add(now, m.balance.missing, missingOver*max(r.Poll, time.Second))
	q.Sent = muster.Measured(q.Backlog.At, sent)
	return true
}

// longestGap is how many polls may be missing between two that count what was finished in between.
const longestGap = 10

// estimateFinished counts what a fleet without reports has finished since the last poll. A message in flight is in
// progress, and a mean processing duration later it is finished and another one in its place:
//
//	finished = in flight x time / mean
//
// A wrong mean makes arrivals wrong in proportion, but only while the backlog stands: a backlog that grows or falls
// shows in the counts themselves.
func (m *Memory) estimateFinished(now time.Time, r Rules, q *muster.QueueObservation) {
	b := &m.balance
	if gap := now.Sub(b.polledAt); b.polled && gap > 0 && gap <= longestGap*max(r.Poll, time.Second) {
		b.soon += q.InFlight.Value * gap.Seconds() / r.Mean.Seconds()
	}
	b.polledAt = now
}

// missingOver is over how many polls counts are compared: one of so many is near the highest that an approximate count
// comes to.
const missingOver = 12

// uncounted returns how many of the missing messages are still there, because the present count is approximate and
// below others of the last polls. What has been missing for longer is gone: a message that failed for good, or one that
// was never there. So are as many as messages in flight explain, because workers report later what they finished.
func (b balance) uncounted(backlog, inFlight muster.Sample) float64 {
	const most = 0.5 // of the backlog, so that one wild count does no harm
	if !b.polled || !inFlight.Known {
		return 0
	}
	return max(0, min(b.missing-b.gone.least()-2*inFlight.Value, most*backlog.Value))
}

// record returns the number for a record of a queue: n for one that counts itself, else the result of the last poll.
func (b balance) record(n float64) float64 {
	if b.polled {
		return b.sent
	}
	return n
}

// settled returns the number of finished messages for the record that is made now.
func (b balance) settled() float64 { return b.finished + b.soon }
