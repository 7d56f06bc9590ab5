package worker

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/muster-scale/muster/worker/lease"
	"github.com/muster-scale/muster/worker/protocol"
)

const (
	// MaxSlots bounds the messages in progress at one worker.
	MaxSlots = 1000
	// MinVisibility is the shortest visibility timeout that can be extended in time.
	MinVisibility = 2 * time.Second
	// maxRetryBase keeps the longest back-off within MaxHold.
	maxRetryBase = 20 * time.Minute
	// maxAttempts bounds Options.MaxAttempts.
	maxAttempts = 1000
	// MaxDestinations bounds Options.Destinations.
	MaxDestinations = 8
	// receivesPerAttempt is how many receives are allowed for each attempt, because other machines count theirs.
	receivesPerAttempt = 5
)

// Reporter sends reports to the controller and returns its directives. Report returns soon after ctx ends. Run makes
// the next call when one has ended or after five seconds, and cancels a call only after 80 seconds, so several calls
// may run at a time.
type Reporter interface {
	Report(ctx context.Context, r protocol.Report) (protocol.Directive, error)
}

// Attempts counts how often work on each message began. Several goroutines use an implementation; [ledger.Ledger] is
// one. When a call fails, the work goes on with the queue's own receive count.
type Attempts interface {
	// Begin counts an attempt at m that is about to begin, and returns the number of attempts including it. It returns
	// only once the count would survive this process.
	Begin(ctx context.Context, m Message) (int, error)
	// GiveBack removes the last attempt at m from the count: it was interrupted.
	GiveBack(ctx context.Context, m Message) error
	// Forget removes m, which is settled.
	Forget(ctx context.Context, m Message) error
}

// DeadLetters stores the messages without an attempt left. Several goroutines use an implementation; [sqsqueue.SQS] is
// one. Keep returns when the message is stored durably. It may be called again for the same message.
type DeadLetters interface {
	Keep(ctx context.Context, m Message) error
}

// DeadLettersByID is an optional ability of [DeadLetters]: it returns the id under which a message is stored.
type DeadLettersByID interface {
	KeepAs(ctx context.Context, m Message) (id string, err error)
}

// Failures gets failed attempts. Several goroutines use an implementation; its methods must not block.
type Failures interface {
	// Failed is called after an attempt failed or lost its lease, once the queue has been told.
	Failed(f Failure)
	// Settled is called for a message that succeeded and was received before.
	Settled(m Message)
}

// Failure is a failed attempt at a message.
type Failure struct {
	// Message is the message, with the number of the attempt.
	Message Message
	// At is when the attempt ended, Took how long the work took, and Err why it failed: an [*ExitError] for a command.
	At   time.Time
	Took time.Duration
	Err  error
	// Lost says that the lease on the message was lost. Otherwise the next attempt comes after Again.
	Lost  bool
	Again time.Duration
	// DeadLetter says that the message was moved to the dead letters, under the id DeadLetterID; empty if unknown.
	DeadLetter   bool
	DeadLetterID string
}

// Readiness says whether work can begin: its program may have to start first. Several goroutines use an implementation.
type Readiness interface {
	// Ready returns how many calls can run at once now, including running ones. While it is 0, nothing is received.
	Ready() int
	// Changed returns the same channel each time; it receives after Ready has changed.
	Changed() <-chan struct{}
}

// Hindered is an optional ability of a [Readiness]: it says why work cannot begin, beyond a normal start. Changed
// receives when this changes, too.
type Hindered interface {
	// Hindered returns nil while work can begin.
	Hindered() error
}

