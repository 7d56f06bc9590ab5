package writer

import "github.com/muster-scale/muster/queue/internal/machine"

// cache holds contents of messages up to a budget. What does not fit is left
// out: the oldest, which are received next, are the ones that stay.
type cache struct {
	budget, used int64
	records      map[uint64]*machine.Record
}

func newCache(budget int64) *cache {
	return &cache{budget: budget, records: map[uint64]*machine.Record{}}
}

func (c *cache) put(seq uint64, r *machine.Record) {
	if c.used+r.Size() <= c.budget {
		c.records[seq] = r
		c.used += r.Size()
	}
}

func (c *cache) remove(seq uint64) *machine.Record {
	r := c.records[seq]
	if r != nil {
		delete(c.records, seq)
		c.used -= r.Size()
	}
	return r
}

// follow does to the cache what a commit did to the store.
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
