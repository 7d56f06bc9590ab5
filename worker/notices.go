package worker

import (
	"context"
	"time"

	"github.com/muster-scale/muster/worker/internal/trouble"
	"github.com/muster-scale/muster/worker/protocol"
)

const (
	// handBackWithin is how long before the end of its machine a worker returns unfinished messages: five seconds for a
	// command to stop, and five for the calls.
	handBackWithin = 10 * time.Second
	// firstLook is how long the first receive waits for the first answer about notices. A service that does not answer
	// by then most likely does not exist.
	firstLook = 3 * time.Second
	// NoticeEvery is the default interval between two readings, as EC2 advises.
	NoticeEvery = 5 * time.Second
)

// NoticeKind is what will happen to the machine, task or pod of a worker.
type NoticeKind string

// The kinds of notices. The zero kind means that nothing will happen.
const (
	// Interrupted: the capacity is reclaimed soon, whatever runs on it.
	Interrupted NoticeKind = "interrupted"
	// Ending: a scale-in or an operator chose it to end.
	Ending NoticeKind = "ending"
	// OutOfService: it is kept but must do no work: in a warm pool or in standby.
	OutOfService NoticeKind = "out_of_service"
	// AtRisk: it may be interrupted before long.
	AtRisk NoticeKind = "at_risk"
)

// Notice says what will happen to the machine, task or pod of a worker. The zero Notice says: nothing.
type Notice struct {
	Kind NoticeKind
	// By is when it happens; zero if unknown.
	By time.Time
	// Waits is true when the machine waits for the worker to complete a [Hook].
	Waits bool
	// Why names the source of the notice, for the log.
	Why string
}

// handBackAt returns when to return unfinished messages, for a notice that came at now: handBackWithin before the end,
// or after two thirds of a short time. It is false when the end is unknown.
func (n Notice) handBackAt(now time.Time) (time.Time, bool) {
	if n.By.IsZero() {
		return time.Time{}, false
	}
	left := max(0, n.By.Sub(now))
	return now.Add(left - min(handBackWithin, left/3)), true
}

// Notices tell a worker that its machine or task will end. [placement.EC2Notices] and [placement.ECSNotices] implement
// it.
type Notices interface {
	// Watch reads notices until ctx ends. It calls tell with the first notice it reads, even the zero Notice, and with
	// every change; and with an error for each failed reading. An error leaves the last notice in force. After an
	// error, the next notice is passed on even if it has not changed.
	Watch(ctx context.Context, tell func(n Notice, err error))
}

// watches are the sources of notices of a run. Only the goroutine of the run's loop uses them.
type watches struct {
	stop context.CancelFunc
	// told holds the last notice of each source that has told one.
	told map[int]Notice
	// waitUntil is until when the first receive waits for sources that have told nothing.
	waitUntil time.Time
	// waits is true once the log says that the worker waits for its machine to be in service.
	waits  bool
	faults []trouble.Trouble
}

// watch starts the watches.
func (r *runner) watch(now time.Time) {
	ctx, stop := context.WithCancel(r.base)
	r.watches = watches{stop: stop, told: map[int]Notice{}, waitUntil: now.Add(firstLook)}
	for i, place := range r.Notices {
		r.watches.faults = append(r.watches.faults, trouble.Trouble{What: "looking for notices of an end"})
		r.wg.Go(func() {
			place.Watch(ctx, func(n Notice, err error) {
				select {
				case r.events <- func(now time.Time) { r.told(now, i, n, err) }:
				case <-ctx.Done():
				}
			})
		})
	}
}

// told handles a notice or an error of the i-th source.
func (r *runner) told(now time.Time, i int, n Notice, err error) {
	r.watches.faults[i].See(r.log, now, err)
	if err != nil {
		return
	}
	last, known := r.watches.told[i]
	r.watches.told[i] = n
	if !known || last != n {
		r.noticed(now, n)
	}
}

// noticed acts on a notice: the worker receives no more messages, uses the remaining time, and returns unfinished
// messages before the end. A worker that has received nothing yet waits while its machine is out of service.
func (r *runner) noticed(now time.Time, n Notice) {
	if n.Kind == "" || n.Kind == OutOfService && r.lease.State() == protocol.Starting {
		return
	}
	r.hook.noticed(n)
	r.lease.Signal()
	switch at, known := n.handBackAt(now); {
	case known:
		r.stopWorkAt(at)
	case n.Kind == Ending && r.Grace > 0:
		r.stopWorkAt(now.Add(r.Grace))
	}
	log := r.log.With("notice", string(n.Kind), "why", n.Why, "holding", r.lease.Busy())
	if !r.graceAt.IsZero() {
		log = log.With("gives_back_in", r.graceAt.Sub(now).Round(time.Millisecond))
	}
	log.Warn("worker receives no more messages: its machine or task will end")
}

// stopWorkAt stops the work at the given time, unless an earlier time was set.
func (r *runner) stopWorkAt(at time.Time) {
	if r.graceAt.IsZero() || at.Before(r.graceAt) {
		r.graceAt = at
	}
}

// mayStart tells whether the first message may be received: notices and protection allow it.
func (r *runner) mayStart(now time.Time, next *alarm) bool {
	if n, waits := r.watches.outOfService(); waits {
		if !r.watches.waits {
			r.watches.waits = true
			r.log.Info("worker waits: its machine is out of service", "why", n.Why)
		}
		return false
	}
	if len(r.watches.told) < len(r.Notices) && !next.due(now, r.watches.waitUntil) {
		return false
	}
	return r.protects.covers(now, r.longestPoll())
}

// outOfService returns the notice that the machine is out of service, if there is one.
func (w *watches) outOfService() (Notice, bool) {
	for _, n := range w.told {
		if n.Kind == OutOfService {
			return n, true
		}
	}
	return Notice{}, false
}
