package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/muster-scale/muster/worker/lease"
)

const (
	// callTimeout bounds each call that deletes or returns a message.
	callTimeout = 10 * time.Second
	// deleteTries and deletePause bound the attempts to delete a message that was worked on.
	deleteTries = 5
	deletePause = 200 * time.Millisecond
)

// job is the work on one message. Two goroutines share it: one works, the other keeps the lease.
type job struct {
	Message
	runner *runner
	log    *slog.Logger
	// received is when the receive call brought the message.
	received time.Time
	// hold is the lease from the receive; keep has its own copy, with the extensions.
	hold lease.Visibility
	// lease ends when the lease is lost, or when the message is settled.
	lease context.Context
	lose  context.CancelCauseFunc
	// attempt is the number of this attempt, and counted tells whether the ledger has it.
	attempt int
	counted bool
	// kept is closed when keep has returned: no extension follows.
	kept chan struct{}
}

var errSettled = errors.New("the message is done with")

func (r *runner) job(m Message, hold lease.Visibility, received time.Time) *job {
	m.Deadline = hold.Until()
	j := &job{Message: m, runner: r, hold: hold, received: received, kept: make(chan struct{})}
	j.log = r.log.With("message", m.ID, "receive_count", m.ReceiveCount)
	j.lease, j.lose = context.WithCancelCause(r.base)
	return j
}

// decline returns a message that came after the operator's stop, because its work could take too long.
func (r *runner) decline(m Message, hold lease.Visibility, received time.Time) {
	j := r.job(m, hold, received)
	close(j.kept)
	r.start(func() event {
		j.giveBack(0)
		return func(now time.Time) { r.lease.Returned(now, received) }
	})
}

// keep extends the lease while the work goes on. A separate timer ends the lease, so that a hanging call cannot delay
// that.
func (j *job) keep() {
	defer close(j.kept)
	v := j.hold
	lost := time.AfterFunc(time.Until(v.LostAt()), func() { j.lose(ErrLeaseLost) })
	defer lost.Stop()
	for {
		var extend <-chan time.Time
		if _, gains := v.ExtendTo(v.ExtendAt()); gains {
			extend = time.After(time.Until(v.ExtendAt()))
		}
		select {
		case <-extend:
		case <-j.lease.Done():
			return
		}
		v = j.extend(v, time.Now())
		lost.Reset(time.Until(v.LostAt()))
	}
}

// extend tries once to extend v and returns the result.
func (j *job) extend(v lease.Visibility, now time.Time) lease.Visibility {
	to, gains := v.ExtendTo(now)
	if !gains {
		return v.Failed(now)
	}
	ctx, cancel := context.WithTimeout(j.lease, v.Patience())
	defer cancel()
	err := j.runner.Queue.ChangeVisibility(ctx, j.Message, to)
	switch {
	case err == nil:
		if !v.AloneUntil().IsZero() {
			j.log.Info("the queue's endpoint is back, and the lease is extended")
		}
		return v.Extended(now, to)
	case errors.Is(err, ErrGone):
		j.log.Warn("the message is gone, its work is stopped", "err", err)
		j.lose(ErrLeaseLost)
	case errors.Is(err, ErrAway) && j.lease.Err() == nil:
		if v.AloneUntil().IsZero() || now.After(v.AloneUntil()) {
			j.log.Warn("nothing listens at the queue's endpoint: no other worker can receive the message, so its "+
				"work goes on",
				"err", err)
		}
		return v.Away(now)
	case j.lease.Err() == nil:
		j.log.Warn("extending the visibility timeout of a message failed", "lost_in", v.LostAt().Sub(now), "err", err)
	}
	return v.Failed(time.Now())
}

// delete deletes the message. It retries for a while, or until the queue's endpoint is back. It tries even after the
// lease was lost, because the work is done and should not be repeated.
func (j *job) delete() error {
	wait := deletePause
	for try := 1; ; try++ {
		err := j.call(func(ctx context.Context) error { return j.runner.Queue.Delete(ctx, j.Message) })
		if err == nil {
			return nil
		}
		if errors.Is(err, ErrAway) && j.lease.Err() == nil && j.awaitEndpoint() {
			try = 0
			continue
		}
		if try == deleteTries || errors.Is(err, ErrGone) || j.lease.Err() != nil {
			j.log.Error("deleting a finished message failed: it will be delivered again", "tries", try, "err", err)
			return err
		}
		select {
		case <-time.After(wait):
			wait *= 2
		case <-j.lease.Done():
		}
	}
}

// giveBack returns the message to the queue, hidden for d. It ends the lease first, because a late extension would undo
// the change.
func (j *job) giveBack(d time.Duration) {
	j.lose(errSettled)
	<-j.kept
	since := time.Now()
	err := j.call(func(ctx context.Context) error { return giveBackTo(ctx, j.runner.Queue, j.Message, d) })
	for errors.Is(err, ErrAway) && d-time.Since(since) > 0 && j.awaitEndpoint() {
		// The back-off continues while no worker can receive the message.
		left := max(0, d-time.Since(since))
		err = j.call(func(ctx context.Context) error { return giveBackTo(ctx, j.runner.Queue, j.Message, left) })
	}
	if err != nil && !errors.Is(err, ErrGone) {
		j.log.Warn("returning a message failed: it becomes visible when its visibility timeout ends", "err", err)
	}
}

// awaitEndpoint waits a moment for an endpoint at which nothing listens. It returns false when the worker has to
// stop, because the wait could take forever.
func (j *job) awaitEndpoint() bool {
	select {
	case <-j.runner.stopping.Done():
		return false
	case <-j.runner.work.Done():
		return false
	case <-time.After(lease.AwayRetry):
		return true
	}
}

func (j *job) call(f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(j.runner.base, callTimeout)
	defer cancel()
	return f(ctx)
}
