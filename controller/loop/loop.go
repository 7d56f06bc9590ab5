package loop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/metrics"
	"github.com/muster-scale/muster/worker/protocol"
)

// Options are the ports and settings of a [Loop]. Wakes, Expecters, Listing, Trees, Meter, Stored, Releaser, Protector,
// Trimmer, Delegator and Notify are optional; all others are required.
type Options struct {
	Settings controller.Settings
	// Sources measure the fleet's queues, one for each name in Settings.Queues and in that order.
	Sources []muster.Source
	// Wakes are the sources that announce changes. Without any, only polls and [Loop.Wake] cause steps.
	Wakes []muster.Notifier
	// Expecters are the sources and fleets to prepare for a fresh reading when [Loop.Wake] is called.
	Expecters []muster.Expecter
	// Listing is the one of them that the fleet has; nil if it has none. Following members needs no fresh counts of
	// queues, whose next reading would have to wait a second.
	Listing muster.Expecter
	Fleet   muster.Fleet
	// Trees reads the forecast of the messages that running trees will send; it returns soon after ctx ends. It is nil,
	// and Settings.Trees false, for a fleet without trees.
	Trees func(ctx context.Context) muster.Expected
	// Meter reads the metrics of other systems for the policy; it may be nil.
	Meter metrics.Meter
	// Stored reads the reports that workers left in a store since its last call; an error says what could not be read.
	// It returns soon after ctx ends, and may be nil.
	Stored func(ctx context.Context) ([]protocol.Report, error)
	// Releaser is nil for a fleet that cannot end members.
	Releaser muster.Releaser
	// Protector is nil when nothing but Muster stops members.
	Protector muster.Protector
	// Trimmer is nil for a fleet that places no members on machines of its own.
	Trimmer muster.Trimmer
	// Delegator is required if the policy delegates.
	Delegator muster.Delegator
	History   muster.History
	// Leads returns the time until which this controller may act for the fleet, with a monotonic reading; ok is false
	// if it may not. It is nil where no other controller can take the fleet over.
	Leads  func() (until time.Time, ok bool)
	Logger *slog.Logger
	// Notify is called after every step, one call at a time. It must return soon and must not call the loop.
	Notify func(controller.Outcome)
}

// Loop drives [controller.Settings.Step] in real time. Its methods may be called from any goroutine.
type Loop struct {
	o        Options
	wake     chan struct{}
	events   events
	reports  chan reportCall
	requests chan instructCall
	changes  chan controller.Settings
	polled   chan []controller.Input
	results  chan controller.Input
	last     lastOutcome
	running  sync.WaitGroup
	began    chan struct{} // closed when Run has taken over the history
	over     chan struct{} // closed when Run has returned

	// started is the origin of the shell's time. It has a monotonic reading, because a clock that is set back must not
	// stop the loop.
	started time.Time
	// ending is true while members are being ended: one such call at a time.
	ending atomic.Bool

	// The fields below belong to the goroutine of Run, or of Once. restored is true while Once goes on from shell.
	restored bool
	shell    controller.Shell[reportCall]
	// stuckAt is the time since which the history cannot be written, loggedStuck when that was last logged.
	stuckAt, loggedStuck time.Time
	// appendUnknown is true after a failed append: its records may be in the history or not.
	appendUnknown bool
	// asked are the requests of operators that wait for the step that carries them out, oldest first.
	asked []instructCall
	// idleAt is when an idle worker last made readings fresh.
	idleAt time.Duration
}

// freshEvery is the shortest interval at which idle workers make readings fresh. A quiet queue on AWS is read as often
// by default, so idle workers cost no more than that. At a longer poll interval every poll has fresh readings.
const freshEvery = 30 * time.Second

// followEvery is the time between two polls while members begin or end: what they need next, such as the end of a
// released member, must not wait for the next poll of a fleet that is polled rarely.
const followEvery = 10 * time.Second

// reportCall is a report on its way to Run's goroutine, with the channel for its answer. The channel has room for one
// answer, so that Run never waits for a worker that has given up.
type reportCall struct {
	report protocol.Report
	answer chan<- answer
}

// answer is the answer to a report.
type answer struct {
	directive protocol.Directive
	err       error
}

// ErrNotReady is the answer to a report that cannot be accepted now. The worker should report again.
var ErrNotReady = errors.New("the controller cannot take the report now; report again")

// New returns a loop that does nothing until [Loop.Run].
func New(o Options) *Loop {
	return &Loop{
		o: o, wake: make(chan struct{}, 1),
		events:   events{limit: rate.NewLimiter(eventReadings, eventBurst)},
		reports:  make(chan reportCall),
		requests: make(chan instructCall), polled: make(chan []controller.Input),
		results: make(chan controller.Input), changes: make(chan controller.Settings),
		began: make(chan struct{}), over: make(chan struct{}), started: time.Now(),
		shell: controller.NewShell[reportCall](controller.State{}), idleAt: -freshEvery,
	}
}

