package machine

// Cold holds messages of a standard queue of which there is nothing to say but
// a sequence and a time: visible, never received, of no tenant, from no other
// queue. They take a few bytes each, where an entry takes over a hundred, so
// that ten million may wait. A message becomes an entry before anything is
// done with it.
type Cold struct {
	Runs []run // none is empty
	N    int
}

const (
	// MaxRuns bounds the runs of one queue. A new one begins when the clock went
	// back; beyond the bound messages stay entries.
	MaxRuns = 16
	// ColdAfter is how many messages a queue has visible before what is sent to
	// it becomes cold. Below it a message is soon received, and stays an entry.
	ColdAfter = 4096
)

// Push takes a message in, if it can.
func (c *Cold) Push(m Sighting, visible int64) bool {
	last := len(c.Runs) - 1
	if last < 0 || !c.Runs[last].push(m, visible) {
		if len(c.Runs) == MaxRuns || visible > m.Sent {
			return false
		}
		r := run{back: []Sighting{m}, n: 1, latest: Never}
		if visible < m.Sent {
			r.latest = visible
		}
		c.Runs = append(c.Runs, r)
	}
	c.N++
	return true
}

// First is the message to receive next and the number of its run, or -1. The
// order is that of the ring.
func (c *Cold) First() (m Sighting, visible int64, at int) {
	at = -1
	for i := range c.Runs {
		r := &c.Runs[i]
		f := r.first()
		if v := r.visible(f); at < 0 || v < visible || v == visible && f.Seq < m.Seq {
			m, visible, at = f, v, i
		}
	}
	return m, visible, at
}

// Oldest is the message that was sent first, and whether there is one.
func (c *Cold) Oldest() (m Sighting, ok bool) {
	for i := range c.Runs {
		if f := c.Runs[i].first(); !ok || f.Sent < m.Sent {
			m, ok = f, true
		}
	}
	return m, ok
}

// Pop takes the first message of run at out.
func (c *Cold) Pop(at int) {
	c.Runs[at].pop()
	c.N--
	c.drop(at)
}

// Find looks a message up, and takes it out if asked to.
func (c *Cold) Find(seq uint64, take bool) (m Sighting, visible int64, ok bool) {
	for i := range c.Runs {
		r := &c.Runs[i]
		if m, ok = r.find(seq, take); !ok {
			continue
		}
		visible = r.visible(m)
		if take {
			c.N--
			c.drop(i)
		}
		return m, visible, true
	}
	return m, 0, false
}

// drop forgets run at if nothing is left of it.
func (c *Cold) drop(at int) {
	if c.Runs[at].n == 0 {
		c.Runs = append(c.Runs[:at], c.Runs[at+1:]...)
	}
}

// All yields every message as the entry it would be.
func (c *Cold) All(yield func(*Entry) bool) {
	for i := range c.Runs {
		r := &c.Runs[i]
		for m := range r.all {
			if e := ColdEntry(m, r.visible(m)); !yield(&e) {
				return
			}
		}
	}
}

// ColdEntry is what is known of a cold message that became visible at the instant at.
func ColdEntry(m Sighting, at int64) Entry {
	return Entry{Numbers: Numbers{Seq: m.Seq, Sent: m.Sent, Visible: at}, Place: Visible}
}

// thaw makes an entry of a cold message that was taken out.
func (b *Backlog) thaw(m Sighting, at int64) uint32 {
	ref := b.Slab.alloc(ColdEntry(m, at))
	b.Index[m.Seq] = ref
	b.Ready.insert(&b.Slab, ref)
	b.ages.push(&b.Slab, m.Sent, ref)
	return ref
}

// freeze makes message seq cold, if it may be and enough others wait.
func (b *Backlog) freeze(seq uint64, above int) {
	if b.Fifo || b.Visible() <= above {
		return
	}
	ref := b.Index[seq]
	if ref == 0 {
		return
	}
	e := b.Slab.At(ref)
	if e.Place != Visible || e.Group != 0 || e.aside || e.unsaved || !e.untouched() || b.origins[seq] != "" {
		return
	}
	if !b.Cold.Push(Sighting{seq, e.Sent}, e.Visible) {
		return
	}
	b.Ready.remove(e.pos)
	b.ages.remove(&b.Slab, int(e.agePos))
	delete(b.Index, seq)
	b.Slab.release(ref)
}

// untouched says that nothing happened to a message since it was sent.
func (n *Numbers) untouched() bool {
	return n.Count == 0 && n.Received == 0 && n.First == 0 && n.Carried == 0
}

// readyFront is the first in the ring, which a cold message enters when its
// turn comes; 0 if there is none.
func (b *Backlog) readyFront() uint32 {
	ref := b.Ready.front()
	m, at, run := b.Cold.First()
	if run < 0 {
		return ref
	}
	if ref != 0 {
		if e := b.Slab.At(ref); e.Visible < at || e.Visible == at && e.Seq < m.Seq {
			return ref
		}
	}
	b.Cold.Pop(run)
	return b.thaw(m, at)
}
