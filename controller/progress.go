package controller

import (
	"cmp"
	"math"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller/learning"
)

// progress tells how the work goes.
func (s *Settings) progress(st *State, now time.Time, o *muster.Observation) *muster.Progress {
	ends := st.learned.Ends(now)
	w := &muster.Progress{Failed: ends.Failed, Finished: ends.Finished, Failing: ends.Failing}
	if f := ends.Last; f != nil {
		w.LastError, w.LastErrorAt = f.Error, f.At
	}
	w.DeadLetters, _ = learning.DeadLetters(o.Queues)
	s.retries(st, now, o, w)
	if !s.Unreported && o.Objective.Latency > 0 {
		w.Held, w.HeldLongest, w.HeldBy = st.roster.HeldBeyond(now, s.rules(o.Boot), o.Objective.Latency)
	}
	w.Late = late(o, w)
	ended := ends.Ended + (ends.Dead + w.Late.Value)
	w.Ended = math.Round(ended)
	switch {
	case s.Unreported || !ends.Told:
		w.InTime = muster.Unknown(now, "the workers do not tell how long messages were in the system")
	case w.Ended > 0 && w.Late.Known:
		w.InTime = muster.Measured(now, math.Min(1, math.Max(0, ends.InTime/ended)))
	}
	return w
}

// retries tells messages that workers hold from those that wait for a retry.
func (s *Settings) retries(st *State, now time.Time, o *muster.Observation, w *muster.Progress) {
	inFlight := o.InFlight()
	w.Retrying = o.Total(func(q muster.QueueObservation) muster.Sample { return q.Retrying })
	if w.Retrying.Known {
		w.OldestRetry = muster.Measured(w.Retrying.At, 0)
		for i := range o.Queues {
			w.OldestRetry.Value = max(w.OldestRetry.Value, o.Queues[i].OldestRetry.Value)
		}
		if inFlight.Known {
			w.Working = muster.Measured(inFlight.At, max(0, inFlight.Value-w.Retrying.Value))
		}
		if !s.Unreported {
			o.Retrying = max(o.Retrying, w.Retrying.Value) // as soon as the queue knows it
		}
		return
	}
	why := "the queue does not tell, and the workers do not report"
	for i := range o.Queues {
		why = cmp.Or(o.Queues[i].Retrying.Reason, why)
	}
	w.Retrying = muster.Unknown(now, why)
	if s.Unreported || !o.Capacity.Known {
		return
	}
	told, ok := st.roster.Retries(now)
	settled := ok || st.learned.RetryingSettled()
	if settled || o.Capacity.InService() > 0 || inFlight.Known && inFlight.Value == 0 {
		w.Working = muster.Measured(now,
			float64(o.Capacity.BusySlots)) // else its workers have not reported since a restart
	}
	if !settled {
		return
	}
	// Workers that ended have told nothing since; what is in flight longer than reports take, and at no worker, was
	// theirs.
	n := max(float64(told.Messages), o.Retrying)
	if inFlight.Known {
		n = min(n, inFlight.Value)
	}
	w.Retrying = muster.Measured(now, n)
	switch {
	case n == 0:
		w.OldestRetry = muster.Measured(now, 0)
	case told.OldestSeconds > 0:
		w.OldestRetry = muster.Measured(now, told.OldestSeconds)
	default:
		w.OldestRetry = muster.Unknown(now, "no worker that is still there tells when they were sent")
	}
}

// late counts the messages that wait, in the backlog or for a retry, for longer than the objective allows, and those
// that a worker has held for longer.
func late(o *muster.Observation, w *muster.Progress) muster.Sample {
	most := o.Objective.Latency.Seconds()
	backlog, oldest := o.Backlog(), o.OldestAge()
	n := float64(w.Held)
	switch {
	case !backlog.Known:
		return muster.Unknown(o.At, "the backlog is unknown")
	case backlog.Value == 0, oldest.Known && oldest.Value <= most:
	case len(o.Waiting) == 0:
		return muster.Unknown(o.At, "the ages of what waits are unknown")
	default:
		n += older(o.Waiting, most)
	}
	switch {
	case !w.Retrying.Known:
		return muster.Unknown(o.At, "what waits for a retry is unknown")
	case w.Retrying.Value == 0, w.OldestRetry.Known && w.OldestRetry.Value <= most:
		return muster.Measured(o.At, n)
	case !w.OldestRetry.Known:
		return muster.Unknown(o.At, "the ages of what waits for a retry are unknown")
	}
	retries := 0.0
	for i := range o.Queues {
		retries += older(o.Queues[i].RetryAges, most)
	}
	return muster.Measured(o.At, n+max(1, retries))
}

// older counts the messages of the groups that are older than so many seconds.
func older(groups []muster.Waiting, seconds float64) (n float64) {
	for _, g := range groups {
		if g.AgeSeconds > seconds {
			n += g.Messages
		}
	}
	return n
}
