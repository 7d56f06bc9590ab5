package muster

import (
	"context"
	"errors"
	"time"
)

// Source measures one queue. Implementations are safe for use by several goroutines.
type Source interface {
	// Observe measures the queue now. A count that cannot be had is an unknown sample with its reason; an error means
	// that nothing could be had. It never receives a message, and returns soon after ctx ends.
	Observe(ctx context.Context) (QueueObservation, error)
}

// Meter reads metrics that no queue and no fleet of ours tells. Implementations are safe for use by several goroutines.
type Meter interface {
	// Metrics reads the given metrics: of each the last [MaxMetricPoints] periods that have begun, with the instants that
	// the keeper of the metrics gave them. A metric that cannot be read is a series that is not known, with its reason; an
	// error means that none could be read. It returns soon after ctx ends, and may be asked once a second: how often it asks
	// in turn is its own business.
	Metrics(ctx context.Context, queries []MetricQuery) ([]MetricSeries, error)
}

// Policy decides how many members a fleet needs. Decide is a pure function: equal arguments give equal decisions, byte
// for byte. It reads no clock, keeps no state and starts nothing. What it cannot know becomes a hold with a reason.
type Policy interface {
	Decide(o Observation, recent Recent) Decision
}

// Fleet sizes members. Implementations are safe for use by several goroutines; the live loop has at most one write in
// flight for each fleet.
type Fleet interface {
	// Members lists what exists, with members that ended lately and why. It never guesses: what cannot be listed is an
	// error.
	Members(ctx context.Context) (Listing, error)
	// SetDesired brings the fleet to order.Desired members. It is idempotent: an order given twice changes nothing the
	// second time. It never ends a member, unless order.Shrink lets the fleet's service do so.
	SetDesired(ctx context.Context, order Order) error
}

// History keeps what was decided and why, durably and in order, one stream for each fleet. Implementations are safe for
// use by several goroutines.
type History interface {
	// Begin opens the stream of a fleet for writing and returns its position in a new epoch. From then on every other
	// writer's appends to that stream fail with [ErrConflict].
	Begin(ctx context.Context, fleet string) (Position, error)
	// Append adds the records after the given position, all or none, and returns the new position once they are durable.
	// It fails with [ErrConflict] when the stream is no longer where after says.
	Append(ctx context.Context, fleet string, after Position, records ...Record) (Position, error)
	// Read calls yield with the records of a fleet from the instant since on, oldest first, until yield returns false.
	Read(ctx context.Context, fleet string, since time.Time, yield func(Record) bool) error
}

// ErrConflict means that another controller writes the same stream of the history. Whoever gets it must stop writing to
// the fleet.
var ErrConflict = errors.New("another controller has taken over this fleet")

// Position is a place in a fleet's stream. Epochs grow with every writer, sequence numbers with every record.
type Position struct {
	Epoch int64 `json:"epoch"`
	Seq   int64 `json:"seq"`
}

// Releaser is the ability of a fleet to end named members. The members were all granted their release: they hold no
// message and take no more. Ending one that is already gone is not an error.
type Releaser interface {
	End(ctx context.Context, members []string) error
}

// Protector is the ability of a fleet to protect named members from being ended by its own service, until they are ended by
// name. Protecting one twice, or one that is gone, is no error.
type Protector interface {
	Protect(ctx context.Context, members []string) error
}

// WarmPool is the ability of a fleet to keep so many members prepared beyond its size, which are started sooner than new ones. It
// is idempotent; 0 keeps none.
type WarmPool interface {
	SetWarm(ctx context.Context, members int) error
}

// Trimmer is the ability of a fleet whose members are placed on machines of its own to end those machines that hold none and that it has
// no use for, as [Service].Spare counts them. It is idempotent.
type Trimmer interface {
	Trim(ctx context.Context) error
}

// Delegator is the ability to hand the size of a fleet to a cloud's own target tracking: it provides what is tracked, and the target.
// It is idempotent. From then on the controller sets no size.
type Delegator interface {
	HandOver(ctx context.Context, h Handover) error
}

