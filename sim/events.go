package sim

import "github.com/muster-scale/muster/sim/internal/kernel"

// The events of a run.

const (
	// Of the controller's shell.
	evPoll kernel.Kind = iota
	evLooked
	evStep
	evOrder
	evResult
	evEnd
	evController
	evRestart
	// Of the way between workers and controller.
	evReport
	evAnswer
	evTimeout
	// Of a member.
	evBooted
	evDied
	evNotice
	evTaken
	evRefill
	evExit
	evPollEnd
	evReportDue
	evFinished
	evShared
	// Of the queue and the source.
	evVisible
	evBorn
	evSnapshot
	// Of the scaling policy of AWS.
	evTracked
	evWake
)

// happenTo makes an event happen to a member, unless it is another one by now.
func (r *run) happenTo(e kernel.Event) {
	m := r.members[e.Who]
	generation := e.What
	if e.Kind == evPollEnd {
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
	case evPollEnd:
		if m.asked > 0 && m.polled == uint32(e.What) {
			r.pollEnded(e.Who)
		}
	case evReportDue:
		if e.At == m.reportDue { // and not an earlier plan
			m.reportDue = never
			r.advance(e.Who)
		}
	}
}
