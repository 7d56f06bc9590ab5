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
	var rows []row
	kept, err := s.Load(func(r row) { rows = append(rows, r) })
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
		st.attach(&queue{saved: saved, settings: set, backlog: newBacklog()})
		st.lastID = max(st.lastID, saved.id)
	}
	rows = slices.DeleteFunc(rows, func(r row) bool {
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
		q := st.ids[r.queue]
		q.add(entry{numbers: r.numbers, place: placeOf(r, now)})
	}
	return st, kept.secret, nil
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
