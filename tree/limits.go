package tree

import (
	"fmt"
	"time"
	"unicode/utf8"
)

// The bounds of all sizes.
const (
	// MaxRootID and MaxKey bound names, MaxBody a node's body and MaxReason a stored reason, all in bytes. Longer
	// reasons are shortened.
	MaxRootID = 80
	MaxKey    = 1024
	MaxBody   = 64 << 10
	MaxReason = 500
	// MaxBatch bounds the children of one registration and the nodes of every other list. It keeps a step in one
	// transaction.
	MaxBatch = 100
	// MaxDepth bounds [Limits.Depth].
	MaxDepth = 1000
	// MaxBefore bounds [Root.Before].
	MaxBefore = 100
	// MaxNodes bounds [Limits.Nodes] and [Limits.FanOut].
	MaxNodes = 1_000_000_000
	// MaxAttempts bounds [Limits.Attempts].
	MaxAttempts = 1000
	// maxQueue bounds the URL of a queue.
	maxQueue = 2048
)

// Limits bound one root. Zero selects the default, unless the field says otherwise.
type Limits struct {
	// Depth is the greatest depth of a node below the root node: 1 to [MaxDepth], by default 100. -1 allows no children
	// at all. The work on a node at this depth must do everything itself.
	Depth int `json:"depth"`
	// FanOut bounds the children of one node, by default 100 000.
	FanOut int64 `json:"fan_out"`
	// Nodes bounds all nodes, by default 1 000 000.
	Nodes int64 `json:"nodes"`
	// Attempts is how often the work on a node is started before the node counts as failed, by default 5.
	Attempts int `json:"attempts"`
	// SlotTime bounds the slot time spent on the root, which is its cost; 0 means no bound. It counts attempts whose
	// end was recorded.
	SlotTime time.Duration `json:"slot_time_ns,omitzero"`
	// Parallel bounds the nodes that are in the queue or in progress; 0 means no bound.
	Parallel int64 `json:"parallel,omitzero"`
}

// WithDefaults returns l with the default for each zero field, or an error for a value out of range.
func (l Limits) WithDefaults() (Limits, error) {
	if l.Depth == 0 {
		l.Depth = 100
	}
	if l.FanOut == 0 {
		l.FanOut = 100_000
	}
	if l.Nodes == 0 {
		l.Nodes = 1_000_000
	}
	if l.Attempts == 0 {
		l.Attempts = 5
	}
	for _, r := range []struct {
		name             string
		found, low, high int64
	}{
		{"depth", int64(l.Depth), -1, MaxDepth}, {"fan-out", l.FanOut, 1, MaxNodes}, {"nodes", l.Nodes, 1, MaxNodes},
		{"attempts", int64(l.Attempts), 1, MaxAttempts}, {"parallel nodes", l.Parallel, 0, MaxNodes},
	} {
		if r.found < r.low || r.found > r.high {
			return l, fmt.Errorf("limit a tree: found %d as the limit of its %s, allowed is %d to %d", r.found, r.name,
				r.low, r.high)
		}
	}
	if l.SlotTime < 0 {
		return l, fmt.Errorf("limit a tree: found a slot time of %s, allowed is 0 (no bound) or more", l.SlotTime)
	}
	return l, nil
}

// left returns how many levels of children are allowed below a node at the given depth.
func (l Limits) left(depth int) int { return max(0, l.Depth-depth) }

// Child is a node as named by its parent.
type Child struct {
	// Key distinguishes the children of one parent, or all nodes where each is visited once: 1 to [MaxKey] bytes of
	// UTF-8.
	Key string `json:"key"`
	// Body is the input of the work on the child, at most [MaxBody] bytes. If a child is named twice, the first body
	// counts.
	Body string `json:"body,omitzero"`
}

// Check returns an error if a key or body is not allowed.
func (c Child) Check() error {
	switch {
	case c.Key == "" || len(c.Key) > MaxKey || !utf8.ValidString(c.Key):
		return fmt.Errorf("name a child: found a key of %d bytes, %.40q; allowed are 1 to %d bytes of UTF-8",
			len(c.Key), c.Key, MaxKey)
	case len(c.Body) > MaxBody:
		return fmt.Errorf("name the child %.40q: found a body of %d bytes, at most %d are allowed; put what is large "+
			"elsewhere and send its name", c.Key, len(c.Body), MaxBody)
	case !utf8.ValidString(c.Body):
		return fmt.Errorf("name the child %.40q: its body is not UTF-8, which no message may be", c.Key)
	}
	return nil
}

// CheckRootID returns an error if id is not a valid name of a root.
func CheckRootID(id string) error {
	ok := id != "" && len(id) <= MaxRootID
	for _, r := range id {
		ok = ok && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' ||
			r == '.')
	}
	if !ok {
		return fmt.Errorf("name a tree: found %.100q, allowed are 1 to %d letters, digits, dots, hyphens and "+
			"underscores", id, MaxRootID)
	}
	return nil
}

// cut shortens a reason to MaxReason bytes, at the end of a character.
func cut(reason string) string {
	if len(reason) <= MaxReason {
		return reason
	}
	end := MaxReason
	for !utf8.RuneStart(reason[end]) {
		end--
	}
	return reason[:end]
}
