package worker

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/muster-scale/muster/worker/lease"
	"github.com/muster-scale/muster/worker/protocol"
)

const (
	// MaxSlots bounds how many messages one worker holds.
	MaxSlots = 1000
	// MinVisibility is the shortest hold that can be kept up.
	MinVisibility = 2 * time.Second
	// maxRetryBase keeps the longest back-off within MaxHold.
	maxRetryBase = 20 * time.Minute
	// maxAttempts bounds Options.MaxAttempts.
	maxAttempts = 1000
	// MaxOutlets bounds Options.Outlets.
	MaxOutlets = 8
	// receivesPerAttempt is how many receives without an attempt that we counted are allowed for each attempt.
	receivesPerAttempt = 5
)

// Reporter tells the controller what the worker says and brings back what it is to do. Report returns soon after ctx
// ends. Run makes the next call when one has ended or has taken five seconds, and ends none before 80 seconds, so that
// there may be several calls at a time.
type Reporter interface {
	Report(ctx context.Context, r protocol.Report) (protocol.Directive, error)
}

// Attempts counts how often work on each message began. Implementations are safe for use by several goroutines;
// [ledger.Ledger] is one. When one of its calls fails, the work goes on and the queue's own receive count takes its
// place.
type Attempts interface {
	// Begin counts an attempt at m, which is about to begin, and returns how many there were, this one included. It
	// returns only when the count outlives this process.
	Begin(ctx context.Context, m Message) (int, error)
	// GiveBack takes the newest attempt at m back: it was interrupted.
	GiveBack(ctx context.Context, m Message) error
	// Forget forgets m, which is done with.
	Forget(ctx context.Context, m Message) error
}

// DeadLetters takes the messages that are not tried again. Implementations are safe for use by several goroutines;
// [sqsqueue.SQS] is one. Keep returns when the message is kept for good; it may be called again for the same message.
type DeadLetters interface {
	Keep(ctx context.Context, m Message) error
}

// DeadLettersByID is the ability of [DeadLetters] to tell under which id it keeps a message.
type DeadLettersByID interface {
	KeepAs(ctx context.Context, m Message) (id string, err error)
}

// Failures is told of attempts that failed. Implementations are safe for use by several goroutines, and never wait.
type Failures interface {
	// Failed is told of an attempt that failed or lost its lease, when the queue has been told.
	Failed(f Failure)
	// Settled is told of a message that is done with and was received before.
	Settled(m Message)
}

// Failure is an attempt at a message that failed.
type Failure struct {
	// Message is the message, with the number of the attempt.
	Message Message
	// At is when the attempt ended, Took how long the work took, and Err why it failed: an [*ExitError] where a command
	// did.
	At   time.Time
	Took time.Duration
	Err  error
	// Lost says that the lease on the message was lost. Otherwise Again is after how long it is tried again.
	Lost  bool
	Again time.Duration
	// DeadLetter says that the message was moved to the dead letters, where it has the id DeadLetterID; that is empty
	// when it is not known.
	DeadLetter   bool
	DeadLetterID string
}

// Readiness is the ability of work to say that it can or cannot begin: the program that does it may have to start
// first. Implementations are safe for use by several goroutines.
type Readiness interface {
	// Ready returns how many calls can be under way at once now, those that are included. While it is 0 no message is
	// received.
	Ready() int
	// Changed returns the one channel that receives after Ready has changed.
	Changed() <-chan struct{}
}

// Hindered is an optional ability of a [Readiness]: it tells why no work can begin, where that is no part of a normal
// start. Changed receives when this changes, too.
type Hindered interface {
	// Hindered returns nil while work can begin.
	Hindered() error
}

