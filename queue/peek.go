package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// State says where a message is.
type State string

// The states of a message; AnyState selects all of them.
const (
	AnyState     State = ""
	StateVisible State = "visible"
	StateFlight  State = "in flight"
	StateDelayed State = "delayed"
)

var stateOf = map[place]State{visible: StateVisible, inFlight: StateFlight, delayed: StateDelayed}

// Peeked is a message that was looked at and not received. It has no receipt.
type Peeked struct {
	Message
	// State is where it was.
	State State
	// VisibleAt is when it becomes, or became, visible.
	VisibleAt time.Time
}

// MaxPeek is the largest number of messages of one Peek.
const MaxPeek = 1000

// Peek returns up to limit messages of a queue, 1 to MaxPeek, in the order in
// which they were sent, without receiving them.
func (s *Service) Peek(ctx context.Context, name string, limit int, in State) ([]Peeked, error) {
	if limit < 1 || limit > MaxPeek {
		return nil, outside("limit", limit, fmt.Sprintf("Must be between 1 and %d.", MaxPeek))
	}
	seqs, err := s.sequences(name, in)
	if err != nil {
		return nil, err
	}
	var out []Peeked
	for _, seq := range seqs {
		if len(out) == limit || ctx.Err() != nil {
			break
		}
		p, ok, err := s.peekOne(name, seq)
		if err != nil {
			return nil, err
		}
		if ok && (in == AnyState || p.State == in) {
			out = append(out, p)
		}
	}
	return out, ctx.Err()
}

// sequences names the messages of a queue that are in a state, in the order of
// sending.
func (s *Service) sequences(name string, in State) ([]uint64, error) {
	if in != AnyState && in != StateVisible && in != StateFlight && in != StateDelayed {
		return nil, outside("state", clip(string(in)), "Must be visible, in flight or delayed, if provided.")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.st.names[name]
	if q == nil {
		return nil, noQueue(name)
	}
	q.advance(s.tick())
	var out []uint64
	for ref := range q.refs {
		if e := q.slab.at(ref); in == AnyState || stateOf[e.place] == in {
			out = append(out, e.seq)
		}
	}
	slices.SortFunc(out, cmp.Compare[uint64])
	return out, nil
}

// peekOne looks at one message; it may be gone.
func (s *Service) peekOne(name string, seq uint64) (p Peeked, ok bool, err error) {
	s.mu.Lock()
	var d delivery
	var fifo bool
	if q := s.st.names[name]; q != nil {
		if ref, e := q.find(seq); ref != 0 {
			ok, d, fifo = true, q.delivery(e), q.fifo
			p.State, p.VisibleAt = stateOf[e.place], fromMillis(e.visible)
		}
	}
	rec := s.cache.records[seq]
	s.mu.Unlock()
	if !ok {
		return p, false, nil
	}
	if rec == nil {
		if rec, err = s.contents.Record(seq); rec == nil || err != nil {
			return p, false, err // not committed yet, or deleted meanwhile
		}
	}
	p.Message, err = rec.message(d, "", fifo)
	return p, err == nil, err
}

// exported is a line of an export; times are those of the message when it was written.
type exported struct {
	ID              string               `json:"id"`
	Body            string               `json:"body"`
	Attributes      map[string]Attribute `json:"attributes,omitempty"`
	Trace           string               `json:"trace,omitempty"`
	GroupID         string               `json:"group_id,omitempty"`
	DeduplicationID string               `json:"deduplication_id,omitempty"`
	SequenceNumber  string               `json:"sequence_number,omitempty"`
	Source          string               `json:"source,omitempty"`
	State           State                `json:"state"`
	Sent            time.Time            `json:"sent"`
	FirstReceived   time.Time            `json:"first_received,omitzero"`
	VisibleAt       time.Time            `json:"visible_at"`
	ReceiveCount    int                  `json:"receive_count"`
}

// Export writes the messages of a queue, one JSON object a line, in the order
// of sending, and returns how many it wrote. Messages in flight and delayed
// ones are among them. What is sent or deleted meanwhile may be missing.
func (s *Service) Export(ctx context.Context, name string, to io.Writer) (written int, err error) {
	seqs, err := s.sequences(name, AnyState)
	if err != nil {
		return 0, err
	}
	lines := json.NewEncoder(to)
	lines.SetEscapeHTML(false)
	for _, seq := range seqs {
		if err := ctx.Err(); err != nil {
			return written, err
		}
		p, ok, err := s.peekOne(name, seq)
		if err != nil {
			return written, fmt.Errorf("export queue %s after %d messages: %w", name, written, err)
		}
		if !ok {
			continue
		}
		if err := lines.Encode(exported{
			p.ID, p.Body, p.Attributes, p.Trace, p.GroupID, p.DeduplicationID, p.SequenceNumber, p.Source,
			p.State, p.Sent.UTC(), utc(p.FirstReceived), p.VisibleAt.UTC(), p.ReceiveCount,
		}); err != nil {
			return written, fmt.Errorf("export queue %s after %d messages: %w", name, written, err)
		}
		written++
	}
	return written, nil
}

func utc(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}