// Began returns a channel that is closed once [Loop.Run] has taken over the fleet's history. From then on the fleet is
// sized.
func (l *Loop) Began() <-chan struct{} { return l.began }

// Report passes a worker's report to the loop and returns the answer. A report that may change the decision is answered
// after the step that it causes, when that is recorded. Others are answered at once.
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

// Run takes over the fleet's history and drives the fleet until ctx ends. It returns nil once all its goroutines have
// ended. It fails if the history cannot be read, and with [muster.ErrConflict] if another controller took over. It may
// be called once.
func (l *Loop) Run(ctx context.Context) error {
	defer close(l.over)
	// Taking over the history would stop the controller that leads the fleet by now.
	if err := l.leads(); err != nil {
		return fmt.Errorf("fleet %s: %w", l.o.Settings.Fleet, err)
	}
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
	// following is true while the timer follow runs. Later steps do not put it off.
	step, follow, following := time.NewTimer(0), time.NewTimer(followEvery), true
	defer step.Stop()
	defer follow.Stop()
	l.look(ctx, l.shell.Wake())
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-poll.C:
			if l.o.Settings.Poll > freshEvery {
				l.expect() // a reading that an event caused must not put the next one off by a whole interval
			}
			l.look(ctx, l.shell.Wake())
		case <-l.wake:
			l.look(ctx, l.shell.Wake())
		case <-follow.C:
			following = false
			l.follow(ctx)
		case in := <-l.polled:
			l.look(ctx, l.shell.Looked(in...))
		case in := <-l.results:
			l.look(ctx, l.shell.Result(l.now(), in))
		case call := <-l.reports:
			l.look(ctx, l.take(call))
		case call := <-l.requests:
			l.look(ctx, l.takeRequest(call))
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
		if !following {
			following = true
			follow.Reset(followEvery)
		}
	}
}

// follow polls a fleet that is polled rarely, with a fresh listing, while members begin or end.
func (l *Loop) follow(ctx context.Context) {
	last, ok := l.Last()
	if c := last.Observation.Capacity; ok && l.o.Settings.Poll > followEvery && c.Ordered+c.Booting+c.Released > 0 {
		if l.o.Listing != nil {
			l.o.Listing.Expect()
		}
		l.look(ctx, l.shell.Wake())
	}
}

// now returns the shell's time.
func (l *Loop) now() time.Duration { return time.Since(l.started) }

// take passes a report to the shell, and answers it unless it waits for a step. It returns true if a poll must start.
//
// A worker that is ready to stop is an event: whether it may stop depends on the backlog now, and the last reading may
// be an hour old. It repeats its report, so readings are made fresh at intervals.
func (l *Loop) take(call reportCall) (look bool) {
	if now := l.now(); call.report.State == protocol.Idle && now-l.idleAt >= freshEvery {
		l.idleAt = now
		l.expect()
	}
	d, reply, look := l.shell.Report(l.now(), controller.Reported{Report: call.report}, &call.report, call)
	switch reply {
	case controller.Answered:
		call.answer <- answer{directive: d}
	case controller.Refused:
		call.answer <- answer{err: ErrNotReady}
	}
	return look
}

// expect makes the next readings of sources and fleets fresh ones.
func (l *Loop) expect() {
	for _, e := range l.o.Expecters {
		e.Expect()
	}
}

// signalWake wakes Run's goroutine; a wake that is pending already suffices.
func (l *Loop) signalWake() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// forwardWakes forwards the wakes of sources to the loop, until ctx ends.
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
					l.signalWake()
				}
			}
		})
	}
}

