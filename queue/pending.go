package queue

import (
	"maps"
	"slices"

	"github.com/muster-scale/muster/queue/internal/machine"
)

// pending is what the log adds to the tables: for each row the sum of what was done to it.
type pending struct {
	rows  map[uint64]pendingRow // by the sequence that the message has now, or had when it was removed
	dedup []machine.Op          // in their order
}

// pendingRow is one message.
type pendingRow struct {
	row    machine.Row
	record *machine.Record // of a message that is in no table; nil else
	origin uint64          // else its sequence in the table
	source string          // where it was moved from
	change machine.OpKind  // opInsert, opUpdate, opMove or opRemove
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
func (p *pending) add(o *machine.Op) {
	switch o.Kind {
	case machine.OpInsert:
		p.rows[o.Row.Seq] = pendingRow{row: o.Row, record: o.Record, change: machine.OpInsert}
	case machine.OpUpdate:
		r, ok := p.rows[o.Row.Seq]
		if !ok {
			r = pendingRow{origin: o.Row.Seq, change: machine.OpUpdate}
		}
		r.row = o.Row
		p.rows[o.Row.Seq] = r
	case machine.OpMove:
		p.move(o)
	case machine.OpRemove:
		r, ok := p.rows[o.Seq]
		switch {
		case ok && r.change == machine.OpInsert:
			delete(p.rows, o.Seq) // no table ever knew it
			return
		case !ok:
			r.origin = o.Seq
		}
		p.rows[o.Seq] = pendingRow{origin: r.origin, change: machine.OpRemove}
	default:
		d := *o.Dedup // the state uses its own again
		p.dedup = append(p.dedup, machine.Op{Kind: o.Kind, Dedup: &d})
	}
}

func (p *pending) move(o *machine.Op) {
	r, ok := p.rows[o.Seq]
	delete(p.rows, o.Seq)
	switch {
	case !ok:
		r = pendingRow{origin: o.Seq, change: machine.OpMove}
	case r.change == machine.OpUpdate:
		r.change = machine.OpMove
	case r.change == machine.OpInsert:
		moved := *r.record // the one before may be in use
		moved.Source = o.Source
		r.record = &moved
	}
	r.row, r.source = o.Row, o.Source
	p.rows[o.Row.Seq] = r
}

// dedupAfter returns the deduplication of the tables as the log leaves it.
func (p *pending) dedupAfter(tables []machine.DedupRow) []machine.DedupRow {
	if len(p.dedup) == 0 {
		return tables
	}
	all := make(map[dedupID]machine.DedupRow, len(tables))
	for _, d := range tables {
		all[dedupID{d.Queue, d.Key}] = d
	}
	for i := range p.dedup {
		d := p.dedup[i].Dedup
		id := dedupID{d.Queue, d.Key}
		switch old, ok := all[id]; {
		case p.dedup[i].Kind == machine.OpPutDedup:
			all[id] = *d
		case ok && old.Seq == d.Seq:
			delete(all, id)
		}
	}
	return slices.Collect(maps.Values(all))
}

// ops yields what brings the tables up to date, in the order of the sequences.
func (p *pending) ops(yield func(*machine.Op) bool) {
	for _, seq := range slices.Sorted(maps.Keys(p.rows)) {
		r := p.rows[seq]
		o := machine.Op{Kind: r.change, Seq: r.origin, Row: r.row, Record: r.record, Source: r.source}
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
