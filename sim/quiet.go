package sim

import (
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/sim/internal/kernel"
	"github.com/muster-scale/muster/sim/world"
	"github.com/muster-scale/muster/worker/lease"
	"github.com/muster-scale/muster/worker/protocol"
)

const (
	// learnEvery is how often the controller adds what it measured to its windows.
	learnEvery = 5 * time.Second
	// The controller divides the window of durations into learnSteps and records its decision every recordEvery. When
	// the window runs empty, it uses the durations of the newest record. So no skip may contain a whole step of the
	// window, because the record of that step would be missing.
	learnSteps  = 16
	recordEvery = time.Minute
	// longestSkip bounds a skip, because a decision that changes and changes back within a skip is not noticed.
	longestSkip = 15 * time.Minute
	// unheldEvery is how often the controller must compare the messages in flight with those that workers hold:
	// messages that no worker has held for twice that time wait for a retry.
	unheldEvery = 5 * time.Second
	// clockError is how far an instant that a policy keeps as a floating-point number may be from the instant it means.
	clockError = time.Microsecond
)

// quiet finds the polls in which nothing can change, so that a run can leave them out: see [run.postpone]. A night
// without messages then costs a few steps instead of one a second. It remembers what the newest steps came to.
//
// After each change (noteChange) a run is quiet again when three things have happened, in this order: the controller
// has measured the queue and known every worker since (knownAt); it has added that to its windows (learned); and a step
// has repeated the decision before it (same).
type quiet struct {
	// off is true in a run in which every poll may matter: see [run.everyPollMatters].
	off bool
	// changedAt is the time of the last change: an event that is not routine, or a step that changed something.
	changedAt int64
	// knownAt is the time of the first step at which the controller knew of that change; never before that step.
	knownAt int64
	// learned is true once the controller has added the newest measurements to its windows.
	learned bool
	// recordedAt is the time of the last step that recorded a decision.
	recordedAt int64
	// until is the time of the poll at which the newest skip ends.
	until int64
	// last is the newest decision, without its trail.
	last muster.Decision
	// same is true when the newest step changed nothing and decided as the step before it did.
	same bool
	// unheld is true while more messages are in flight than the workers in service hold.
	unheld bool
	// planned is what the newest step of the policy deadline depended on.
	planned planned
}

// routine tells whether events of the kind happen again and again while nothing changes.
func routine(k kernel.Kind) bool {
	switch k {
	case evPoll, evPolled, evStep, evReport, evAnswer, evTimeout, evReceiveEnd, evReportDue, evSnapshot:
		return true
	}
	return false
}

// everyPollMatters tells whether no poll of the run may be left out. Where random draws are made for each poll or
// report, fewer of them would shift all later draws. A policy may go by the calendar or by metrics of each minute, and
// an instruction begins and ends by the clock.
func (r *run) everyPollMatters() bool {
	w, s := &r.world, r.settings.Spec
	drawn := func(d world.Draw) bool { return d.CV > 0 || d.Exponential || len(d.Samples) > 0 }
	return len(r.Instructions) > 0 ||
		w.Cores > 0 && s.PlansAhead() || r.inject.everyPoll || r.inject.outside || w.ControllerCrashes > 0 ||
		w.Approximate > 0 ||
		w.LoseSamples > 0 || w.LoseListings > 0 || w.LoseTrees > 0 || w.LoseReports > 0 || w.RepeatReports > 0 ||
		drawn(w.API) || drawn(w.Report) || 2*w.Report.Mean >= reportPatience ||
		s.Seasonal() || s.ByCalendar() || s.Delegate != nil || len(s.Metrics(r.settings.Fleet, r.settings.Queues)) > 0
}

// noteChange notes a change. With measured it is a change from which the controller measures something.
func (r *run) noteChange(measured bool) {
	q := &r.quiet
	q.changedAt, q.knownAt = r.now, never
	if measured {
		q.learned = false
	}
	if r.now < q.until {
		r.fault("polls were left out although something happened before the next")
	}
}

// decided notes what a step came to.
func (r *run) decided(o controller.Outcome) {
	q, d := &r.quiet, &o.Decision
	q.same = q.unchanged(o)
	acts := !o.Ready || len(o.Effects) > 0 || len(o.Changes) > 0 || d.Desired != d.Previous
	if r.now < q.until || acts || d.Wish != q.last.Wish {
		r.noteChange(false)
	}
	if q.knownAt == never && r.known() {
		q.knownAt = r.now
	}
	for i := range o.Records {
		switch o.Records[i].Kind {
		case muster.Decided:
			q.recordedAt = r.now
		case muster.Learned:
			q.learned = q.learned || q.knownAt != never
		}
	}
	q.unheld = o.Observation.InFlight().Value > float64(o.Observation.Capacity.BusySlots)
	q.planned.note(r.now, o)
	q.last = *d
	q.last.Trail = nil
}

