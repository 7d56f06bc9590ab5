package queue

import (
	"cmp"
	"fmt"
	"slices"
)

// load rebuilds the state from a store in one scan. It is the inverse of the
// operations the state emits: what it builds equals what was there before, save
// for first receives that were not written yet.
func load(s store, now int64) (*state, []byte, error) {
	l := loading{now: now, same: map[string]string{}}
	if err := s.Load(l.begin, l.visit); err != nil {
		return nil, nil, err
	}
	l.finish()
	return l.st, l.secret, nil
}

// loading builds a state out of the rows of a store. Cold messages, of which
// there may be millions, go where they belong as they are read; the others are
// collected. Labels are shared: one text for each group and source, and nothing
// for rows without.
type loading struct {
	now    int64
	st     *state
	secret []byte
	rows   []row
	labels map[uint64]label // by sequence
	same   map[string]string
}

// begin makes the queues.
func (l *loading) begin(kept saved) error {
	l.st, l.secret = newState(kept.epoch), kept.secret
	for i := range kept.queues {
		saved := &kept.queues[i]
		set, err := parseSettings(saved.attributes)
		if err != nil {
			return fmt.Errorf("read the attributes of queue %q: %w: %w", saved.name, ErrCorruptFile, err)
		}
		l.st.attach(newQueue(saved, set))
		l.st.lastID = max(l.st.lastID, saved.id)
	}
	l.st.loadDedup(kept.dedup, l.now)
	l.st.loadMoves(kept.moves)
	return nil
}

func (l *loading) visit(r row, text label) error {
	q := l.st.ids[r.queue]
	if q == nil || r.seq <= q.saved.floor {
		l.st.inter(r.seq)
		return nil
	}
	if q.fifo && text.group == "" {
		return fmt.Errorf("%w: message %d of FIFO queue %q has no group", ErrCorruptFile, r.seq, q.saved.name)
	}
	r.visible -= clockSetBack(&r, l.now)
	plain := !q.fifo && text == (label{}) && r.untouched() && r.visible <= l.now
	if plain && q.cold.push(sighting{r.seq, r.sent}, r.visible) {
		q.arrivals++
		return nil
	}
	l.rows = append(l.rows, r)
	if text != (label{}) {
		if l.labels == nil {
			l.labels = map[uint64]label{}
		}
		l.labels[r.seq] = label{l.shared(text.group), l.shared(text.source)}
	}
	return nil
}

func (l *loading) shared(text string) string {
	if have, ok := l.same[text]; ok {
		return have
	}
	l.same[text] = text
	return text
}

// finish adds what was collected, in the order in which it became visible.
func (l *loading) finish() {
	slices.SortFunc(l.rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.visible, b.visible), cmp.Compare(a.seq, b.seq))
	})
	for _, r := range l.rows {
		l.st.ids[r.queue].add(entry{numbers: r.numbers, place: placeOf(r, l.now), hands: unsure}, l.labels[r.seq])
	}
}

// loadDedup takes over what is still to be remembered. A clock that was set
// back does not make it last longer.
func (st *state) loadDedup(rows []dedupRow, now int64) {
	slices.SortFunc(rows, func(a, b dedupRow) int { return cmp.Compare(a.expires, b.expires) })
	for _, d := range rows {
		q := st.ids[d.queue]
		if q == nil || d.seq <= q.saved.floor || d.expires <= now {
			st.stale = append(st.stale, d)
			continue
		}
		q.sends.put(d.key, sentOnce{d.seq, d.id}, min(d.expires, now+dedupFor))
	}
}

func (st *state) loadMoves(rows []moveRow) {
	for i := range rows {
		if q := st.ids[rows[i].queue]; q != nil {
			q.moves = append(q.moves, &rows[i])
		}
	}
}

// clockSetBack is by how much the clock was set back since r was written.
// Without this a message could stay hidden for as long.
func clockSetBack(r *row, now int64) int64 {
	return max(0, max(r.sent, r.received)-now)
}

func placeOf(r row, now int64) place {
	switch {
	case r.visible <= now:
		return visible
	case r.received > 0:
		return inFlight
	default:
		return delayed
	}
}