// Notifier is the ability of a source to wake the loop when the queue changes. A wake carries no number; wakes may be
// lost, repeated or late at the cost of one poll.
type Notifier interface {
	// Wakes returns a channel that receives after changes; stop releases it.
	Wakes() (wakes <-chan struct{}, stop func())
}

// Expecter is the ability of a source, or of a fleet, that looks rarely while nothing happens: after Expect its next look is a
// fresh one, because something is said to have happened. It never blocks. Expectations may be lost or repeated at the cost of
// one look.
type Expecter interface {
	Expect()
}

// Order states the size of a fleet.
type Order struct {
	// ID derives from the recorded intent and serves as client token.
	ID string `json:"id"`
	// Desired is the absolute size.
	Desired int `json:"desired"`
	// Launch names the members that a fleet without a service of its own starts to get there. A name it already started
	// is never started again. Fleets with a service ignore the names.
	Launch []string `json:"launch,omitzero"`
	// Warm is how many of them, the first ones, are expected from the warm pool. It is told for the history alone.
	Warm int `json:"warm,omitzero"`
	// Total is how many members exist once the order is carried out: those of Desired, and those that still drain or wait for
	// their end. It is what a service of the fleet's own is set to, and zero for a fleet without one.
	Total int `json:"total,omitzero"`
	// Shrink lets the fleet's own service end members of its choice to get down to Total, those that it does not protect. It is
	// set only for fleets whose workers do not report.
	Shrink bool `json:"shrink,omitzero"`
}

// Listing is a fleet's members at one instant.
type Listing struct {
	At      time.Time `json:"at"`
	Members []Member  `json:"members"`
	// Service is what the fleet's own service says of itself; nil for a fleet without one.
	Service *Service `json:"service,omitzero"`
	// Ready is how many prepared members a warm pool can start now; nil where there is none, or where nobody can tell.
	Ready *int `json:"ready,omitzero"`
}

// Service is a service that starts and replaces the members of a fleet by itself, such as an Auto Scaling group. It names the
// members: a member that was ordered gets its name when it is first listed or reports.
type Service struct {
	// Desired is how many members the service itself aims at.
	Desired int `json:"desired"`
	// Set is the size that the service was set to, in its own units: it changes only when somebody sets it. It is nil where that
	// is not known, or where a size is never set.
	Set *int `json:"set,omitzero"`
	// Least is the smallest size that the service itself allows, in members.
	Least int `json:"least,omitzero"`
	// Spare is how many machines under the members hold none, and are not needed for as many members as the service aims at.
	Spare int `json:"spare,omitzero"`
	// Notes say, for a person, what stands in the way or may surprise, as in "launching is suspended": at most [MaxNotes], each
	// at most MaxNoteBytes long.
	Notes []string `json:"notes,omitzero"`
}

// The bounds of the notes of a service.
const (
	MaxNotes     = 16
	MaxNoteBytes = 400
)

// Member is one member as the fleet lists it.
type Member struct {
	// ID names the member; a worker reports the same in [Report].Member.
	ID string `json:"id"`
	// LaunchedAt is when it was ordered.
	LaunchedAt time.Time `json:"launched_at"`
	// Ended is true when it exists no more; Failure then says why, and is empty for an orderly end.
	Ended   bool   `json:"ended,omitzero"`
	Failure string `json:"failure,omitzero"`
	// Serving is true while the fleet's own service says that it is in service; nobody but its worker can say that it takes
	// messages, so it counts only where workers do not report.
	Serving bool `json:"serving,omitzero"`
	// Exposed is true while the fleet's own service may end it, whatever it does, because nothing protects it.
	Exposed bool `json:"exposed,omitzero"`
	// Tier says whether it came from a warm pool; it is empty where the fleet has none, or does not know.
	Tier Tier `json:"tier,omitzero"`
}

// Tier is how a member was launched: the two kinds boot in times of their own.
type Tier string

// The tiers.
const (
	// Warm: it was prepared in a warm pool.
	Warm Tier = "warm"
	// Cold: it was started anew.
	Cold Tier = "cold"
)