// known tells whether the controller knows of the last change: since then it has measured the queue, and every worker
// has sent a report that was answered.
func (r *run) known() bool {
	way := int64(r.world.Report.Mean)
	for _, i := range r.listed {
		m := r.members[i]
		answered := m.reportedAt // the time at which the newest answered report was sent
		if answered+2*way > r.now {
			answered -= r.reportTurn()
		}
		if m.stage == working && answered < r.quiet.changedAt {
			return false
		}
	}
	return r.seenAt >= r.quiet.changedAt
}

// unchanged tells whether a step changes nothing and decides as the newest step did.
func (q *quiet) unchanged(o controller.Outcome) bool {
	d, last := &o.Decision, &q.last
	return o.Ready && len(o.Effects) == 0 && len(o.Changes) == 0 && d.Desired == d.Previous &&
		d.Desired == last.Desired &&
		d.Wish == last.Wish && d.IdleStop == last.IdleStop && d.Verdict == last.Verdict && d.Reason == last.Reason &&
		slices.Equal(d.Kept, last.Kept) &&
		neededBy(d) == q.planned.needed
}

// atRest tells whether the controller knows all that happened, has learned from it, and waits for nothing.
func (r *run) atRest() bool {
	s, q := &r.shell, &r.quiet
	awaits := s.down || !s.Resting() || r.forest.Len() > 0
	if awaits || !q.same || q.knownAt == never || !q.learned && int64(s.LastStep())-q.knownAt < int64(learnEvery) {
		return false
	}
	for _, i := range r.listed {
		m := r.members[i]
		if m.stage != working {
			continue
		}
		if m.lease.State() != protocol.Receiving {
			return false
		}
		// A worker may not yet have known what the controller decided for it.
		if d, ok := s.State().Answer(m.id, m.id); !ok || d.Ask != protocol.Work || d.IdleStop != m.lease.Told() {
			return false
		}
	}
	now := r.count()
	for c := range r.past.Values() { // a late source must show the present counts by now
		if c.backlog != now.backlog || c.inFlight != now.inFlight || c.sent != now.sent || c.oldest != now.oldest {
			r.noteChange(true)
			return false
		}
	}
	return true
}

// longest returns the longest time that a skip may take now, as long as nothing happens.
func (r *run) longest() time.Duration {
	longest, quiet := longestSkip, time.Duration(r.now-r.quiet.changedAt)
	if r.quiet.unheld {
		longest = unheldEvery
	}
	if step := r.settings.Learn / learnSteps; quiet < r.settings.Learn+2*(step+learnEvery+r.settings.Poll) {
		if step < recordEvery {
			step = recordEvery - time.Duration(r.now-r.quiet.recordedAt)
		}
		longest = min(longest, step)
	}
	if r.settings.Spec.PlansAhead() {
		return min(longest, r.longestPlanned(quiet))
	}
	return longest
}

// nextEvent returns a time before which only routine events happen.
func (r *run) nextEvent() int64 {
	at := r.nextOfTrace()
	for i := range r.events.All() {
		if e := &r.events.All()[i]; !routine(e.Kind) {
			at = min(at, e.At)
		}
	}
	if r.world.IdleStop == 0 && r.world.BillMargin == 0 && r.quiet.last.IdleStop == 0 {
		return at
	}
	for _, i := range r.listed { // workers that may leave by themselves
		m := r.members[i]
		if m.stage != working {
			continue
		}
		if idle, ok := m.lease.IdleAt(); ok {
			at = min(at, int64(idle.Sub(r.world.Start)-lease.EarlyStop))
		}
		if paid, ok := m.lease.PaidUntil(r.time()); ok {
			at = min(at, int64(paid.Sub(r.world.Start)))
		}
	}
	return at
}

// nextOfTrace returns when the next message is sent, or when the run ends if nothing else happens.
func (r *run) nextOfTrace() int64 {
	switch {
	case r.more && r.world.CountsOnly:
		// The controller takes a message to be no older than the newest record. If a skip always ended just before the
		// message, that record would tell its age better than production can know it.
		return int64(r.next.Arrival) - int64(learnEvery+r.settings.Poll)
	case r.more:
		return int64(r.next.Arrival)
	case r.queue.InSystem() > 0 || r.unsent > 0:
		return max(r.lastFinish, int64(r.next.Arrival)) + int64(r.stall())
	case r.now < int64(r.world.Length):
		return int64(r.world.Length)
	}
	return r.lastFinish + int64(r.world.Tail)
}

// nextClock returns after how many polls the policy next acts at a time of its own. Such a policy keeps that time in
// its decision, in seconds since 1970, and must decide then: a policy that is more than a period late starts a new
// phase.
func (r *run) nextClock() int64 {
	poll, polls := int64(r.settings.Poll), never
	start := r.world.Start.Add(clockError)
	began, part := float64(start.Unix()), float64(start.Nanosecond())/1e9
	for _, v := range r.quiet.last.Kept {
		at := v.Value - began - part
		if at < r.shell.LastStep().Seconds() || at > 1e9 { // in the past, or no instant at all
			continue
		}
		polls = min(polls, max(0, int64(at*1e9)-r.now+poll-1)/poll)
	}
	return polls
}
