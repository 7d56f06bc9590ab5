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

// progress has the counts of finished, failed and late work. They derive from the records.
type progress struct {
	// failing are the durations of failed attempts.
	failing series.Window
	// attempts counts failed attempts, finished the finished messages.
	attempts, finished series.Counts
	// ended counts finished messages whose sending time is known, inTime those of them in time, dead the dead letters.
	ended, inTime, dead series.Counts
	// letters is the number of dead letters at the last poll or record; it is valid once counted is true.
	letters float64
	counted bool
	// failure is the newest failed attempt that a worker reported; nil for none. It is never changed.
	failure *protocol.LastFailure
}

// newProgress returns empty windows.
func newProgress(learn time.Duration) progress {
	lately, hour := series.Counts{Length: muster.FailedOver}, series.Counts{Length: shareOver}
	return progress{
		failing: series.Window{Length: learn}, attempts: lately, finished: hour, ended: hour, inTime: hour, dead: hour,
	}
}

// count adds a record to the windows.
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

// addDead adds to l the dead letters since the last poll. A smaller number than before means that a person moved or
// deleted some: then none is added.
func (p *progress) addDead(l *Learned, queues []muster.QueueObservation) {
	letters, known := DeadLetters(queues)
	if !known {
		return
	}
	if p.counted {
		l.Dead += max(0, letters.Value-p.letters)
	}
	p.letters, p.counted = letters.Value, true
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
	e.Told = e.Ended >= knownShare*p.finished.Over(now, shareOver)
	return e
}
