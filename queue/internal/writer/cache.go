package writer

import "github.com/muster-scale/muster/queue/internal/machine"

// cache holds contents of messages up to a budget in bytes. Once it is full, new contents are not
// added: the oldest messages are received next, so they should stay.
type cache struct {
	budget, used int64
	records      map[uint64]*machine.Record
}

// newCache returns an empty cache with a budget in bytes.
func newCache(budget int64) *cache {
	return &cache{budget: budget, records: map[uint64]*machine.Record{}}
}

// put adds a content if the budget allows.
func (c *cache) put(seq uint64, r *machine.Record) {
	if c.used+r.Size() <= c.budget {
		c.records[seq] = r
		c.used += r.Size()
	}
}

// remove removes and returns a content, or nil.
func (c *cache) remove(seq uint64) *machine.Record {
	r := c.records[seq]
	if r != nil {
		delete(c.records, seq)
		c.used -= r.Size()
	}
	return r
}

// follow applies to the cache the operations that a commit applied to the store. A moved record is
// copied, since a receiver may be reading the old one.
func (c *cache) follow(ops []machine.Op) {
	for i := range ops {
		switch o := &ops[i]; o.Kind {
		case machine.OpInsert:
			c.put(o.Row.Seq, o.Record)
		case machine.OpRemove:
			c.remove(o.Seq)
		case machine.OpMove:
			if r := c.remove(o.Seq); r != nil {
				moved := *r
				moved.Source = o.Source
				c.put(o.Row.Seq, &moved)
			}
		}
	}
}
