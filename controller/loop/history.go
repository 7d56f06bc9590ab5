package loop

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
)

// restore takes over the fleet's history, so that every other controller's writes fail, and rebuilds the state from it.
func (l *Loop) restore(ctx context.Context) error {
	s := l.o.Settings
	at, err := l.o.History.Begin(ctx, s.Fleet)
	if err != nil {
		return fmt.Errorf("fleet %s: open its history: %w", s.Fleet, err)
	}
	st, err := l.remember(ctx, at)
	if err == nil {
		l.shell.Restored(st)
	}
	return err
}

// remember rebuilds the state at a position from the history.
func (l *Loop) remember(ctx context.Context, at muster.Position) (controller.State, error) {
	s := l.o.Settings
	now := clock()
	counts := func(r muster.Record) bool { return s.Restores(r, now) }
	first, from := now.Add(-s.RestoreFirst()), now.Add(-s.RestoreFrom())
	records, err := l.records(ctx, first, counts)
	if err == nil && !slices.ContainsFunc(records, controller.Decides) {
		// No controller ran for a long time: the last decision still counts, and so do the records that it was made
		// from.
		if records, err = l.records(ctx, time.Time{}, func(muster.Record) bool { return true }); err == nil {
			records = s.UpToDecision(records)
		}
	}
	if err != nil {
		return controller.State{}, fmt.Errorf("fleet %s: read its history: %w", s.Fleet, err)
	}
	st, err := s.Restore(at, records)
	if err != nil || from.Equal(first) || !s.Lacks(&st, first) {
		return st, err
	}
	if records, err = l.records(ctx, from, counts); err != nil {
		return controller.State{}, fmt.Errorf("fleet %s: read its history: %w", s.Fleet, err)
	}
	return s.Restore(at, records)
}

// records reads the records since a time for which counts is true.
func (l *Loop) records(ctx context.Context, since time.Time, counts func(muster.Record) bool) (records []muster.Record,
	err error) {
	err = l.o.History.Read(ctx, l.o.Settings.Fleet, since, func(r muster.Record) bool {
		if counts(r) {
			records = append(records, r)
		}
		return true
	})
	return records, err
}

// historyFailed handles a history that cannot be written: the step is dropped, waiting workers are refused, and the
// next poll tries again. The failure is logged once a minute. A write that was cancelled by the end of ctx is not
// logged, because nothing is wrong with the history then.
func (l *Loop) historyFailed(ctx context.Context, err error) {
	now := clock()
	refuse(l.shell.Failed())
	l.refuseRequests()
	if l.stuckAt.IsZero() {
		l.stuckAt = now
	}
	if now.Sub(l.loggedStuck) >= time.Minute && ctx.Err() == nil {
		l.loggedStuck = now
		l.o.Logger.Error("the decision could not be recorded, so nothing is done", "fleet", l.o.Settings.Fleet, "since",
			l.stuckAt, "error", err)
	}
	o, _ := l.Last()
	o.Unrecorded = fmt.Sprintf("nothing is done since %s, because the history cannot be written: %v",
		l.stuckAt.Format(time.RFC3339), err)
	l.last.set(o)
}

// Change sets other settings of the same fleet and queues, from the next step on; the state stays. It returns false if
// the loop has ended, or ctx ends first.
func (l *Loop) Change(ctx context.Context, s controller.Settings) bool {
	select {
	case l.changes <- s:
		return true
	case <-l.over:
	case <-ctx.Done():
	}
	return false
}

// Last returns the outcome of the last step; false before the first step.
func (l *Loop) Last() (controller.Outcome, bool) {
	l.last.mu.Lock()
	defer l.last.mu.Unlock()
	return l.last.outcome, l.last.there
}

// lastOutcome holds the last outcome in place: allocating one for each step would be most of a step's garbage.
type lastOutcome struct {
	mu      sync.Mutex
	outcome controller.Outcome
	there   bool
}

// set stores the outcome of a step.
func (x *lastOutcome) set(o controller.Outcome) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.outcome, x.there = o, true
}

// Preview is a step that was computed and not carried out.
type Preview struct {
	controller.Outcome
	// Spec and Recent are the other inputs of the decision besides the observation.
	Spec   policy.Spec
	Recent muster.Recent
}

// Preview polls once and returns the step that [Loop.Run] would make first. It records and changes nothing, and does
// not take over the history. It must not be called while the loop runs.
func (l *Loop) Preview(ctx context.Context) (Preview, error) {
	st, err := l.remember(ctx, muster.Position{})
	if err != nil {
		return Preview{}, err
	}
	l.expect()
	in := poll(ctx, l.o)
	return Preview{l.o.Settings.Step(st, clock(), in), l.o.Settings.Spec, st.Recent()}, nil
}
