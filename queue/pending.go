package queue

import (
	"maps"
	"slices"
)

// pending is what the log adds to the tables: for each row the sum of what was done to it.
type pending struct {
	rows  map[uint64]pendingRow // by the sequence that the message has now, or had when it was removed
	dedup []op                  // in their order
}

// pendingRow is one message.
type pendingRow struct {
	row    row
	record *record // of a message that is in no table; nil else
	origin uint64  // else its sequence in the table
	source string  // where it was moved from
	change opKind  // opInsert, opUpdate, opMove or opRemove
}

func newPending() pending { return pending{rows: map[uint64]pendingRow{}} }

// len is how many rows will be changed.
func (p *pending) len() int { return len(p.rows) + len(p.dedup) }

func (p *pending) clear() {
	clear(p.rows)
	clear(p.dedup)
	p.dedup = p.dedup[:0]
}

// add takes an operation of the log in.
func (p *pending) add(o *op) {
	switch o.kind {
	case opInsert:
		p.rows[o.row.seq] = pendingRow{row: o.row, record: o.record, change: opInsert}
	case opUpdate:
		r, ok := p.rows[o.row.seq]
		if !ok {
			r = pendingRow{origin: o.row.seq, change: opUpdate}
		}
		r.row = o.row
		p.rows[o.row.seq] = r
	case opMove:
		p.move(o)
	case opRemove:
		r, ok := p.rows[o.seq]
		switch {
		case ok && r.change == opInsert:
			delete(p.rows, o.seq) // no table ever knew it
			return
		case !ok:
			r.origin = o.seq
		}
		p.rows[o.seq] = pendingRow{origin: r.origin, change: opRemove}
	default:
		d := *o.dedup // the state uses its own again
		p.dedup = append(p.dedup, op{kind: o.kind, dedup: &d})
	}
}

func (p *pending) move(o *op) {
	r, ok := p.rows[o.seq]
	delete(p.rows, o.seq)
	switch {
	case !ok:
		r = pendingRow{origin: o.seq, change: opMove}
	case r.change == opUpdate:
		r.change = opMove
	case r.change == opInsert:
		moved := *r.record // the one before may be in use
		moved.source = o.source
		r.record = &moved
	}
	r.row, r.source = o.row, o.source
	p.rows[o.row.seq] = r
}

// dedupAfter returns the deduplication of the tables as the log leaves it.
func (p *pending) dedupAfter(tables []dedupRow) []dedupRow {
	if len(p.dedup) == 0 {
		return tables
	}
	all := make(map[dedupID]dedupRow, len(tables))
	for _, d := range tables {
		all[dedupID{d.queue, d.key}] = d
	}
	for i := range p.dedup {
		d := p.dedup[i].dedup
		id := dedupID{d.queue, d.key}
		switch old, ok := all[id]; {
		case p.dedup[i].kind == opPutDedup:
			all[id] = *d
		case ok && old.seq == d.seq:
			delete(all, id)
		}
	}
	return slices.Collect(maps.Values(all))
}

// ops yields what brings the tables up to date, in the order of the sequences.
func (p *pending) ops(yield func(*op) bool) {
	for _, seq := range slices.Sorted(maps.Keys(p.rows)) {
		r := p.rows[seq]
		o := op{kind: r.change, seq: r.origin, row: r.row, record: r.record, source: r.source}
		if !yield(&o) {
			return
		}
	}
	for i := range p.dedup {
		if !yield(&p.dedup[i]) {
			return
		}
	}
}
