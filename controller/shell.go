package controller

import (
	"slices"
	"time"

	"github.com/muster-scale/muster/worker/protocol"
)

const (
	// Gather is how long wakes are collected after a step, so that a burst of events causes a few steps and not
	// thousands.
	Gather = 50 * time.Millisecond
	// patience is how long a step that a report caused waits for a fresh poll. The reports and the queue should be of
	// one instant, or a message counts twice.
	patience = 200 * time.Millisecond
	// maxPending bounds the inputs that wait while the history cannot be written.
	maxPending = 20_000
	// never is later than any instant.
	never = time.Duration(1<<63 - 1)
)

// Shell decides what happens around the steps of a controller: when the fleet is polled, when a step is due, and which
// reports are answered at once. The live loop and the simulator drive the same one; they poll, keep the history, carry
// out effects and wait.
//
//	        Wake              Looked                Next, Begin               Done
//	idle ---------> polling ---------> step due ---------------> stepping ----------> idle
//	  ^                                                              |
//	  +-------------------------- Failed ----------------------------+
//
// It is a state machine without a clock, a timer or a goroutine. Instants are distances from one that the caller chose,
// by a clock that is never set back. A Call is what the caller needs to answer a report. The zero Shell is not ready:
// see [NewShell].
type Shell[Call any] struct {
	state State
	// pending are the inputs for the next step, waiting the reports to answer after it.
	pending []Input
	waiting []Call
	// polling is true during a poll. pollAgain is true if another was asked for meanwhile.
	polling   bool
	pollAgain bool
	// due is true once a poll has ended. dueBy is when a step is due even if the poll has not ended; never if no step
	// waits for a poll.
	due      bool
	dueBy    time.Duration
	lastStep time.Duration
}

// NewShell returns the shell of a controller that was restored to a state and has made no step yet.
func NewShell[Call any](st State) Shell[Call] {
	return Shell[Call]{state: st, dueBy: never, lastStep: -Gather}
}

// State returns the state after the newest step. The shell owns it: the caller may read it until the next step, and
// must not change it.
func (s *Shell[Call]) State() *State { return &s.state }

// Restored sets a state that was read back from the history. Waiting inputs and reports stay.
func (s *Shell[Call]) Restored(st State) { s.state = st }

// Full tells whether too many inputs wait: no more reports are accepted.
func (s *Shell[Call]) Full() bool { return len(s.pending) >= maxPending }

// Pending returns the inputs that wait for the next step. The caller must not change them.
func (s *Shell[Call]) Pending() []Input { return s.pending }

// LastStep returns the time at which the newest step began.
func (s *Shell[Call]) LastStep() time.Duration { return s.lastStep }

// Resting tells whether nothing is under way: no poll, no due step and no report that waits for an answer.
func (s *Shell[Call]) Resting() bool {
	return !s.polling && !s.due && s.dueBy == never && len(s.waiting) == 0
}

// Wake asks for a poll, at each poll interval and for each event. It returns true if the poll must start now; during a
// poll, the next one starts after it.
func (s *Shell[Call]) Wake() (look bool) {
	if s.polling {
		s.pollAgain = true
		return false
	}
	s.polling = true
	return true
}

// Looked accepts the inputs of a finished poll. A step is then due. It returns true if the next poll must start now.
func (s *Shell[Call]) Looked(in ...Input) (look bool) {
	s.polling, s.due = false, true
	s.pending = append(s.pending, in...)
	if !s.pollAgain {
		return false
	}
	s.pollAgain = false
	return s.Wake()
}

// Result accepts the result of an effect, and asks for a step like [Shell.Soon].
func (s *Shell[Call]) Result(now time.Duration, in Input) (look bool) {
	s.pending = append(s.pending, in)
	return s.Soon(now)
}

// Instruct accepts an instruction of an operator, unless too many inputs wait, and asks for a step like [Shell.Soon].
// Its answer is in the outcome of the step that it causes. If the records of that step cannot be written, the
// instruction is dropped.
func (s *Shell[Call]) Instruct(now time.Duration, in Instructed) (accepted, look bool) {
	if s.Full() {
		return false, false
	}
	s.pending = append(s.pending, in)
	return true, s.Soon(now)
}

// Soon asks for a step after a fresh poll, or without one if the poll takes too long. It returns true if the poll must
// start now.
func (s *Shell[Call]) Soon(now time.Duration) (look bool) {
	if s.dueBy == never {
		s.dueBy = now + patience
	}
	return s.Wake()
}

// Reply is how a report is answered.
type Reply string

// The replies.
const (
	// Answered: the answer is known at once, because the report changes neither a release nor the members in service.
	Answered Reply = "answered"
	// Waits: the report is answered after the step that it causes.
	Waits Reply = "waits"
	// Refused: the report cannot be accepted now.
	Refused Reply = "refused"
)

// Report accepts a report r as the input in, unless too many inputs wait. The directive is valid for the reply
// Answered. look is true if a poll must start now.
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

// Next returns when the next step must be made, which may be in the past; ok is false if none is due. Steps are at
// least Gather apart.
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

// Begin starts a step and returns its inputs. They belong to the shell until [Shell.Done] or [Shell.Failed].
func (s *Shell[Call]) Begin(now time.Duration) []Input {
	s.lastStep, s.due, s.dueBy = now, false, never
	return s.pending
}

// Done ends a step whose records are in the history. It returns the reports to answer from the new state, before any
// effect is carried out. The slice of the inputs is reused.
func (s *Shell[Call]) Done(o *Outcome) []Call {
	s.state = o.Next
	clear(s.pending)
	s.pending = s.pending[:0]
	return s.Refuse()
}

// Failed ends a step whose records could not be written: the step did not happen. Inputs of a poll are dropped, because
// the next poll brings newer ones, and instructions too, because their caller is told. All others wait for it. It
// returns the reports to refuse.
func (s *Shell[Call]) Failed() []Call {
	s.pending = slices.DeleteFunc(s.pending, dropped)
	return s.Refuse()
}

// Refuse returns the reports that wait for an answer, and forgets them.
func (s *Shell[Call]) Refuse() []Call {
	waiting := s.waiting
	s.waiting = nil
	return waiting
}

// dropped tells whether an input is dropped with a failed step: the result of a poll, or an instruction. A Stored
// report is neither: it is read only once.
func dropped(in Input) bool {
	switch in.(type) {
	case Measured, Listed, Expected, Metered, Instructed:
		return true
	}
	return false
}
