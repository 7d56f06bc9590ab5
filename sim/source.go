package sim

import (
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/awsrules/counts"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/sim/internal/kernel"
)

// seenCounts are the counts of the queue at one time.
type seenCounts struct {
	backlog, inFlight int
	retrying          int
	oldestRetry       float64 // seconds
	dead              int64
	oldest            float64 // seconds
	sent              int64
}

// count reads the true counts.
func (r *run) count() seenCounts {
	c := seenCounts{backlog: r.queue.Backlog(), inFlight: r.queue.InFlight(), sent: r.queue.Sent()}
	c.retrying, c.dead = r.queue.Retrying(), r.queue.Dead()
	if sent, ok := r.queue.OldestRetry(); ok {
		c.oldestRetry = time.Duration(r.now - sent).Seconds()
	}
	if sent, ok := r.queue.Oldest(); ok {
		c.oldest = time.Duration(r.now - sent).Seconds()
	}
	return c
}

// snapshot keeps the present counts for a source that shows them late, and plans the next snapshot. Counts that are
// too old to be shown are dropped.
func (r *run) snapshot() {
	w := r.world
	keep := w.Stale + w.MetricDelay
	r.past.Add(r.now, r.count())
	r.past.Forget(r.now-int64(keep), 0)
	every := time.Second
	if w.MetricPeriod > 0 {
		every = w.MetricPeriod
	}
	r.after(every, evSnapshot, kernel.None, 0)
}

// seen returns the counts that the source shows now and the instant that it stamps on them; false while there are none.
// A late or stale source stamps the present on old counts: that is what makes it hard for a policy.
func (r *run) seen() (seenCounts, time.Time, bool) {
	w := r.world
	if w.MetricPeriod == 0 && w.MetricDelay == 0 && w.Stale == 0 {
		return r.count(), r.time(), true
	}
	c, ok := r.past.At(r.now - int64(w.Stale+w.MetricDelay))
	return c, r.time(), ok
}

// observe returns what a poll reads: the queue, the trees and the fleet. Each reading fails on its own.
func (r *run) observe() []controller.Input {
	in := make([]controller.Input, 0, 3)
	in = append(in, controller.Measured{QueueObservation: r.measure()})
	if r.world.Trees {
		in = append(in, r.expected())
	}
	if kernel.Hit(r.chance.Source, r.world.LoseListings) && r.faulty() {
		return append(in, controller.Listed{Failure: "the listing failed"})
	}
	return append(in, controller.Listed{Listing: r.list()})
}

// measure returns the reading of the queue, with the faults of the source.
func (r *run) measure() muster.QueueObservation {
	name := r.settings.Queues[0]
	c, at, ok := r.seen()
	if kernel.Hit(r.chance.Source, r.world.LoseSamples) && r.faulty() {
		if r.inject.nanIsZero {
			z := muster.Measured(at, 0)
			return muster.QueueObservation{Queue: name, Backlog: z, InFlight: z, Delayed: z, OldestAge: z}
		}
		ok = false
	}
	if !ok {
		u := muster.Unknown(at, "the measurement was lost")
		return muster.QueueObservation{Queue: name, Backlog: u, InFlight: u, Delayed: u, OldestAge: u, Sent: u}
	}
	r.seenAt = r.now
	seen := muster.QueueObservation{
		LateSeconds: (r.world.Stale + r.world.MetricDelay + r.world.MetricPeriod).Seconds(),
		Queue:       name, Backlog: muster.Measured(at, r.roughly(c.backlog)),
		InFlight: muster.Measured(at, r.roughly(c.inFlight)),
		Delayed:  muster.Measured(at, 0), OldestAge: muster.Measured(at, c.oldest),
		Sent: muster.Measured(at, float64(c.sent)),
	}
	// Dead letters are in a queue of their own, whose count is taken as exact.
	seen.DeadLetters = muster.Measured(at, float64(c.dead))
	if !r.world.CountsOnly {
		seen.Retrying, seen.OldestRetry = muster.Measured(at, float64(c.retrying)), muster.Measured(at, c.oldestRetry)
		if c.retrying > 0 {
			seen.RetryAges = []muster.Waiting{{AgeSeconds: c.oldestRetry, Messages: float64(c.retrying)}}
		}
	}
	if r.world.CountsOnly {
		seen.OldestAge, seen.Sent = muster.Unknown(at, "the source does not tell ages"), muster.Unknown(at,
			"the source does not count what is sent")
	}
	return seen
}

// roughly returns a count with the error of an approximate source.
func (r *run) roughly(n int) float64 {
	if r.world.Approximate == 0 {
		return float64(n)
	}
	return float64(counts.Roughly(n, r.world.Approximate, r.chance.Source.Float64()))
}
