package sim

import (
	"math"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
)

const (
	// learnEvery is how often the controller puts what it measured into its windows.
	learnEvery = 5 * time.Second
	// learnSteps is into how many steps the controller divides the time for which it keeps durations, recordEvery how often it
	// records its decision. The newest record keeps the durations when the window is empty, so no step may lack a record that
	// would have one.
	learnSteps  = 16
	recordEvery = time.Minute
	// longestSkip bounds a skip: a decision that changes and changes back within it passes unnoticed. plannedSkip does under the
	// policy deadline while members exist: what it keeps follows the arrivals of the last minutes, up and down.
	// After more than a few messages in five minutes that changes with every poll, so none is left out.
	longestSkip = 15 * time.Minute
	plannedSkip = 15 * time.Second
	few         = 2.5
	// unheldEvery is how often at least the controller compares what is in flight with what workers hold: messages that wait for
	// a retry are those that no worker held for twice as long.
	unheldEvery = 5 * time.Second
	// wholePolls is for how many polls a whole number of workers is needed until it counts as one. What is needed is told to three
	// digits, so that a number that grows slowly looks whole for a while, and it does not show when it is.
	wholePolls = 12
	// clockError is how far an instant that a policy keeps as a number may differ from the one it means.
	clockError = time.Microsecond
)

// quiet finds the polls in which nothing can change, so that a run leaves them out.
type quiet struct {
	// off is true in a run in which any poll may matter.
	off bool
	// stirred is the time of the last event that is no routine, or of the last step that changed something. heardAt is that of the
	// first step since at which the controller knew of it; never before.
	stirred, heardAt int64
	// recordedAt is the time of the last step that recorded a decision.
	recordedAt int64
	// learned is true once the controller put the newest measurements into its windows.
	learned bool
	// until is the time of the poll that the newest skip led to.
	until int64
	// last is the newest decision; same is true when its step changed nothing and decided as the one before.
	last muster.Decision
	same bool
	// lately is how many messages came within the last five minutes, as the controller knows it. hurried is true while a worker that
	// is launched for a message boots for as long as that may wait.
	lately  float64
	hurried bool
	// paced is true while the pace of the messages finished lately counts.
	paced bool
	// unheld is true while more messages are in flight than the workers in service hold.
	unheld bool
	// needed is what the policy deadline needs for what waits, since the time neededAt.
	needed   needed
	neededAt int64
}

// needed is how many more workers the policy deadline needs for what waits, rounded down and up.
type needed struct{ down, up float64 }

// neededBy reads what is needed from the trail of a decision; it is zero for other policies, and while nothing waits.
func neededBy(d *muster.Decision) (n needed) {
	for _, t := range d.Trail {
		for _, v := range t.In {
			if v.Name == "more_needed" {
				n.down, n.up = n.down+math.Floor(v.Value), n.up+math.Ceil(v.Value)
			}
		}
	}
	return n
}

// routine tells whether events of the kind go on while nothing happens.
func (k kind) routine() bool {
	switch k {
	case evPoll, evLooked, evStep, evReport, evAnswer, evTimeout, evPollEnd, evReportDue, evSnapshot:
		return true
	}
	return false
}

// everyPollMatters tells whether any poll may matter in the run. That is so where chance decides about polls and reports, because
// fewer of them would draw less, and under a policy that goes by the calendar or by the metrics of each minute.
func (r *run) everyPollMatters() bool {
	w, s := &r.world, r.settings.Spec
	drawn := func(d Draw) bool { return d.CV > 0 || d.Exponential || len(d.Samples) > 0 }
	return r.plant.everyPoll || r.plant.outside || w.ControllerCrashes > 0 || w.Approximate > 0 ||
		w.LoseSamples > 0 || w.LoseListings > 0 || w.LoseTrees > 0 || w.LoseReports > 0 || w.RepeatReports > 0 ||
		drawn(w.API) || drawn(w.Report) || 2*w.Report.Mean >= reportTimeout ||
		s.Seasonal() || scheduled(s) || s.Delegate != nil || len(s.Metrics(r.settings.Fleet, r.settings.Queues)) > 0
}

// scheduled tells whether s, or any policy within it, goes by the calendar.
func scheduled(s policy.Spec) bool {
	return s.Name == "schedule" || slices.ContainsFunc(s.Largest, scheduled)
}

// stir notes that something happened, and whether the controller measures something of it.
func (r *run) stir(measured bool) {
	q := &r.quiet
	q.stirred, q.heardAt = r.now, never
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
	if r.now < q.until || !o.Ready || len(o.Effects) > 0 || len(o.Changes) > 0 || d.Desired != d.Previous || d.Wish != q.last.Wish {
		r.stir(false)
	}
	if q.heardAt == never && r.heard() {
		q.heardAt = r.now
	}
	for i := range o.Records {
		switch o.Records[i].Kind {
		case muster.Decided:
			q.recordedAt = r.now
		case muster.Learned:
			q.learned = q.learned || q.heardAt != never
		}
	}
	q.unheld = o.Observation.InFlight().Value > float64(o.Observation.Capacity.BusySlots)
	q.lately = o.Observation.Arrivals.FiveMinutes * 300
	q.paced = o.Observation.Pace.Finished > 0
	q.hurried = o.Observation.Boot.P95Seconds+o.Observation.Processing.P99Seconds > 0.9*r.settings.Objective.Latency.Seconds()
	if n := neededBy(d); n != q.needed {
		q.needed, q.neededAt = n, r.now
	}
	q.last = *d
	q.last.Trail = nil
}

