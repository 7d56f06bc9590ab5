package mustertest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/muster-scale/muster"
)

// This file has the contract of sources. Its heart is that unknown is not zero: a policy that believes a wrong zero
// ends workers that have work.

// SourceConformance holds a [muster.Source] to its contract. run calls test with a source of an existing queue that
// is known to be empty, and with a function that sends so many messages, which are counted once it has returned. It
// may do so in virtual time: nothing is measured in real time.
func SourceConformance(t *testing.T,
	run func(t *testing.T, test func(t *testing.T, s muster.Source, send func(messages int)))) {
	rules := []struct {
		rule string
		test func(t *testing.T, s muster.Source, send func(int))
	}{
		{"an empty queue is known to be empty", knowsEmpty},
		{"messages that wait are backlog, and reading receives none", receivesNothing},
		{"a count that is unknown says why", saysWhy},
		{"it may be read concurrently", looksAtOnce},
		{"reading ends soon after its context", endsWithContext},
		{"a change wakes every listener", wakes},
	}
	for _, r := range rules {
		t.Run(r.rule, func(t *testing.T) { run(t, r.test) })
	}
}

// observe reads the queue and fails the test on an error.
func observe(t *testing.T, s muster.Source) muster.QueueObservation {
	t.Helper()
	q, err := s.Observe(t.Context())
	if err != nil {
		t.Fatalf("Observe: %v", err)
	}
	if q.Queue == "" {
		t.Error("the observation names no queue")
	}
	return q
}

// wantBacklog checks that the backlog is known and has this value.
func wantBacklog(t *testing.T, q muster.QueueObservation, want float64) {
	t.Helper()
	if !q.Backlog.Known || q.Backlog.Value != want {
		t.Errorf("the backlog is %v, want %v", q.Backlog, want)
	}
}

// knowsEmpty: 0 may only be said of a queue that was read and is empty.
func knowsEmpty(t *testing.T, s muster.Source, _ func(int)) {
	q := observe(t, s)
	wantBacklog(t, q, 0)
	if q.InFlight.Known && q.InFlight.Value != 0 || q.OldestAge.Known && q.OldestAge.Value != 0 {
		t.Errorf("found %+v, want nothing in flight and no age", q)
	}
}

// receivesNothing: reading must not receive a message, which would hide it from workers for a visibility timeout.
// Five readings give five equal counts.
func receivesNothing(t *testing.T, s muster.Source, send func(int)) {
	send(3)
	for range 5 {
		q := observe(t, s)
		wantBacklog(t, q, 3)
		if q.InFlight.Value != 0 {
			t.Errorf("%v are in flight, and no message was received", q.InFlight)
		}
	}
}

// saysWhy: every sample is finite, not negative and timed in UTC, or unknown with a reason that a decision can quote.
func saysWhy(t *testing.T, s muster.Source, send func(int)) {
	send(1)
	q := observe(t, s)
	for name, sample := range map[string]muster.Sample{"backlog": q.Backlog, "in flight": q.InFlight,
		"delayed": q.Delayed, "oldest age": q.OldestAge} {
		switch {
		case sample.Known && sample != muster.Measured(sample.At, sample.Value):
			t.Errorf("%s: found %+v, which is no measured value", name, sample)
		case !sample.Known && sample.Reason == "":
			t.Errorf("%s: unknown without a reason", name)
		case sample.At.IsZero() || sample.At.Location() != time.UTC:
			t.Errorf("%s: measured at %v, want an instant in UTC", name, sample.At)
		}
	}
}

// looksAtOnce: the loop, the dashboard and doctor may read one source at the same time. Readings that share a call to
// the system behind them must all get its result.
func looksAtOnce(t *testing.T, s muster.Source, send func(int)) {
	send(2)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if q, err := s.Observe(t.Context()); err != nil || q.Backlog.Value != 2 {
				t.Errorf("Observe = %+v, %v; want a backlog of 2", q, err)
			}
		})
	}
	all.Wait()
}

// endsWithContext: with an ended context an unknown value or an error is right. A number is right only if it is the
// true one.
func endsWithContext(t *testing.T, s muster.Source, send func(int)) {
	send(1)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if q, err := s.Observe(ctx); err == nil && q.Backlog.Known && q.Backlog.Value != 1 {
		t.Errorf("Observe with an ended context guessed: %+v", q)
	}
}

// wakes: every listener is woken by a change, and goes on being woken when another one stops listening.
func wakes(t *testing.T, s muster.Source, send func(int)) {
	// A source that cannot wake the loop is polled; that is allowed.
	n, ok := s.(muster.Notifier)
	if !ok {
		t.Skip("this source cannot wake the loop")
	}
	change := func() { send(1) }
	if e, ok := s.(muster.Expecter); ok {
		// This source polls for changes itself. Expecting one right after a reading makes the next poll due at once.
		change = func() {
			e.Expect()
			observe(t, s)
			e.Expect()
		}
	}
	// Two listeners, so that a wake which only one of them gets is found.
	first, stopFirst := n.Wakes()
	second, stopSecond := n.Wakes()
	defer stopSecond()
	// The time limit only ends a test that fails: a wake that arrives ends the wait at once.
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	wait := func(wakes <-chan struct{}) {
		t.Helper()
		select {
		case _, open := <-wakes:
			if !open {
				t.Error("the channel was closed")
			}
		case <-ctx.Done():
			t.Error("the listener was not woken")
		}
	}
	change()
	wait(first)
	wait(second)
	stopFirst()
	change()
	wait(second)
}