// step makes one step. The records are durable before any effect is carried out and before any worker is answered. If
// they cannot be written, the step did not happen, and the inputs wait for the next poll.
func (l *Loop) step(ctx context.Context) error {
	in := l.shell.Begin(l.now())
	if err := l.leads(); err != nil {
		l.historyFailed(ctx, err)
		return nil
	}
	if l.appendUnknown {
		if err := l.restore(ctx); err != nil {
			l.historyFailed(ctx, err)
			return nil
		}
	}
	l.appendUnknown = false
	o := l.o.Settings.Step(*l.shell.State(), clock(), in)
	if len(o.Records) > 0 {
		at, err := l.o.History.Append(ctx, l.o.Settings.Fleet, l.shell.State().Position, o.Records...)
		if err != nil {
			if errors.Is(err, muster.ErrConflict) {
				refuse(l.shell.Refuse())
				l.refuseRequests()
				return fmt.Errorf("fleet %s: %w; this one stops", l.o.Settings.Fleet, err)
			}
			l.appendUnknown = true
			l.historyFailed(ctx, err)
			return nil
		}
		o.Next.Position = at
	}
	waiting := l.shell.Done(&o)
	l.stuckAt = time.Time{}
	l.last.set(o) // before the answers: who was answered finds in Last what became of it
	l.answerRequests(&o)
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

// refuse answers reports with ErrNotReady.
func refuse(calls []reportCall) {
	for _, c := range calls {
		c.answer <- answer{err: ErrNotReady}
	}
}

// clock returns the time for stamping inputs and steps: wall time in UTC without a monotonic reading, so that it is
// equal after a trip through the history.
func clock() time.Time { return time.Now().UTC().Round(0) }

// look starts a poll if now is true, in a goroutine of its own.
func (l *Loop) look(ctx context.Context, now bool) {
	if !now {
		return
	}
	o := l.o // a copy, because the settings may change during the poll
	if l.shell.Full() {
		o.Stored = nil // stored reports are read only once: leave them until there is room
	}
	l.running.Go(func() {
		in := poll(ctx, o)
		select {
		case l.polled <- in:
		case <-ctx.Done():
		}
	})
}

// poll measures every queue, lists the fleet and makes the readings of [Options.readExtras], all at the same time. It
// ends before the first reading is stale.
func poll(ctx context.Context, o Options) []controller.Input {
	ctx, stop := context.WithTimeout(ctx, o.Settings.LookTimeout())
	defer stop()
	in := make([]controller.Input, len(o.Sources)+1, len(o.Sources)+3)
	var all sync.WaitGroup
	extras := o.readExtras(ctx, &all)
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
	return append(in, extras()...)
}

// readExtras starts the readings that only some fleets have: trees, stored reports and metrics, each in a goroutine of
// all. The returned function must be called after all.Wait and returns the inputs.
func (o Options) readExtras(ctx context.Context, all *sync.WaitGroup) func() []controller.Input {
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
		stored = o.readStored(ctx, all)
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

// readStored starts reading stored reports in a goroutine of all. The returned function must be called after all.Wait
// and returns the inputs. The reports that were read count even after an error.
func (o Options) readStored(ctx context.Context, all *sync.WaitGroup) func() []controller.Input {
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

// execute carries out an effect in its own goroutine, so that a slow release never delays a launch. The result becomes
// an input; a handover reports only failures.
func (l *Loop) execute(ctx context.Context, e controller.Effect) {
	l.running.Go(func() {
		acting, release := l.acting(ctx)
		defer release()
		limited, stop := context.WithTimeout(acting, controller.OrderTimeout)
		defer stop()
		// The last check before the call: since the step was recorded, the lease may have ended.
		err := l.leads()
		if err == nil {
			err = l.carryOut(limited, e)
		}
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

// carryOut calls the port of an effect.
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

// end ends released members. A second call during a slow first one fails; the controller repeats it later.
func (l *Loop) end(ctx context.Context, e controller.End) error {
	if l.o.Releaser == nil {
		return errors.New("this fleet cannot end members; their workers must stop by themselves")
	}
	if !l.ending.CompareAndSwap(false, true) {
		return errors.New("an earlier call that ends members has not returned yet")
	}
	defer l.ending.Store(false)
	return l.o.Releaser.End(ctx, e.Members)
}

// protect protects members from the fleet's own service.
func (l *Loop) protect(ctx context.Context, e controller.Protect) error {
	if l.o.Protector == nil {
		return errors.New("this fleet cannot protect members")
	}
	return l.o.Protector.Protect(ctx, e.Members)
}

// trim ends machines without members.
func (l *Loop) trim(ctx context.Context) error {
	if l.o.Trimmer == nil {
		return errors.New("this fleet cannot end machines")
	}
	return l.o.Trimmer.Trim(ctx)
}

// handOver hands the fleet over. It logs a failure, because no record shows it.
func (l *Loop) handOver(ctx context.Context, e controller.HandOver) error {
	err := errors.New("this fleet cannot be handed over to target tracking")
	if l.o.Delegator != nil {
		err = l.o.Delegator.HandOver(ctx, e.Handover)
	}
	if err != nil && ctx.Err() == nil {
		l.o.Logger.Warn("handing the fleet over to target tracking failed, and is tried again", "fleet",
			l.o.Settings.Fleet, "error", err)
	}
	return err
}

// errNotLeading means that this controller may not act for the fleet now.
var errNotLeading = errors.New("this controller does not lead the fleet now: it has not renewed its lease in time")

// leads returns errNotLeading if the lease is over. A loop without a lease always leads.
func (l *Loop) leads() error {
	if l.o.Leads == nil {
		return nil
	}
	if _, ok := l.o.Leads(); !ok {
		return errNotLeading
	}
	return nil
}
