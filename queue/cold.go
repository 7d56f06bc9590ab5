package queue

// cold holds messages of a standard queue of which there is nothing to say but
// a sequence and a time: visible, never received, of no tenant, from no other
// queue. They take a few bytes each, where an entry takes over a hundred, so
// that ten million may wait. A message becomes an entry before anything is
// done with it.
type cold struct {
	runs []run // none is empty
	n    int
}

const (
	// maxRuns bounds the runs of one queue. A new one begins when the clock went
	// back; beyond the bound messages stay entries.
	maxRuns = 16
	// coldAfter is how many messages a queue has visible before what is sent to
	// it becomes cold. Below it a message is soon received, and stays an entry.
	coldAfter = 4096
)

// push takes a message in, if it can.
func (c *cold) push(m sighting, visible int64) bool {
	last := len(c.runs) - 1
	if last < 0 || !c.runs[last].push(m, visible) {
		if len(c.runs) == maxRuns || visible > m.sent {
			return false
		}
		r := run{back: []sighting{m}, n: 1, latest: never}
		if visible < m.sent {
			r.latest = visible
		}
		c.runs = append(c.runs, r)
	}
	c.n++
	return true
}

// first is the message to receive next and the number of its run, or -1. The
// order is that of the ring.
func (c *cold) first() (m sighting, visible int64, at int) {
	at = -1
	for i := range c.runs {
		r := &c.runs[i]
		f := r.first()
		if v := r.visible(f); at < 0 || v < visible || v == visible && f.seq < m.seq {
			m, visible, at = f, v, i
		}
	}
	return m, visible, at
}

// oldest is the message that was sent first, and whether there is one.
func (c *cold) oldest() (m sighting, ok bool) {
	for i := range c.runs {
		if f := c.runs[i].first(); !ok || f.sent < m.sent {
			m, ok = f, true
		}
	}
	return m, ok
}

// pop takes the first message of run at out.
func (c *cold) pop(at int) {
	c.runs[at].pop()
	c.n--
	c.drop(at)
}

// find looks a message up, and takes it out if asked to.
func (c *cold) find(seq uint64, take bool) (m sighting, visible int64, ok bool) {
	for i := range c.runs {
		r := &c.runs[i]
		if m, ok = r.find(seq, take); !ok {
			continue
		}
		visible = r.visible(m)
		if take {
			c.n--
			c.drop(i)
		}
		return m, visible, true
	}
	return m, 0, false
}

// drop forgets run at if nothing is left of it.
func (c *cold) drop(at int) {
	if c.runs[at].n == 0 {
		c.runs = append(c.runs[:at], c.runs[at+1:]...)
	}
}

// all yields every message as the entry it would be.
func (c *cold) all(yield func(*entry) bool) {
	for i := range c.runs {
		r := &c.runs[i]
		for m := range r.all {
			if e := coldEntry(m, r.visible(m)); !yield(&e) {
				return
			}
		}
	}
}

func coldEntry(m sighting, at int64) entry {
	return entry{numbers: numbers{seq: m.seq, sent: m.sent, visible: at}, place: visible}
}

// thaw makes an entry of a cold message that was taken out.
func (b *backlog) thaw(m sighting, at int64) uint32 {
	ref := b.slab.alloc(coldEntry(m, at))
	b.index[m.seq] = ref
	b.ready.insert(&b.slab, ref)
	b.ages.push(&b.slab, m.sent, ref)
	return ref
}

// freeze makes message seq cold, if it may be and enough others wait.
func (b *backlog) freeze(seq uint64, above int) {
	if b.fifo || b.visible() <= above {
		return
	}
	ref := b.index[seq]
	if ref == 0 {
		return
	}
	e := b.slab.at(ref)
	if e.place != visible || e.group != 0 || e.aside || e.unsaved || !e.untouched() || b.origins[seq] != "" {
		return
	}
	if !b.cold.push(sighting{seq, e.sent}, e.visible) {
		return
	}
	b.ready.remove(e.pos)
	b.ages.remove(&b.slab, int(e.agePos))
	delete(b.index, seq)
	b.slab.release(ref)
}

// untouched says that nothing happened to a message since it was sent.
func (n *numbers) untouched() bool {
	return n.count == 0 && n.received == 0 && n.first == 0 && n.carried == 0
}

// readyFront is the first in the ring, which a cold message enters when its
// turn comes; 0 if there is none.
func (b *backlog) readyFront() uint32 {
	ref := b.ready.front()
	m, at, run := b.cold.first()
	if run < 0 {
		return ref
	}
	if ref != 0 {
		if e := b.slab.at(ref); e.visible < at || e.visible == at && e.seq < m.seq {
			return ref
		}
	}
	b.cold.pop(run)
	return b.thaw(m, at)
}
