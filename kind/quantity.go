package kind

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/muster-scale/muster"
)

// This file has what all kinds of signals share: the names of the measured quantities, and how a measured quantity
// replaces that of the queue itself.

// Quantity is the meaning of a measured number for a queue. It is also the key under which a fleet states the measure.
type Quantity string

// The quantities. Counts are of messages, ages and durations in seconds.
const (
	Backlog    Quantity = "backlog"
	InFlight   Quantity = "in_flight"
	Delayed    Quantity = "delayed"
	OldestAge  Quantity = "oldest_age"
	Processing Quantity = "processing"
)

// Put stores the sample s of the quantity in q and leaves all other quantities as they are. It changes nothing that q
// points to, because a source may keep what it returned. An unknown quantity is ignored.
func (x Quantity) Put(q *muster.QueueObservation, s muster.Sample) {
	switch x {
	case Backlog:
		q.Backlog = s
	case InFlight:
		q.InFlight = s
	case Delayed:
		q.Delayed = s
	case OldestAge:
		q.OldestAge = s
	case Processing:
		published := q.Published.Value()
		published.ProcessingMean = s
		q.Published = &published
	}
}

// Quantities returns the names of the measured quantities, sorted: a signal's Measures.
func Quantities[T any](measured map[Quantity]T) []string {
	var names []string
	for _, x := range slices.Sorted(maps.Keys(measured)) {
		names = append(names, string(x))
	}
	return names
}

// ObserveBase returns the observation to which a signal adds its measures: that of base. When base is nil, or fails,
// all counts and ages of the queue are unknown since now(), with missing or the failure as their reason. A failed base
// hides no measure, because the measures do not depend on it.
func ObserveBase(ctx context.Context, base muster.Source, queue, missing string,
	now func() time.Time) muster.QueueObservation {
	if base != nil {
		q, err := base.Observe(ctx)
		if err == nil {
			return q
		}
		missing = err.Error()
	}
	none := muster.Unknown(now().UTC().Round(0), missing) // samples carry no monotonic clock
	return muster.QueueObservation{Queue: queue, Backlog: none, InFlight: none, Delayed: none, OldestAge: none}
}
