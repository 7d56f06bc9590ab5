package worker

import (
	"context"
	"time"

	"github.com/muster-scale/muster/worker/internal/trouble"
	"github.com/muster-scale/muster/worker/protocol"
)

const (
	// handBackWithin is how long before the end of its machine a worker gives back what it has not finished: five
	// seconds for a command to stop, and five for the calls.
	handBackWithin = 10 * time.Second
	// firstLook is how long the first receive waits for the first look at notices; a service that does not answer by
	// then is most likely not there.
	firstLook = 3 * time.Second
	// NoticeEvery is the usual time between two looks, as EC2 advises.
	NoticeEvery = 5 * time.Second
)

// NoticeKind is what is about to happen to the machine, task or pod that a worker runs on.
type NoticeKind string

// The kinds of notices. The zero kind means that nothing is about to happen.
const (
	// Interrupted: the capacity is taken back soon, whatever runs on it.
	Interrupted NoticeKind = "interrupted"
	// Ending: it was chosen to end, by a scale-in or an operator.
	Ending NoticeKind = "ending"
	// OutOfService: it is kept, and is to do no work: in a warm pool or in standby.
	OutOfService NoticeKind = "out_of_service"
	// AtRisk: it may be interrupted before long.
	AtRisk NoticeKind = "at_risk"
)

// Notice says what is about to happen to what the worker runs on. The zero Notice says that nothing is.
type Notice struct {
	Kind NoticeKind
	// By is when it happens; zero is unknown.
	By time.Time
	// Waits is true when it waits for the worker to say that it is done, see [Hook].
	Waits bool
	// Why says where the notice came from, for the log.
	Why string
}

// handBackAt returns when what is not finished must be given back, when the notice came at now: shortly before the end,
// and after two thirds of the time where there is little. It is false when nobody knows when the end comes.
func (n Notice) handBackAt(now time.Time) (time.Time, bool) {
	if n.By.IsZero() {
		return time.Time{}, false
	}
	left := max(0, n.By.Sub(now))
	return now.Add(left - min(handBackWithin, left/3)), true
}

// Notices are where a worker learns that what it runs on will end. [placement.EC2Notices] and [placement.ECSNotices]
// are such places.
type Notices interface {
	// Watch looks for notices until ctx ends. It calls tell with what the first look found that succeeded, be it the
	// zero Notice, and whenever that changes; and with an error for each look that failed, which says nothing about
	// notices and takes none back. After errors it tells again what it finds.
	Watch(ctx context.Context, tell func(n Notice, err error))
}

// watches are the places at which a run looks for notices. They belong to the goroutine of the run's loop.
type watches struct {
	stop context.CancelFunc
	// told has the newest notice of each place that has told one.
	told map[int]Notice
	// waitUntil is when the first receive waits no longer for a place that has told nothing.
	waitUntil time.Time
	// waits is true once it was logged that the worker waits for its machine to be in service.
	waits  bool
	faults []trouble.Trouble
}

// watch begins to look for notices.
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

// told takes in what the i-th place told.
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

// noticed does what a notice asks for: the worker takes no more, uses the time that is left, and gives back in time
// what it cannot finish. A worker that has taken nothing yet waits while its machine is out of service.
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
	log.Warn("worker takes no more messages: what it runs on will end")
}

// stopWorkAt sees to it that work is stopped at the given instant, or before if that was due already.
func (r *runner) stopWorkAt(at time.Time) {
	if r.graceAt.IsZero() || at.Before(r.graceAt) {
		r.graceAt = at
	}
}

// mayStart tells whether the first message may be received: nothing that was looked at speaks against it.
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

// outOfService returns the notice that the machine is out of service, if that is so.
func (w *watches) outOfService() (Notice, bool) {
	for _, n := range w.told {
		if n.Kind == OutOfService {
			return n, true
		}
	}
	return Notice{}, false
}
