package loop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/metrics"
	"github.com/muster-scale/muster/worker/protocol"
)

// Options are what a [Loop] drives. All but Wakes, Expecters, Trees, Meter, Stored, Releaser, Protector, Trimmer,
// Delegator and Notify are required.
type Options struct {
	Settings controller.Settings
	// Sources measure the fleet's queues, one for each name in Settings.Queues and in that order.
	Sources []muster.Source
	// Wakes are the notifiers among the sources; without any, only polls and [Loop.Wake] step.
	Wakes []muster.Notifier
	// Expecters are those among the sources and the fleet that are told when [Loop.Wake] is called.
	Expecters []muster.Expecter
	Fleet     muster.Fleet
	// Trees reads what running trees are expected to send to the fleet's queues, with the instant; it returns soon
	// after ctx ends. It is nil, and Settings.Trees false, where there are no trees.
	Trees func(ctx context.Context) muster.Expected
	// Meter reads the metrics that others keep, for a policy that needs any; it may be nil.
	Meter metrics.Meter
	// Stored reads the reports that workers keep where nobody answers them, those that are new since it was last
	// called, and says what could not be read; it may be nil. It returns soon after ctx ends.
	Stored func(ctx context.Context) ([]protocol.Report, error)
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
	Notify func(controller.Outcome)
}

// Loop drives [controller.Settings.Step] in real time. Its methods may be called from any goroutine.
type Loop struct {
	o       Options
	wake    chan struct{}
	reports chan reportCall
	changes chan controller.Settings
	looked  chan []controller.Input
	results chan controller.Input
	last    lastOutcome
	running sync.WaitGroup
	began   chan struct{} // closed when Run has taken over the history
	over    chan struct{} // closed when Run has returned

	// started is from where the shell counts time: with its monotonic reading, since a clock that is set back must not
	// stop the loop.
	started time.Time
	// The fields below belong to the goroutine of Run.
	shell controller.Shell[reportCall]
	// stuckAt is since when the history cannot be written, saidStuck when that was last logged.
	stuckAt, saidStuck time.Time
	// unsure is true after a failed append: whether its records are in the history is not known.
	unsure bool
	ending atomic.Bool
}

type reportCall struct {
	report protocol.Report
	answer chan<- answer
}

type answer struct {
	directive protocol.Directive
	err       error
}

// ErrNotReady is returned to a worker whose report cannot be taken now. It should report again.
var ErrNotReady = errors.New("the controller cannot take the report now; report again")

// New returns a loop that does nothing until [Loop.Run].
func New(o Options) *Loop {
	return &Loop{
		o: o, wake: make(chan struct{}, 1), reports: make(chan reportCall), looked: make(chan []controller.Input),
		results: make(chan controller.Input), changes: make(chan controller.Settings),
		began: make(chan struct{}), over: make(chan struct{}), started: time.Now(),
		shell: controller.NewShell[reportCall](controller.State{}),
	}
}

// Began returns a channel that is closed once [Loop.Run] has taken over the fleet's history: from then on the fleet is
// sized.
func (l *Loop) Began() <-chan struct{} { return l.began }

// Report hands in a worker's report and returns what the worker is to do. A report that changes what is decided is
// answered after the step it caused, which is recorded by then; others are answered at once.
func (l *Loop) Report(ctx context.Context, r protocol.Report) (protocol.Directive, error) {
	r.At = clock()
	reply := make(chan answer, 1)
	select {
	case l.reports <- reportCall{r, reply}:
	case <-l.over:
		return protocol.Directive{}, ErrNotReady
	case <-ctx.Done():
		return protocol.Directive{}, ErrNotReady
	}
	select {
	case a := <-reply:
		return a.directive, a.err
	case <-l.over:
		return protocol.Directive{}, ErrNotReady
	case <-ctx.Done():
		return protocol.Directive{}, ErrNotReady
	}
}

