package oplog

import (
	"maps"
	"slices"

	"github.com/muster-scale/muster/queue/internal/machine"
)

// Pending is the sum of the operations in a log: for each row, the one operation that brings the tables
// up to date. A message that was sent and deleted within one log leaves nothing.
type Pending struct {
	Rows  map[uint64]PendingRow // by present sequence, or the last one of a removed message
	dedup []machine.Op          // operations on deduplication, in their order
}

// PendingRow is the change of one message.
type PendingRow struct {
	Row    machine.Row
	Record *machine.Record // content of a message that is in no table; else nil
	Origin uint64          // sequence in the table, of a message that is in one
	Source string          // the queue it was moved from
	Change machine.OpKind  // OpInsert, OpUpdate, OpMove or OpRemove
}

// NewPending returns a set without changes.
func NewPending() Pending { return Pending{Rows: map[uint64]PendingRow{}} }

// Len is the number of rows to change.
func (p *Pending) Len() int { return len(p.Rows) + len(p.dedup) }

// Clear removes all changes, after a transaction wrote them.
func (p *Pending) Clear() {
	clear(p.Rows)
	clear(p.dedup)
	p.dedup = p.dedup[:0]
}

// Add adds an operation of the log.
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
			delete(p.Rows, o.Seq) // it never reached a table
			return
		case !ok:
			r.Origin = o.Seq
		}
		p.Rows[o.Seq] = PendingRow{Origin: r.Origin, Change: machine.OpRemove}
	default:
		d := *o.Dedup // the state reuses its row
		p.dedup = append(p.dedup, machine.Op{Kind: o.Kind, Dedup: &d})
	}
}

// move adds an OpMove. A message that is in no table keeps being an insert, under its new sequence.
func (p *Pending) move(o *machine.Op) {
	r, ok := p.Rows[o.Seq]
	delete(p.Rows, o.Seq)
	switch {
	case !ok:
		r = PendingRow{Origin: o.Seq, Change: machine.OpMove}
	case r.Change == machine.OpUpdate:
		r.Change = machine.OpMove
	case r.Change == machine.OpInsert:
		moved := *r.Record // readers may use the old record
		moved.Source = o.Source
		r.Record = &moved
	}
	r.Row, r.Source = o.Row, o.Source
	p.Rows[o.Row.Seq] = r
}

// DedupAfter returns the deduplication rows of the tables as the log changed them.
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

// Ops yields the operations that bring the tables up to date, by sequence.
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

// Highest returns the largest sequence in p, or 0.
func (p *Pending) Highest() (last uint64) {
	for seq := range p.Rows {
		last = max(last, seq)
	}
	return last
}

// dedupID is the key of a deduplication row.
type dedupID struct {
	queue uint32
	key   string
}
