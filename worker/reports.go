package worker

import (
	"context"
	"log/slog"
	"time"

	"github.com/muster-scale/muster"
)

const (
	// reportGap is the least time between two reports; changes in between go into one.
	reportGap = 100 * time.Millisecond
	// reportTimeout bounds one report, lastReportTimeout the one that says goodbye.
	reportTimeout     = 5 * time.Second
	lastReportTimeout = 2 * time.Second
)

// reports sends the reports of a run, one at a time, and never lets the work wait. It belongs to the goroutine of the run's
// loop.
type reports struct {
	Reporter
	every    time.Duration
	log      *slog.Logger
	inFlight bool
	cancel   context.CancelFunc
	sentAt   time.Time
	said     gist
	// within is how soon the controller wants the next report, 0 if it does not say.
	within  time.Duration
	failing bool
	// failedAt is when the first of the failures in a row was; zero while there are none.
	failedAt time.Time
	// tried is the token of the newest report whose call ended.
	tried string
	fault notice
}

// gist is what, when it changes, is reported at once.
type gist struct {
	state muster.WorkerState
	cause muster.Cause
	epoch int64
	busy  int
	token string
}

func gistOf(l *Lease) gist { return gist{l.State(), l.Cause(), l.Epoch(), l.Busy(), l.Token()} }

// told tells whether a report of the token was tried, be it answered or not.
func (s *reports) told(token string) bool { return s.tried == token }

// cut ends the report in flight.
func (s *reports) cut() {
	if s.inFlight {
		s.cancel()
	}
}

// advance sends a report if one is due. A failed one is not tried again early, whatever changes.
func (s *reports) advance(now time.Time, next *alarm, r *runner) {
	if s.Reporter == nil || s.inFlight || r.lease.State() == muster.Leaving {
		return
	}
	interval := s.every
	switch {
	case s.failing:
	case s.said != gistOf(&r.lease):
		interval = reportGap
	case s.within > 0:
		interval = min(interval, s.within)
	}
	if !s.sentAt.IsZero() && !next.due(now, s.sentAt.Add(max(interval, reportGap))) {
		return
	}
	s.sentAt, s.said, s.inFlight = now, gistOf(&r.lease), true
	report := r.lease.Report(now)
	ctx, cancel := context.WithTimeout(r.base, reportTimeout)
	s.cancel = cancel
	r.start(func() event {
		directive, err := s.Report(ctx, report)
		cancel()
		return func(now time.Time) { s.answered(now, r, report, directive, err) }
	})
}

func (s *reports) answered(now time.Time, r *runner, report muster.Report, d muster.Directive, err error) {
	s.inFlight, s.failing, s.tried = false, err != nil, report.Token
	switch {
	case err == nil:
		s.failedAt = time.Time{}
	case s.failedAt.IsZero():
		s.failedAt = now
	}
	s.fault.what = "reporting to the controller"
	s.fault.see(s.log, now, err)
	if err != nil {
		return
	}
	s.within = d.ReportWithin
	r.lease.Obey(now, report, d)
}

// last says goodbye, once.
func (s *reports) last(base context.Context, l *Lease) {
	if s.Reporter == nil {
		return
	}
	ctx, cancel := context.WithTimeout(base, lastReportTimeout)
	defer cancel()
	if _, err := s.Report(ctx, l.Report(time.Now())); err != nil {
		s.log.Debug("the last report failed", "err", err)
	}
}
