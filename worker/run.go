package worker

import (
	"context"
	"crypto/rand"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/muster-scale/muster/worker/internal/trouble"
	"github.com/muster-scale/muster/worker/lease"
	"github.com/muster-scale/muster/worker/protocol"
)

// Run receives messages and works on them until the worker ends: because its controller granted its release, because it
// was idle for IdleStop, or because ctx ended, which is the operator's stop. It then returns nil; it returns an error
// only for invalid options. When it returns, all its goroutines have ended.
//
// The end of ctx stops nothing at once: messages in progress are finished, within Grace. Messages that a running
// receive call still brings return to the queue.
func Run(ctx context.Context, o Options) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	r := newRunner(ctx, o)
	defer r.stopAll(nil)
	r.log.Info("worker started", "fleet", o.Fleet, "member", o.Member, "slots", o.Slots)
	r.loop(ctx)
	r.destinations.stop()
	r.wg.Wait()
	r.protects.last(r.base)
	r.reports.last(r.base, &r.lease)
	r.destinations.last(r.base, time.Now(), r)
	r.hook.last(r.base, ctx, r)
	r.log.Info("worker left", "cause", string(r.lease.Cause()))
	return nil
}

// runner is one run. Only the goroutine of loop uses its fields; other goroutines send it their results as events.
type runner struct {
	Options
	log     *slog.Logger
	lease   lease.Lease
	events  chan event
	wg      sync.WaitGroup
	polls   polls
	reports reports
	// base ends with the run, work when the grace of an operator's stop is over.
	base, work        context.Context
	stopAll, stopWork context.CancelCauseFunc
	// stopping ends with an operator's stop, and with the run.
	stopping        context.Context
	stopWaiting     context.CancelFunc
	warmAt, graceAt time.Time
	watches         watches
	protects        protects
	destinations    destinations
	hook            hooked
	// calls counts the running calls of Do or DoBatch. held are their messages, and those that wait for earlier ones of
	// their groups.
	calls int
	held  map[*job]bool
	// changed receives when Readiness changes; nil without one.
	changed <-chan struct{}
	// hinders says why work cannot begin; nil if Readiness cannot. hindered is its last answer.
	hinders  Hindered
	hindered string
}

// event is the result of a goroutine, applied in the goroutine of loop.
type event func(now time.Time)

func newRunner(ctx context.Context, o Options) *runner {
	now := time.Now()
	r := &runner{Options: o, log: o.Logger, held: map[*job]bool{}, events: make(chan event), warmAt: now.Add(o.WarmUp)}
	r.lease = lease.New(lease.Options{
		Fleet: o.Fleet, Member: o.Member, Worker: o.Worker, Slots: o.Slots * o.Batch, IdleStop: o.IdleStop,
		Billing: o.Billing, Born: now.UnixMilli(),
	})
	r.base, r.stopAll = context.WithCancelCause(context.WithoutCancel(ctx))
	r.work, r.stopWork = context.WithCancelCause(r.base)
	r.stopping, r.stopWaiting = context.WithCancel(r.base)
	r.polls.runner = r
	if o.Readiness != nil {
		r.changed = o.Readiness.Changed()
		r.hinders, _ = o.Readiness.(Hindered)
	}
	r.reports = reports{Reporter: o.Reporter, every: o.ReportEvery, log: o.Logger,
		fault: trouble.Trouble{What: "reporting to the controller"}}
	r.protects = protects{Protection: o.Protection, shield: lease.NewShield(o.ProtectFor), log: o.Logger}
	r.destinations = newDestinations(r.base, o, now)
	r.hook = hooked{Hook: o.Hook, log: o.Logger}
	return r
}

func (r *runner) loop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	stop := ctx.Done()
	r.watch(time.Now())
	defer r.watches.stop()
	for !r.over() {
		select {
		case <-stop:
			stop = nil
			r.signalled(time.Now(), context.Cause(ctx))
		case happened := <-r.events:
			happened(time.Now())
		case <-r.changed:
			r.hindrance()
		case <-timer.C:
		}
		now := time.Now()
		timer.Reset(r.advance(now).Sub(now))
	}
}

// hindrance reports why work cannot begin, once for each reason.
func (r *runner) hindrance() {
	if r.hinders == nil {
		return
	}
	now := ""
	if err := r.hinders.Hindered(); err != nil {
		now = err.Error()
	}
	if now != "" && now != r.hindered {
		r.lease.Incident(protocol.EndpointDown, now)
	}
	r.hindered = now
}

// over tells whether the worker may end. In the state Leaving, no message is in progress and no receive call is
// running.
func (r *runner) over() bool {
	return r.lease.State() == protocol.Leaving && r.reports.inFlight == 0 && !r.protects.calling && !r.hook.calling
}

