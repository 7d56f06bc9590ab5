package sim

import (
	"time"

	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/sim/internal/kernel"
	"github.com/muster-scale/muster/sim/internal/trees"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/worker/protocol"
)

// transit is something on its way: an effect to the fleet, a report to the controller, the answer to a worker, or a
// child that will be sent. Exactly one of effect, call and child is set; life belongs to effect, directive to the
// answer.
type transit struct {
	effect    controller.Effect
	life      uint64
	call      call
	directive protocol.Directive
	child     trace.Message
	place     trees.Place // of the child
	luck      kernel.Luck // of the child
}

// dispatch keeps a transit until its event happens, and returns its number.
func (r *run) dispatch(l transit) uint64 {
	if n := len(r.freeTransits); n > 0 {
		at := r.freeTransits[n-1]
		r.freeTransits = r.freeTransits[:n-1]
		r.transits[at] = l
		return at
	}
	r.transits = append(r.transits, l)
	return uint64(len(r.transits) - 1)
}

// arrive removes a transit and returns it.
func (r *run) arrive(at uint64) transit {
	l := r.transits[at]
	r.transits[at] = transit{}
	r.freeTransits = append(r.freeTransits, at)
	return l
}

// planChild plans the sending of a child. The arrival of a child counts from the end of its parent.
func (r *run) planChild(child trace.Message, at trees.Place, luck kernel.Luck) {
	r.unsent++
	r.after(child.Arrival, evChild, kernel.None, r.dispatch(transit{child: child, place: at, luck: luck}))
}

// report sends a worker's report if one is due. A change is reported at once, but no sooner than reportGap after the
// report before; without a change a report is due every World.ReportEvery. A report waits until the one before was
// answered, but no longer than reportPatience. When none is due yet, the time is planned.
func (r *run) report(i int32, m *member) {
	if r.world.Silent || m.reporting || m.lease.State() == protocol.Leaving {
		return
	}
	interval := int64(r.world.ReportEvery)
	now := m.status()
	if now != m.reported {
		interval = min(interval, int64(reportGap))
	}
	if due := m.reportedAt + interval; due > r.now {
		if due < m.reportDue {
			m.reportDue = due
			r.events.Add(due, evReportDue, i, uint64(m.generation))
		}
		return
	}
	m.reporting, m.reported, m.reportedAt, m.reportDue = true, now, r.now, never
	rep := m.lease.Report(r.time())
	m.expected = rep.Seq
	c := call{member: i, generation: m.generation, report: rep}
	// A report can be lost on its way, or arrive twice.
	times := 1
	if r.faulty() {
		if kernel.Hit(r.chance.Reports, r.world.LoseReports) {
			times = 0
		} else if kernel.Hit(r.chance.Reports, r.world.RepeatReports) {
			times = 2
		}
	}
	if r.mayBeUnanswered() {
		r.after(reportPatience, evTimeout, i, uint64(rep.Seq))
	}
	for range times {
		// Without a delay the report arrives within this event, which saves an event for each report.
		if way := r.world.Report.Next(r.chance.Reports); way > 0 || times > 1 {
			r.after(way, evReport, kernel.None, r.dispatch(transit{call: c}))
		} else {
			r.take(&c)
		}
	}
}

// mayBeUnanswered tells whether a report or its answer can be lost or late. Only then a timeout is planned: in other
// worlds it would never fire, and a run is faster without these events.
func (r *run) mayBeUnanswered() bool {
	w := &r.world
	return w.LoseReports > 0 || w.RepeatReports > 0 || w.Report.Mean > 0 || len(w.Report.Samples) > 0 ||
		w.ControllerCrashes > 0
}

// answer sends the controller's answer to a worker.
func (r *run) answer(c *call, d protocol.Directive) {
	if r.faulty() && kernel.Hit(r.chance.Reports, r.world.LoseReports) {
		return
	}
	way := r.world.Report.Next(r.chance.Reports)
	if way > 0 || d.Ask != protocol.Work || c.report.State != protocol.Receiving {
		r.after(way, evAnswer, kernel.None, r.dispatch(transit{call: *c, directive: d}))
		return
	}
	r.answered(c, d)
}

// answered makes a worker obey an answer, unless it came too late.
func (r *run) answered(c *call, d protocol.Directive) {
	m := r.members[c.member]
	if m.generation != c.generation || m.stage != working || r.time().Sub(c.report.SentAt) >= reportTimeout {
		return
	}
	if m.expected == c.report.Seq {
		m.reporting = false
	}
	m.lease.Obey(r.time(), c.report, d)
	if d.Ask == protocol.Work && m.lease.State() == protocol.Receiving && m.reported == m.status() {
		r.report(c.member, m) // nothing changed: only the next report is to be planned
		return
	}
	r.advance(c.member)
}

// unanswered makes a worker report again whose report was not answered in time.
func (r *run) unanswered(i int32, seq int64) {
	if m := r.members[i]; m.stage == working && m.reporting && m.expected == seq {
		m.reporting = false
		r.advance(i)
	}
}

// wake tells the controller that messages came, unless that is lost. Wake-ups that are on their way are merged.
func (r *run) wake() {
	if !r.world.Wakes || r.woken || kernel.Hit(r.chance.Source, r.world.LoseWakes) && r.faulty() {
		return
	}
	r.woken = true
	r.after(r.world.Wake, evWake, kernel.None, 0)
}

// after adds an event at the distance d from now; a negative distance counts as 0.
func (r *run) after(d time.Duration, k kernel.Kind, who int32, what uint64) {
	r.events.Add(r.now+max(0, int64(d)), k, who, what)
}
