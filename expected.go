package muster

import (
	"fmt"
	"time"

	"github.com/muster-scale/muster/internal/render"
)

// Expected is the forecast of the messages that running trees will send to a fleet's queues. A tree is recursive work,
// see package tree: each node in progress may name children, and the forecast learns from finished nodes of the same
// depth how many that will be. A nil *Expected means that no tree runs.
type Expected struct {
	// At is when the trees were read.
	At time.Time `json:"at"`
	// Known is false while the trees cannot be read. Reason then says why, and all other fields are zero.
	Known  bool   `json:"known"`
	Reason string `json:"reason,omitzero"`
	// Trees counts the running trees, Open their nodes that are neither done nor failed. Held counts the open nodes
	// that still wait in the store: they are sent as other nodes end.
	Trees int     `json:"trees"`
	Open  float64 `json:"open"`
	Held  float64 `json:"held,omitzero"`
	// Young counts the trees of which only the open root is known: it has named no child, no earlier tree tells how
	// many to expect, and no limit bounds the nodes that may be open at once.
	Young int `json:"young,omitzero"`
	// Levels are generations of messages to come. The first level is sent when the nodes end that are in a queue or in
	// progress now, the second when those of the first end, and so on; at most [MaxLevels]. The numbers are cautious:
	// depths with few finished nodes count for less than their mean.
	Levels []ExpectedLevel `json:"levels,omitzero"`
	// Perhaps is how many more messages the first level may have. It is computed with the plain mean, and for a depth
	// without a finished node with the mean of the depth above. It justifies keeping workers, never launching any.
	Perhaps float64 `json:"perhaps,omitzero"`
}

// ExpectedLevel is one generation of messages to come.
type ExpectedLevel struct {
	// Parents is the number of nodes that will send them, Messages the number of messages. Both are means, not whole
	// numbers.
	Parents  float64 `json:"parents"`
	Messages float64 `json:"messages"`
}

// MaxLevels bounds the levels in an [Expected].
const MaxLevels = 8

// None tells whether no tree runs. It is false while the trees cannot be read. e may be nil.
func (e *Expected) None() bool { return e == nil }

// Next returns how many messages are sent when the nodes end that are in a queue or in progress now. e is not nil.
func (e *Expected) Next() float64 {
	if len(e.Levels) == 0 {
		return 0
	}
	return e.Levels[0].Messages
}

// Branching returns the mean number of messages per parent in the first level; 0 if none is expected. e is not nil.
func (e *Expected) Branching() float64 {
	if len(e.Levels) == 0 || e.Levels[0].Parents < 1e-3 { // a rounding error, not a node
		return 0
	}
	return e.Levels[0].Messages / e.Levels[0].Parents
}

// Fresh returns e, or an unknown Expected in its place when e was read more than maxAge before or after now.
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
