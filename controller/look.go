package controller

import (
	"slices"
	"time"

	"github.com/muster-scale/muster"
)

// look keeps the newest measurement of each queue, sorted by name.
func (st *State) look(q *muster.QueueObservation) {
	queues, i := st.queues, 0
	for i < len(queues) && queues[i].Queue < q.Queue {
		i++
	}
	if i == len(queues) || queues[i].Queue != q.Queue {
		st.queues = slices.Insert(slices.Clip(queues), i, *q)
		return
	}
	st.queues = slices.Clone(queues)
	newest(&st.queues[i], q)
}

// newest keeps what is still known of a queue when a measurement fails; staleness is judged when it is used.
// Measurements arrive in the order they were made, so their instants are not compared: a clock that was set back would
// win for hours.
func newest(old, q *muster.QueueObservation) {
	newer(&old.Backlog, &q.Backlog)
	newer(&old.InFlight, &q.InFlight)
	newer(&old.Delayed, &q.Delayed)
	newer(&old.OldestAge, &q.OldestAge)
	newer(&old.Sent, &q.Sent)
	newer(&old.Retrying, &q.Retrying)
	newer(&old.OldestRetry, &q.OldestRetry)
	newer(&old.DeadLetters, &q.DeadLetters)
	if q.Retrying.Known {
		old.RetryAges = q.RetryAges
	}
	if old.Published != nil || q.Published != nil {
		p, n := old.Published.Value(), q.Published.Value()
		newer(&p.SentPerSecond, &n.SentPerSecond)
		newer(&p.DeletedPerSecond, &n.DeletedPerSecond)
		newer(&p.ProcessingMean, &n.ProcessingMean)
		old.Published = &p
	}
	old.LateSeconds = q.LateSeconds
}

// newer replaces a sample by a later one that tells more, or that it is in doubt.
func newer(old, s *muster.Sample) {
	if s.Known || !old.Known || s.Doubted {
		*old = *s
	}
}

// fresh returns the measurements, of which what is too old by now is unknown: those given, as nearly always, if nothing
// is.
func (s *Settings) fresh(queues []muster.QueueObservation, now time.Time) []muster.QueueObservation {
	counts, ages := s.staleAfter(), s.ageStaleAfter()
	i := 0
	for i < len(queues) && !stale(&queues[i], now, counts, ages) {
		i++
	}
	if i == len(queues) {
		return slices.Clip(queues)
	}
	queues = slices.Clone(queues)
	for i := range queues {
		q := &queues[i]
		for _, x := range []*muster.Sample{
			&q.Backlog, &q.InFlight, &q.Delayed, &q.Sent, &q.Retrying, &q.OldestRetry, &q.DeadLetters,
		} {
			*x = x.Fresh(now, counts)
		}
		q.OldestAge = q.OldestAge.Fresh(now, ages)
		if p := q.Published.Value(); q.Published != nil {
			p.SentPerSecond, p.DeletedPerSecond = p.SentPerSecond.Fresh(now, ages), p.DeletedPerSecond.Fresh(now, ages)
			p.ProcessingMean = p.ProcessingMean.Fresh(now, max(s.Learn, ages))
			q.Published = &p
		}
	}
	return queues
}

// stale tells whether something in q may be too old.
func stale(q *muster.QueueObservation, now time.Time, counts, ages time.Duration) bool {
	old := func(x *muster.Sample, most time.Duration) bool {
		age := now.Sub(x.At)
		return x.Known && (age > most || age < -most)
	}
	return old(&q.Retrying, counts) || old(&q.OldestRetry, counts) || old(&q.DeadLetters, counts) ||
		old(&q.Backlog, counts) || old(&q.InFlight, counts) || old(&q.Delayed, counts) || old(&q.Sent, counts) ||
		old(&q.OldestAge, ages) ||
		q.Published != nil
}
