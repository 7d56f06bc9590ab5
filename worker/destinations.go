package worker

import (
	"context"
	"hash/fnv"
	"log/slog"
	"time"

	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/internal/trouble"
	"github.com/muster-scale/muster/worker/lease"
	"github.com/muster-scale/muster/worker/protocol"
)

const (
	// digestTimeout bounds one digest; the last one has lastReportTimeout.
	digestTimeout = 10 * time.Second
	// maxDigestPause bounds the back-off after failed digests, unless a period is longer.
	maxDigestPause = 10 * time.Minute
	// changeGap is the least time between two digests of a destination with Changes.
	changeGap = time.Second
)

// Sink takes digests of a worker's state and does not answer, such as a store of metrics or a table. Packages
// worker/cloudwatch and worker/dynamoreport implement it.
type Sink interface {
	// Take takes a digest. It is called for one at a time and returns soon after ctx ends. After an error, the next
	// digest holds the same counts again: nothing is lost, but something may be counted twice.
	Take(ctx context.Context, d Digest) error
}

// Destination is a [Sink] and how often it gets a digest.
type Destination struct {
	Sink Sink
	// Name is its name in the log, as in "CloudWatch".
	Name string
	// Every is the period, above zero. Periods begin at multiples of it by the wall clock. Each has one digest, from
	// when the worker begins to receive.
	Every time.Duration
	// Changes adds a digest at once for each change of the worker's state, also before the worker begins to receive.
	Changes bool
}

// Counts add up finished work.
type Counts struct {
	// Finished counts messages and Failed attempts. Processing holds the durations of finished messages, Classes those
	// of each class, and Failing those of failed attempts, as in a [protocol.Report].
	Finished, Failed    int64
	Processing, Failing series.Durations
	Classes             map[string]series.Durations
}

// Digest is a worker's state for a [Sink].
type Digest struct {
	// Report is the worker's report, with the counts since the last digest that this sink took. Its Seq grows with each
	// digest of the worker, also over restarts.
	Report protocol.Report
	// Total holds the counts since the worker started, at the time Started by its own clock.
	Total   Counts
	Started time.Time
	// Period is when the period began, by the worker's own clock, and Every how long it is.
	Period time.Time
	Every  time.Duration
	// Extra is true for a digest beyond the one of its period: for a change, or the last digest.
	Extra bool
}

// destinations send the digests of a run. They never delay the work. Only the goroutine of the run's loop uses them.
type destinations struct {
	all     []destination
	total   Counts
	started time.Time
	seq     int64
	log     *slog.Logger
	// life ends with the loop.
	life context.Context
	stop context.CancelFunc
}

// destination is one destination with its state.
type destination struct {
	Destination
	// taken are the counts that its sink has taken.
	taken   Counts
	sending bool
	// period is the period of its last digest; notBefore is the end of the pause after a failure.
	period, notBefore, sentAt time.Time
	reported                  protocol.WorkerState
	// failures counts the failed digests in a row.
	failures int
	fault    trouble.Trouble
}

func newDestinations(base context.Context, o Options, now time.Time) destinations {
	s := destinations{started: now, seq: now.UnixMilli(), log: o.Logger}
	s.life, s.stop = context.WithCancel(base)
	for _, one := range o.Destinations {
		s.all = append(s.all, destination{Destination: one, fault: trouble.Trouble{What: "reporting to " + one.Name}})
	}
	return s
}

// count counts a finished attempt.
func (s *destinations) count(d time.Duration, ok bool, class string) {
	if len(s.all) == 0 {
		return
	}
	if !ok {
		s.total.Failed++
		s.total.Failing = series.Add(s.total.Failing, d)
		return
	}
	s.total.Finished++
	s.total.Processing = series.Add(s.total.Processing, d)
	s.total.Classes = lease.AddClass(s.total.Classes, class, d)
}

