package sim

import (
	"time"

	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/sim/internal/kernel"
	"github.com/muster-scale/muster/sim/internal/trees"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/worker/protocol"
)

// letter is something on its way: an effect to the fleet, a report to the controller, an answer to a worker, or a child
// that will be sent.
type letter struct {
	effect    controller.Effect
	life      uint64
	call      call
	directive protocol.Directive
	child     trace.Message
	place     trees.Place // of the child
}

// post keeps a letter until its event and returns its number.
func (r *run) post(l letter) uint64 {
	if n := len(r.freeMail); n > 0 {
		at := r.freeMail[n-1]
		r.freeMail = r.freeMail[:n-1]
		r.mail[at] = l
		return at
	}
	r.mail = append(r.mail, l)
	return uint64(len(r.mail) - 1)
}

// open takes a letter out of the mail.
func (r *run) open(at uint64) letter {
	l := r.mail[at]
	r.mail[at] = letter{}
	r.freeMail = append(r.freeMail, at)
	return l
}

// awaitChild notes a child that will be sent.
func (r *run) awaitChild(child trace.Message, at trees.Place) {
	r.unborn++
	r.after(child.Arrival, evBorn, kernel.None, r.post(letter{child: child, place: at}))
}

// report sends a worker's report if one is due: at once when what it says has changed, with a gap to the one before,
// and regularly otherwise. It waits for the answer to the one before, but not for longer than reportPatience.
func (r *run) report(i int32, m *member) {
	if r.world.Silent || m.reporting || m.lease.State() == protocol.Leaving {
		return
	}
	interval := int64(r.world.ReportEvery)
	said := m.gist()
	if said != m.said {
		interval = min(interval, int64(reportGap))
	}
	if due := m.reportedAt + interval; due > r.now {
		if due < m.reportDue {
			m.reportDue = due
			r.events.Add(due, evReportDue, i, uint64(m.generation))
		}
		return
	}
	m.reporting, m.said, m.reportedAt, m.reportDue = true, said, r.now, never
	rep := m.lease.Report(r.time())
	m.expected = rep.Seq
	c := call{member: i, generation: m.generation, report: rep}
	times := 1
	if r.faulty() {
		if kernel.Hit(r.chance.Reports, r.world.LoseReports) {
			times = 0
		} else if kernel.Hit(r.chance.Reports, r.world.RepeatReports) {
			times = 2
		}
	}
	if r.mayStayUnanswered() {
		r.after(reportPatience, evTimeout, i, uint64(rep.Seq))
	}
	for range times {
		if way := r.world.Report.Next(r.chance.Reports); way > 0 || times > 1 {
			r.after(way, evReport, kernel.None, r.post(letter{call: c}))
		} else {
			r.take(c)
		}
	}
}

// mayStayUnanswered tells whether a report or its answer can be lost or late: only then is it worth an event that the
// worker looks whether an answer came.
func (r *run) mayStayUnanswered() bool {
	w := &r.world
	return w.LoseReports > 0 || w.RepeatReports > 0 || w.Report.Mean > 0 || len(w.Report.Samples) > 0 ||
		w.ControllerCrashes > 0
}

// answer sends the controller's answer to a report on its way.
func (r *run) answer(c call, d protocol.Directive) {
	if r.faulty() && kernel.Hit(r.chance.Reports, r.world.LoseReports) {
		return
	}
	way := r.world.Report.Next(r.chance.Reports)
	if way > 0 || d.Ask != protocol.Work || c.report.State != protocol.Receiving {
		r.after(way, evAnswer, kernel.None, r.post(letter{call: c, directive: d}))
		return
	}
	r.answered(c, d)
}

// answered makes a worker obey, unless it has given up the report.
func (r *run) answered(c call, d protocol.Directive) {
	m := r.members[c.member]
	if m.generation != c.generation || m.stage != working || r.time().Sub(c.report.SentAt) >= reportTimeout {
		return
	}
	if m.expected == c.report.Seq {
		m.reporting = false
	}
	m.lease.Obey(r.time(), c.report, d)
	if d.Ask == protocol.Work && m.lease.State() == protocol.Receiving && m.said == m.gist() {
		r.report(c.member, m) // nothing changed: only the next report is to be planned
		return
	}
	r.advance(c.member)
}

// unanswered makes a worker report again whose report got no answer yet.
func (r *run) unanswered(i int32, seq int64) {
	if m := r.members[i]; m.stage == working && m.reporting && m.expected == seq {
		m.reporting = false
		r.advance(i)
	}
}

// wake tells the controller that messages came, unless that is lost.
func (r *run) wake() {
	if !r.world.Wakes || r.woken || kernel.Hit(r.chance.Source, r.world.LoseWakes) && r.faulty() {
		return
	}
	r.woken = true
	r.after(r.world.Wake, evWake, kernel.None, 0)
}

// after adds an event at a distance from now.
func (r *run) after(d time.Duration, k kernel.Kind, who int32, what uint64) {
	r.events.Add(r.now+max(0, int64(d)), k, who, what)
}