// WorkerState is what a worker says of itself.
type WorkerState string

// The worker's states. A worker only ever moves Starting -> Receiving -> Draining -> Idle -> Leaving, or back from
// Draining or Idle to Receiving under a new lease epoch.
const (
	// Starting: not ready for messages yet.
	Starting WorkerState = "starting"
	// Receiving: takes messages, or is full.
	Receiving WorkerState = "receiving"
	// Draining: takes no more messages and still holds some.
	Draining WorkerState = "draining"
	// Idle: takes no more messages and holds none; the report carries a release token.
	Idle WorkerState = "idle"
	// Leaving: was granted its release, or must go at once, and ends.
	Leaving WorkerState = "leaving"
)

// Cause says why a worker stopped receiving.
type Cause string

// The causes.
const (
	// Asked: a directive told it to drain.
	Asked Cause = "asked"
	// IdleTooLong: no message came for the configured time.
	IdleTooLong Cause = "idle_too_long"
	// EndOfBilling: no message waits, and what the member is paid for ends soon.
	EndOfBilling Cause = "end_of_billing"
	// Signalled: an operator or the system told the process to end.
	Signalled Cause = "signalled"
)

// Report is what a worker says, at every change of state and at regular intervals. Silence is unknown, never idle.
type Report struct {
	Fleet  string `json:"fleet"`
	Member string `json:"member"`
	// Worker names the worker; on a member with one worker it is the member's id.
	Worker string `json:"worker"`
	// Epoch is the lease epoch: it grows each time the worker begins to receive. A token counts only in its own epoch.
	Epoch int64 `json:"epoch"`
	// Seq grows with every report of a worker process; a report that comes late or twice is ignored.
	Seq int64 `json:"seq"`
	// At is stamped by the receiver. SentAt is the worker's own clock and only a hint.
	At     time.Time   `json:"at,omitzero"`
	SentAt time.Time   `json:"sent_at,omitzero"`
	State  WorkerState `json:"state"`
	Cause  Cause       `json:"cause,omitzero"`
	// Slots is how many messages the worker handles at once, Busy how many it holds: 0 <= Busy <= Slots.
	Slots int `json:"slots"`
	Busy  int `json:"busy"`
	// HeldSeconds adds up how long each held message has been worked on.
	HeldSeconds float64 `json:"held_s,omitzero"`
	// Token is the release token, only with State Idle.
	Token string `json:"token,omitzero"`
	// Challenge repeats that of the newest answer. A token counts only together with the controller's present challenge:
	// a report from before the controller started, however late it comes, does not know that.
	Challenge int64 `json:"challenge,omitzero"`
	// Finished counts the messages that were finished and that no earlier report counted, Failed the attempts that failed.
	// Processing holds the durations of the former, Failing those of the latter. Workers from before there was Failing
	// have both in Processing.
	Finished   int64     `json:"finished,omitzero"`
	Failed     int64     `json:"failed,omitzero"`
	Processing Durations `json:"processing,omitzero"`
	Failing    Durations `json:"failing,omitzero"`
	// InSystem holds the times from sent to finished of the messages in Finished whose time of sending is known.
	InSystem Durations `json:"in_system,omitzero"`
	// Classes holds the durations in Processing of messages that have a class, by class: at most MaxClasses and one for
	// all others.
	Classes map[string]Durations `json:"classes,omitzero"`
	// Unanswered repeats what earlier reports counted for which no answer came, oldest first: at most MaxUnanswered. The
	// receiver counts those whose Seq is above that of every report it took before.
	Unanswered []Tally `json:"unanswered,omitzero"`
	// Incidents is what went wrong since the worker started, sorted by kind: at most MaxIncidents.
	Incidents []Incident `json:"incidents,omitzero"`
	// Retries are the messages that the worker gave back and that are not visible again yet; nil in reports of workers
	// that do not tell.
	Retries *Retries `json:"retries,omitzero"`
	// LastFailure is the newest failed attempt since the worker started; nil for none.
	LastFailure *LastFailure `json:"last_failure,omitzero"`
}

