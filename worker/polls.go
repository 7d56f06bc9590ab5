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
	// MaxBatch is the most messages that one receive call may ask for, and that one call of DoBatch may get.
	MaxBatch = 10
	// shortWait is how long a receive call waits while the worker may have to drain soon.
	shortWait = 2 * time.Second
	// pause is the least time from one empty receive to the next, for queues that do not hold a poll.
	pause = 200 * time.Millisecond
	// maxReceivePause bounds the back-off after failed receives.
	maxReceivePause = 30 * time.Second
)

// polls makes the receive calls of a run, one at a time. It belongs to the goroutine of the run's loop.
type polls struct {
	*runner
	// cancel cuts the outstanding call off; nil while there is none.
	cancel context.CancelFunc
	failed int
	// failedAt is when the first of the failures in a row was; zero while there are none.
	failedAt time.Time
	retryAt  time.Time
	fault    trouble.Trouble
}

func (p *polls) outstanding() bool { return p.cancel != nil }

// cut ends the outstanding receive call. Messages it may have taken come back when their visibility ends.
func (p *polls) cut() {
	if p.cancel != nil {
		p.cancel()
	}
}

// cutLong ends the outstanding call if it may go on for long; a short one is better left to end by itself.
func (p *polls) cutLong() {
	if p.wait() > shortWait {
		p.cut()
	}
}

// advance makes the next call if there is room and time for one.
func (p *polls) advance(now time.Time, next *alarm) {
	if p.outstanding() || p.room() == 0 || p.lease.CanReceive() == 0 || !next.due(now, p.retryAt) ||
		!p.protects.covers(now, p.longestPoll()) {
		return
	}
	asked := p.lease.BeginReceive(min(MaxBatch, p.room()))
	// A quarter of the visibility for the way there and back: a message can not be lost when the call returns.
	ctx, cancel := context.WithTimeout(p.base, p.longestPoll())
	p.cancel = cancel
	p.start(func() event {
		messages, err := p.Queue.Receive(ctx, asked, p.wait(), p.Visibility)
		cancel()
		return func(ended time.Time) { p.returned(now, ended, asked, messages, err) }
	})
}

// returned takes what the call brought that was begun at the instant begun.
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

// ReceivePause is the pause after the failures-th failed receive in a row: twice as long each time, at most half a
// minute, and between half and all of that by jitter in [0, 1), so that many workers do not come back at once.
func ReceivePause(failures int, jitter float64) time.Duration {
	longest := min(500*time.Millisecond<<min(failures-1, 10), maxReceivePause)
	return longest/2 + time.Duration(jitter*float64(longest/2))
}
