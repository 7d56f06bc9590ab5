package sim

import "github.com/muster-scale/muster/sim/internal/kernel"

// The kinds of events in a run. Who is the number of a member unless said otherwise; What carries the generation of the
// member for events that are void once the member's place is used again.

const (
	// Events of the controller. What is the life of the controller, or the number of a transit (order, end).
	evPoll kernel.Kind = iota
	evPolled
	evStep
	evOrder
	evEnd
	evController
	evRestart
	// Events between workers and controller. What is the number of a transit, or of the unanswered report.
	evReport
	evAnswer
	evTimeout
	// Events of members, warm instances and works. For a finished work What is the number of the work, for an end
	// on shared cores the number of the plan, and for the end of a receive call the generation and the number of the
	// call, 32 bits each.
	evBooted
	evDied
	evNotice
	evTaken
	evRefill
	evExit
	evReceiveEnd
	evReportDue
	evFinished
	evShared
	// Events of the queue and its source. What is the number of a message (visible) or of a transit (born).
	evVisible
	evChild
	evSnapshot
	// Of the scaling policy of AWS.
	evTracked
	evWake
	// A request of an operator. What is its number.
	evInstruction
)

// happenTo applies the rule of an event of a member, unless the member's place is used by another one by now.
func (r *run) happenTo(e kernel.Event) {
	m := r.members[e.Who]
	generation := e.What
	if e.Kind == evReceiveEnd {
		generation = e.What >> 32
	}
	if uint64(m.generation) != generation {
		return
	}
	switch e.Kind {
	case evBooted:
		if m.stage == booting {
			r.booted(e.Who)
		}
	case evDied:
		r.died(e.Who)
	case evNotice:
		r.noticed(e.Who)
	case evTaken:
		r.die(e.Who, "the cloud took it back", true)
	case evExit:
		r.exited(e.Who)
	case evReceiveEnd:
		if m.asked > 0 && m.receives == uint32(e.What) {
			r.receiveEnded(e.Who)
		}
	case evReportDue:
		if e.At == m.reportDue { // otherwise this event was planned before an earlier one
			m.reportDue = never
			r.advance(e.Who)
		}
	}
}
