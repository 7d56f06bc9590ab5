package tree

import (
	"fmt"
	"time"
)

// RootState is the state of a root.
type RootState string

// The states of a root.
const (
	// Running roots send their nodes.
	Running RootState = "running"
	// Paused roots keep their account and send nothing. A node of theirs that is received waits in the store, and its
	// message is deleted.
	Paused RootState = "paused"
	// Complete roots have no open node.
	Complete RootState = "complete"
	// Cancelled roots have no open node: the nodes that were open count as failed.
	Cancelled RootState = "cancelled"
	// Removed roots only reserve their name; stores do not list them.
	Removed RootState = "removed"
)

// Counts are numbers of nodes. Created is always the sum of the others.
type Counts struct {
	Created int64 `json:"created"`
	Done    int64 `json:"done"`
	Failed  int64 `json:"failed"`
	// Waiting nodes are not sent yet. Out counts claimed and sent nodes: in the queue, in progress, or about to be
	// sent.
	Waiting int64 `json:"waiting"`
	Out     int64 `json:"out"`
}

// Open returns the nodes that are neither done nor failed.
func (c Counts) Open() int64 { return c.Waiting + c.Out }

// Level counts the nodes of one depth.
type Level struct {
	Created int64 `json:"created"`
	Done    int64 `json:"done"`
	Failed  int64 `json:"failed"`
	// Bred is the number of children of the finished nodes. A child counts for the node that named it first.
	Bred int64 `json:"bred"`
	// BredSquares is the sum of the squares of their numbers of children. Nodes finished before this field existed are
	// missing.
	BredSquares int64 `json:"bred_squares,omitzero"`
}

// Open returns the open nodes of the depth.
func (l Level) Open() int64 { return l.Created - l.Done - l.Failed }

// Root is the account of one tree, without its nodes.
type Root struct {
	// ID is the name; it is empty in the zero Root, which means that no root exists.
	ID string `json:"id"`
	// Queue is the URL of the queue for its messages.
	Queue string    `json:"queue"`
	State RootState `json:"state"`
	// Reason says why the root is paused.
	Reason string `json:"reason,omitzero"`
	Limits Limits `json:"limits"`
	// Visited makes a key name one node of the whole root instead of one of each parent: a graph in which each key is
	// visited once.
	Visited bool `json:"visited"`
	// Manifest means that the submitter lists the root node's children; no worker works on the root node.
	Manifest bool `json:"manifest,omitzero"`
	// Final is the message to send when the root is complete.
	Final  Final  `json:"final,omitzero"`
	Counts Counts `json:"counts"`
	// Levels count the nodes by depth, from the root node's on; at most [MaxDepth]+1.
	Levels []Level `json:"levels"`
	// Before are the levels of a similar earlier tree; at most [MaxBefore].
	Before []Level `json:"before,omitzero"`
	// SlotTime is the slot time of the attempts whose end was recorded.
	SlotTime time.Duration `json:"slot_time_ns"`
	// Pace counts the nodes settled lately.
	Pace Pace `json:"pace"`
	// Round numbers the submission (1) and each retry of failures. Each round ends once, with its own completion.
	Round int `json:"round"`
	// Holding is true while a retry has not named all its nodes yet. Until then the root does not complete.
	Holding bool `json:"holding,omitzero"`
	// Pending is the id of a completion that is still to be announced; empty if there is none.
	Pending     string    `json:"pending,omitzero"`
	SubmittedAt time.Time `json:"submitted_at"`
	// FinishedAt is the end of the last round; zero during a round.
	FinishedAt time.Time `json:"finished_at,omitzero"`
}

// Final is the message that is sent when a root is complete.
type Final struct {
	// Queue is the URL of its queue, empty for no message.
	Queue string `json:"queue"`
	// Body is the text of the message, at most [MaxBody] bytes; empty selects the [Completion] as JSON.
	Body string `json:"body,omitzero"`
}

// Completion is the end of a round. It is announced at least once; a receiver recognises repetitions by its ID.
type Completion struct {
	ID    string    `json:"id"`
	Root  string    `json:"root"`
	Round int       `json:"round"`
	State RootState `json:"state"` // Complete or Cancelled
	// Done and Failed add up to all nodes.
	Done   int64 `json:"done"`
	Failed int64 `json:"failed"`
	// SlotTime is that of [Root], At the end of the round.
	SlotTime time.Duration `json:"slot_time_ns"`
	At       time.Time     `json:"at"`
}

