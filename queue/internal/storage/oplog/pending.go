package oplog

import (
	"maps"
	"slices"

	"github.com/muster-scale/muster/queue/internal/machine"
)

// Pending is what the log adds to the tables: for each row the sum of what was done to it.
type Pending struct {
	Rows  map[uint64]PendingRow // by the sequence that the message has now, or had when it was removed
	dedup []machine.Op          // in their order
}

// PendingRow is one message.
type PendingRow struct {
	Row    machine.Row
	Record *machine.Record // of a message that is in no table; nil else
	Origin uint64          // else its sequence in the table
	Source string          // where it was moved from
	Change machine.OpKind  // OpInsert, OpUpdate, OpMove or OpRemove
}

// NewPending returns a set without changes.
func NewPending() Pending { return Pending{Rows: map[uint64]PendingRow{}} }

// Len is how many rows will be changed.
func (p *Pending) Len() int { return len(p.Rows) + len(p.dedup) }

// Clear forgets all changes, which the tables have now.
func (p *Pending) Clear() {
	clear(p.Rows)
	clear(p.dedup)
	p.dedup = p.dedup[:0]
}

// Add takes an operation of the log in.
func (p *Pending) Add(o *machine.Op) {
	switch o.Kind {
	case machine.OpInsert:
		p.Rows[o.Row.Seq] = PendingRow{Row: o.Row, Record: o.Record, Change: machine.OpInsert}
	case machine.OpUpdate:
		r, ok := p.Rows[o.Row.Seq]
		if !ok {
			r = PendingRow{Origin: o.Row.Seq, Change: machine.OpUpdate}
		}
		r.Row = o.Row
		p.Rows[o.Row.Seq] = r
	case machine.OpMove:
		p.move(o)
	case machine.OpRemove:
		r, ok := p.Rows[o.Seq]
		switch {
		case ok && r.Change == machine.OpInsert:
			delete(p.Rows, o.Seq) // no table ever knew it
			return
		case !ok:
			r.Origin = o.Seq
		}
		p.Rows[o.Seq] = PendingRow{Origin: r.Origin, Change: machine.OpRemove}
	default:
		d := *o.Dedup // the state uses its own again
		p.dedup = append(p.dedup, machine.Op{Kind: o.Kind, Dedup: &d})
	}
}

func (p *Pending) move(o *machine.Op) {
	r, ok := p.Rows[o.Seq]
	delete(p.Rows, o.Seq)
	switch {
	case !ok:
		r = PendingRow{Origin: o.Seq, Change: machine.OpMove}
	case r.Change == machine.OpUpdate:
		r.Change = machine.OpMove
	case r.Change == machine.OpInsert:
		moved := *r.Record // the one before may be in use
		moved.Source = o.Source
		r.Record = &moved
	}
	r.Row, r.Source = o.Row, o.Source
	p.Rows[o.Row.Seq] = r
}

// DedupAfter returns the deduplication of the tables as the log leaves it.
func (p *Pending) DedupAfter(tables []machine.DedupRow) []machine.DedupRow {
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

// Ops yields what brings the tables up to date, in the order of the sequences.
func (p *Pending) Ops(yield func(*machine.Op) bool) {
	for _, seq := range slices.Sorted(maps.Keys(p.Rows)) {
		r := p.Rows[seq]
		o := machine.Op{Kind: r.Change, Seq: r.Origin, Row: r.Row, Record: r.Record, Source: r.Source}
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

// Highest is the last sequence that is known of, or 0.
func (p *Pending) Highest() (last uint64) {
	for seq := range p.Rows {
		last = max(last, seq)
	}
	return last
}

// dedupID is what a row of the deduplication is known by.
type dedupID struct {
	queue uint32
	key   string
}
