package learning

import (
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
	letters, known := DeadLetters(queues)
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
	if letters, known := DeadLetters(o.Queues); known {
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

// DeadLetters adds up the dead letters of all queues; false where they are known of none.
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

// Ends tells how attempts ended lately.
type Ends struct {
	// Failed and Finished count attempts that failed and messages that were finished, over [muster.FailedOver].
	Failed, Finished float64
	// Failing are the durations of attempts that failed.
	Failing muster.Estimate
	// Last is the newest failed attempt that a worker told of; nil for none. It is never changed.
	Last *protocol.LastFailure
	// Ended messages were finished within the hour and sent at a known time, InTime of them in time; Told says whether
	// they are most of what was finished. Dead became dead letters within the hour.
	Ended, InTime, Dead float64
	Told                bool
}

// Ends tells how attempts ended.
func (m *Memory) Ends(now time.Time) Ends {
	p := &m.progress
	e := Ends{
		Failed:   math.Round(p.attempts.Over(now, muster.FailedOver)), // steps at the edge count in part
		Finished: math.Round(p.finished.Over(now, muster.FailedOver)),
		Last:     p.failure,
		Ended:    p.ended.Over(now, shareOver),
		InTime:   p.inTime.Over(now, shareOver),
		Dead:     p.dead.Over(now, shareOver),
	}
	p.failing, e.Failing = p.failing.At(now)
	e.Told = e.Ended >= mostTold*p.finished.Over(now, shareOver)
	return e
}
