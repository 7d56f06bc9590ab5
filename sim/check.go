package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/roster"
)

// maxFaults bounds how many faults a result lists: one bug often breaks the same rule in every step.
const maxFaults = 20

// fault notes a violated invariant. A result with faults shows a bug in Muster or in the simulator.
func (r *run) fault(what string) {
	if len(r.faults) < maxFaults {
		r.faults = append(r.faults, fmt.Sprintf("at %s: %s", time.Duration(r.now), what))
	}
}

// stepped scores a step, checks the invariants that hold after every step, and calls Options.Stepped:
//
//   - The desired count is within the limits, and no more members exist than the maximum.
//   - Nothing shrinks while the queue or the trees cannot be read: unknown is not zero.
//   - Every message is in exactly one place.
func (r *run) stepped(o controller.Outcome) {
	d := o.Decision
	if o.Ready {
		r.tally.Decided(d.Previous, d.Desired)
		if l := r.settings.Limits; d.Desired < l.Min || d.Desired > l.Max {
			r.fault(fmt.Sprintf("a size of %d was decided, outside %d to %d", d.Desired, l.Min, l.Max))
		}
		blind := r.now-r.seenAt > int64(max(3*r.settings.Poll, 5*time.Second))
		if blind && d.Desired < d.Previous {
			r.fault(fmt.Sprintf("the size fell from %d to %d although nothing was measured for %s", d.Previous,
				d.Desired, time.Duration(r.now-r.seenAt)))
		}
		name, _, _ := strings.Cut(d.Policy, "/")
		if e := o.Observation.Expected; policy.ByTrees(name) && !e.None() && !e.Known && d.Desired < d.Previous {
			r.fault(fmt.Sprintf("the size fell from %d to %d although the trees could not be read", d.Previous,
				d.Desired))
		}
		for _, c := range o.Changes {
			if blind && c.What == roster.Left {
				r.fault("a worker was stopped although nothing was measured")
			}
		}
	}
	if r.live > r.settings.Limits.Max {
		r.fault(fmt.Sprintf("%d members exist, more than the maximum of %d", r.live, r.settings.Limits.Max))
	}
	r.checkMessages()
	if r.Stepped == nil {
		return
	}
	v := View{
		At: time.Duration(r.now), Outcome: o, Sent: r.queue.Sent(), Finished: r.queue.Finished(), Dead: r.queue.Dead(),
		Backlog: r.queue.Backlog(), InFlight: r.queue.InFlight(), Live: r.live, Ready: r.ready,
		Busy: r.busyMembers,
	}
	if sent, ok := r.queue.Oldest(); ok {
		v.OldestAge = time.Duration(r.now - sent)
	}
	r.Stepped(v)
}

// checkMessages checks that every message that was sent is waiting, in flight, finished or dead, and in one place only.
func (r *run) checkMessages() {
	q := &r.queue
	if there := int64(q.Backlog() + q.InFlight()); there != q.InSystem() {
		r.fault(fmt.Sprintf("%d messages are in the system, and %d were sent and are not done with", there,
			q.InSystem()))
	}
}

// checkEnd checks the invariants of a whole run. Worker-seconds are counted twice, per member by the bill and as an
// integral over the number of members, and both must agree within rounding.
func (r *run) checkEnd() {
	r.checkMessages()
	r.account()
	if r.world.MinimumBill == 0 && r.world.BillStep == 0 {
		if paid := time.Duration(r.paid).Seconds(); paid-r.tally.Billed() > 1e-6*paid+1e-3 ||
			r.tally.Billed()-paid > 1e-6*paid+1e-3 {
			r.fault(fmt.Sprintf("members existed for %v s in all, and %v s were billed", paid, r.tally.Billed()))
		}
	}
	if r.busyTime > r.paid*int64(r.world.Slots) {
		r.fault("slots were busy for longer than their workers existed")
	}
}

// outside plants a bug: something stops the first worker that was idle when it last reported, though it may be busy
// now.
func (r *run) outside() {
	if !r.inject.outside {
		return
	}
	for _, i := range r.listed {
		if m := r.members[i]; m.stage == working && m.reported.busy == 0 && m.reportedAt < r.now {
			r.end([]string{m.id})
			return
		}
	}
}