// Owing returns the completion that is still to be announced, if any.
func (r Root) Owing() []Completion {
	if r.Pending == "" {
		return nil
	}
	return []Completion{{
		ID: r.Pending, Root: r.ID, Round: r.Round, State: r.State, Done: r.Counts.Done, Failed: r.Counts.Failed,
		SlotTime: r.SlotTime, At: r.FinishedAt,
	}}
}

// Ended tells whether the round is over: no node is open and none will come.
func (r Root) Ended() bool { return r.State == Complete || r.State == Cancelled }

// State is the state of a node.
type State uint8

// The states of a node. A stored node has one of the last five.
const (
	Absent State = iota
	// Waiting nodes will be sent when the limits allow.
	Waiting
	// Claimed nodes are sent by their claimer, or were just sent.
	Claimed
	// Sent nodes are in the queue or in progress.
	Sent
	// Done and Failed nodes are settled: only a retry of failures changes them.
	Done
	Failed
)

// stateNames are the names of the states, by their value.
func stateNames() []string {
	return []string{"absent", "waiting", "claimed", "sent", "done", "failed"}
}

// String returns the state's name.
func (s State) String() string {
	if names := stateNames(); int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// MarshalText implements encoding.TextMarshaler.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *State) UnmarshalText(text []byte) error {
	for i, name := range stateNames() {
		if name == string(text) {
			*s = State(i)
			return nil
		}
	}
	return fmt.Errorf("read a node's state: found %.20q, allowed are %q", text, stateNames())
}

// Node is one node of a tree.
type Node struct {
	ID     ID `json:"id"`
	Parent ID `json:"parent"`
	// Key is the name that its parent gave it, Body the input of its work. A finished node has no body any more.
	Key  string `json:"key"`
	Body string `json:"body,omitzero"`
	// Depth counts from 0, the root node's.
	Depth int32 `json:"depth"`
	// Attempts counts the starts of its work, without those that were interrupted.
	Attempts int32 `json:"attempts"`
	// Children counts the nodes that this node was the first to name.
	Children int64 `json:"children"`
	State    State `json:"state"`
	// Claimer is the node that answers for sending this one while it is claimed; the zero ID is the operator.
	Claimer ID `json:"claimer,omitzero"`
	// Reason says why the last attempt failed.
	Reason string `json:"reason,omitzero"`
}

// settled tells whether the state of n is final in this round.
func (n Node) settled(r Root) bool {
	return n.State == Done || n.State == Failed || r.State == Cancelled
}

// Pace covers two minutes, in 12 buckets of 10 seconds.
const (
	buckets     = 12
	bucketWidth = 10 * time.Second
)

// Pace counts the nodes settled in each ten seconds of the last two minutes.
type Pace struct {
	// Newest is the start of the newest ten seconds, in units of ten seconds since 1970.
	Newest int64 `json:"newest"`
	// Settled counts by bucket, the newest first.
	Settled [buckets]int64 `json:"settled"`
}

// add counts a node settled at the given time. Clocks of several machines differ: a late call counts in its own bucket,
// or in the oldest one.
func (p Pace) add(at time.Time) Pace {
	slot := at.UnixNano() / int64(bucketWidth)
	if slot > p.Newest {
		var moved [buckets]int64
		if by := slot - p.Newest; by < buckets {
			copy(moved[by:], p.Settled[:])
		}
		p.Newest, p.Settled = slot, moved
	}
	p.Settled[min(p.Newest-slot, buckets-1)]++
	return p
}

// PerSecond returns the mean rate of settled nodes in the two minutes before at, or since the submission if that is
// later. It is false if less than a second has passed.
func (p Pace) PerSecond(submitted, at time.Time) (float64, bool) {
	oldest := (at.UnixNano()/int64(bucketWidth) - buckets + 1)
	from := time.Unix(0, oldest*int64(bucketWidth))
	if submitted.After(from) {
		from = submitted
	}
	over := at.Sub(from).Seconds()
	if over < 1 {
		return 0, false
	}
	n := int64(0)
	for i, settled := range p.Settled {
		if p.Newest-int64(i) >= oldest {
			n += settled
		}
	}
	return float64(n) / over, true
}
