package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/muster-scale/muster/worker/lease"
	"github.com/muster-scale/muster/worker/protocol"
)

// Protection protects the worker's member from scale-in while the worker is not idle. [placement.ECSProtection] is the
// protection of a task. For an instance it is the scale-in protection of its Auto Scaling group
// (SetInstanceProtection); new instances should start with it. It protects one worker. Members with several workers
// must not share it, because the first to be idle would lift it.
type Protection interface {
	// Protect protects the member for term from now on, in whole minutes, or lifts the protection when term is 0. A
	// protection that never expires ignores the term. Protect returns soon after ctx ends; a failed call may have been
	// carried out. It fails with [lease.ErrUnprotectable] when nothing could scale in the member.
	Protect(ctx context.Context, term time.Duration) error
}

// restFor is how long an idle worker without a controller goes without protection.
const restFor = 10 * time.Second

// protects makes the protection calls of a run, one at a time. Only the goroutine of the run's loop uses it.
type protects struct {
	Protection
	shield lease.Shield
	log    *slog.Logger
	// calling is true while a call is running.
	calling bool
	saidAt  time.Time
	failed  bool
	lapsed  bool
	// restUntil is when the rest of an idle worker ends; zero while it does not rest.
	restUntil time.Time
}

// covers tells whether the protection allows a receive call that takes ahead.
func (p *protects) covers(now time.Time, ahead time.Duration) bool {
	return p.Protection == nil || p.shield.Covers(now, ahead)
}

// rests lets an idle worker without a controller rest. It stays for a while without protection, so that its service may
// stop it and does not replace it by another. Then it receives again. It is false for a worker that must end.
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

// advance makes the call that is due. Protection is wanted, except while the worker is idle with a token, waits for its
// machine to be in service, or has ended.
func (p *protects) advance(now time.Time, next *alarm, r *runner) {
	if p.Protection == nil {
		return
	}
	state := r.lease.State()
	if state == protocol.Leaving {
		return // but wait for a running call: if cancelled, it could still protect after the last one has lifted
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

// watch reports an incident when the protection ran out although it is wanted.
func (p *protects) watch(now time.Time, next *alarm, r *runner) {
	until := p.shield.Until()
	switch {
	case until.IsZero():
	case !next.due(now, until):
		p.lapsed = false
	case !p.lapsed:
		p.lapsed = true
		r.lease.Incident(protocol.ProtectionFailed, "the protection has run out at "+until.UTC().Format(time.RFC3339))
		p.log.Error("incident: the protection has run out and could not be renewed; the worker receives nothing until "+
			"it is back, and may be stopped while busy",
			"since", until, "holding", r.lease.Busy())
	}
}

// ended handles the result of a call. A failure is an incident: a busy member may be stopped when its protection ends.
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

// last lifts a protection that would outlast the worker, without a retry.
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
