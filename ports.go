package muster

import (
	"context"
	"errors"
	"time"
)

// Source measures one queue. Implementations are safe for use by several goroutines.
type Source interface {
	// Observe measures the queue now. A count that is not available is an unknown sample with its reason. An error
	// means that nothing is available. Observe never receives a message, and returns soon after ctx ends.
	Observe(ctx context.Context) (QueueObservation, error)
}

// Policy decides how many members a fleet needs. Decide is a pure function: equal arguments give equal decisions, byte
// for byte. It reads no clock, keeps no state and starts no goroutine. What it cannot know becomes a hold with a
// reason.
type Policy interface {
	Decide(o Observation, recent Recent) Decision
}

// Fleet sizes members. Implementations are safe for use by several goroutines; the live loop has at most one write in
// flight for each fleet.
type Fleet interface {
	// Members lists the existing members, and those that ended lately with the reason. It never guesses: if the list is
	// not available, it returns an error.
	Members(ctx context.Context) (Listing, error)
	// SetDesired brings the fleet to order.Desired members. It is idempotent: a repeated order changes nothing. It ends
	// no member, unless order.Shrink lets the fleet's own service do so.
	SetDesired(ctx context.Context, order Order) error
}

// History keeps decisions, intents and results durably and in order, one stream for each fleet. Implementations are
// safe for use by several goroutines.
type History interface {
	// Begin opens the stream of a fleet for writing and returns its position in a new epoch. From then on every other
	// writer's appends to that stream fail with [ErrConflict].
	Begin(ctx context.Context, fleet string) (Position, error)
	// Append adds the records after the given position, all or none, and returns the new position once they are
	// durable. It fails with [ErrConflict] if the stream has moved on from after, because another writer appended.
	Append(ctx context.Context, fleet string, after Position, records ...Record) (Position, error)
	// Read calls yield with the records of a fleet from the instant since on, oldest first, until yield returns false.
	Read(ctx context.Context, fleet string, since time.Time, yield func(Record) bool) error
}

// ErrConflict means that another controller writes the same stream of the history. A controller that gets it must stop
// writing to the fleet.
var ErrConflict = errors.New("another controller has taken over this fleet")

// Position is a place in a fleet's stream. The epoch grows with every writer, the sequence number with every record.
type Position struct {
	Epoch int64 `json:"epoch"`
	Seq   int64 `json:"seq"`
}

// Releaser is the ability of a fleet to end named members. All these members have their stop permit: they hold no
// message and take no more. Ending a member that is already gone is not an error.
type Releaser interface {
	End(ctx context.Context, members []string) error
}

// Protector is the ability of a fleet to protect named members from its own service until they are ended by name.
// Protecting a member twice, or one that is gone, is not an error.
type Protector interface {
	Protect(ctx context.Context, members []string) error
}

// WarmPool is the ability of a fleet to keep prepared members beyond its size, which boot sooner than new ones. SetWarm
// is idempotent; 0 keeps none.
type WarmPool interface {
	SetWarm(ctx context.Context, members int) error
}

// Trimmer is the ability of a fleet that places members on machines of its own to end the spare machines, which
// [Service].Spare counts. Trim is idempotent.
type Trimmer interface {
	Trim(ctx context.Context) error
}

// Delegator is the ability to hand the size of a fleet to a cloud's own target tracking. HandOver provides the tracked
// metric and its target, and is idempotent. From then on the controller sets no size.
type Delegator interface {
	HandOver(ctx context.Context, h Handover) error
}

// Notifier is the ability of a source to wake the loop when the queue changes. A wake carries no number. A lost,
// repeated or late wake costs at most one poll.
type Notifier interface {
	// Wakes returns a channel that receives after changes; stop releases the channel.
	Wakes() (wakes <-chan struct{}, stop func())
}

// Expecter is the ability of a source or fleet that polls rarely while it is quiet to poll sooner. After Expect its
// next reading is a fresh one, because an event announced a change. Expect never blocks. A lost or repeated call costs
// at most one poll.
type Expecter interface {
	Expect()
}

