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
	rows := loading{same: map[string]string{}}
	kept, err := s.Load(rows.visit)
	if err != nil {
		return nil, nil, err
	}
	st := newState(kept.epoch)
	for i := range kept.queues {
		saved := &kept.queues[i]
		set, err := parseSettings(saved.attributes)
		if err != nil {
			return nil, nil, fmt.Errorf("read the attributes of queue %q: %w: %w", saved.name, ErrCorruptFile, err)
		}
		st.attach(newQueue(saved, set))
		st.lastID = max(st.lastID, saved.id)
	}
	if err := rows.into(st, now); err != nil {
		return nil, nil, err
	}
	st.loadDedup(kept.dedup, now)
	st.loadMoves(kept.moves)
	return st, kept.secret, nil
}

// loading collects the rows of a store. Labels are shared: one text for each
// group and source, and nothing for rows without.
type loading struct {
	rows   []row
	labels map[uint64]label // by sequence
	same   map[string]string
}

func (l *loading) visit(r row, text label) {
	l.rows = append(l.rows, r)
	if text == (label{}) {
		return
	}
	if l.labels == nil {
		l.labels = map[uint64]label{}
	}
	l.labels[r.seq] = label{l.shared(text.group), l.shared(text.source)}
}

func (l *loading) shared(text string) string {
	if have, ok := l.same[text]; ok {
		return have
	}
	l.same[text] = text
	return text
}

// into adds the messages to st, in the order in which they became visible.
func (l *loading) into(st *state, now int64) error {
	rows := slices.DeleteFunc(l.rows, func(r row) bool {
		q := st.ids[r.queue]
		dead := q == nil || r.seq <= q.saved.floor
		if dead {
			st.garbage = append(st.garbage, r.seq)
		}
		return dead
	})
	for i := range rows {
		rows[i].visible -= clockSetBack(&rows[i], now)
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.visible, b.visible), cmp.Compare(a.seq, b.seq))
	})
	for _, r := range rows {
		q, text := st.ids[r.queue], l.labels[r.seq]
		if q.fifo && text.group == "" {
			return fmt.Errorf("%w: message %d of FIFO queue %q has no group", ErrCorruptFile, r.seq, q.saved.name)
		}
		q.add(entry{numbers: r.numbers, place: placeOf(r, now)}, text)
	}
	return nil
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
