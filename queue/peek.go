// Looking at messages without receiving them: Peek for people, PeekEach for programs, and Export, whose
// lines Import reads.

package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/rules"
)

// State is the state of a message.
type State string

// The states of a message; AnyState selects all of them.
const (
	AnyState     State = ""
	StateVisible State = "visible"
	StateFlight  State = "in flight"
	StateDelayed State = "delayed"
	// StateDamaged is the state of a message that was set aside.
	StateDamaged State = "damaged"
)

// stateOf names the places of the state machine.
var stateOf = map[machine.Place]State{machine.Visible: StateVisible, machine.InFlight: StateFlight,
	machine.Delayed: StateDelayed}

// Peeked is a message that was read without being received. It has no receipt.
type Peeked struct {
	Message
	// State is the state of the message when it was read.
	State State
	// VisibleAt is the time at which the message becomes, or became, visible.
	VisibleAt time.Time
	// Damaged says why content and id are missing; nil for an intact message.
	Damaged *DamagedMessage
}

// MaxPeek is the largest number of messages of one Peek.
const MaxPeek = 1000

// Peek returns up to limit messages of a queue that are in a state, in send order, without receiving
// them. limit is 1 to MaxPeek. When ctx ends, the messages read so far come with its error.
func (s *Service) Peek(ctx context.Context, name string, limit int, in State) ([]Peeked, error) {
	if limit < 1 || limit > MaxPeek {
		return nil, rules.Outside("limit", limit, fmt.Sprintf("Must be between 1 and %d.", MaxPeek))
	}
	var out []Peeked
	err := s.PeekEach(ctx, name, in, func(p Peeked) bool {
		out = append(out, p)
		return len(out) < limit
	})
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	return out, err
}

// PeekEach calls visit with the messages of a queue that are in a state, in send order, until it
// returns false. No message is received. Memory holds one message at a time, and eight bytes for each
// of the queue. A damaged message comes without its content. The error is ErrQueueNotFound,
// ErrInvalidParameter for an unknown state, that of ctx, or ErrStorage.
func (s *Service) PeekEach(ctx context.Context, name string, in State, visit func(Peeked) bool) error {
	seqs, err := s.sequences(name, in)
	if err != nil {
		return err
	}
	for _, seq := range seqs {
		if err := ctx.Err(); err != nil {
			return err
		}
		p, ok, err := s.peekOne(name, seq)
		if err != nil {
			return err
		}
		if ok && (in == AnyState || p.State == in) && !visit(p) {
			return nil
		}
	}
	return ctx.Err()
}

// sequences returns the sequences of the messages that are in a state, in send order.
func (s *Service) sequences(name string, in State) ([]uint64, error) {
	if in != AnyState && in != StateVisible && in != StateFlight && in != StateDelayed && in != StateDamaged {
		return nil, rules.Outside("state", rules.Clip(string(in)),
			"Must be visible, in flight, delayed or damaged, if provided.")
	}
	out, err := s.unsorted(name, in)
	slices.SortFunc(out, cmp.Compare[uint64]) // after unlocking: ten million take a second
	return out, err
}

// unsorted collects the sequences under the lock, in no order.
func (s *Service) unsorted(name string, in State) ([]uint64, error) {
	st := s.writer.Lock()
	defer s.writer.Unlock()
	q := st.Names[name]
	if q == nil {
		return nil, rules.NoQueue(name)
	}
	q.Advance(s.writer.Tick())
	var out []uint64
	for e := range q.All {
		if in == AnyState || stateOf[e.Place] == in {
			out = append(out, e.Seq)
		}
	}
	if in == AnyState || in == StateDamaged {
		out = slices.AppendSeq(out, maps.Keys(q.Damaged))
	}
	return out, nil
}