// Order states the size of a fleet.
type Order struct {
	// ID derives from the recorded intent and serves as the client token.
	ID string `json:"id"`
	// Desired is the absolute size.
	Desired int `json:"desired"`
	// Launch names the members to start, for a fleet without a service of its own. The fleet never starts a name twice.
	// Fleets with a service ignore the names.
	Launch []string `json:"launch,omitzero"`
	// Warm is how many of them, from the first on, are expected from the warm pool. Only the history uses it.
	Warm int `json:"warm,omitzero"`
	// Total is how many members exist once the order is carried out: Desired, and the members that still drain or wait
	// for their end. A fleet's own service is set to it. It is zero for a fleet without a service.
	Total int `json:"total,omitzero"`
	// Shrink lets the fleet's own service end unprotected members of its choice to get down to Total. It is set only
	// for fleets whose workers do not report.
	Shrink bool `json:"shrink,omitzero"`
}

// Listing is a fleet's members at one instant.
type Listing struct {
	At      time.Time `json:"at"`
	Members []Member  `json:"members"`
	// Service is the state of the fleet's own service; nil for a fleet without one.
	Service *Service `json:"service,omitzero"`
	// Ready is how many prepared members a warm pool can start now; nil if there is no pool or the number is unknown.
	Ready *int `json:"ready,omitzero"`
}

// Service is the state of a service that starts and replaces the members of a fleet by itself, such as an Auto Scaling
// group. The service names the members: an ordered member gets its name from the first listing or report with it.
type Service struct {
	// Desired is the number of members that the service itself aims at.
	Desired int `json:"desired"`
	// Set is the size that the service was set to, in its own units: it changes only when a client sets it. It is nil
	// if it is unknown, or if the service has no such size.
	Set *int `json:"set,omitzero"`
	// Least is the smallest size that the service itself allows, in members.
	Least int `json:"least,omitzero"`
	// Spare counts the machines that host no member and are not needed to reach Desired.
	Spare int `json:"spare,omitzero"`
	// Notes tell a person about obstacles and surprises, as in "launching is suspended": at most [MaxNotes], each at
	// most [MaxNoteBytes] long.
	Notes []string `json:"notes,omitzero"`
}

// The bounds of the notes of a service.
const (
	MaxNotes     = 16
	MaxNoteBytes = 400
)

// Member is one member as the fleet lists it.
type Member struct {
	// ID names the member. Its worker uses the same name in its reports.
	ID string `json:"id"`
	// LaunchedAt is the time of the order.
	LaunchedAt time.Time `json:"launched_at"`
	// Ended is true once the member no longer exists. Failure then says why; it is empty for an orderly end.
	Ended   bool   `json:"ended,omitzero"`
	Failure string `json:"failure,omitzero"`
	// Serving is true while the fleet's own service lists the member as in service. Only its worker knows whether it
	// takes messages, so Serving counts only where workers do not report.
	Serving bool `json:"serving,omitzero"`
	// Exposed is true while the fleet's own service may end the member even if it is busy, because nothing protects it.
	Exposed bool `json:"exposed,omitzero"`
	// Tier tells whether it came from a warm pool; it is empty if the fleet has none, or does not know.
	Tier Tier `json:"tier,omitzero"`
}

// Tier is the way a member was launched. Boot times are learned for each tier.
type Tier string

// The tiers.
const (
	// Warm: prepared in a warm pool.
	Warm Tier = "warm"
	// Cold: started from nothing.
	Cold Tier = "cold"
)

// RecordKind tells the records of the history apart.
type RecordKind string

// The kinds of records.
const (
	// Decided holds an observation and the decision made from it.
	Decided RecordKind = "decided"
	// Intended holds an effect on the fleet, before it is tried.
	Intended RecordKind = "intended"
	// Resulted holds the result of an intended effect.
	Resulted RecordKind = "resulted"
	// Learned holds measured durations.
	Learned RecordKind = "learned"
	// Changed holds a change of one member, as in "m3 took its first message".
	Changed RecordKind = "changed"
	// Overridden holds an instruction of an operator that was accepted or has ended.
	Overridden RecordKind = "overridden"
)

// Record is one entry of the history.
type Record struct {
	// Position is set by the history.
	Position Position   `json:"position,omitzero"`
	At       time.Time  `json:"at"`
	Kind     RecordKind `json:"kind"`
	// Body is JSON. Package controller defines its fields for each kind.
	Body []byte `json:"-"`
	// Shared is JSON that many records have in common, such as a policy's parameters. The history stores each distinct
	// value once, by the hash of its content. It may be empty.
	Shared []byte `json:"-"`
}