// Options say what a worker does. Queue and either Do or DoBatch are required; every other zero value is a sensible
// default.
type Options struct {
	// Queue is where messages come from.
	Queue Queue
	// Do does the work for one message. It is called from several goroutines, at most Slots at a time. The message is
	// deleted when it returns nil and tried again later when it returns an error. It must return soon after ctx ends:
	// the cause of ctx is then [ErrLeaseLost], [ErrStopped] or [ErrTimeLimit].
	Do func(ctx context.Context, m Message) error
	// DoBatch does the work for several messages, 1 to Batch, in place of Do. It returns what became of each, in their
	// order, as Do would; nil stands for all of them succeeding. Messages of one FIFO group never come in one batch.
	// The context ends for all when it must end for one.
	DoBatch func(ctx context.Context, batch []Message) []error
	// Batch is how many messages DoBatch gets at most: 1 to 10, by default 1. A receive call then asks for so many, and
	// none waits for more to come.
	Batch int
	// Readiness says whether calls can begin; nil means always.
	Readiness Readiness

	// TimeLimit is how long a call may take; 0 means as long as the queue can hold the message. The context then ends
	// with [ErrTimeLimit], and the messages without a result have failed.
	TimeLimit time.Duration
	// Attempts counts attempts where they survive the worker; nil means that the queue's receive count stands for them.
	Attempts Attempts
	// MaxAttempts is after how many failed attempts a message goes to DeadLetters instead of back to the queue: 0,
	// which means never, to 1000. With DeadLetters given, the same happens to a message received more than 5 times as
	// often, for attempts that other machines counted.
	MaxAttempts int
	// DeadLetters takes the messages that are not tried again, and is required with MaxAttempts.
	DeadLetters DeadLetters

	// Failures is told of attempts that failed, and may be nil. With it they are not logged as warnings besides.
	Failures Failures

	// ClassAttribute names the attribute whose text is the class of a message: reports then have the durations of each
	// class, too. Empty means that there are no classes.
	ClassAttribute string

	// Fleet, Member and Worker name the worker in its reports. An empty Worker is named as its member.
	Fleet, Member, Worker string
	// Slots is how many calls of Do or DoBatch are made at once: 1 to MaxSlots, by default 1. Reports tell the
	// controller of Slots times Batch, which is at most MaxSlots too.
	Slots int
	// Visibility is how long a message is held before the hold must be extended, in whole seconds from MinVisibility to
	// MaxHold, by default 30 s.
	Visibility time.Duration
	// RetryBase is how long a message stays hidden after its first failure; see [lease.Backoff]. At most 20 minutes, by
	// default 30 s.
	RetryBase time.Duration

	// WarmUp delays the first receive, to show and test slow boots.
	WarmUp time.Duration
	// IdleStop is how long the worker waits for a message before it stops receiving; 0 means for ever.
	IdleStop time.Duration
	// Billing says in which periods the member is paid for; its Start is by default when the worker starts, its Margin
	// two minutes. A worker that is idle shortly before the end of one stops receiving and offers to leave, once in
	// each period.
	Billing lease.Billing
	// Grace is how long an operator's stop, or a notice of an end at an unknown time, waits for held messages; 0 means
	// as long as they need. After it the work is stopped, which takes a command up to five seconds, and its messages
	// are given back to be seen at once.
	Grace time.Duration

	// Reporter is the controller; nil means that there is none, and the worker leaves as soon as it is idle.
	Reporter Reporter
	// ReportEvery is the time between reports while nothing changes, by default 1 s.
	ReportEvery time.Duration
	// Orphaned is how long an idle worker waits for a controller that does not answer before it leaves by itself, by
	// default 5 minutes; also one that has not stopped receiving, when its queue cannot be reached for that long
	// either.
	Orphaned time.Duration

	// Outlets are told what the worker says where nobody answers, at most MaxOutlets of them. They never let the work
	// wait: what they do not take is logged, counted and tried again later.
	Outlets []Outlet

	// Notices are where the worker learns that what it runs on will end. It then takes no more messages, uses the time
	// that is left, and gives back in time what it cannot finish.
	Notices []Notices
	// Hook keeps the machine while the worker finishes, once a notice says that it waits, and lets it end then; nil
	// means that nothing does. After a release, Run waits up to a quarter of an hour for the machine to end, unless its
	// context ends.
	Hook Hook
	// MachineShared is set where the machine has members other than this one: a release is then none of the machine,
	// and Run does not wait for its end.
	MachineShared bool
	// Protection shields the worker's member from scale-in while the worker is not idle; nil means that there is none.
	// No message is received without it.
	Protection Protection
	// ProtectFor is the term of the protection, which is renewed at a third of it: whole minutes from MinProtection to
	// MaxProtection, by default 15 minutes, or Visibility where that is longer.
	ProtectFor time.Duration

	// Logger may be nil. Message bodies are never logged.
	Logger *slog.Logger
}

