package muster

import (
	"fmt"
	"time"

	"github.com/muster-scale/muster/internal/render"
)

// Expected is what running trees are expected to send to a fleet's queues before it is there: nodes that are worked on
// name children, and how many is told by others of their depth that are done. No Expected at all says that no tree
// runs.
type Expected struct {
	// At is when the trees were read.
	At time.Time `json:"at"`
	// Known is false while the trees cannot be read; Reason then says why, and all else is zero.
	Known  bool   `json:"known"`
	Reason string `json:"reason,omitzero"`
	// Trees counts those that run, Open their nodes that are neither done nor failed. Of these, Held wait in the store
	// and are sent as others end.
	Trees int     `json:"trees"`
	Open  float64 `json:"open"`
	Held  float64 `json:"held,omitzero"`
	// Young counts the trees of which nothing is known but the root: it is open, has named nobody, no earlier
	// tree tells, and no limit of nodes at once.
	Young int `json:"young,omitzero"`
	// Levels are first the messages that come when the nodes end that are in the queue or in work now, then those that
	// come when these end, and so on; at most [MaxLevels]. They are cautious: what few nodes show counts for less than
	// their mean.
	Levels []ExpectedLevel `json:"levels,omitzero"`
	// Perhaps is how many more messages the first level may have: by the mean, and where none of a depth is done yet,
	// by that of the depth above. It is a reason to keep workers, and none to launch any.
	Perhaps float64 `json:"perhaps,omitzero"`
}

// ExpectedLevel is one level of messages to come.
type ExpectedLevel struct {
	// Parents is how many nodes name them, Messages how many there are.
	Parents  float64 `json:"parents"`
	Messages float64 `json:"messages"`
}

// MaxLevels bounds the levels in an [Expected].
const MaxLevels = 8

// None tells whether no tree runs, as far as is known.
func (e *Expected) None() bool { return e == nil }

// Next returns how many messages come when the nodes end that are in the queue or in work now.
func (e *Expected) Next() float64 {
	if len(e.Levels) == 0 {
		return 0
	}
	return e.Levels[0].Messages
}

// Branching returns how many messages each of their parents sends; 0 where none is expected.
func (e *Expected) Branching() float64 {
	if len(e.Levels) == 0 || e.Levels[0].Parents < 1e-3 { // less is no node
		return 0
	}
	return e.Levels[0].Messages / e.Levels[0].Parents
}

// Fresh returns e, or unknown in its place when it is older than maxAge at now or comes from more than maxAge in the
// future.
func (e Expected) Fresh(now time.Time, maxAge time.Duration) Expected {
	if !e.Known {
		return e
	}
	age := now.Sub(e.At)
	if age <= maxAge && age >= -maxAge {
		return e
	}
	return Expected{At: e.At, Reason: fmt.Sprintf(
		"the trees were last read %s ago, at most %s is allowed", render.Rounded(age), render.Rounded(maxAge))}
}
