package embedded

import (
	"context"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/queue"
)

// Source measures one embedded queue. It implements [muster.Source] and [muster.Notifier].
type Source struct {
	queues *queue.Service
	name   string
	// dead is a further dead-letter queue, beside the queue's own; empty for none.
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