// peekOne reads one message. ok is false if it was deleted since its sequence was collected. The
// content is read without the lock, so the state may be slightly older than the content.
func (s *Service) peekOne(name string, seq uint64) (p Peeked, ok bool, err error) {
	st := s.writer.Lock()
	var d machine.Delivery
	var fifo bool
	if q := st.Names[name]; q != nil {
		if e, found := q.Look(seq); found {
			ok, d, fifo = true, q.Delivery(&e), q.Fifo
			p.State, p.VisibleAt = stateOf[e.Place], rules.FromMillis(e.Visible)
		} else if n, aside := q.Damaged[seq]; aside {
			ok, d, fifo = true, q.Delivery(&machine.Entry{Numbers: n}), q.Fifo
			p.State, p.VisibleAt = StateDamaged, rules.FromMillis(n.Visible)
		}
	}
	rec := s.writer.Cached(seq)
	s.writer.Unlock()
	if !ok {
		return p, false, nil
	}
	if rec == nil {
		rec, err = s.contents.Record(seq)
		if found, ok := errors.AsType[*DamagedMessage](damaged(name, d, err)); ok {
			p.Message, err = messageOf(&machine.Record{}, d, "", fifo)
			p.ID, p.Damaged = "", found
			return p, err == nil, err
		}
		if rec == nil || err != nil {
			return p, false, err // not committed yet, or deleted since
		}
	}
	p.Message, err = messageOf(rec, d, "", fifo)
	return p, err == nil, err
}

// maxToldDamaged bounds the damaged messages that the error of an Export lists.
const maxToldDamaged = 20

var errMoreDamaged = errors.New("there are more")

// exported is a line of an export. Its fields are a contract: Import and users read them.
type exported struct {
	ID              string                       `json:"id"`
	Body            string                       `json:"body"`
	Attributes      map[string]exportedAttribute `json:"attributes,omitempty"`
	Trace           string                       `json:"trace,omitempty"`
	GroupID         string                       `json:"group_id,omitempty"`
	DeduplicationID string                       `json:"deduplication_id,omitempty"`
	SequenceNumber  string                       `json:"sequence_number,omitempty"`
	Source          string                       `json:"source,omitempty"`
	State           State                        `json:"state"`
	Sent            time.Time                    `json:"sent"`
	FirstReceived   time.Time                    `json:"first_received,omitzero"`
	VisibleAt       time.Time                    `json:"visible_at"`
	ReceiveCount    int                          `json:"receive_count"`
}

// exportedAttribute is an attribute that a person can read and write: only bytes are in base 64.
type exportedAttribute struct {
	Type   string `json:"type"`
	Value  string `json:"value,omitempty"`
	Binary []byte `json:"binary,omitempty"`
}

// exportAttributes returns the attributes as an export shows them.
func exportAttributes(all map[string]Attribute) map[string]exportedAttribute {
	out := map[string]exportedAttribute{}
	for name, a := range all {
		if a.IsBinary() {
			out[name] = exportedAttribute{Type: a.Type, Binary: a.Value}
		} else {
			out[name] = exportedAttribute{Type: a.Type, Value: string(a.Value)}
		}
	}
	return out
}

// importAttributes is the inverse of exportAttributes. It returns nil for no attributes.
func importAttributes(all map[string]exportedAttribute) map[string]Attribute {
	var out map[string]Attribute
	for name, a := range all {
		if out == nil {
			out = map[string]Attribute{}
		}
		out[name] = Attribute{Type: a.Type, Value: append(a.Binary, a.Value...)}
	}
	return out
}

// Export writes the messages of a queue, one JSON object a line, in send order, and returns the number
// written. It includes messages in flight and delayed ones. A message that is sent or deleted during
// the export may be missing. Damaged messages are left out, and the error lists them.
func (s *Service) Export(ctx context.Context, name string, to io.Writer) (written int, err error) {
	lines := json.NewEncoder(to)
	lines.SetEscapeHTML(false)
	var failed error
	var damaged []error
	err = s.PeekEach(ctx, name, AnyState, func(p Peeked) bool {
		if p.Damaged != nil {
			if damaged = append(damaged, p.Damaged); len(damaged) > maxToldDamaged {
				damaged = append(damaged[:maxToldDamaged], errMoreDamaged)
			}
			return true
		}
		failed = lines.Encode(exported{
			p.ID, p.Body, exportAttributes(p.Attributes), p.Trace, p.GroupID, p.DeduplicationID, p.SequenceNumber,
			p.Source,
			p.State, p.Sent.UTC(), rules.UTC(p.FirstReceived), p.VisibleAt.UTC(), p.ReceiveCount,
		})
		if failed == nil {
			written++
		}
		return failed == nil
	})
	if errors.Is(err, ErrQueueNotFound) {
		return 0, err
	}
	if err := errors.Join(append(damaged, err, failed)...); err != nil {
		return written, fmt.Errorf("export queue %s after %d messages: %w", name, written, err)
	}
	return written, nil
}