// Options say what a worker does. Queue and either Do or DoBatch are required; every other zero value has a default.
type Options struct {
	// Queue is where messages come from.
	Queue Queue
	// Do does the work for one message. Several goroutines call it, at most Slots at a time. The message is deleted
	// when it returns nil, and retried later when it returns an error. It must return soon after ctx ends. The cause of
	// ctx is then [ErrLeaseLost], [ErrStopped] or [ErrTimeLimit].
	Do func(ctx context.Context, m Message) error
	// DoBatch does the work for several messages, 1 to Batch, in place of Do. It returns an error or nil for each, in
	// their order; a nil slice means that all succeeded. A batch never holds two messages of one FIFO group. The
	// context ends for all when it must end for one.
	DoBatch func(ctx context.Context, batch []Message) []error
	// Batch is how many messages DoBatch gets at most: 1 to 10, by default 1. A receive call requests so many. No
	// message waits for others to fill a batch.
	Batch int
	// Readiness says whether calls can begin; nil means always.
	Readiness Readiness

	// TimeLimit is how long a call may take; 0 means as long as a message can stay in flight. After it, the context
	// ends with [ErrTimeLimit], and messages without a result have failed.
	TimeLimit time.Duration
	// Attempts counts attempts beyond the life of the worker; nil uses the queue's receive count.
	Attempts Attempts
	// MaxAttempts is after how many failed attempts a message goes to DeadLetters instead of back to the queue: 0
	// (never) to 1000. A message that was received more than 5 times as often goes there, too, because other machines
	// may have counted its attempts.
	MaxAttempts int
	// DeadLetters stores messages without an attempt left. It is required with MaxAttempts.
	DeadLetters DeadLetters

	// Failures gets failed attempts, which are then logged at debug level only; nil is allowed.
	Failures Failures

	// ClassAttribute names the attribute whose text is the class of a message. Reports then also hold the durations of
	// each class. Empty means no classes.
	ClassAttribute string

	// Fleet, Member and Worker name the worker in its reports. An empty Worker is named as its member.
	Fleet, Member, Worker string
	// Slots is how many calls of Do or DoBatch run at once: 1 to MaxSlots, by default 1. Reports state Slots times
	// Batch, which is at most MaxSlots too.
	Slots int
	// Visibility is the visibility timeout of a receive and of each extension, in whole seconds from MinVisibility to
	// MaxHold, by default 30 s.
	Visibility time.Duration
	// RetryBase is how long a message stays hidden after its first failure; see [lease.Backoff]. At most 20 minutes, by
	// default 30 s.
	RetryBase time.Duration

	// WarmUp delays the first receive, to show and test slow boots.
	WarmUp time.Duration
	// IdleStop is how long the worker may be without a message before it stops receiving; 0 means forever.
	IdleStop time.Duration
	// Billing describes the periods for which the member is paid. By default its Start is the start of the worker and
	// its Margin two minutes. A worker that is idle shortly before a period ends stops receiving and becomes ready to
	// stop, once in each period.
	Billing lease.Billing
	// Grace is how long an operator's stop, or a notice of an end at an unknown time, waits for messages in progress; 0
	// means as long as they need. Then the work is stopped, which takes a command up to five seconds, and its messages
	// return to the queue, visible at once.
	Grace time.Duration

	// Reporter is the controller; nil means none: then the worker ends as soon as it is idle.
	Reporter Reporter
	// ReportEvery is the interval between reports while nothing changes, by default 1 s.
	ReportEvery time.Duration
	// Orphaned is how long an idle worker waits for a controller that does not answer before it ends by itself, by
	// default 5 minutes. A receiving worker ends, too, when neither its queue nor its controller can be reached for
	// that long.
	Orphaned time.Duration

	// Destinations get digests of the worker's state, and answer nothing: at most MaxDestinations. They never delay the
	// work: a failed digest is logged, counted and retried later.
	Destinations []Destination

	// Notices tell the worker that its machine or task will end. It then receives no more messages, uses the remaining
	// time, and returns unfinished messages before the end.
	Notices []Notices
	// Hook delays the end of the machine while the worker finishes, from a notice that the machine waits, and completes
	// then; nil means none. After a release, Run waits up to a quarter of an hour for the machine to end, unless its
	// context ends.
	Hook Hook
	// MachineShared is set when the machine hosts other members, too. The release of one does not end the machine, and
	// Run does not wait for that.
	MachineShared bool
	// Protection protects the worker's member from scale-in while the worker is not idle; nil means none. Without it in
	// force, no message is received.
	Protection Protection
	// ProtectFor is the term of the protection, which is renewed after a third of it: whole minutes from MinProtection
	// to MaxProtection, by default 15 minutes, or Visibility if that is longer.
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
		return fmt.Errorf("start a worker: found neither Do nor DoBatch, one of them is required")
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
	if len(o.Destinations) > MaxDestinations {
		return fmt.Errorf("start a worker: found %d destinations of reports, at most %d are allowed",
			len(o.Destinations),
			MaxDestinations)
	}
	for _, out := range o.Destinations {
		if out.Sink == nil || out.Every <= 0 {
			return fmt.Errorf("start a worker: found the destination %q with a period of %s, one with a sink and a "+
				"period "+
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

// wait returns how long a receive call waits for messages. It is short while the worker may have to drain: a cancelled
// call may have received messages, so draining waits for the call to end. It is at most half of the visibility timeout,
// because a message may come at the start of the wait, and its lease counts from there.
func (o Options) wait() time.Duration {
	longest := 20 * time.Second
	if o.Reporter != nil || o.IdleStop > 0 || o.Billing.Period > 0 {
		longest = shortWait
	}
	return min(longest, o.Visibility/2).Truncate(time.Second)
}

// longestPoll bounds one receive call. It adds a quarter of the visibility timeout for the network, so that a message
// cannot be lost by the time the call returns.
func (o Options) longestPoll() time.Duration { return o.wait() + min(o.Visibility/4, 10*time.Second) }

// DefaultMember returns the id of this worker's member: MUSTER_MEMBER, or else host name and process id.
func DefaultMember() string {
	if m := os.Getenv("MUSTER_MEMBER"); m != "" {
		return m
	}
	host, err := os.Hostname()
	if err != nil {
		host = "worker"
	}
	return host + "-" + strconv.Itoa(os.Getpid())
}
