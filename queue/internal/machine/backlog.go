package machine

// Backlog indexes the messages of one queue. Every message is in exactly one of three places, visible, delayed or in
// flight, so that each count is a length. A visible message is an entry, or packed. Messages change places only by
// enter and leave, which keep all indexes in step.
type Backlog struct {
	Fifo     bool
	Slab     slab
	Index    map[uint64]uint32 // entries by sequence
	Packed   Packed
	Ready    ring // standard queue: visible entries in receive order, except
	Deferred ring // those of noisy tenants, see fair.go
	Heads    heap // FIFO queue: the first message of each group that is not locked, by turn
	ages     heap // visible entries by time of sending
	Delayed  heap // by the time they become visible
	InFlight heap // by the time at which they become visible again
	Retries  heap // returned messages in flight, by time of sending
	Unsure   int  // messages in flight since before the queue was opened
	Groups   groups
	origins  map[uint64]string // source queues of dead letters, by sequence
	Arrivals uint64            // counts messages that became receivable; only grows
}

func newBacklog(fifo bool) *Backlog {
	return &Backlog{Fifo: fifo, Index: map[uint64]uint32{}, ages: heap{ages: true}, Retries: heap{ages: true}}
}

// worthShrinking is the number of entries above which an emptied backlog releases its memory. Maps and slabs do not
// shrink by themselves; below this size a new burst would only allocate them again.
const worthShrinking = 1 << 14

// Len is the number of messages in all places.
func (b *Backlog) Len() int { return len(b.Index) + b.Packed.N }

// Visible is the number of visible messages.
func (b *Backlog) Visible() int { return b.ages.Len() + b.Packed.N }

// Runnable is the number of receivers that could each get a message now: the visible messages, or on a FIFO queue the
// groups whose first message is visible.
func (b *Backlog) Runnable() int {
	if b.Fifo {
		return b.Heads.Len()
	}
	return b.Visible()
}

// Find returns the entry of a message and unpacks a packed one; 0 and nil if the message is not here.
func (b *Backlog) Find(seq uint64) (uint32, *Entry) {
	ref := b.Index[seq]
	if ref == 0 {
		m, at, ok := b.Packed.Find(seq, true)
		if !ok {
			return 0, nil
		}
		ref = b.expand(m, at)
	}
	return ref, b.Slab.At(ref)
}

// Look returns a copy of the entry of a message. Unlike Find it leaves a packed message packed.
func (b *Backlog) Look(seq uint64) (e Entry, ok bool) {
	if ref := b.Index[seq]; ref != 0 {
		return *b.Slab.At(ref), true
	}
	m, at, ok := b.Packed.Find(seq, false)
	return PackedEntry(m, at), ok
}

// Oldest returns time of sending and sequence of the visible message that was sent first; ok is false if no message
// is visible.
func (b *Backlog) Oldest() (sent int64, seq uint64, ok bool) {
	m, ok := b.Packed.Oldest()
	if b.ages.Len() > 0 && (!ok || b.ages.top().Key < m.Sent) {
		top := b.ages.top()
		return top.Key, b.Slab.At(top.Ref).Seq, true
	}
	return m.Sent, m.Seq, ok
}

// Label returns the label with which e was added.
func (b *Backlog) Label(e *Entry) Label {
	l := Label{Group: b.Groups.NameOf(e.Group)}
	if len(b.origins) > 0 {
		l.Source = b.origins[e.Seq]
	}
	return l
}

// Add inserts a new message in the place that e names.
func (b *Backlog) Add(e Entry, l Label) {
	e.Group, e.deferred = 0, false
	if l.Group != "" {
		e.Group = b.Groups.join(l.Group)
	}
	if l.Source != "" {
		if b.origins == nil {
			b.origins = map[uint64]string{}
		}
		b.origins[e.Seq] = l.Source
	}
	ref := b.Slab.alloc(e)
	b.Index[e.Seq] = ref
	if b.Fifo {
		b.Groups.at(e.Group).line.insert(&b.Slab, ref)
	}
	b.enter(ref)
	b.reopen(e.Group)
}

// drop removes a message from all structures. ref is invalid afterwards.
func (b *Backlog) drop(ref uint32) {
	b.leave(ref)
	e := b.Slab.At(ref)
	delete(b.Index, e.Seq)
	if len(b.origins) > 0 {
		delete(b.origins, e.Seq)
	}
	if n := e.Group; n != 0 {
		if b.Fifo {
			b.Groups.at(n).line.remove(&b.Slab, ref)
		}
		b.Groups.part(n)
		b.reopen(n)
	}
	b.Slab.release(ref)
	if b.Len() == 0 && b.Slab.next > worthShrinking {
		arrivals := b.Arrivals
		*b = *newBacklog(b.Fifo)
		b.Arrivals = arrivals
	}
}

// shift moves a message to another place, visible at the time at. A message that it puts in flight counts as
// [Received].
func (b *Backlog) shift(ref uint32, to Place, at int64) { b.shiftAs(ref, to, at, Received) }