func (o Options) withDefaults() (Options, error) {
	o.Slots = cmp.Or(o.Slots, 1)
	o.Batch = cmp.Or(o.Batch, 1)
	o.Visibility = cmp.Or(o.Visibility, 30*time.Second)
	o.RetryBase = cmp.Or(o.RetryBase, 30*time.Second)
	o.ReportEvery = cmp.Or(o.ReportEvery, time.Second)
	o.Orphaned = cmp.Or(o.Orphaned, 5*time.Minute)
	o.ProtectFor = cmp.Or(o.ProtectFor, lease.UsualTerm(o.Visibility))
	o.Worker = cmp.Or(o.Worker, o.Member)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Billing = o.Billing.WithDefaults(time.Now())
	return o, o.check()
}

func (o Options) check() error {
	switch {
	case o.Queue == nil:
		return fmt.Errorf("start a worker: no queue was given")
	case o.Do == nil && o.DoBatch == nil:
		return fmt.Errorf("start a worker: nothing to do with the messages was given")
	case o.Do != nil && o.DoBatch != nil:
		return fmt.Errorf("start a worker: found both Do and DoBatch, one of them is allowed")
	case o.Batch < 1 || o.Batch > MaxBatch || o.Batch > 1 && o.DoBatch == nil:
		return fmt.Errorf("start a worker: found a batch of %d messages, 1 to %d are allowed, and more than 1 only "+
			"with DoBatch", o.Batch, MaxBatch)
	case o.MaxAttempts < 0 || o.MaxAttempts > maxAttempts || (o.MaxAttempts > 0) != (o.DeadLetters != nil):
		return fmt.Errorf("start a worker: found at most %d attempts, 1 to %d are allowed, together with the dead "+
			"letters that take what failed, or neither",
			o.MaxAttempts, maxAttempts)
	case o.Slots < 1 || o.Slots > MaxSlots:
		return fmt.Errorf("start a worker: found %d slots, 1 to %d are allowed", o.Slots, MaxSlots)
	case o.Slots*o.Batch > MaxSlots:
		return fmt.Errorf("start a worker: found %d slots of %d messages each, at most %d messages at once are allowed",
			o.Slots, o.Batch, MaxSlots)
	case o.Visibility < MinVisibility || o.Visibility > lease.MaxHold || o.Visibility%time.Second != 0:
		return fmt.Errorf("start a worker: found a visibility of %s, whole seconds from %s to %s are allowed",
			o.Visibility, MinVisibility, lease.MaxHold)
	case o.ProtectFor < lease.MinProtection || o.ProtectFor > lease.MaxProtection || o.ProtectFor%time.Minute != 0:
		return fmt.Errorf("start a worker: found a protection of %s, whole minutes from %s to %s are allowed",
			o.ProtectFor, lease.MinProtection, lease.MaxProtection)
	case o.RetryBase < 0 || o.RetryBase > maxRetryBase:
		return fmt.Errorf("start a worker: found a retry base of %s, at most %s is allowed", o.RetryBase, maxRetryBase)
	}
	if err := o.Billing.Check(); err != nil {
		return err
	}
	if len(o.Outlets) > MaxOutlets {
		return fmt.Errorf("start a worker: found %d outlets for reports, at most %d are allowed", len(o.Outlets),
			MaxOutlets)
	}
	for _, out := range o.Outlets {
		if out.Sink == nil || out.Every <= 0 {
			return fmt.Errorf("start a worker: found the outlet %q with a period of %s, one with a sink and a period "+
				"above 0 is allowed", out.Name, out.Every)
		}
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"time limit", o.TimeLimit}, {"warm-up", o.WarmUp}, {"idle stop", o.IdleStop}, {"grace", o.Grace},
		{"report interval", o.ReportEvery}, {"orphan patience", o.Orphaned},
	} {
		if d.value < 0 {
			return fmt.Errorf("start a worker: found a %s of %s, 0 or more is allowed", d.name, d.value)
		}
	}
	return nil
}

// wait returns how long a receive call waits for messages. While somebody may ask the worker to drain it is short,
// because a call that is cut off may have taken messages with it, so that draining waits for it to end. It is never
// more than half of the visibility, because a message may come at the start of the wait and is counted as held from
// then on.
func (o Options) wait() time.Duration {
	longest := 20 * time.Second
	if o.Reporter != nil || o.IdleStop > 0 || o.Billing.Period > 0 {
		longest = shortWait
	}
	return min(longest, o.Visibility/2).Truncate(time.Second)
}

// longestPoll bounds one receive call: a quarter of the visibility for the way there and back, so that a message can
// not be lost when the call returns.
func (o Options) longestPoll() time.Duration { return o.wait() + min(o.Visibility/4, 10*time.Second) }