// Less returns the difference to an earlier count of the same worker.
func (c Counts) Less(before Counts) Counts {
	more := Counts{
		Finished: max(0, c.Finished-before.Finished), Failed: max(0, c.Failed-before.Failed),
		Processing: series.Less(c.Processing, before.Processing), Failing: series.Less(c.Failing, before.Failing),
	}
	for class, d := range c.Classes {
		if d = series.Less(d, before.Classes[class]); d.Count > 0 {
			if more.Classes == nil {
				more.Classes = make(map[string]series.Durations, len(c.Classes))
			}
			more.Classes[class] = d
		}
	}
	return more
}

// advance sends the digests that are due.
func (s *destinations) advance(now time.Time, next *alarm, r *runner) {
	for i := range s.all {
		o := &s.all[i]
		if o.sending {
			continue
		}
		at, due := o.dueAt(now, r.lease.State(), r.Worker)
		if !due || !next.due(now, at) {
			continue
		}
		s.send(now, i, r)
	}
}

// dueAt returns when the next digest is due; false if none is.
func (o *destination) dueAt(now time.Time, state protocol.WorkerState, worker string) (time.Time, bool) {
	if o.Changes && state != o.reported {
		return later(o.notBefore, o.sentAt.Add(changeGap)), true
	}
	switch {
	case !o.Changes && (state == protocol.Starting || state == protocol.Leaving):
		return time.Time{}, false
	case o.period.IsZero() || now.Before(o.period): // a clock that was set back must not delay the next digest
		return o.notBefore, true
	}
	return later(o.notBefore, o.period.Add(o.Every+offset(worker, o.Every))), true
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// offset spreads the digests of many workers over the first half of a period.
func offset(worker string, every time.Duration) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(worker))
	return time.Duration(float64(every/2) * float64(h.Sum32()) / (1 << 32))
}

// digest returns the digest of a destination at now.
func (s *destinations) digest(now time.Time, o *destination, l *lease.Lease) Digest {
	s.seq++
	more := s.total.Less(o.taken)
	report := l.Says(now)
	report.Seq, report.Finished, report.Failed, report.Processing, report.Classes = s.seq, more.Finished, more.Failed,
		more.Processing, more.Classes
	report.Failing = more.Failing
	period := now.Round(0).Truncate(o.Every)
	return Digest{
		Report: report, Total: s.total, Started: s.started, Period: period, Every: o.Every,
		Extra: period.Equal(o.period),
	}
}

func (s *destinations) send(now time.Time, i int, r *runner) {
	o := &s.all[i]
	d := s.digest(now, o, &r.lease)
	o.sending, o.period, o.sentAt, o.reported = true, d.Period, now, d.Report.State
	r.wg.Go(func() {
		ctx, cancel := context.WithTimeout(s.life, digestTimeout)
		defer cancel()
		err := o.Sink.Take(ctx, d)
		select {
		case r.events <- func(now time.Time) { s.taken(now, i, d, err, r) }:
		case <-s.life.Done():
		}
	})
}

// taken handles the result of the digest of the i-th destination.
func (s *destinations) taken(now time.Time, i int, d Digest, err error, r *runner) {
	o := &s.all[i]
	o.sending = false
	o.fault.See(s.log, now, err)
	if err == nil {
		o.taken, o.failures, o.notBefore = d.Total, 0, time.Time{}
		return
	}
	r.lease.Incident(protocol.ReportFailed, o.Name+": "+err.Error())
	o.failures++
	o.reported = "" // a change is reported again
	pause := changeGap
	if !o.Changes {
		pause = o.Every
	}
	o.notBefore = now.Add(max(pause, min(pause<<min(o.failures-1, 20), maxDigestPause)))
}

// last sends every sink its last counts, all at once, without a retry. The loop is over.
func (s *destinations) last(base context.Context, now time.Time, r *runner) {
	ctx, cancel := context.WithTimeout(base, lastReportTimeout)
	defer cancel()
	for i := range s.all {
		o := &s.all[i]
		d := s.digest(now, o, &r.lease)
		d.Extra = true
		if !o.Changes && d.Report.Finished+d.Report.Failed == 0 {
			continue
		}
		r.wg.Go(func() {
			if err := o.Sink.Take(ctx, d); err != nil {
				s.log.Debug("the last report failed", "to", o.Name, "err", err)
			}
		})
	}
	r.wg.Wait()
}
