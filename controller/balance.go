package controller

import (
	"github.com/muster-scale/muster"
)

// balance tells how many messages were sent to a queue that does not count them: those that are there and those that were
// finished must have been sent.
//
// What workers finish counts from the record on that says so, so that a restart balances alike.
type balance struct {
	// finished is how many messages the fleet's workers finished, up to the last record; soon is how many since.
	finished, soon float64
	// corrected is true while the newest record has more sent than there can have been.
	corrected bool
}

// balanced returns q with how many messages were sent to it in all, where the source knows only how many are there. Counts are
// approximate and late, so that the sum falls at times although nothing was taken back: then nothing came. Once the queue is
// empty, it is exact again.
//
// A fleet's workers report what they finish, not from which queue, so that the queues of a fleet with several stay unknown.
func (s Settings) balanced(st *State, q muster.QueueObservation) muster.QueueObservation {
	if q.Sent.Known || len(s.Queues) != 1 || !q.Backlog.Known || !q.InFlight.Known || !q.Delayed.Known {
		return q
	}
	for _, old := range st.queues {
		if old.Queue == q.Queue && old.Sent.Known && old.Backlog.At.Equal(q.Backlog.At) {
			q.Sent = old.Sent // the same look again, where looks are rare: what was finished since is still in its counts
			return q
		}
	}
	there := q.Backlog.Value + q.InFlight.Value + q.Delayed.Value
	sent := there + st.balance.finished
	if last, known := st.sent.of(q.Queue); known && sent < last.n {
		if there == 0 {
			st.balance.corrected = true
			st.sent = st.sent.with(q.Queue, counted{sent, last.at, last.blind})
		} else {
			sent = last.n
		}
	}
	q.Sent = muster.Measured(q.Backlog.At, sent)
	return q
}

// settled returns how many were finished in all as of the record that is made now.
func (b balance) settled() float64 { return b.finished + b.soon }
