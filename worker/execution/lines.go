package execution

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/muster-scale/muster/worker"
)

const (
	// defaultStartLimit is how long a program may take to say that it is ready.
	defaultStartLimit = time.Minute
	// beginPatience is how long a call waits for a program when all have just died.
	beginPatience = 10 * time.Second
)

// LinesOptions say which programs speak JSON lines. Command is required; every other zero value is a sensible default.
type LinesOptions struct {
	// Command is the program. Its environment has no message in it, but MUSTER_SLOT, which numbers the programs from 0.
	Command Command
	// Slots is how many of them run, one for each call at a time: 1 to MaxSlots, by default 1.
	Slots int
	// Batch is how many messages one call brings at most: 1 to 10, by default 1. The program is told.
	Batch int
	// StartLimit is how long it may take to say that it is ready, by default a minute.
	StartLimit time.Duration
}

// Lines does work with programs that live long and speak lines of JSON: messages on standard input, answers on standard
// output, anything else on standard error. docs/worker-protocol.md specifies it. A program that ends, or does what is
// not allowed, fails the messages it holds and is started again, after a pause that grows while it answers nothing. Put
// its DoBatch and itself, as Readiness, into [Options], and Close it after [Run]. It is safe for use by several
// goroutines.
type Lines struct {
	o   LinesOptions
	log *slog.Logger
	// idle holds the programs that can take a call, and dead ones; offering orders those who put one in.
	idle     chan *program
	offering sync.Mutex
	// up counts the programs that are ready or at work, deliveries numbers what they get.
	up, deliveries atomic.Int64
	changed        chan struct{}
	life           context.Context
	stop           context.CancelFunc
	running        sync.WaitGroup
}

// errClosed is why a program is ended that starts while Lines is closed.
var errClosed = errors.New("the worker is ending")

// StartLines starts the programs and returns when the first one is ready. An error tells why it never became ready.
func StartLines(ctx context.Context, o LinesOptions) (*Lines, error) {
	o.Slots, o.Batch = cmp.Or(o.Slots, 1), cmp.Or(o.Batch, 1)
	o.StartLimit = cmp.Or(o.StartLimit, defaultStartLimit)
	switch {
	case o.Slots < 1 || o.Slots > worker.MaxSlots:
		return nil, fmt.Errorf("start programs: found %d slots, 1 to %d are allowed", o.Slots, worker.MaxSlots)
	case o.Batch < 1 || o.Batch > worker.MaxBatch:
		return nil, fmt.Errorf("start programs: found a batch of %d messages, 1 to %d are allowed", o.Batch,
			worker.MaxBatch)
	case o.StartLimit < 0:
		return nil, fmt.Errorf("start programs: found a start limit of %s, above 0 is allowed", o.StartLimit)
	}
	if err := o.Command.Check(); err != nil {
		return nil, err
	}
	first, err := startProgram(ctx, o.Command, 0, o.Batch, o.StartLimit)
	if err != nil {
		return nil, err
	}
	l := &Lines{
		o: o, log: cmp.Or(o.Command.Logger, slog.New(slog.DiscardHandler)),
		idle: make(chan *program, o.Slots+1), changed: make(chan struct{}, 1),
	}
	l.life, l.stop = context.WithCancel(context.WithoutCancel(ctx))
	l.running.Go(func() { l.keep(0, first) })
	for slot := 1; slot < o.Slots; slot++ {
		l.running.Go(func() { l.keep(slot, nil) })
	}
	return l, nil
}

// keep keeps one slot's program running, p to begin with if there is one, until Lines is closed.
func (l *Lines) keep(slot int, p *program) {
	failures := 0
	for {
		if p == nil {
			var err error
			if p, err = l.restart(slot, failures); err != nil {
				failures++
			}
			switch {
			case l.life.Err() != nil && err != nil:
				return
			case err != nil:
				l.log.Warn("a program did not start, trying again", "slot", slot, "failures", failures, "err", err)
				continue
			}
		}
		l.count(1)
		l.offer(p)
		select {
		case <-p.gone:
		case <-l.life.Done():
			p.end()
			l.count(-1)
			return
		}
		l.count(-1)
		failures = failuresInARow(failures, p.answeredCalls())
		l.log.Warn("a program ended, starting it again", "slot", slot, "program", l.o.Command.Argv[0], "err",
			p.failure())
		p = nil
	}
}

// failuresInARow returns how many programs in a row were of no use, the one included that has ended after so many
// answered calls, when there were before failures before it. One that answered anything breaks the row.
func failuresInARow(before int, answered int64) int {
	if answered > 0 {
		return 1
	}
	return before + 1
}

// restart starts a slot's program after the pause that follows so many failures in a row.
func (l *Lines) restart(slot, failures int) (*program, error) {
	if failures > 0 {
		select {
		case <-time.After(worker.ReceivePause(failures, rand.Float64())):
		case <-l.life.Done():
			return nil, errClosed
		}
	}
	return startProgram(l.life, l.o.Command, slot, l.o.Batch, l.o.StartLimit)
}

// count changes the number of programs that are up.
func (l *Lines) count(by int64) {
	l.up.Add(by)
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// Ready implements [Readiness]: it returns how many programs are ready or at work.
func (l *Lines) Ready() int { return int(l.up.Load()) }

// Changed implements [Readiness].
func (l *Lines) Changed() <-chan struct{} { return l.changed }

// Do does the work for one message; see [Options].
func (l *Lines) Do(ctx context.Context, m worker.Message) error {
	return l.DoBatch(ctx, []worker.Message{m})[0]
}

// DoBatch does the work for several messages in one program; see [Options]. Messages that no program got fail with
// [ErrNotBegun].
func (l *Lines) DoBatch(ctx context.Context, batch []worker.Message) []error {
	n := int64(len(batch))
	deliveries := deliveryNames(l.deliveries.Add(n)-n+1, len(batch))
	line, err := wireWorkOf(ctx, batch, deliveries)
	var p *program
	if err == nil {
		p, err = l.take(ctx)
	}
	if err != nil {
		return slices.Repeat([]error{err}, len(batch))
	}
	results := p.call(ctx, line, deliveries, batch)
	if p.alive() {
		l.offer(p)
	}
	return results
}

// offer lets p take a call. Those that died since they were offered make room: there are never more living ones than
// slots.
func (l *Lines) offer(p *program) {
	l.offering.Lock()
	defer l.offering.Unlock()
	for range len(l.idle) {
		select {
		case other := <-l.idle:
			if other.alive() {
				l.idle <- other
			}
		default:
		}
	}
	l.idle <- p
}

// take waits for a program that can take a call.
func (l *Lines) take(ctx context.Context) (*program, error) {
	patience := time.NewTimer(beginPatience)
	defer patience.Stop()
	for {
		select {
		case p := <-l.idle:
			if p.alive() {
				return p, nil
			}
		case <-patience.C:
			return nil, fmt.Errorf("%w: no program is ready", worker.ErrNotBegun)
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", worker.ErrNotBegun, context.Cause(ctx))
		case <-l.life.Done():
			return nil, fmt.Errorf("%w: %w", worker.ErrNotBegun, errClosed)
		}
	}
}

// Close ends the programs: it closes their inputs, and after five seconds asks them by SIGTERM, and after five more
// kills them. Call it when no call is under way.
func (l *Lines) Close() {
	l.stop()
	l.running.Wait()
}
