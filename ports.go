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
	// Append adds the records after the given position, all or none, and returns the new position once they are
	// durable. It fails with [ErrConflict] when the stream is no longer where after says.
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

// Protector is the ability of a fleet to protect named members from being ended by its own service, until they are
// ended by name. Protecting one twice, or one that is gone, is no error.
type Protector interface {
	Protect(ctx context.Context, members []string) error
}

// WarmPool is the ability of a fleet to keep so many members prepared beyond its size, which are started sooner than
// new ones. It is idempotent; 0 keeps none.
type WarmPool interface {
	SetWarm(ctx context.Context, members int) error
}

// Trimmer is the ability of a fleet whose members are placed on machines of its own to end those machines that hold
// none and that it has no use for, as [Service].Spare counts them. It is idempotent.
type Trimmer interface {
	Trim(ctx context.Context) error
}

// Delegator is the ability to hand the size of a fleet to a cloud's own target tracking: it provides what is tracked,
// and the target. It is idempotent. From then on the controller sets no size.
type Delegator interface {
	HandOver(ctx context.Context, h Handover) error
}

// Notifier is the ability of a source to wake the loop when the queue changes. A wake carries no number; wakes may be
// lost, repeated or late at the cost of one poll.
type Notifier interface {
	// Wakes returns a channel that receives after changes; stop releases it.
	Wakes() (wakes <-chan struct{}, stop func())
}

// Expecter is the ability of a source, or of a fleet, that looks rarely while nothing happens: after Expect its next
// look is a fresh one, because something is said to have happened. It never blocks. Expectations may be lost or
// repeated at the cost of one look.
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
	// Total is how many members exist once the order is carried out: those of Desired, and those that still drain or
	// wait for their end. It is what a service of the fleet's own is set to, and zero for a fleet without one.
	Total int `json:"total,omitzero"`
	// Shrink lets the fleet's own service end members of its choice to get down to Total, those that it does not
	// protect. It is set only for fleets whose workers do not report.
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

// Service is a service that starts and replaces the members of a fleet by itself, such as an Auto Scaling group. It
// names the members: a member that was ordered gets its name when it is first listed or reports.
type Service struct {
	// Desired is how many members the service itself aims at.
	Desired int `json:"desired"`
	// Set is the size that the service was set to, in its own units: it changes only when somebody sets it. It is nil
	// where that is not known, or where a size is never set.
	Set *int `json:"set,omitzero"`
	// Least is the smallest size that the service itself allows, in members.
	Least int `json:"least,omitzero"`
	// Spare is how many machines under the members hold none, and are not needed for as many members as the service
	// aims at.
	Spare int `json:"spare,omitzero"`
	// Notes say, for a person, what stands in the way or may surprise, as in "launching is suspended": at most
	// [MaxNotes], each at most MaxNoteBytes long.
	Notes []string `json:"notes,omitzero"`
}

// The bounds of the notes of a service.
const (
	MaxNotes     = 16
	MaxNoteBytes = 400
)

// Member is one member as the fleet lists it.
type Member struct {
	// ID names the member; a worker names the same in its reports.
	ID string `json:"id"`
	// LaunchedAt is when it was ordered.
	LaunchedAt time.Time `json:"launched_at"`
	// Ended is true when it exists no more; Failure then says why, and is empty for an orderly end.
	Ended   bool   `json:"ended,omitzero"`
	Failure string `json:"failure,omitzero"`
	// Serving is true while the fleet's own service says that it is in service; nobody but its worker can say that it
	// takes messages, so it counts only where workers do not report.
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
