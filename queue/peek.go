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

// State says where a message is.
type State string

// The states of a message; AnyState selects all of them.
const (
	AnyState     State = ""
	StateVisible State = "visible"
	StateFlight  State = "in flight"
	StateDelayed State = "delayed"
	// StateDamaged is that of a message that was set aside.
	StateDamaged State = "damaged"
)

var stateOf = map[machine.Place]State{machine.Visible: StateVisible, machine.InFlight: StateFlight,
	machine.Delayed: StateDelayed}

// Peeked is a message that was looked at and not received. It has no receipt.
type Peeked struct {
	Message
	// State is where it was.
	State State
	// VisibleAt is when it becomes, or became, visible.
	VisibleAt time.Time
	// Damaged says why the content is missing, and the id with it; nil for a message that is whole.
	Damaged *DamagedMessage
}

// MaxPeek is the largest number of messages of one Peek.
const MaxPeek = 1000

// Peek returns up to limit messages of a queue, 1 to MaxPeek, in the order in
// which they were sent, without receiving them.
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

// PeekEach calls visit with the messages of a queue that are in a state, in the
// order in which they were sent, until it returns false. None is received. One
// message at a time is in memory, besides eight bytes for each. One whose
// content is damaged comes without it. The error is
// ErrQueueNotFound, ErrInvalidParameter for a state that there is not, that of
// ctx, or ErrStorage.
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

// sequences names the messages of a queue that are in a state, in the order of
// sending.
func (s *Service) sequences(name string, in State) ([]uint64, error) {
	if in != AnyState && in != StateVisible && in != StateFlight && in != StateDelayed && in != StateDamaged {
		return nil, rules.Outside("state", rules.Clip(string(in)),
			"Must be visible, in flight, delayed or damaged, if provided.")
	}
	out, err := s.unsorted(name, in)
	slices.SortFunc(out, cmp.Compare[uint64]) // without the lock: it takes a second for ten million
	return out, err
}

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

// peekOne looks at one message; it may be gone.
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
			return p, false, err // not committed yet, or deleted meanwhile
		}
	}
	p.Message, err = messageOf(rec, d, "", fifo)
	return p, err == nil, err
}

// maxToldDamaged bounds the damaged messages that an error names.
const maxToldDamaged = 20

var errMoreDamaged = errors.New("there are more")

// exported is a line of an export; times are those of the message when it was written.
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

// exportedAttribute is an attribute that a person can read and write: only
// bytes are in base 64.
type exportedAttribute struct {
	Type   string `json:"type"`
	Value  string `json:"value,omitempty"`
	Binary []byte `json:"binary,omitempty"`
}

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

// Export writes the messages of a queue, one JSON object a line, in the order
// of sending, and returns how many it wrote. Messages in flight and delayed
// ones are among them. What is sent or deleted meanwhile may be missing. Those
// whose content is damaged are left out: then the error says which.
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
