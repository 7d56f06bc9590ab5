package machine

import (
	"cmp"
	"fmt"
	"slices"
)

// Load rebuilds the state from a store in one scan. parse reads the attributes of a queue. Load is the inverse of the
// operations that the state emits: the result equals the state that emitted them, except for first receives not yet
// written. It also returns the secret of the receipt handles.
func Load(s Store, now int64, parse func(attributes map[string]string) (Settings, error)) (*State, []byte, error) {
	l := loading{now: now, parse: parse, same: map[string]string{}}
	if err := s.Load(l.begin, l.visit); err != nil {
		return nil, nil, err
	}
	l.finish()
	return l.st, l.secret, nil
}

// loading builds a state from the rows of a store. Messages that can be packed, of which there may be millions, are
// packed as they are read; the others are collected and sorted. Labels share their texts.
type loading struct {
	now    int64
	parse  func(attributes map[string]string) (Settings, error)
	st     *State
	secret []byte
	rows   []Row
	labels map[uint64]Label // by sequence
	same   map[string]string
}

// begin creates the queues.
func (l *loading) begin(kept Saved) error {
	l.st, l.secret = NewState(kept.Epoch), kept.Secret
	for i := range kept.Queues {
		saved := &kept.Queues[i]
		set, err := l.parse(saved.Attributes)
		if err != nil {
			return fmt.Errorf("read the attributes of queue %q: %w: %w", saved.Name, ErrCorrupt, err)
		}
		l.st.attach(newQueue(saved, set))
		l.st.lastID = max(l.st.lastID, saved.ID)
	}
	l.st.loadDedup(kept.Dedup, l.now)
	l.st.loadMoves(kept.Moves)
	return nil
}

// visit adds one message. Rows of deleted and purged queues become garbage.
func (l *loading) visit(r Row, text Label) error {
	q := l.st.IDs[r.Queue]
	if q == nil || r.Seq <= q.Saved.Floor {
		l.st.addGarbage(r.Seq)
		return nil
	}
	if q.Fifo && text.Group == "" {
		return fmt.Errorf("%w: message %d of FIFO queue %q has no group", ErrCorrupt, r.Seq, q.Saved.Name)
	}
	r.Visible -= clockSetBack(&r, l.now)
	plain := !q.Fifo && text == (Label{}) && r.untouched() && r.Visible <= l.now
	if plain && q.Packed.Push(PackedMessage{r.Seq, r.Sent}, r.Visible) {
		q.Arrivals++
		return nil
	}
	l.rows = append(l.rows, r)
	if text != (Label{}) {
		if l.labels == nil {
			l.labels = map[uint64]Label{}
		}
		l.labels[r.Seq] = Label{l.shared(text.Group), l.shared(text.Source)}
	}
	return nil
}

// shared returns one copy of equal texts.
func (l *loading) shared(text string) string {
	if have, ok := l.same[text]; ok {
		return have
	}
	l.same[text] = text
	return text
}

// finish adds the collected rows, in the order in which they became visible.
func (l *loading) finish() {
	slices.SortFunc(l.rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Visible, b.Visible), cmp.Compare(a.Seq, b.Seq))
	})
	for _, r := range l.rows {
		l.st.IDs[r.Queue].Add(Entry{Numbers: r.Numbers, Place: placeOf(r, l.now), flight: unsure}, l.labels[r.Seq])
	}
}

// loadDedup restores deduplication that has not ended. Expiry is at most DedupFor from now: a clock that was set back
// must not prolong it.
func (st *State) loadDedup(rows []DedupRow, now int64) {
	slices.SortFunc(rows, func(a, b DedupRow) int { return cmp.Compare(a.Expires, b.Expires) })
	for _, d := range rows {
		q := st.IDs[d.Queue]
		if q == nil || d.Seq <= q.Saved.Floor || d.Expires <= now {
			st.Stale = append(st.Stale, d)
			continue
		}
		q.Sends.put(d.Key, SentOnce{d.Seq, d.ID}, min(d.Expires, now+DedupFor))
	}
}

func (st *State) loadMoves(rows []MoveRow) {
	for i := range rows {
		if q := st.IDs[rows[i].Queue]; q != nil {
			q.Moves = append(q.Moves, &rows[i])
		}
	}
}

// clockSetBack returns by how much the clock was set back since r was written. Without this correction a message
// could stay hidden for as long.
func clockSetBack(r *Row, now int64) int64 {
	return max(0, max(r.Sent, r.Received)-now)
}

// placeOf returns the place of a stored message at the time now. The store keeps no place, so it follows from the
// times.
func placeOf(r Row, now int64) Place {
	switch {
	case r.Visible <= now:
		return Visible
	case r.Received > 0:
		return InFlight
	default:
		return Delayed
	}
}
