package leader

import (
	"context"
	"errors"
	"time"
)

// Session shows that a controller lives. The zero value is none.
type Session struct {
	// ID is unique: a controller that was evicted gets another one.
	ID string `json:"id"`
	// Name tells people which controller it is, such as the name of its host.
	Name string `json:"name"`
	// Beat grows with every renewal, from 1 on.
	Beat int64 `json:"beat"`
}

// Claim says which session leads a fleet. The zero value is a fleet that never had a leader.
type Claim struct {
	// Holder is the ID of a session, and Name its name; both are empty for a free fleet.
	Holder string `json:"holder,omitzero"`
	Name   string `json:"name,omitzero"`
	// For is the ID of the session that should take a free fleet; empty if any may.
	For string `json:"for,omitzero"`
	// Term grows by one with every change.
	Term int64 `json:"term"`
}

// Board is what a store holds.
type Board struct {
	Sessions []Session
	// Claims are by fleet; nil if they were not read.
	Claims map[string]Claim
}

// Sessions stores sessions. Its errors are [ErrEvicted] where that is said, and otherwise failures of the store, after
// which the write may have happened.
type Sessions interface {
	// Beat writes a session if the stored one has the beat before, or if there is none and the beat is 1. Otherwise it
	// fails with ErrEvicted. A write that is repeated after a lost answer succeeds.
	Beat(ctx context.Context, s Session) error
	// Evict removes a session if it still has this beat, and fails with ErrEvicted if it was renewed or is gone.
	Evict(ctx context.Context, s Session) error
}

// Claims stores claims.
type Claims interface {
	// Take replaces the claim was of a fleet by to, and fails with [ErrTaken] if the fleet has another claim by now. A
	// write that is repeated after a lost answer succeeds.
	Take(ctx context.Context, fleet string, was, to Claim) error
	// Read reads all sessions and, if claims is true, all claims. The claims are read before the sessions, so that the
	// holder of a claim without a session was evicted.
	Read(ctx context.Context, claims bool) (Board, error)
}

// Store is where controllers agree. Implementations are safe for use by several goroutines and processes, and each
// write is seen by every later read.
type Store interface {
	Sessions
	Claims
}

// The refusals of a [Store].
var (
	// ErrEvicted means that a session is not as the writer thinks.
	ErrEvicted = errors.New("the session was renewed or removed by another controller")
	// ErrTaken means that another controller changed the claim of a fleet first.
	ErrTaken = errors.New("another controller has changed the claim on this fleet")
)

// Timing are the times of all controllers of one store, which must agree on them.
type Timing struct {
	// Lease is how long a beat must stay the same before others evict the session.
	Lease time.Duration
	// Every is the time between two beats, and between two reads.
	Every time.Duration
	// Settle is how long the sessions must have been the same before fleets are handed over to balance them.
	Settle time.Duration
}

// DefaultTiming takes over at most 3.5 s and three calls of the store after a leader's end.
func DefaultTiming() Timing {
	return Timing{Lease: 3 * time.Second, Every: 500 * time.Millisecond, Settle: 15 * time.Second}
}

// Stop is how long after the start of its last successful beat a controller acts: two thirds of the lease. The rest is
// for clocks that run at different rates, and for calls that are under way.
func (t Timing) Stop() time.Duration { return t.Lease * 2 / 3 }

// Input is what happens to a [Machine]: [Tick], [Beaten], [Found], [Evicted], [Took], [Yielded], [Want] or [Quit].
type Input interface{ input() }

// Tick says that time has passed.
type Tick struct{}

// Beaten is the result of a [Beat].
type Beaten struct {
	Session Session
	Err     error
}

// Found is the result of a [Read].
type Found struct {
	Board Board
	Err   error
}

// Evicted is the result of an [Evict].
type Evicted struct {
	Session Session
	Err     error
}

// Took is the result of a [Take].
type Took struct {
	Take
	Err error
}

// Yielded says that nothing acts for a fleet any more, after a [Yield].
type Yielded struct{ Fleet string }

// Want replaces the fleets that this controller may lead.
type Want struct{ Fleets []string }

// Quit hands all fleets over and ends the session.
type Quit struct{}

func (Tick) input()    {}
func (Beaten) input()  {}
func (Found) input()   {}
func (Evicted) input() {}
func (Took) input()    {}
func (Yielded) input() {}
func (Want) input()    {}
func (Quit) input()    {}

// Action is what a [Machine] wants to be done: [Beat], [Read], [Evict] or [Take] in the store, each answered by its
// result, and [Lead] or [Yield].
type Action interface{ action() }

// Beat renews the session.
type Beat struct{ Session Session }

// Read reads the board, with or without claims.
type Read struct{ Claims bool }

// Evict removes a session.
type Evict struct{ Session Session }

// Take changes a claim.
type Take struct {
	Fleet   string
	Was, To Claim
}

// Lead says that this controller leads a fleet from now on, until [Machine.Until].
type Lead struct{ Fleet string }

// Yield says that this controller must stop acting for a fleet, and report it with [Yielded].
type Yield struct{ Fleet string }

func (Beat) action()  {}
func (Read) action()  {}
func (Evict) action() {}
func (Take) action()  {}
func (Lead) action()  {}
func (Yield) action() {}
