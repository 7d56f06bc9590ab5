package loop

import (
	"cmp"
	"context"

	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/override"
)

// instructCall is a request of an operator on its way to Run's goroutine, with the channel for its answer. The channel
// has room for one answer.
type instructCall struct {
	request controller.Instructed
	// try computes what the request would change, and changes nothing.
	try    bool
	answer chan<- Instruction
}

// Instruction is what became of a request of an operator.
type Instruction struct {
	override.Answer
	// Forecast says what the request would change; it is set for a trial.
	Forecast *audit.Forecast
}

// Instruct carries out a request of an operator, and returns its answer once it is in the history. With try, nothing is
// changed, and the answer has a forecast. The error is [ErrNotReady] while the loop does not run or cannot write its
// history; the request may then be in the history all the same, so repeat it with the same id.
func (l *Loop) Instruct(ctx context.Context, q override.Request, try bool) (Instruction, error) {
	return l.instruct(ctx, controller.Instructed{Request: q}, try)
}

// Dismiss asks a member to finish its messages and go, for a reason that may be empty; it is replaced if the work needs
// it. With try, nothing is changed, and the answer has a forecast. The error matches [override.ErrUnknown],
// [override.ErrRefused] or [ErrNotReady].
func (l *Loop) Dismiss(ctx context.Context, member, why string, try bool) (Instruction, error) {
	done, err := l.instruct(ctx, controller.Instructed{Dismiss: member, Why: why}, try)
	return done, cmp.Or(err, done.Err)
}

// instruct passes a request to Run's goroutine and waits for its answer.
func (l *Loop) instruct(ctx context.Context, in controller.Instructed, try bool) (Instruction, error) {
	reply := make(chan Instruction, 1)
	select {
	case l.requests <- instructCall{in, try, reply}:
	case <-l.over:
		return Instruction{}, ErrNotReady
	case <-ctx.Done():
		return Instruction{}, ErrNotReady
	}
	select {
	case a, ok := <-reply:
		if !ok {
			return Instruction{}, ErrNotReady
		}
		return a, nil
	case <-l.over:
		return Instruction{}, ErrNotReady
	case <-ctx.Done():
		return Instruction{}, ErrNotReady
	}
}

// takeRequest passes a request to the shell, or answers a trial at once. It returns true if a poll must start.
func (l *Loop) takeRequest(c instructCall) (look bool) {
	if c.try {
		f, a := audit.ForecastOf(l.o.Settings, *l.shell.State(), clock(), c.request)
		c.answer <- Instruction{Answer: a, Forecast: &f}
		return false
	}
	c.request.At = clock()
	accepted, look := l.shell.Instruct(l.now(), c.request)
	if !accepted {
		close(c.answer)
		return false
	}
	l.asked = append(l.asked, c)
	return look
}

// answerRequests answers the requests that a step carried out.
func (l *Loop) answerRequests(o *controller.Outcome) {
	for i, c := range l.asked {
		c.answer <- Instruction{Answer: o.Answers[i]}
	}
	l.asked = nil
}

// refuseRequests tells the callers of waiting requests that the step failed.
func (l *Loop) refuseRequests() {
	for _, c := range l.asked {
		close(c.answer)
	}
	l.asked = nil
}
