package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/muster-scale/muster/worker/internal/trouble"
	"github.com/muster-scale/muster/worker/lease"
	"github.com/muster-scale/muster/worker/protocol"
)

const (
	// reportGap is the least time between two reports; changes in between go into one.
	reportGap = 100 * time.Millisecond
	// reportPatience is how long the next report waits for the answer to the last one.
	reportPatience = 5 * time.Second
	// ReportTimeout bounds one report: half a minute each way is allowed, and an answer counts even after later reports
	// were sent. So at most ReportTimeout / reportPatience + 1 reports are in flight.
	ReportTimeout = 80 * time.Second
	// lastReportTimeout bounds the last report of a worker.
	lastReportTimeout = 2 * time.Second
	// silentAfter is how long the controller may leave reports unanswered before that is logged as a fault.
	silentAfter = 2 * reportPatience
)

// errSilent is the fault of a controller that does not answer.
var errSilent = errors.New("the controller has not answered for some time; it may be overloaded, or answers are lost " +
	"on their way")

// reports sends the reports of a run without delaying the work. Only the goroutine of the run's loop uses it.
type reports struct {
	Reporter
	every time.Duration
	log   *slog.Logger
	// life is the context of all calls, and cut cancels it; both are set with the first call.
	life context.Context
	cut  context.CancelFunc
	// inFlight counts the running calls. waiting is true while the next report waits for the answer to the last one,
	// which has the number newest, was sent at sentAt, and stated said.
	inFlight int
	waiting  bool
	newest   int64
	sentAt   time.Time
	said     gist
	// within is how soon the controller wants the next report; 0 if it does not say.
	within  time.Duration
	failing bool
	// failedAt is when the first of the failures in a row occurred; zero without any. heardAt is when the newest answer
	// came, or when the first report was sent.
	failedAt, heardAt time.Time
	// tried is the token of the last report that was answered, failed, or timed out.
	tried string
	fault trouble.Trouble
}

// gist is the part of a report whose change is reported at once.
type gist struct {
	state protocol.WorkerState
	cause protocol.Cause
	epoch int64
	busy  int
	token string
}

func gistOf(l *lease.Lease) gist { return gist{l.State(), l.Cause(), l.Epoch(), l.Busy(), l.Token()} }

// told tells whether a report with the token was tried, answered or not.
func (s *reports) told(token string) bool { return s.tried == token }

// advance sends a report if one is due. After a failure it waits for the full interval, whatever changes. A worker that
// leaves does not wait for answers.
func (s *reports) advance(now time.Time, next *alarm, r *runner) {
	leaving := r.lease.State() == protocol.Leaving
	if leaving && s.inFlight > 0 {
		s.cut()
	}
	if s.Reporter == nil || leaving || s.waiting {
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
	if s.life == nil {
		s.life, s.cut = context.WithCancel(r.base)
		s.heardAt = now
	}
	report := r.lease.Report(now)
	s.sentAt, s.said, s.newest, s.waiting = now, gistOf(&r.lease), report.Seq, true
	s.inFlight++
	next.due(now, now.Add(reportPatience))
	ctx, cancel := context.WithTimeout(s.life, ReportTimeout)
	r.start(func() event {
		directive, err := s.Report(ctx, report)
		cancel()
		return func(now time.Time) { s.answered(now, r, report, directive, err) }
	})
}

// await stops waiting for a late answer, so that the next report can be sent. The answer still counts when it comes.
func (s *reports) await(now time.Time, next *alarm) {
	if !s.waiting || !next.due(now, s.sentAt.Add(reportPatience)) {
		return
	}
	s.waiting, s.tried = false, s.said.token
	if now.Sub(s.heardAt) >= silentAfter {
		s.failed(now, errSilent)
	}
}

func (s *reports) failed(now time.Time, err error) {
	if s.failedAt.IsZero() {
		s.failedAt = now
	}
	s.fault.See(s.log, now, err)
}

func (s *reports) answered(now time.Time, r *runner, report protocol.Report, d protocol.Directive, err error) {
	if s.inFlight--; s.life.Err() != nil {
		return // the worker leaves
	}
	if report.Seq == s.newest {
		s.waiting, s.failing, s.tried = false, err != nil, report.Token
	}
	if err != nil {
		s.failed(now, err)
		return
	}
	s.failedAt, s.heardAt = time.Time{}, now
	s.fault.See(s.log, now, nil)
	s.within = d.ReportWithin
	r.lease.Obey(now, report, d)
}

// last sends the last report, without a retry.
func (s *reports) last(base context.Context, l *lease.Lease) {
	if s.Reporter == nil {
		return
	}
	ctx, cancel := context.WithTimeout(base, lastReportTimeout)
	defer cancel()
	if _, err := s.Report(ctx, l.Report(time.Now())); err != nil {
		s.log.Debug("the last report failed", "err", err)
	}
}