func (r *runner) signalled(now time.Time, cause error) {
	r.log.Info("worker was asked to stop", "why", cause, "holding", r.lease.Busy())
	r.logHeld(now)
	r.lease.Signal()
	r.stopWaiting()
	r.polls.cutLong()
	if r.Grace > 0 {
		r.stopWorkAt(now.Add(r.Grace))
	}
}

// maxLogged bounds the messages that are logged at a stop.
const maxLogged = 10

// logHeld logs the messages in progress, the longest first.
func (r *runner) logHeld(now time.Time) {
	jobs := slices.SortedFunc(maps.Keys(r.held), func(a, b *job) int { return a.received.Compare(b.received) })
	for _, j := range jobs[:min(len(jobs), maxLogged)] {
		r.log.Info("still working on a message", "message", j.ID, "for", now.Sub(j.received).Round(time.Second))
	}
	if more := len(jobs) - maxLogged; more > 0 {
		r.log.Info("still working on more messages", "count", more)
	}
}

// advance does everything that is due at now, and returns when the next thing is due.
func (r *runner) advance(now time.Time) time.Time {
	next := alarm{at: now.Add(time.Hour)}
	before := r.lease.State()
	if !r.warmAt.IsZero() && next.due(now, r.warmAt) && r.able() > 0 && r.mayStart(now, &next) {
		r.warmAt = time.Time{}
		r.lease.Ready(now)
	}
	if (r.able() == 0 || !r.protects.covers(now, r.longestPoll())) && !r.polls.outstanding() {
		r.lease.Unable(now)
	}
	r.hook.advance(now, &next, r)
	if !r.graceAt.IsZero() && next.due(now, r.graceAt) {
		r.graceAt = time.Time{}
		r.log.Warn("grace is over, returning messages to the queue", "holding", r.lease.Busy())
		r.stopWork(ErrStopped)
		r.polls.cut()
	}
	r.lease.Tick(now)
	r.stopUnreachable(now, &next)
	r.polls.advance(now, &next)
	if at, ok := r.lease.IdleAt(); ok && !r.polls.outstanding() {
		next.due(now, at)
	}
	if at, ok := r.lease.PaidUntil(now); ok && !r.polls.outstanding() {
		next.due(now, at)
	}
	if r.lease.CanMint() {
		r.lease.Mint(now, rand.Text())
	}
	r.reports.await(now, &next)
	r.leaveWithoutPermit(now, &next)
	r.protects.advance(now, &next, r)
	r.reports.advance(now, &next, r)
	r.destinations.advance(now, &next, r)
	if s := r.lease.State(); s != before {
		r.log.Info("worker changes state", "from", string(before), "to", string(s), "cause", string(r.lease.Cause()))
	}
	return next.at
}

// stopUnreachable stops a worker without messages that has reached neither its queue nor its controller for the
// duration Orphaned: nothing could give it work or release it.
func (r *runner) stopUnreachable(now time.Time, next *alarm) {
	if r.Reporter == nil || r.polls.failedAt.IsZero() || r.reports.failedAt.IsZero() || r.lease.Busy() > 0 ||
		r.lease.State() != protocol.Receiving {
		return
	}
	since := r.polls.failedAt
	if r.reports.failedAt.After(since) {
		since = r.reports.failedAt
	}
	if next.due(now, since.Add(r.Orphaned)) {
		r.log.Warn("worker stops: neither its queue nor its controller could be reached", "for", r.Orphaned)
		r.lease.Signal()
	}
}

// leaveWithoutPermit ends an idle worker that gets no answer from a controller in time.
func (r *runner) leaveWithoutPermit(now time.Time, next *alarm) {
	at, idle := r.lease.OrphanedAt(r.Orphaned)
	switch {
	case !idle:
	case r.Reporter == nil && r.protects.rests(now, next, &r.lease):
	case r.Reporter == nil:
		r.lease.Leave()
	case r.lease.Cause() == protocol.Signalled && r.reports.told(r.lease.Token()):
		r.lease.Leave()
	case next.due(now, at):
		r.log.Warn("worker leaves without a stop permit: the controller has not answered", "for", r.Orphaned)
		r.lease.Leave()
	}
}

// start runs f in a goroutine and sends its event to the goroutine of loop.
func (r *runner) start(f func() event) {
	r.wg.Go(func() { r.events <- f() })
}

// alarm is the earliest time at which something is due.
type alarm struct{ at time.Time }

// due tells whether at has come. If not, it moves the alarm to at if that is earlier.
func (a *alarm) due(now, at time.Time) bool {
	if !now.Before(at) {
		return true
	}
	if at.Before(a.at) {
		a.at = at
	}
	return false
}
