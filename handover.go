package muster

import "time"

// Handover is the input of a cloud's own target tracking: the metric to track and its target, see [Delegator].
type Handover struct {
	// ID identifies the handover in the history.
	ID string
	// At is the time of the observation that the numbers come from.
	At time.Time
	// Target is the target value of the tracked metric; zero while it is unknown.
	Target float64
	// Backlog and InFlight are the totals over all queues of the fleet.
	Backlog, InFlight Sample
	Capacity          Capacity
	Processing        Estimate
	// InTime is [Progress].InTime; its zero value is unknown.
	InTime Sample
}

// HandoverOf returns the handover of an observation with the target that a decision kept. A doubted empty queue counts
// as empty here, although a policy must not believe it: one reading of SQS may be wrong, but the cloud's tracking waits
// for many minutes of equal readings before it scales in.
func HandoverOf(id string, o Observation, target float64) Handover {
	believed := func(s Sample) Sample {
		if s.Doubted {
			return Measured(s.At, 0)
		}
		return s
	}
	return Handover{
		ID: id, At: o.At, Target: target, Capacity: o.Capacity, Processing: o.Processing,
		InTime:   o.Progress.Value().InTime,
		Backlog:  o.Total(func(q QueueObservation) Sample { return believed(q.Backlog) }),
		InFlight: o.Total(func(q QueueObservation) Sample { return believed(q.InFlight) }),
	}
}
