package muster

import "time"

// Handover is what a cloud's target tracking is told of a fleet.
type Handover struct {
	// ID names the handover.
	ID string
	// At is the instant of what follows.
	At time.Time
	// Target is what the cloud shall track; zero while it is unknown.
	Target float64
	// Backlog and InFlight are those of all queues of the fleet.
	Backlog, InFlight Sample
	Capacity          Capacity
	Processing        Estimate
}

// HandoverOf is what an observation has to say, with the target that a decision keeps. An empty queue counts as empty
// although it is doubted for a while, because one look at SQS may be wrong: the cloud's own tracking waits for many
// minutes of the same before it falls.
func HandoverOf(id string, o Observation, target float64) Handover {
	believed := func(s Sample) Sample {
		if s.Doubted {
			return Measured(s.At, 0)
		}
		return s
	}
	return Handover{
		ID: id, At: o.At, Target: target, Capacity: o.Capacity, Processing: o.Processing,
		Backlog:  o.Total(func(q QueueObservation) Sample { return believed(q.Backlog) }),
		InFlight: o.Total(func(q QueueObservation) Sample { return believed(q.InFlight) }),
	}
}
