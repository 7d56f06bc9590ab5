package controller

import (
	"slices"
	"time"

	"github.com/muster-scale/muster/worker/protocol"
)

const (
	// Gather is how long wakes are gathered after a step, so that a burst of events is a few steps and not thousands.
	Gather = 50 * time.Millisecond
	// patience is how long a step that a report asked for waits for a fresh look: what workers and queue say should be
	// of one instant, or a message counts twice.
	patience = 200 * time.Millisecond
	// maxPending bounds the inputs that wait while the history cannot be written.
	maxPending = 20_000
	// never is later than any instant.
	never = time.Duration(1<<63 - 1)
)

// Shell decides what stands around the steps of a controller: when the fleet is looked at, when a step is due, which
// reports are answered at once and which after the step that they cause. The live loop and the simulator drive the same
// one; they look, keep the history, carry out effects and wait.
//
// It is a state machine without a clock, a timer or a goroutine. Instants are distances from one that the caller chose,
// by a clock that is never set back. A Call is what the caller needs to answer a report. The zero Shell is not ready:
// see [NewShell].
type Shell[Call any] struct {
	state   State
	pending []Input
	waiting []Call
	looking bool
	again   bool
	due     bool
	// dueBy is when a step is due although the look it waits for has not ended; never when none waits.
	dueBy    time.Duration
	lastStep time.Duration
}

// NewShell returns the shell of a controller that was restored to a state and has made no step yet.
func NewShell[Call any](st State) Shell[Call] {
	return Shell[Call]{state: st, dueBy: never, lastStep: -Gather}
}

// State is that of the controller after the newest step. It is the shell's own: it is read until the next step, and not
// changed.
func (s *Shell[Call]) State() *State { return &s.state }

// Restored puts a state in place that was read back from the history. What waits stays.
func (s *Shell[Call]) Restored(st State) { s.state = st }

// Full tells whether so many inputs wait that no more are taken.
func (s *Shell[Call]) Full() bool { return len(s.pending) >= maxPending }

// Pending are the inputs that wait for the next step. They must not be changed.
func (s *Shell[Call]) Pending() []Input { return s.pending }

// LastStep is when the newest step began.
func (s *Shell[Call]) LastStep() time.Duration { return s.lastStep }

// Resting tells whether nothing is under way: no look, no step that is due, no report that waits for an answer.
func (s *Shell[Call]) Resting() bool {
	return !s.looking && !s.due && s.dueBy == never && len(s.waiting) == 0
}

// Wake asks for a look, as each poll and each event does. It tells whether one is to begin now; while one is under way
// the next begins after it.
func (s *Shell[Call]) Wake() (look bool) {
	if s.looking {
		s.again = true
		return false
	}
	s.looking = true
	return true
}

// Looked takes in what a look saw. A step is due; look tells whether the next look is to begin.
func (s *Shell[Call]) Looked(in ...Input) (look bool) {
	s.looking, s.due = false, true
	s.pending = append(s.pending, in...)
	if !s.again {
		return false
	}
	s.again = false
	return s.Wake()
}

// Result takes in what came of an effect, and asks for a step.
func (s *Shell[Call]) Result(now time.Duration, in Input) (look bool) {
	s.pending = append(s.pending, in)
	return s.Soon(now)
}

// Soon asks for a step after a fresh look, or without one when that takes too long. It tells whether the look is to
// begin now.
func (s *Shell[Call]) Soon(now time.Duration) (look bool) {
	if s.dueBy == never {
		s.dueBy = now + patience
	}
	return s.Wake()
}

// Reply is what becomes of a report.
type Reply string

// The replies.
const (
	// Answered is a report whose answer is known: it bears neither on a release nor on who is in service.
	Answered Reply = "answered"
	// Waits is a report that is answered after the step that it causes.
	Waits Reply = "waits"
	// Refused is a report that cannot be taken now.
	Refused Reply = "refused"
)

// Report takes in a report of the state from a worker of a member, as the input in, unless too many inputs wait. The
// directive is that of a report that is answered at once.
func (s *Shell[Call]) Report(now time.Duration, in Input, r *protocol.Report, call Call) (d protocol.Directive,
	reply Reply, look bool) {
	if s.Full() {
		return d, Refused, false
	}
	s.pending = append(s.pending, in)
	if r.State == protocol.Receiving {
		if d, ok := s.state.Answer(r.Member, r.Worker); ok {
			return d, Answered, false
		}
	}
	s.waiting = append(s.waiting, call)
	return d, Waits, s.Soon(now)
}

// Next is when the next step is to be made, which may be in the past; ok is false while none is due.
func (s *Shell[Call]) Next(now time.Duration) (at time.Duration, ok bool) {
	at = now
	if !s.due {
		at = s.dueBy
	}
	if at == never {
		return 0, false
	}
	return max(at, s.lastStep+Gather), true
}

// Begin begins a step and returns its inputs, which stay the shell's until [Shell.Done] or [Shell.Failed].
func (s *Shell[Call]) Begin(now time.Duration) []Input {
	s.lastStep, s.due, s.dueBy = now, false, never
	return s.pending
}

// Done ends a step whose records are in the history. It returns the reports that are answered now, from the state after
// the step: they are answered before any effect is carried out. The inputs were taken in, and their slice is used
// again.
func (s *Shell[Call]) Done(o *Outcome) []Call {
	s.state = o.Next
	clear(s.pending)
	s.pending = s.pending[:0]
	return s.Refuse()
}

// Failed ends a step whose records could not be written: nothing happened. What was seen is dropped, because the next
// look brings newer, and the other inputs wait for it. It returns the reports that are refused.
func (s *Shell[Call]) Failed() []Call {
	s.pending = slices.DeleteFunc(s.pending, ofALook)
	return s.Refuse()
}

// Refuse returns the reports that wait for an answer, and forgets them.
func (s *Shell[Call]) Refuse() []Call {
	waiting := s.waiting
	s.waiting = nil
	return waiting
}

// ofALook tells whether an input is what a look saw.
func ofALook(in Input) bool {
	switch in.(type) {
	case Measured, Listed, Expected, Metered:
		return true
	}
	return false
}