// Retries are the messages that one worker gave back and that are not visible again yet.
type Retries struct {
	Messages int64 `json:"messages"`
	// OldestSeconds is the time since the oldest of them was sent; 0 without any, or where that is not known.
	OldestSeconds float64 `json:"oldest_s,omitzero"`
}

// LastFailure is an attempt at a message that failed.
type LastFailure struct {
	// At is when it ended, by the worker's clock.
	At time.Time `json:"at"`
	// Error says why, at most [MaxErrorBytes] long.
	Error string `json:"error"`
}

// MaxErrorBytes bounds [LastFailure.Error].
const MaxErrorBytes = 400

// Tally is what one report counted.
type Tally struct {
	// Seq is the number of the report that counted it first.
	Seq int64 `json:"seq"`
	// The rest is as in that report.
	Finished   int64                `json:"finished,omitzero"`
	Failed     int64                `json:"failed,omitzero"`
	Processing Durations            `json:"processing,omitzero"`
	Failing    Durations            `json:"failing,omitzero"`
	InSystem   Durations            `json:"in_system,omitzero"`
	Classes    map[string]Durations `json:"classes,omitzero"`
}

const (
	// MaxUnanswered bounds the earlier reports that a report repeats.
	MaxUnanswered = 16
	// MaxClasses bounds the classes in one report, but for the one that stands for all others.
	MaxClasses = 16
	// OtherClass is the class of messages whose own has no usable name, or came when there was no room for one more.
	OtherClass = "other"
)

// Durations is a histogram of durations with logarithmic buckets; package series fills and reads it.
type Durations struct {
	Count int64 `json:"count"`
	// SumSeconds is exact.
	SumSeconds float64 `json:"sum_s"`
	// Buckets are sorted by Index, without repeats.
	Buckets []Bucket `json:"buckets,omitzero"`
}

// Bucket counts the durations of one range.
type Bucket struct {
	Index int   `json:"i"`
	Count int64 `json:"n"`
}

// Ask is what a directive tells a worker to do.
type Ask string

// The asks.
const (
	// Work: take messages; a worker that is draining or idle begins to receive again.
	Work Ask = "work"
	// Drain: take no more messages, finish those held, then mint a release token.
	Drain Ask = "drain"
	// Leave: the token is granted; end.
	Leave Ask = "leave"
)

// Directive is the reply to a report.
type Directive struct {
	Ask Ask `json:"ask"`
	// Token is the granted token with Leave; a worker obeys Leave only for the token it holds. With Work it is the token that
	// is refused: the controller that made the challenge never grants it any more.
	Token string `json:"token,omitzero"`
	// Challenge is a number that the controller made when it first heard of the worker, to be repeated in reports. It is
	// below 2^53.
	Challenge int64 `json:"challenge,omitzero"`
	// ReportWithin is how soon the worker should report again, in nanoseconds; zero leaves it to the worker.
	ReportWithin time.Duration `json:"report_within_ns,omitzero"`
}

// RecordKind tells the records of the history apart.
type RecordKind string

// The kinds of records.
const (
	// Decided holds an observation and the decision made from it.
	Decided RecordKind = "decided"
	// Intended holds an effect on the fleet that is about to be tried.
	Intended RecordKind = "intended"
	// Resulted holds how an intended effect ended.
	Resulted RecordKind = "resulted"
	// Learned holds durations that were measured.
	Learned RecordKind = "learned"
	// Changed holds a change of one member, as in "m3 took its first message".
	Changed RecordKind = "changed"
)

// Record is one entry of the history.
type Record struct {
	// Position is set by the history.
	Position Position   `json:"position,omitzero"`
	At       time.Time  `json:"at"`
	Kind     RecordKind `json:"kind"`
	// Body is JSON; package controller defines one shape for each kind.
	Body []byte `json:"-"`
	// Shared is JSON that many records have in common, such as a policy's parameters: the history keeps each distinct
	// value once, by the hash of its content. It may be empty.
	Shared []byte `json:"-"`
}
