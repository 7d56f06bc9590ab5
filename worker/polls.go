package worker

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/muster-scale/muster/worker/internal/trouble"
	"github.com/muster-scale/muster/worker/lease"
	"github.com/muster-scale/muster/worker/protocol"
)

const (
	// MaxBatch is the most messages of one receive call, and of one call of DoBatch.
	MaxBatch = 10
	// shortWait is how long a receive call waits while the worker may have to drain soon.
	shortWait = 2 * time.Second
	// pause is the least time from one empty receive to the next, for queues without long polling.
	pause = 200 * time.Millisecond
	// maxReceivePause bounds the back-off after failed receives.
	maxReceivePause = 30 * time.Second
)

// polls makes the receive calls of a run, one at a time. Only the goroutine of the run's loop uses it.
type polls struct {
	*runner
	// cancel cancels the outstanding call; nil without one.
	cancel context.CancelFunc
	failed int
	// failedAt is when the first of the failures in a row occurred; zero without any.
	failedAt time.Time
	retryAt  time.Time
	fault    trouble.Trouble
}

func (p *polls) outstanding() bool { return p.cancel != nil }

// cut cancels the outstanding receive call. Messages that it may have received return when their visibility timeout
// ends.
func (p *polls) cut() {
	if p.cancel != nil {
		p.cancel()
	}
}

// cutLong cancels the outstanding call if it may wait for long; a short one ends soon by itself.
func (p *polls) cutLong() {
	if p.wait() > shortWait {
		p.cut()
	}
}

// advance makes the next call if it is due and there is room.
func (p *polls) advance(now time.Time, next *alarm) {
	if p.outstanding() || p.room() == 0 || p.lease.CanReceive() == 0 || !next.due(now, p.retryAt) ||
		!p.protects.covers(now, p.longestPoll()) {
		return
	}
	wait := p.lease.ReceiveWait(now, p.wait())
	asked := p.lease.BeginReceive(min(MaxBatch, p.room()))
	ctx, cancel := context.WithTimeout(p.base, p.longestPoll())
	p.cancel = cancel
	p.start(func() event {
		messages, err := p.Queue.Receive(ctx, asked, wait, p.Visibility)
		cancel()
		return func(ended time.Time) { p.returned(now, ended, asked, messages, err) }
	})
}

// returned handles the result of the call that began at begun.
func (p *polls) returned(begun, now time.Time, asked int, messages []Message, err error) {
	p.cancel = nil
	if err != nil {
		p.lease.FailReceive(now, asked)
		if p.lease.State() == protocol.Receiving {
			p.fault.What = "receiving messages"
			p.fault.See(p.log, now, err)
		}
		if p.failed++; p.failed == 1 {
			p.failedAt = now
		}
		p.retryAt = now.Add(ReceivePause(p.failed, rand.Float64()))
		return
	}
	p.fault.See(p.log, now, nil)
	p.failed, p.failedAt = 0, time.Time{}
	messages = messages[:min(len(messages), asked)]
	p.lease.EndReceive(now, asked, len(messages))
	if len(messages) == 0 {
		p.retryAt = begun.Add(pause)
	}
	hold := lease.Hold(begun, p.Visibility)
	if p.lease.Cause() != protocol.Signalled {
		p.begin(messages, hold, now)
		return
	}
	for _, m := range messages {
		p.decline(m, hold, now)
	}
}

// ReceivePause is the pause after the given number of failed receives in a row. It doubles each time, up to half a
// minute. Jitter in [0, 1) reduces it by up to half, so that many workers do not return at once.
func ReceivePause(failures int, jitter float64) time.Duration {
	longest := min(500*time.Millisecond<<min(failures-1, 10), maxReceivePause)
	return longest/2 + time.Duration(jitter*float64(longest/2))
}
