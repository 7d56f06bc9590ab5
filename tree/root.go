package tree

import (
	"fmt"
	"time"
)

// RootState is what a root is doing.
type RootState string

// The states of a root.
const (
	// Running roots send nodes and have them worked on.
	Running RootState = "running"
	// Paused roots keep all they know, and send nothing. Nodes in the queue wait for the root as soon as they are
	// received.
	Paused RootState = "paused"
	// Complete roots have no open node.
	Complete RootState = "complete"
	// Cancelled roots have no open node either: those that were open count as failed.
	Cancelled RootState = "cancelled"
	// Removed roots are a name and nothing more; stores do not list them.
	Removed RootState = "removed"
)

// Counts are numbers of nodes. Created is always the sum of the others.
type Counts struct {
	Created int64 `json:"created"`
	Done    int64 `json:"done"`
	Failed  int64 `json:"failed"`
	// Waiting nodes are not sent yet; Out are in the queue, worked on, or about to be sent.
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
	// Bred counts the children of the nodes that are done. Children that others named first are not counted again.
	Bred int64 `json:"bred"`
	// BredSquares adds up the squares of their numbers of children; those that were done before it was counted are
	// missing.
	BredSquares int64 `json:"bred_squares,omitzero"`
}

// Open returns the open nodes of the depth.
func (l Level) Open() int64 { return l.Created - l.Done - l.Failed }

// Root is one tree: everything that is known of it but its nodes.
type Root struct {
	// ID is its name; empty in the zero Root, which says that there is none.
	ID string `json:"id"`
	// Queue is the URL of the queue that its messages go to.
	Queue string    `json:"queue"`
	State RootState `json:"state"`
	// Reason says why it is paused.
	Reason string `json:"reason,omitzero"`
	Limits Limits `json:"limits"`
	// Visited says that a key names one node of the whole root, not one of each parent's: a graph's entity is visited
	// once.
	Visited bool `json:"visited"`
	// Manifest says that the root node's children are listed by the submitter; nobody works on the root node itself.
	Manifest bool `json:"manifest,omitzero"`
	// Final is the message to send when the root is complete.
	Final  Final  `json:"final,omitzero"`
	Counts Counts `json:"counts"`
	// Levels count by depth, the root node's first; at most [MaxDepth]+1.
	Levels []Level `json:"levels"`
	// Before are the levels of an earlier tree that this one is like; at most [MaxBefore].
	Before []Level `json:"before,omitzero"`
	// SlotTime is the time spent in attempts whose end was recorded.
	SlotTime time.Duration `json:"slot_time_ns"`
	// Pace is when nodes were settled lately.
	Pace Pace `json:"pace"`
	// Round counts the submission and the retries of failures. Each round ends once, with its own completion.
	Round int `json:"round"`
	// Holding says that a retry has not named all its nodes yet. Until then the root does not complete.
	Holding bool `json:"holding,omitzero"`
	// Pending is the id of the completion that is still to be announced; empty when there is none.
	Pending     string    `json:"pending,omitzero"`
	SubmittedAt time.Time `json:"submitted_at"`
	// FinishedAt is when the last round ended; zero while one goes on.
	FinishedAt time.Time `json:"finished_at,omitzero"`
}

// Final is a message that tells of a completion.
type Final struct {
	// Queue is the URL of its queue, empty for no message.
	Queue string `json:"queue"`
	// Body is what it says, at most [MaxBody] bytes; empty stands for the [Completion] in JSON.
	Body string `json:"body,omitzero"`
}

// Completion says how a round ended. It is announced at least once; its ID tells repetitions.
type Completion struct {
	ID    string    `json:"id"`
	Root  string    `json:"root"`
	Round int       `json:"round"`
	State RootState `json:"state"` // Complete or Cancelled
	// Done and Failed add up to all nodes.
	Done   int64 `json:"done"`
	Failed int64 `json:"failed"`
	// SlotTime is that of [Root], At when the round ended.
	SlotTime time.Duration `json:"slot_time_ns"`
	At       time.Time     `json:"at"`
}

// Owing returns the completion that is still to be announced, or nothing.
func (r Root) Owing() []Completion {
	if r.Pending == "" {
		return nil
	}
	return []Completion{{
		ID: r.Pending, Root: r.ID, Round: r.Round, State: r.State, Done: r.Counts.Done, Failed: r.Counts.Failed,
		SlotTime: r.SlotTime, At: r.FinishedAt,
	}}
}

// Ended tells whether the root has no open node and none to come.
func (r Root) Ended() bool { return r.State == Complete || r.State == Cancelled }

// State is how far a node is.
type State uint8

// The states of a node. A node that is there is in one of the last five.
const (
	Absent State = iota
	// Waiting nodes are to be sent once the limits allow.
	Waiting
	// Claimed nodes are to be sent by their claimer, or were sent just now.
	Claimed
	// Sent nodes are in the queue or worked on.
	Sent
	// Done and Failed nodes are settled: nothing changes them but a retry of failures.
	Done
	Failed
)

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
	// Key is the name its parent gave it, Body what the work on it gets. The body of a node that is done is dropped.
	Key  string `json:"key"`
	Body string `json:"body,omitzero"`
	// Depth counts from 0, the root node's.
	Depth int32 `json:"depth"`
	// Attempts counts how often its work was begun and not given back.
	Attempts int32 `json:"attempts"`
	// Children counts the nodes that it was the first to name.
	Children int64 `json:"children"`
	State    State `json:"state"`
	// Claimer answers for its sending while it is claimed; the zero ID is the operator.
	Claimer ID `json:"claimer,omitzero"`
	// Reason says why the last attempt failed.
	Reason string `json:"reason,omitzero"`
}

// settled tells whether nothing may change n any more.
func (n Node) settled(r Root) bool {
	return n.State == Done || n.State == Failed || r.State == Cancelled
}

// buckets and bucketWidth are what [Pace] covers: two minutes.
const (
	buckets     = 12
	bucketWidth = 10 * time.Second
)

// Pace counts the nodes settled in each ten seconds of the last two minutes.
type Pace struct {
	// Newest is the start of the newest ten seconds, in units of ten seconds since 1970.
	Newest int64 `json:"newest"`
	// Settled counts by ten seconds, the newest first.
	Settled [buckets]int64 `json:"settled"`
}

// add counts a node settled at an instant. Clocks of several machines differ: what comes late counts for its own time,
// or as the oldest.
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

// PerSecond returns how many nodes were settled in a second, over the whole two minutes before at or since the
// submission when that is later. It is false while less than a second is known.
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