// Run takes over the fleet's history and drives the fleet until ctx ends, then returns nil once nothing is under way
// any more. It returns an error when the history cannot be read, and [muster.ErrConflict] when another controller took
// over. It may be called once.
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
	l.look(ctx, l.shell.Wake())
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-poll.C:
			l.look(ctx, l.shell.Wake())
		case <-l.wake:
			l.look(ctx, l.shell.Wake())
		case in := <-l.looked:
			l.look(ctx, l.shell.Looked(in...))
		case in := <-l.results:
			l.look(ctx, l.shell.Result(l.now(), in))
		case call := <-l.reports:
			l.look(ctx, l.take(call))
		case settings := <-l.changes:
			l.o.Settings = settings
			poll.Reset(settings.Poll)
			l.look(ctx, l.shell.Soon(l.now()))
		case <-step.C:
		}
		at, due := l.shell.Next(l.now())
		if !due {
			continue
		}
		if wait := at - l.now(); wait > 0 {
			step.Reset(wait)
			continue
		}
		if err := l.step(ctx); err != nil {
			return err
		}
	}
}

// now is the time of the shell.
func (l *Loop) now() time.Duration { return time.Since(l.started) }

// take gathers a report, and answers it unless it waits for a step. It tells whether a look is to begin.
func (l *Loop) take(call reportCall) (look bool) {
	d, reply, look := l.shell.Report(l.now(), controller.Reported{Report: call.report}, &call.report, call)
	switch reply {
	case controller.Answered:
		call.answer <- answer{directive: d}
	case controller.Refused:
		call.answer <- answer{err: ErrNotReady}
	}
	return look
}

// Wake makes the loop look and step soon, and has sources that look rarely look anew. It never blocks, and many calls
// may cause one step.
func (l *Loop) Wake() {
	for _, e := range l.o.Expecters {
		e.Expect()
	}
	l.rouse()
}

func (l *Loop) rouse() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// forwardWakes lets what the notifiers say wake the loop, until ctx ends.
func (l *Loop) forwardWakes(ctx context.Context) {
	for _, n := range l.o.Wakes {
		wakes, stop := n.Wakes()
		l.running.Go(func() {
			defer stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-wakes:
					l.rouse()
				}
			}
		})
	}
}

// step makes one step: the records are durable before any effect is executed and before any worker is answered from it.
// When they cannot be written, nothing happened: the inputs wait for the next look.
func (l *Loop) step(ctx context.Context) error {
	in := l.shell.Begin(l.now())
	if l.unsure {
		if err := l.restore(ctx); err != nil {
			l.stuck(ctx, err)
			return nil
		}
	}
	l.unsure = false
	o := l.o.Settings.Step(*l.shell.State(), clock(), in)
	if len(o.Records) > 0 {
		at, err := l.o.History.Append(ctx, l.o.Settings.Fleet, l.shell.State().Position, o.Records...)
		if err != nil {
			if errors.Is(err, muster.ErrConflict) {
				refuse(l.shell.Refuse())
				return fmt.Errorf("fleet %s: %w; this one stops", l.o.Settings.Fleet, err)
			}
			l.unsure = true
			l.stuck(ctx, err)
			return nil
		}
		o.Next.Position = at
	}
	waiting := l.shell.Done(&o)
	l.stuckAt = time.Time{}
	l.last.set(o)
	for _, c := range waiting {
		c.answer <- answer{directive: o.Next.Directive(c.report.Member, c.report.Worker)}
	}
	for _, e := range o.Effects {
		l.execute(ctx, e)
	}
	if l.o.Notify != nil {
		l.o.Notify(o)
	}
	return nil
}

// refuse tells workers to report again.
func refuse(calls []reportCall) {
	for _, c := range calls {
		c.answer <- answer{err: ErrNotReady}
	}
}

// clock returns the instant that inputs and steps are stamped with: wall time, without a monotonic reading.
func clock() time.Time { return time.Now().UTC().Round(0) }

// look starts a look at the queues and the fleet, if the shell says so.
func (l *Loop) look(ctx context.Context, now bool) {
	if !now {
		return
	}
	o := l.o // a copy: the settings may change meanwhile
	if l.shell.Full() {
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

// see measures every queue, lists the fleet and makes the readings of [Options.beside], all at once. It ends before the
// first of them is stale.
func see(ctx context.Context, o Options) []controller.Input {
	ctx, stop := context.WithTimeout(ctx, o.Settings.LookTimeout())
	defer stop()
	in := make([]controller.Input, len(o.Sources)+1, len(o.Sources)+3)
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
			in[i] = controller.Measured{QueueObservation: q}
		})
	}
	listing, err := o.Fleet.Members(ctx)
	listed := controller.Listed{Listing: listing}
	if err != nil {
		listed.Failure = err.Error()
	}
	in[len(in)-1] = listed
	all.Wait()
	return append(in, beside()...)
}

