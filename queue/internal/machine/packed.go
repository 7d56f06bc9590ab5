package machine

// Packed holds messages of a standard queue to which nothing happened but a send: visible, never received, of no
// tenant, from no other queue. Only sequence and time of sending are kept. They take a few bytes each, where an entry
// takes over a hundred, so that ten million messages may wait. A message becomes an entry before anything else is
// done with it.
type Packed struct {
	Runs []run // none is empty
	N    int
}

const (
	// MaxRuns bounds the runs of one queue. A new run begins when the clock was set back; beyond the bound messages
	// stay entries.
	MaxRuns = 16
	// PackAfter is the number of visible messages above which newly sent ones are packed. Below it a message is soon
	// received, and packing it would only cost time.
	PackAfter = 4096
)

// Push adds a message and says whether it could: it must fit at the end of the last run, or begin a new one.
func (c *Packed) Push(m PackedMessage, visible int64) bool {
	last := len(c.Runs) - 1
	if last < 0 || !c.Runs[last].push(m, visible) {
		if len(c.Runs) == MaxRuns || visible > m.Sent {
			return false
		}
		r := run{back: []PackedMessage{m}, n: 1, latest: Never}
		if visible < m.Sent {
			r.latest = visible
		}
		c.Runs = append(c.Runs, r)
	}
	c.N++
	return true
}

// First returns the message to receive next, when it became visible, and the index of its run; -1 if there is none.
// The order is that of the ring: by visible time, then by sequence.
func (c *Packed) First() (m PackedMessage, visible int64, at int) {
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

// Oldest returns the message that was sent first, and whether there is one.
func (c *Packed) Oldest() (m PackedMessage, ok bool) {
	for i := range c.Runs {
		if f := c.Runs[i].first(); !ok || f.Sent < m.Sent {
			m, ok = f, true
		}
	}
	return m, ok
}

// Pop removes the first message of run at.
func (c *Packed) Pop(at int) {
	c.Runs[at].pop()
	c.N--
	c.drop(at)
}

// Find returns a message and when it became visible. take also removes it.
func (c *Packed) Find(seq uint64, take bool) (m PackedMessage, visible int64, ok bool) {
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

// drop removes run at if it is empty.
func (c *Packed) drop(at int) {
	if c.Runs[at].n == 0 {
		c.Runs = append(c.Runs[:at], c.Runs[at+1:]...)
	}
}

// All yields every message as the entry it would be unpacked to.
func (c *Packed) All(yield func(*Entry) bool) {
	for i := range c.Runs {
		r := &c.Runs[i]
		for m := range r.all {
			if e := PackedEntry(m, r.visible(m)); !yield(&e) {
				return
			}
		}
	}
}

// PackedEntry returns the entry of a packed message that became visible at the time at.
func PackedEntry(m PackedMessage, at int64) Entry {
	return Entry{Numbers: Numbers{Seq: m.Seq, Sent: m.Sent, Visible: at}, Place: Visible}
}

// expand makes an entry of a message that was taken out of Packed.
func (b *Backlog) expand(m PackedMessage, at int64) uint32 {
	ref := b.Slab.alloc(PackedEntry(m, at))
	b.Index[m.Seq] = ref
	b.Ready.insert(&b.Slab, ref)
	b.ages.push(&b.Slab, m.Sent, ref)
	return ref
}

// compact packs message seq if it qualifies and more than above messages are visible. An unsaved entry does not
// qualify: packing would lose its pending row.
func (b *Backlog) compact(seq uint64, above int) {
	if b.Fifo || b.Visible() <= above {
		return
	}
	ref := b.Index[seq]
	if ref == 0 {
		return
	}
	e := b.Slab.At(ref)
	if e.Place != Visible || e.Group != 0 || e.deferred || e.unsaved || !e.untouched() || b.origins[seq] != "" {
		return
	}
	if !b.Packed.Push(PackedMessage{seq, e.Sent}, e.Visible) {
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

// readyFront returns the first message of the ring, or 0. A packed message enters the ring when its turn comes.
func (b *Backlog) readyFront() uint32 {
	ref := b.Ready.front()
	m, at, run := b.Packed.First()
	if run < 0 {
		return ref
	}
	if ref != 0 {
		if e := b.Slab.At(ref); e.Visible < at || e.Visible == at && e.Seq < m.Seq {
			return ref
		}
	}
	b.Packed.Pop(run)
	return b.expand(m, at)
}
