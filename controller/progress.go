package controller

import (
	"cmp"
	"math"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

const (
	// shareOver is the time over which the share of messages in time is told.
	shareOver = time.Hour
	// mostTold is the share of the finished messages of which it must be known how long they were in the system: where
	// nobody tells, a few late ones would be all that there are.
	mostTold = 0.75
)

// progress is what is known of how the work goes, failures among it. What it counts is in the records.
type progress struct {
	// failing are the durations of attempts that failed.
	failing series.Window
	// attempts counts those that failed, finished the messages that were finished.
	attempts, finished series.Counts
	// ended counts finished messages whose time of sending is known, inTime those of them in time, dead the dead
	// letters.
	ended, inTime, dead series.Counts
	// letters is how many dead letters there were, by the last look or record; it means something once counted is true.
	letters float64
	counted bool
	// failure is the newest failed attempt that a worker told of; nil for none. It is never changed.
	failure *protocol.LastFailure
}

func newProgress(learn time.Duration) progress {
	lately, hour := series.Counts{Length: muster.FailedOver}, series.Counts{Length: shareOver}
	return progress{
		failing: series.Window{Length: learn}, attempts: lately, finished: hour, ended: hour, inTime: hour, dead: hour,
	}
}

// count takes what was learned into the windows.
func (p *progress) count(since, at time.Time, l Learned) {
	p.finished = p.finished.Add(since, at, float64(l.Processing.Count-max(0, l.Failed-l.Failing.Count)))
	p.ended = p.ended.Add(since, at, l.Ended)
	p.inTime = p.inTime.Add(since, at, l.InTime)
	if l.Failed == 0 && l.Failing.Count == 0 && l.Dead == 0 {
		return
	}
	p.failing = p.failing.Add(at, l.Failing)
	p.attempts = p.attempts.Add(since, at, float64(l.Failed))
	p.dead = p.dead.Add(since, at, l.Dead)
}

// bury adds to l the dead letters that came since the last look. Fewer of them were taken back or removed by a person:
// none came.
func (p *progress) bury(l *Learned, queues []muster.QueueObservation) {
	letters, known := deadLetters(queues)
	if !known {
		return
	}
	if p.counted {
		l.Dead += max(0, letters.Value-p.letters)
	}
	p.letters, p.counted = letters.Value, true
}

// recall takes from a recorded decision how many dead letters there were, and the last failure.
func (p *progress) recall(o muster.Observation) {
	if letters, known := deadLetters(o.Queues); known {
		p.letters, p.counted = letters.Value, true
	}
	if w := o.Progress.Value(); w.LastError != "" {
		p.failed(&protocol.LastFailure{At: w.LastErrorAt, Error: w.LastError})
	}
}

// buried notes that a record counted so many new dead letters.
func (p *progress) buried(n float64) { p.letters += n }

// failed takes in the newest failed attempt of a worker; nil is none.
func (p *progress) failed(f *protocol.LastFailure) {
	if f != nil && (p.failure == nil || f.At.After(p.failure.At)) {
		p.failure = f
	}
}

// deadLetters adds up the dead letters of all queues; false where they are known of none.
func deadLetters(queues []muster.QueueObservation) (sum muster.Sample, known bool) {
	for i := range queues {
		if d := queues[i].DeadLetters; d.Known {
			sum.Value += d.Value
			if !sum.Known || d.At.Before(sum.At) {
				sum.At = d.At
			}
			sum.Known = true
		}
	}
	return sum, sum.Known
}

// progress tells how the work goes.
func (s *Settings) progress(st *State, now time.Time, o *muster.Observation) *muster.Progress {
	w := &muster.Progress{
		Failed:   math.Round(st.progress.attempts.Over(now, muster.FailedOver)), // steps at the edge count in part
		Finished: math.Round(st.progress.finished.Over(now, muster.FailedOver)),
	}
	st.progress.failing, w.Failing = st.progress.failing.At(now)
	if f := st.progress.failure; f != nil {
		w.LastError, w.LastErrorAt = f.Error, f.At
	}
	w.DeadLetters, _ = deadLetters(o.Queues)
	s.retries(st, now, o, w)
	if !s.Unreported && o.Objective.Latency > 0 {
		w.Held, w.HeldLongest, w.HeldBy = st.roster.HeldBeyond(now, s.rules(o.Boot), o.Objective.Latency)
	}
	w.Late = late(o, w)
	ended := st.progress.ended.Over(now, shareOver)
	told := !s.Unreported && ended >= mostTold*st.progress.finished.Over(now, shareOver)
	ended += st.progress.dead.Over(now, shareOver) + w.Late.Value
	w.Ended = math.Round(ended)
	switch {
	case !told:
		w.InTime = muster.Unknown(now, "the workers do not tell how long messages were in the system")
	case w.Ended > 0 && w.Late.Known:
		w.InTime = muster.Measured(now, math.Min(1, math.Max(0, st.progress.inTime.Over(now, shareOver)/ended)))
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
	settled := ok || st.retrying.full
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
