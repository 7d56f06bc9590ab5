package embedded

import (
	"context"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/queue"
)

// Source measures one embedded queue. It implements [muster.Source] and [muster.Notifier].
type Source struct {
	queues *queue.Service
	name   string
	// dead is a further dead-letter queue, in addition to the queue's own; empty for none.
	dead string
}

var (
	_ muster.Source   = Source{}
	_ muster.Notifier = Source{}
)

// New returns the source of the named queue, which need not exist yet.
func New(queues *queue.Service, name string) Source { return Source{queues: queues, name: name} }

// Observe implements [muster.Source].
func (s Source) Observe(context.Context) (muster.QueueObservation, error) {
	c, err := s.queues.Counts(s.name)
	if err != nil {
		return muster.QueueObservation{}, err
	}
	age := 0.0
	if !c.OldestSent.IsZero() {
		age = max(0, c.At.Sub(c.OldestSent).Seconds())
	}
	at := time.Now().UTC() // the queue's clock never steps back, but samples carry wall-clock times
	q := muster.QueueObservation{
		Queue:   s.name,
		Backlog: muster.Measured(at, float64(c.Visible)), InFlight: muster.Measured(at, float64(c.InFlight)),
		Delayed: muster.Measured(at, float64(c.Delayed)), OldestAge: muster.Measured(at, age),
		Sent: muster.Measured(at, float64(c.Sent)),
	}
	s.deadLetters(&q, c, at)
	retries(&q, c, at)
	return q, nil
}

// Wakes implements [muster.Notifier].
func (s Source) Wakes() (<-chan struct{}, func()) { return s.queues.Subscribe(s.name) }

// WithDeadLetters returns s for workers that move messages without an attempt left to the named queue. That may be the
// measured queue's own dead-letter queue; empty means no other.
func (s Source) WithDeadLetters(name string) Source {
	s.dead = name
	return s
}

// deadLetters sets the number of dead letters in q, if there is a queue for them.
func (s Source) deadLetters(q *muster.QueueObservation, c queue.Counts, at time.Time) {
	dead := c.DeadLetters
	if s.dead != "" && s.dead != c.DeadLetterQueue {
		if d, err := s.queues.Counts(s.dead); err == nil {
			dead = max(0, dead) + d.Visible + d.InFlight + d.Delayed
		}
	}
	if dead >= 0 {
		q.DeadLetters = muster.Measured(at, float64(dead))
	}
}

// retries sets in q how many messages wait for their retry.
func retries(q *muster.QueueObservation, c queue.Counts, at time.Time) {
	if c.Unsure > 0 {
		why := render.Plural(c.Unsure, "message") +
			" in flight since before the queue was opened may be at a worker or wait for a retry"
		q.Retrying, q.OldestRetry = muster.Unknown(at, why), muster.Unknown(at, why)
		return
	}
	q.Retrying, q.OldestRetry = muster.Measured(at, float64(c.Returned)), muster.Measured(at, 0)
	for _, g := range c.ReturnedSent {
		age := max(0, c.At.Sub(g.Oldest).Seconds())
		q.OldestRetry.Value = max(q.OldestRetry.Value, age)
		q.RetryAges = append(q.RetryAges, muster.Waiting{AgeSeconds: age, Messages: float64(g.Messages)})
	}
}
