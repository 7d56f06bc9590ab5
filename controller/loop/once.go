package loop

import (
	"context"
	"errors"
	"fmt"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
)

// maxRounds bounds the steps of one call of [Loop.Once]: the first decides, and each of the others records the results
// of the effects before it, which may cause further effects.
const maxRounds = 4

// Once makes the steps that are due now: it polls afresh, decides, records, carries out the effects and records their
// results. It returns the outcome of the first step. A program without a goroutine between two steps calls it instead
// of Run, for example at each invocation of a Lambda function. Calls come one at a time, and Run is not called.
//
// The first call takes over the history, and later calls go on from the state in memory. When another controller has
// written meanwhile, Once carries out nothing and fails with [muster.ErrConflict]; the next call takes over again. If
// the history cannot be written, nothing is carried out either. Effects that ctx interrupts count as unanswered, as
// after a crash.
func (l *Loop) Once(ctx context.Context) (controller.Outcome, error) {
	if !l.restored {
		if err := l.restore(ctx); err != nil {
			return controller.Outcome{}, err
		}
		l.restored = true
	}
	defer l.running.Wait()
	l.expect()
	l.shell.Wake()
	l.shell.Looked(poll(ctx, l.o)...)
	var first controller.Outcome
	for round := range maxRounds {
		err := l.step(ctx)
		o, _ := l.Last()
		if err == nil && l.appendUnknown {
			err = fmt.Errorf("fleet %s: %s", l.o.Settings.Fleet, o.Unrecorded)
		}
		if errors.Is(err, muster.ErrConflict) {
			// The next step begins from what the other controller recorded, so these inputs are of no use.
			l.restored = false
			l.shell = controller.NewShell[reportCall](controller.State{})
		}
		if err != nil {
			return first, err
		}
		if round == 0 {
			first = o
		}
		if !l.gather(ctx) {
			break
		}
	}
	return first, nil
}

// gather waits for the effects under way and passes their results to the shell, or stops waiting when ctx ends. It
// tells whether a step must record some.
func (l *Loop) gather(ctx context.Context) (some bool) {
	ended := make(chan struct{})
	go func() {
		l.running.Wait()
		close(ended)
	}()
	for {
		select {
		case in := <-l.results:
			l.shell.Result(l.now(), in)
			some = true
		case <-ended:
			// The step needs no newer poll: it only records the results.
			if some {
				l.shell.Looked()
			}
			return some && ctx.Err() == nil
		}
	}
}
