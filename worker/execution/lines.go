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
	// defaultStartLimit is how long a program may take until it is ready.
	defaultStartLimit = time.Minute
	// beginPatience is how long a call waits for a program when all have just ended.
	beginPatience = 10 * time.Second
)

// LinesOptions describe programs that speak JSON lines. Command is required; every other zero value has a default.
type LinesOptions struct {
	// Command is the program. Its environment holds MUSTER_SLOT, which numbers the programs from 0, and no message.
	Command Command
	// Slots is how many programs run, each with one call at a time: 1 to MaxSlots, by default 1.
	Slots int
	// Batch is how many messages a call holds at most: 1 to 10, by default 1. The hello tells the program the number.
	Batch int
	// StartLimit is how long a program may take until it is ready, by default a minute.
	StartLimit time.Duration
}

// Lines does the work with long-lived programs that speak JSON lines: messages on standard input, answers on standard
// output, everything else on standard error. docs/worker-protocol.md specifies it. If a program ends or breaks the
// protocol, its messages fail and it is restarted, after a pause that grows while it answers nothing. Set
// [Options].DoBatch to its DoBatch and Options.Readiness to itself, and call Close after [Run]. Several goroutines may
// use it.
type Lines struct {
	o   LinesOptions
	log *slog.Logger
	// idle holds the programs that can take a call, and perhaps ended ones. offering is held while one is put in.
	idle     chan *program
	offering sync.Mutex
	// up counts the programs that are ready or working. deliveries counts the deliveries, for their names.
	up, deliveries atomic.Int64
	changed        chan struct{}
	// life ends when Lines is closed; running are the goroutines that keep the programs.
	life    context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
}

// errClosed is why a program that is still starting ends when Lines is closed.
var errClosed = errors.New("the worker is ending")

// StartLines starts the programs and returns when the first one is ready, or the error why it did not become ready.
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

// keep keeps the program of a slot running until Lines is closed. p is the first one, or nil.
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

// failuresInARow returns the number of programs in a row that answered nothing, after one has ended with the given
// number of answered calls. before is the number before it. A program that answered starts a new row.
func failuresInARow(before int, answered int64) int {
	if answered > 0 {
		return 1
	}
	return before + 1
}

// restart starts the program of a slot after the pause for so many failures in a row.
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

// count changes the number of running programs.
func (l *Lines) count(by int64) {
	l.up.Add(by)
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// Ready implements [Readiness]: it returns how many programs are ready or working.
func (l *Lines) Ready() int { return int(l.up.Load()) }

// Changed implements [Readiness].
func (l *Lines) Changed() <-chan struct{} { return l.changed }

// Do does the work for one message; see [Options].
func (l *Lines) Do(ctx context.Context, m worker.Message) error {
	return l.DoBatch(ctx, []worker.Message{m})[0]
}

// DoBatch does the work for several messages in one program; see [Options]. Messages that reached no program fail with
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

// offer makes p available for a call. It drops ended programs from idle: so the living ones, at most one for each slot,
// always have room.
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

// Close ends the programs: it closes their inputs, sends SIGTERM after five seconds, and SIGKILL after five more. Call
// it when no call is running.
func (l *Lines) Close() {
	l.stop()
	l.running.Wait()
}
