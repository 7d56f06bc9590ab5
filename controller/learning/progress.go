package learning

import (
	"math"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

const (
	// shareOver is the window of the share of messages in time.
	shareOver = time.Hour
	// knownShare is the share of finished messages whose time in the system must be known. Below it the few known ones
	// may be the late ones, and the share in time would mislead.
	knownShare = 0.75
)

// progress has the counts of failed and late work. They derive from the records.
type progress struct {
	// exceptions is nil until a record has some. It is replaced, never changed.
	exceptions *exceptions
	// letters is the number of dead letters at the last poll or record; it is valid once counted is true.
	letters float64
	counted bool
	// failure is the newest failed attempt that a worker reported; nil for none. It is never changed.
	failure *protocol.LastFailure
}

// exceptions are the messages that did not finish in time at the first attempt. Most fleets have none for hours, so
// they are counted apart from the finished messages:
//
//	finished messages                  = durations - blended
//	those with a known time in system  = durations - blended - untold
//	those in time                      = durations - blended - untold - late
type exceptions struct {
	// failing are the durations of failed attempts, attempts their number.
	failing  series.Window
	attempts series.Counts
	// blended counts failed attempts of older workers, which have them among the durations of finished messages.
	blended series.Counts
	// untold counts finished messages whose sending time is unknown, late those that were not in time, dead the dead
	// letters.
	untold, late, dead series.Counts
}

// count adds a record to the windows, which are as long as learn for durations.
func (p *progress) count(since, at time.Time, l Learned, learn time.Duration) {
	blended := max(0, l.Failed-l.Failing.Count)
	untold, late := float64(l.Processing.Count-blended)-l.Ended, l.Ended-l.InTime
	if l.Failed == 0 && l.Failing.Count == 0 && l.Dead == 0 && untold == 0 && late == 0 {
		return
	}
	hour := series.Counts{Length: shareOver}
	x := exceptions{
		failing: series.Window{Length: learn}, attempts: series.Counts{Length: muster.FailedOver}, blended: hour,
		untold: hour, late: hour, dead: hour,
	}
	if p.exceptions != nil {
		x = *p.exceptions
	}
	x.failing, _ = x.failing.Add(at, l.Failing).At(at) // with its estimate, because a step does not change x
	x.attempts = x.attempts.Add(since, at, float64(l.Failed))
	x.blended = x.blended.Add(since, at, float64(blended))
	x.untold, x.late = x.untold.Add(since, at, untold), x.late.Add(since, at, late)
	x.dead = x.dead.Add(since, at, l.Dead)
	p.exceptions = &x
}

// addDead returns the number of dead letters since the last poll. A smaller sum than before means that a person moved
// or deleted some: then there are none.
func (p *progress) addDead(queues []muster.QueueObservation) (dead float64) {
	letters, known := DeadLetters(queues)
	if !known {
		return 0
	}
	if p.counted {
		dead = max(0, letters.Value-p.letters)
	}
	p.letters, p.counted = letters.Value, true
	return dead
}

// recall takes the number of dead letters and the last failure from a recorded decision.
func (p *progress) recall(o muster.Observation) {
	if letters, known := DeadLetters(o.Queues); known {
		p.letters, p.counted = letters.Value, true
	}
	if w := o.Progress.Value(); w.LastError != "" {
		p.failed(&protocol.LastFailure{At: w.LastErrorAt, Error: w.LastError})
	}
}

// recallDead adds the new dead letters of a record.
func (p *progress) recallDead(n float64) { p.letters += n }

// failed notes the newest failed attempt of a worker; nil is none.
func (p *progress) failed(f *protocol.LastFailure) {
	if f != nil && (p.failure == nil || f.At.After(p.failure.At)) {
		p.failure = f
	}
}

// DeadLetters returns the sum of the dead letters of all queues where it is known, with the oldest instant; false if it
// is known for none.
func DeadLetters(queues []muster.QueueObservation) (sum muster.Sample, known bool) {
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

// Ends summarises how attempts ended lately.
type Ends struct {
	// Failed counts failed attempts and Finished the finished messages of the last [muster.FailedOver].
	Failed, Finished float64
	// Failing are the durations of failed attempts.
	Failing muster.Estimate
	// Last is the newest failed attempt that a worker reported; nil for none. It is never changed.
	Last *protocol.LastFailure
	// Of the last hour: Ended counts finished messages whose sending time is known, InTime those of them in time, and
	// Dead the new dead letters. Told is true if Ended is most of the finished messages.
	Ended, InTime, Dead float64
	Told                bool
}

// Ends returns how attempts ended.
func (m *Memory) Ends(now time.Time) Ends {
	hour, lately := m.finished.Over(now, shareOver), m.finished.Over(now, muster.FailedOver)
	e := Ends{Last: m.progress.failure, Ended: hour, InTime: hour}
	if x := m.progress.exceptions; x != nil {
		hour -= x.blended.Over(now, shareOver)
		lately -= x.blended.Over(now, muster.FailedOver)
		e.Ended = max(0, hour-x.untold.Over(now, shareOver))
		e.InTime = max(0, e.Ended-x.late.Over(now, shareOver))
		e.Failed = math.Round(x.attempts.Over(now, muster.FailedOver)) // steps at the edge count in part
		_, e.Failing = x.failing.At(now)
		e.Dead = x.dead.Over(now, shareOver)
	}
	e.Finished = math.Round(max(0, lately))
	e.Told = e.Ended >= knownShare*hour
	return e
}
