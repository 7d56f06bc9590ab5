package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/muster-scale/muster"
)

// LoopOptions are what a [Loop] drives. All but Wakes, Expecters, Trees, Meter, Stored, Releaser, Protector, Trimmer, Delegator and Notify are required.
type LoopOptions struct {
	Settings Settings
	// Sources measure the fleet's queues, one for each name in Settings.Queues and in that order.
	Sources []muster.Source
	// Wakes are the notifiers among the sources; without any, only polls and [Loop.Wake] step.
	Wakes []muster.Notifier
	// Expecters are those among the sources and the fleet that are told when [Loop.Wake] is called.
	Expecters []muster.Expecter
	Fleet     muster.Fleet
	// Trees reads what running trees are expected to send to the fleet's queues, with the instant; it returns soon after ctx ends.
	// It is nil, and Settings.Trees false, where there are no trees.
	Trees func(ctx context.Context) muster.Expected
	// Meter reads the metrics that others keep, for a policy that needs any; it may be nil.
	Meter muster.Meter
	// Stored reads the reports that workers keep where nobody answers them, those that are new since it was last called, and says what
	// could not be read; it may be nil. It returns soon after ctx ends.
	Stored func(ctx context.Context) ([]muster.Report, error)
	// Releaser is nil for a fleet that cannot end members.
	Releaser muster.Releaser
	// Protector is nil for a fleet whose members nobody ends by himself.
	Protector muster.Protector
	// Trimmer is nil for a fleet without machines under its members.
	Trimmer muster.Trimmer
	// Delegator is needed where the policy delegates.
	Delegator muster.Delegator
	History   muster.History
	Logger    *slog.Logger
	// Notify is called after every step, one call at a time; it must return soon and must not call the loop.
	Notify func(Outcome)
}

// Loop drives [Settings.Step] in real time: it looks at the queues and the fleet at every poll and at every wake, gathers
// worker reports and the results of effects, appends what the step records to the history, and only then executes its
// effects and answers the workers. Its methods may be called from any goroutine.
type Loop struct {
	o       LoopOptions
	wake    chan struct{}
	reports chan reportCall
	changes chan Settings
	looked  chan []Input
	results chan Input
	last    lastOutcome
	running sync.WaitGroup
	began   chan struct{} // closed when Run has taken over the history
	over    chan struct{} // closed when Run has returned

	// The fields below belong to the goroutine of Run.
	state   State
	pending []Input
	waiting []reportCall
	looking bool
	again   bool
	due     bool
	// dueBy is when a step is due although the look it waits for has not ended; zero when none waits.
	dueBy    time.Time
	lastStep time.Time
	// stuckAt is since when the history cannot be written, saidStuck when that was last logged.
	stuckAt, saidStuck time.Time
	// unsure is true after a failed append: whether its records are in the history is not known.
	unsure bool
	ending atomic.Bool
}

type reportCall struct {
	report muster.Report
	answer chan<- answer
}

type answer struct {
	directive muster.Directive
	err       error
}

const (
	// gather is how long wakes are gathered after a step, so that a burst of events is a few steps and not thousands.
	gather = 50 * time.Millisecond
	// patience is how long a step that a report asked for waits for a fresh look: what workers and queue say should be of
	// one instant, or a message counts twice.
	patience = 200 * time.Millisecond
	// maxPending bounds the inputs that wait while the history cannot be written.
	maxPending = 20_000
)

// ErrNotReady is returned to a worker whose report cannot be taken now. It should report again.
var ErrNotReady = errors.New("the controller cannot take the report now; report again")

// NewLoop returns a loop that does nothing until [Loop.Run].
func NewLoop(o LoopOptions) *Loop {
	return &Loop{
		o: o, wake: make(chan struct{}, 1), reports: make(chan reportCall), looked: make(chan []Input), results: make(chan Input),
		began: make(chan struct{}), over: make(chan struct{}), changes: make(chan Settings),
	}
}

// Began returns a channel that is closed once [Loop.Run] has taken over the fleet's history: from then on the fleet is sized.
func (l *Loop) Began() <-chan struct{} { return l.began }

// Report hands in a worker's report and returns what the worker is to do. A report that changes what is decided is
// answered after the step it caused, which is recorded by then; others are answered at once.
func (l *Loop) Report(ctx context.Context, r muster.Report) (muster.Directive, error) {
	r.At = clock()
	reply := make(chan answer, 1)
	select {
	case l.reports <- reportCall{r, reply}:
	case <-l.over:
		return muster.Directive{}, ErrNotReady
	case <-ctx.Done():
		return muster.Directive{}, ErrNotReady
	}
	select {
	case a := <-reply:
		return a.directive, a.err
	case <-l.over:
		return muster.Directive{}, ErrNotReady
	case <-ctx.Done():
		return muster.Directive{}, ErrNotReady
	}
}

// Run takes over the fleet's history and drives the fleet until ctx ends, then returns nil once nothing is under way any
// more. It returns an error when the history cannot be read, and [muster.ErrConflict] when another controller took over.
// It may be called once.
func (l *Loop) Run(ctx context.Context) error {
	defer close(l.over)
	if err := l.restore(ctx); err != nil {
		return err
	}
	close(l.began)
	ctx, stop := context.WithCancel(ctx)
	defer l.running.Wait()
	defer stop()
	l.forwardWakes(ctx)
	poll := time.NewTicker(l.o.Settings.Poll)
	defer poll.Stop()
	step := time.NewTimer(0)
	defer step.Stop()
	l.look(ctx)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-poll.C:
			l.look(ctx)
		case <-l.wake:
			l.look(ctx)
		case in := <-l.looked:
			l.looking = false
			l.add(true, in...)
			if l.again {
				l.again = false
				l.look(ctx)
			}
		case in := <-l.results:
			l.add(false, in)
			l.soon(ctx)
		case call := <-l.reports:
			if l.take(call) {
				l.soon(ctx)
			}
		case settings := <-l.changes:
			l.o.Settings = settings
			poll.Reset(settings.Poll)
			l.soon(ctx)
		case <-step.C:
		}
		if !l.due {
			if l.dueBy.IsZero() {
				continue
			}
			if wait := time.Until(l.dueBy); wait > 0 {
				step.Reset(wait)
				continue
			}
		}
		if wait := gather - time.Since(l.lastStep); wait > 0 {
			step.Reset(wait)
			continue
		}
		if err := l.step(ctx); err != nil {
			return err
		}
	}
}

