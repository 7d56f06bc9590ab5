package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/muster-scale/muster/worker/lease"
	"github.com/muster-scale/muster/worker/protocol"
)

// Protection shields what a worker runs on from being ended to scale in, while it is not idle.
// [placement.ECSProtection] is that of a task. For an instance it is scale-in protection of its Auto Scaling group
// (SetInstanceProtection), which new instances are best born with. It protects one worker: a member with several must
// not share one, because the first to be idle would lift it.
type Protection interface {
	// Protect asks for the protection for the duration term from now on, in whole minutes, or lifts it when term is 0.
	// Where a protection has no end, the term means nothing. It returns soon after ctx ends; a call that failed may
	// have been carried out. It fails with [lease.ErrUnprotectable] when there is nothing to protect from.
	Protect(ctx context.Context, term time.Duration) error
}

// restFor is how long a worker without a controller goes without protection once it is idle.
const restFor = 10 * time.Second

// protects makes the calls of a run that change its protection, one at a time. It belongs to the goroutine of the run's
// loop.
type protects struct {
	Protection
	shield lease.Shield
	log    *slog.Logger
	// calling is true while a call is under way.
	calling bool
	saidAt  time.Time
	failed  bool
	lapsed  bool
	// restUntil is the end of the rest of an idle worker; zero while it does not rest.
	restUntil time.Time
}

// covers tells whether messages may be received in a call that takes the duration ahead.
func (p *protects) covers(now time.Time, ahead time.Duration) bool {
	return p.Protection == nil || p.shield.Covers(now, ahead)
}

// rests lets a worker rest that got no message for too long and has no controller to tell: it stays, for a while
// without protection, so that its service may end it and does not start another in its place; then it receives again.
// It is false for a worker that is to leave.
func (p *protects) rests(now time.Time, next *alarm, l *lease.Lease) bool {
	if p.Protection == nil || !l.Offers() || p.shield.Needless() {
		return false
	}
	if p.restUntil.IsZero() {
		p.restUntil = now.Add(restFor)
	}
	if next.due(now, p.restUntil) {
		p.restUntil = time.Time{}
		l.Resume(now)
	}
	return true
}

// advance makes the call that is due. The protection is wanted unless the worker is idle under a token, waits for its
// machine to be in service, or is gone.
func (p *protects) advance(now time.Time, next *alarm, r *runner) {
	if p.Protection == nil {
		return
	}
	state := r.lease.State()
	if state == protocol.Leaving {
		return // a call under way is waited for: one that is cut off could protect after the last has lifted
	}
	_, waits := r.watches.outOfService() // in a warm pool there is no protection
	p.shield.Want(state != protocol.Idle && !(waits && state == protocol.Starting))
	p.watch(now, next, r)
	at, term, ok := p.shield.Due()
	if !ok || !next.due(now, at) {
		return
	}
	p.shield.Begin(now)
	p.calling = true
	r.start(func() event {
		ctx, cancel := context.WithTimeout(r.base, lease.ProtectTimeout)
		defer cancel()
		err := p.Protect(ctx, term)
		return func(now time.Time) { p.ended(now, r, err) }
	})
}

// watch notes when the protection ran out although it is wanted.
func (p *protects) watch(now time.Time, next *alarm, r *runner) {
	until := p.shield.Until()
	switch {
	case until.IsZero():
	case !next.due(now, until):
		p.lapsed = false
	case !p.lapsed:
		p.lapsed = true
		r.lease.Incident(protocol.ProtectionFailed, "the protection has run out at "+until.UTC().Format(time.RFC3339))
		p.log.Error("incident: the protection has run out and could not be renewed; the worker takes no more until "+
			"it is back, and may be ended while busy",
			"since", until, "holding", r.lease.Busy())
	}
}

// ended takes in how a call ended. Failing ones are incidents: a busy member may be ended when its protection runs out.
func (p *protects) ended(now time.Time, r *runner, err error) {
	p.calling = false
	p.shield.End(now, err)
	if err != nil && !errors.Is(err, lease.ErrUnprotectable) {
		r.lease.Incident(protocol.ProtectionFailed, err.Error())
	}
	switch {
	case errors.Is(err, lease.ErrUnprotectable):
		p.log.Info("worker needs no protection", "why", err)
	case err == nil && p.failed:
		p.failed = false
		p.log.Info("changing the protection works again", "protected_until", p.shield.Until())
	case err != nil && (!p.failed || now.Sub(p.saidAt) >= time.Minute):
		p.failed, p.saidAt = true, now
		p.log.Error("incident: changing the protection failed, the worker goes on trying", "protected_until",
			p.shield.Until(), "err", err)
	}
}

// last lifts a protection that would outlast the worker, trying once.
func (p *protects) last(base context.Context) {
	if p.Protection == nil || p.shield.Lifted() {
		return
	}
	ctx, cancel := context.WithTimeout(base, lastReportTimeout)
	defer cancel()
	if err := p.Protect(ctx, 0); err != nil {
		p.log.Warn("lifting the protection failed: it stays until its term ends", "err", err)
	}
}
