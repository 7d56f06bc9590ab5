package worker

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/muster-scale/muster"
)

const (
	// MaxSlots bounds how many messages one worker holds.
	MaxSlots = 1000
	// MinVisibility is the shortest hold that can be kept up.
	MinVisibility = 2 * time.Second
	// maxRetryBase keeps the longest back-off within MaxHold.
	maxRetryBase = 20 * time.Minute
)

// Reporter tells the controller what the worker says and brings back what it is to do. Report returns soon after ctx ends.
// Run makes one call at a time.
type Reporter interface {
	Report(ctx context.Context, r muster.Report) (muster.Directive, error)
}

// Options say what a worker does. Queue and Do are required; every other zero value is a sensible default.
type Options struct {
	// Queue is where messages come from.
	Queue Queue
	// Do does the work for one message. It is called from several goroutines, at most Slots at a time. The message is
	// deleted when it returns nil and tried again later when it returns an error. It must return soon after ctx ends: the
	// cause of ctx is then [ErrLeaseLost] or [ErrStopped].
	Do func(ctx context.Context, m Message) error

	// Fleet, Member and Worker name the worker in its reports. An empty Worker is named as its member.
	Fleet, Member, Worker string
	// Slots is how many messages are worked on at once: 1 to MaxSlots, by default 1.
	Slots int
	// Visibility is how long a message is held before the hold must be extended, in whole seconds from MinVisibility to
	// MaxHold, by default 30 s.
	Visibility time.Duration
	// RetryBase is how long a message stays hidden after its first failure; see [Backoff]. At most 20 minutes, by default
	// 30 s.
	RetryBase time.Duration

	// WarmUp delays the first receive, to show and test slow boots.
	WarmUp time.Duration
	// IdleStop is how long the worker waits for a message before it stops receiving; 0 means for ever.
	IdleStop time.Duration
	// Grace is how long an operator's stop waits for held messages; 0 means as long as they need. After it the work is
	// stopped, which takes a command up to five seconds, and its messages are given back to be seen at once.
	Grace time.Duration

	// Reporter is the controller; nil means that there is none, and the worker leaves as soon as it is idle.
	Reporter Reporter
	// ReportEvery is the time between reports while nothing changes, by default 1 s.
	ReportEvery time.Duration
	// Orphaned is how long an idle worker waits for a controller that does not answer before it leaves by itself, by
	// default 5 minutes; also one that has not stopped receiving, when its queue cannot be reached for that long either.
	Orphaned time.Duration

	// Logger may be nil. Message bodies are never logged.
	Logger *slog.Logger
}

func (o Options) withDefaults() (Options, error) {
	o.Slots = orElse(o.Slots, 1)
	o.Visibility = orElse(o.Visibility, 30*time.Second)
	o.RetryBase = orElse(o.RetryBase, 30*time.Second)
	o.ReportEvery = orElse(o.ReportEvery, time.Second)
	o.Orphaned = orElse(o.Orphaned, 5*time.Minute)
	o.Worker = orElse(o.Worker, o.Member)
	o.Logger = orElse(o.Logger, slog.New(slog.DiscardHandler))
	return o, o.check()
}

func orElse[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}

func (o Options) check() error {
	switch {
	case o.Queue == nil:
		return fmt.Errorf("start a worker: no queue was given")
	case o.Do == nil:
		return fmt.Errorf("start a worker: nothing to do with the messages was given")
	case o.Slots < 1 || o.Slots > MaxSlots:
		return fmt.Errorf("start a worker: found %d slots, 1 to %d are allowed", o.Slots, MaxSlots)
	case o.Visibility < MinVisibility || o.Visibility > MaxHold || o.Visibility%time.Second != 0:
		return fmt.Errorf("start a worker: found a visibility of %s, whole seconds from %s to %s are allowed",
			o.Visibility, MinVisibility, MaxHold)
	case o.RetryBase < 0 || o.RetryBase > maxRetryBase:
		return fmt.Errorf("start a worker: found a retry base of %s, at most %s is allowed", o.RetryBase, maxRetryBase)
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"warm-up", o.WarmUp}, {"idle stop", o.IdleStop}, {"grace", o.Grace},
		{"report interval", o.ReportEvery}, {"orphan patience", o.Orphaned},
	} {
		if d.value < 0 {
			return fmt.Errorf("start a worker: found a %s of %s, 0 or more is allowed", d.name, d.value)
		}
	}
	return nil
}

// wait returns how long a receive call waits for messages. While somebody may ask the worker to drain it is short, because
// a call that is cut off may have taken messages with it, so that draining waits for it to end. It is never more than half
// of the visibility, because a message may come at the start of the wait and is counted as held from then on.
func (o Options) wait() time.Duration {
	longest := 20 * time.Second
	if o.Reporter != nil || o.IdleStop > 0 {
		longest = shortWait
	}
	return min(longest, o.Visibility/2).Truncate(time.Second)
}