// look starts a look at the queues and the fleet, one at a time.
func (l *Loop) look(ctx context.Context) {
	if l.looking {
		l.again = true
		return
	}
	l.looking = true
	o := l.o // a copy: the settings may change meanwhile
	if len(l.pending) >= maxPending {
		o.Stored = nil // read again once what waits can be taken
	}
	l.running.Go(func() {
		in := see(ctx, o)
		select {
		case l.looked <- in:
		case <-ctx.Done():
		}
	})
}

// see measures every queue, lists the fleet and reads what there is beside, side by side and within a time that is shorter than
// what is seen stays fresh.
func see(ctx context.Context, o LoopOptions) []Input {
	ctx, stop := context.WithTimeout(ctx, o.Settings.lookTimeout())
	defer stop()
	in := make([]Input, len(o.Sources)+1, len(o.Sources)+3)
	var all sync.WaitGroup
	beside := o.beside(ctx, &all)
	for i, source := range o.Sources {
		all.Go(func() {
			q, err := source.Observe(ctx)
			if err != nil {
				lost := muster.Unknown(clock(), err.Error())
				q = muster.QueueObservation{Backlog: lost, InFlight: lost, Delayed: lost, OldestAge: lost}
			}
			q.Queue = o.Settings.Queues[i]
			in[i] = Measured{q}
		})
	}
	listing, err := o.Fleet.Members(ctx)
	listed := Listed{Listing: listing}
	if err != nil {
		listed.Failure = err.Error()
	}
	in[len(in)-1] = listed
	all.Wait()
	return append(in, beside()...)
}

func (l *Loop) add(due bool, in ...Input) {
	l.pending = append(l.pending, in...)
	l.due = l.due || due
}

// soon asks for a step after a fresh look, or without one when that takes too long.
func (l *Loop) soon(ctx context.Context) {
	l.look(ctx)
	if l.dueBy.IsZero() {
		l.dueBy = time.Now().Add(patience)
	}
}

// take gathers a report, and answers it at once unless it bears on a release or on who is in service: then it asks for a
// step.
func (l *Loop) take(call reportCall) bool {
	if len(l.pending) >= maxPending {
		call.answer <- answer{err: ErrNotReady}
		return false
	}
	r := call.report
	l.add(false, Reported{r})
	if r.State == muster.Receiving {
		if d, ok := l.state.Answer(r.Member, r.Worker); ok {
			call.answer <- answer{directive: d}
			return false
		}
	}
	l.waiting = append(l.waiting, call)
	return true
}

// step makes one step: the records are durable before any effect is executed and before any worker is answered from it.
// When they cannot be written, nothing happened: the inputs wait for the next look.
func (l *Loop) step(ctx context.Context) error {
	if l.unsure {
		if err := l.restore(ctx); err != nil {
			l.stuck(err)
			return nil
		}
	}
	l.unsure = false
	now := clock()
	l.lastStep, l.due, l.dueBy = time.Now(), false, time.Time{} // with its monotonic reading: a clock that is set back must not stop the loop
	o := l.o.Settings.Step(l.state, now, l.pending)
	if len(o.Records) > 0 {
		at, err := l.o.History.Append(ctx, l.o.Settings.Fleet, l.state.Position, o.Records...)
		if err != nil {
			if errors.Is(err, muster.ErrConflict) {
				l.answer(func(reportCall) answer { return answer{err: ErrNotReady} })
				return fmt.Errorf("fleet %s: %w; this one stops", l.o.Settings.Fleet, err)
			}
			l.unsure = true
			l.stuck(err)
			return nil
		}
		o.Next.Position = at
	}
	l.state, l.pending = o.Next, nil
	l.stuckAt = time.Time{}
	l.last.set(o)
	l.answer(func(c reportCall) answer {
		return answer{directive: l.state.Directive(c.report.Member, c.report.Worker)}
	})
	for _, e := range o.Effects {
		l.execute(ctx, e)
	}
	if l.o.Notify != nil {
		l.o.Notify(o)
	}
	return nil
}

func (l *Loop) answer(with func(reportCall) answer) {
	for _, call := range l.waiting {
		call.answer <- with(call)
	}
	l.waiting = nil
}

// execute carries out an effect beside the loop. Ending members has its own lane, so that a slow release never delays a
// launch.
func (l *Loop) execute(ctx context.Context, e Effect) {
	l.running.Go(func() {
		limited, stop := context.WithTimeout(ctx, orderTimeout)
		defer stop()
		err := l.carryOut(limited, e)
		if _, quiet := e.(HandOver); quiet && err == nil {
			return
		}
		result := Resulted{At: clock(), Effect: e.EffectID()}
		if err != nil {
			result.Failure = err.Error()
		}
		select {
		case l.results <- result:
		case <-ctx.Done():
		}
	})
}

// clock returns the instant that inputs and steps are stamped with: wall time, without a monotonic reading.
func clock() time.Time { return time.Now().UTC().Round(0) }