// beside begins the readings that only some fleets have, in goroutines of all: the trees, the reports that workers keep
// in a table, and the metrics that the policy needs. Once all are done, the function that it returns has the inputs.
func (o Options) beside(ctx context.Context, all *sync.WaitGroup) func() []controller.Input {
	var expected muster.Expected
	if o.Trees != nil {
		all.Go(func() { expected = o.Trees(ctx) })
	}
	var metered controller.Metered
	queries := o.Settings.Reads()
	meters := o.Meter != nil && len(queries) > 0
	if meters {
		all.Go(func() {
			series, err := o.Meter.Metrics(ctx, queries)
			if metered = (controller.Metered{At: clock(), Series: series}); err != nil {
				metered.Failure = err.Error()
			}
		})
	}
	stored := func() []controller.Input { return nil }
	if o.Stored != nil {
		stored = o.stored(ctx, all)
	}
	return func() (in []controller.Input) {
		in = stored()
		if o.Trees != nil {
			in = append(in, controller.Expected{Expected: expected})
		}
		if meters {
			in = append(in, metered)
		}
		return in
	}
}

// stored begins to read the reports that workers keep, as one of all. The function that it returns tells what came of
// it once all are done.
func (o Options) stored(ctx context.Context, all *sync.WaitGroup) func() []controller.Input {
	var reports []protocol.Report
	var unread controller.Unread
	all.Go(func() {
		var err error
		if reports, err = o.Stored(ctx); err != nil {
			unread.Failure = err.Error()
		}
	})
	return func() []controller.Input {
		in := []controller.Input{unread}
		for _, r := range reports {
			in = append(in, controller.Stored{Report: r})
		}
		return in
	}
}

// execute carries out an effect beside the loop. Ending members has its own lane, so that a slow release never delays a
// launch.
func (l *Loop) execute(ctx context.Context, e controller.Effect) {
	l.running.Go(func() {
		limited, stop := context.WithTimeout(ctx, controller.OrderTimeout)
		defer stop()
		err := l.carryOut(limited, e)
		if _, quiet := e.(controller.HandOver); quiet && err == nil {
			return
		}
		result := controller.Resulted{At: clock(), Effect: e.EffectID()}
		if err != nil {
			result.Failure = err.Error()
		}
		select {
		case l.results <- result:
		case <-ctx.Done():
		}
	})
}

// carryOut does what an effect says.
func (l *Loop) carryOut(ctx context.Context, e controller.Effect) error {
	switch e := e.(type) {
	case controller.SetDesired:
		return l.o.Fleet.SetDesired(ctx, e.Order)
	case controller.End:
		return l.end(ctx, e)
	case controller.Protect:
		return l.protect(ctx, e)
	case controller.Trim:
		return l.trim(ctx)
	case controller.HandOver:
		return l.handOver(ctx, e)
	}
	return nil
}

func (l *Loop) end(ctx context.Context, e controller.End) error {
	if l.o.Releaser == nil {
		return errors.New("this fleet cannot end members; they have to leave by themselves")
	}
	if !l.ending.CompareAndSwap(false, true) {
		return errors.New("the members ended before are still ending")
	}
	defer l.ending.Store(false)
	return l.o.Releaser.End(ctx, e.Members)
}

func (l *Loop) protect(ctx context.Context, e controller.Protect) error {
	if l.o.Protector == nil {
		return errors.New("this fleet cannot protect members")
	}
	return l.o.Protector.Protect(ctx, e.Members)
}

func (l *Loop) trim(ctx context.Context) error {
	if l.o.Trimmer == nil {
		return errors.New("this fleet cannot end machines")
	}
	return l.o.Trimmer.Trim(ctx)
}

// handOver says what went wrong, because nothing else shows it.
func (l *Loop) handOver(ctx context.Context, e controller.HandOver) error {
	err := errors.New("nothing here can hand a fleet over")
	if l.o.Delegator != nil {
		err = l.o.Delegator.HandOver(ctx, e.Handover)
	}
	if err != nil && ctx.Err() == nil {
		l.o.Logger.Warn("handing the fleet over to target tracking failed, and is tried again", "fleet",
			l.o.Settings.Fleet, "error", err)
	}
	return err
}