// shiftAs is shift with a given flight state, which has a meaning only in flight.
func (b *Backlog) shiftAs(ref uint32, to Place, at int64, in FlightState) {
	b.leave(ref)
	e := b.Slab.At(ref)
	e.Place, e.Visible, e.flight = to, at, in
	b.enter(ref)
	b.reopen(e.Group)
}

// enter adds a message to the structures of its place.
func (b *Backlog) enter(ref uint32) {
	e := b.Slab.At(ref)
	switch e.Place {
	case Visible:
		if !b.Fifo {
			b.Ready.insert(&b.Slab, ref)
		}
		b.ages.push(&b.Slab, e.Sent, ref)
		b.Arrivals++
	case Delayed:
		b.Delayed.push(&b.Slab, e.Visible, ref)
	case InFlight:
		b.InFlight.push(&b.Slab, e.Visible, ref)
		switch e.flight {
		case Returned:
			b.Retries.push(&b.Slab, e.Sent, ref)
		case unsure:
			b.Unsure++
		}
		if e.Group != 0 {
			b.Groups.at(e.Group).inFlight++
		}
	}
}

// leave is the inverse of enter. It must run before place, times or flight state of the entry change.
func (b *Backlog) leave(ref uint32) {
	e := b.Slab.At(ref)
	switch e.Place {
	case Visible:
		b.leaveVisible(ref, e)
	case Delayed:
		b.Delayed.remove(&b.Slab, int(e.pos))
	case InFlight:
		b.InFlight.remove(&b.Slab, int(e.pos))
		switch e.flight {
		case Returned:
			b.Retries.remove(&b.Slab, int(e.agePos))
		case unsure:
			b.Unsure--
		}
		if e.Group != 0 {
			b.Groups.at(e.Group).inFlight--
		}
	}
}

// leaveVisible is leave for a visible message.
func (b *Backlog) leaveVisible(ref uint32, e *Entry) {
	b.ages.remove(&b.Slab, int(e.agePos))
	switch {
	case b.Fifo:
		if g := b.Groups.at(e.Group); g.head == ref {
			b.Heads.remove(&b.Slab, int(e.pos))
			g.head = 0
		}
	case e.deferred:
		b.Deferred.remove(e.pos)
		e.deferred = false
	default:
		b.Ready.remove(e.pos)
	}
}

// reopen updates the head of group n of a FIFO queue after one of its messages changed. A group may be received from
// while its first message is visible. When it becomes so, it takes its turn after the other groups.
func (b *Backlog) reopen(n uint32) {
	if !b.Fifo {
		return
	}
	g, head := b.Groups.at(n), uint32(0)
	if g.line.len() > 0 {
		if front := g.line.at(0); b.Slab.At(front).Place == Visible {
			head = front
		}
	}
	if g.head == head {
		return
	}
	if g.head != 0 {
		b.Heads.remove(&b.Slab, int(b.Slab.At(g.head).pos))
	}
	if g.head = head; head != 0 {
		b.Arrivals++
		b.Heads.push(&b.Slab, int64(b.Arrivals), head)
	}
}

// Advance makes every due message visible, in the order of the due times.
func (b *Backlog) Advance(now int64) {
	for {
		from := &b.InFlight
		if from.Len() == 0 || b.Delayed.Len() > 0 && b.Delayed.top().Key < from.top().Key {
			from = &b.Delayed
		}
		if from.Len() == 0 || from.top().Key > now {
			return
		}
		b.shift(from.top().Ref, Visible, from.top().Key)
	}
}

// next returns the time at which the next message becomes visible or outlives its retention; [Never] if there is
// none. Only visible messages expire, so messages in flight do not count for retention.
func (b *Backlog) next(retention int64) int64 {
	at := int64(Never)
	if b.InFlight.Len() > 0 {
		at = min(at, b.InFlight.top().Key)
	}
	if b.Delayed.Len() > 0 {
		at = min(at, b.Delayed.top().Key)
	}
	if sent, _, ok := b.Oldest(); ok {
		at = min(at, sent+retention)
	}
	return at
}

// All yields every message: the packed ones, then the entries. A yielded entry must not be kept or changed.
func (b *Backlog) All(yield func(*Entry) bool) {
	for e := range b.Packed.All {
		if !yield(e) {
			return
		}
	}
	b.entries(yield)
}

// entries yields every message that is not packed, the visible ones first.
func (b *Backlog) entries(yield func(*Entry) bool) {
	for _, r := range []*ring{&b.Ready, &b.Deferred} {
		for pos := r.Head; pos != r.Tail; pos++ {
			if ref := *r.Slot(pos); ref != 0 && !yield(b.Slab.At(ref)) {
				return
			}
		}
	}
	for _, h := range b.heaps() {
		for _, n := range h.Nodes {
			if !yield(b.Slab.At(n.Ref)) {
				return
			}
		}
	}
}

// heaps returns the heaps of the messages that are in no ring.
func (b *Backlog) heaps() []*heap {
	if b.Fifo {
		return []*heap{&b.ages, &b.Delayed, &b.InFlight}
	}
	return []*heap{&b.Delayed, &b.InFlight}
}

// Never is later than any time.
const Never = 1<<63 - 1