// heard tells whether the controller has seen the queue since the last stir, and every worker has reported and was answered.
func (r *run) heard() bool {
	way := int64(r.world.Report.Mean)
	for _, i := range r.listed {
		m := r.members[i]
		answered := m.reportedAt // when the newest report was sent that is answered
		if answered+2*way > r.now {
			answered -= r.reportTurn()
		}
		if m.stage == working && answered < r.quiet.stirred {
			return false
		}
	}
	return r.seenAt >= r.quiet.stirred
}

// unchanged tells whether a step changes nothing and decides as the newest one did.
//
// The policy deadline needs more workers the later it launches them, and launches at the last moment at which fewer do. So that
// this moment does not pass between two polls, what it needs may not differ either.
func (q *quiet) unchanged(o controller.Outcome) bool {
	d, last := &o.Decision, &q.last
	return o.Ready && len(o.Effects) == 0 && len(o.Changes) == 0 && d.Desired == d.Previous && d.Desired == last.Desired &&
		d.Wish == last.Wish && d.Verdict == last.Verdict && d.Reason == last.Reason && slices.Equal(d.Kept, last.Kept) && neededBy(d) == q.needed
}

// atRest tells whether the controller knows all that happened, has learned from it, and has nothing under way.
func (r *run) atRest() bool {
	s, q := &r.shell, &r.quiet
	if !q.same || s.down || s.looking || s.due || s.dueBy != never || len(s.waiting) > 0 || len(r.trees) > 0 ||
		q.heardAt == never || !q.learned && s.lastStep-q.heardAt < int64(learnEvery) {
		return false
	}
	if n := r.quiet.needed; n.down == n.up && n.up > 0 && r.now-r.quiet.neededAt < wholePolls*int64(r.settings.Poll) {
		return false
	}
	for _, i := range r.listed {
		if m := r.members[i]; m.stage == working && m.lease.State() != muster.Receiving {
			return false
		}
	}
	now := r.count()
	for _, c := range r.past { // a source that is late must show what is
		if c.backlog != now.backlog || c.inFlight != now.inFlight || c.sent != now.sent || c.oldest != now.oldest {
			r.stir(true)
			return false
		}
	}
	return true
}

// longest is how long no poll may be made at the most, with no event until then.
func (r *run) longest() time.Duration {
	longest, quiet := longestSkip, time.Duration(r.now-r.quiet.stirred)
	if r.quiet.unheld {
		longest = unheldEvery
	}
	if step := r.settings.Learn / learnSteps; quiet < r.settings.Learn+2*(step+learnEvery+r.settings.Poll) {
		if step < recordEvery {
			step = recordEvery - time.Duration(r.now-r.quiet.recordedAt)
		}
		longest = min(longest, step)
	}
	waits := r.queue.visible() > 0
	works := waits && r.queue.inFlight > 0
	switch q := &r.quiet; {
	case !r.settings.Spec.PlansAhead():
		return longest
	case q.lately > few, q.hurried && (waits || q.lately > 0), q.paced && works:
		return 0
	case works:
		return min(longest, plannedSkip, quiet/16) // what is in progress tells more about the work the longer it takes
	case r.live > 0:
		return min(longest, plannedSkip)
	}
	return longest
}

// nextEvent returns a time before which nothing but routine happens.
func (r *run) nextEvent() int64 {
	at := r.nextOfTrace()
	for i := range r.nodes {
		if e := &r.nodes[i]; !e.kind.routine() {
			at = min(at, e.at)
		}
	}
	if r.world.IdleStop == 0 && r.world.BillMargin == 0 {
		return at
	}
	for _, i := range r.listed { // workers that may stop by themselves
		m := r.members[i]
		if m.stage != working {
			continue
		}
		if idle, ok := m.lease.IdleAt(); ok {
			at = min(at, int64(idle.Sub(r.world.Start)))
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
		// A record just before the message would tell its age better than chance does: the controller takes the message to
		// be no older than the newest record.
		return int64(r.next.Arrival) - int64(learnEvery+r.settings.Poll)
	case r.more:
		return int64(r.next.Arrival)
	case r.queue.inSystem() > 0 || r.unborn > 0:
		return max(r.lastFinish, int64(r.next.Arrival)) + int64(stall)
	}
	return r.lastFinish + int64(r.world.Tail)
}

// nextClock returns after how many polls the next clock of the policy strikes. A policy that acts at times of its own keeps the next
// one, in seconds since 1970, and must decide at it: a clock that strikes more than a period late begins a new phase.
func (r *run) nextClock() int64 {
	poll, polls := int64(r.settings.Poll), never
	start := r.world.Start.Add(clockError)
	began, part := float64(start.Unix()), float64(start.Nanosecond())/1e9
	for _, v := range r.quiet.last.Kept {
		at := v.Value - began - part
		if at < time.Duration(r.shell.lastStep).Seconds() || at > 1e9 { // of the past, or no instant
			continue
		}
		polls = min(polls, max(0, int64(at*1e9)-r.now+poll-1)/poll)
	}
	return polls
}
