package queue

// backlog holds the messages of one queue. Every message is in exactly one of
// three places, visible, delayed or in flight, so that each count is a length.
// A visible one is an entry, or cold.
type backlog struct {
	fifo     bool
	slab     slab
	index    map[uint64]uint32 // the entries by sequence
	cold     cold
	ready    ring // the visible entries of a standard queue, but for
	apart    ring // those set aside, see fair.go
	heads    heap // of a FIFO queue: the front of each group that may be received, by turn
	ages     heap // the visible entries by the time they were sent
	delayed  heap // by the time they become visible
	inFlight heap // by the time they become visible again
	retries  heap // those in flight that were returned, by the time they were sent
	unsure   int  // how many in flight may have been returned before the queue was opened
	groups   groups
	origins  map[uint64]string // where dead letters came from, by sequence
	arrivals uint64            // counts what became receivable
}

func newBacklog(fifo bool) *backlog {
	return &backlog{fifo: fifo, index: map[uint64]uint32{}, ages: heap{ages: true}, retries: heap{ages: true}}
}

// worthShrinking is the number of entries above which an emptied backlog gives
// its memory back.
const worthShrinking = 1 << 14

func (b *backlog) len() int { return len(b.index) + b.cold.n }

// visible is the number of visible messages.
func (b *backlog) visible() int { return b.ages.len() + b.cold.n }

// runnable is how many messages could be received at once by as many
// receivers: those that are visible, or on a FIFO queue the groups whose front is.
func (b *backlog) runnable() int {
	if b.fifo {
		return b.heads.len()
	}
	return b.visible()
}

// find returns the entry of a message, making it one if it is cold; 0 and nil
// if the message is not here.
func (b *backlog) find(seq uint64) (uint32, *entry) {
	ref := b.index[seq]
	if ref == 0 {
		m, at, ok := b.cold.find(seq, true)
		if !ok {
			return 0, nil
		}
		ref = b.thaw(m, at)
	}
	return ref, b.slab.at(ref)
}

// look returns a copy of the entry of a message, and leaves a cold one cold.
func (b *backlog) look(seq uint64) (e entry, ok bool) {
	if ref := b.index[seq]; ref != 0 {
		return *b.slab.at(ref), true
	}
	m, at, ok := b.cold.find(seq, false)
	return coldEntry(m, at), ok
}

// oldest is when the visible message was sent that was sent first, and its
// sequence; ok is false if nothing is visible.
func (b *backlog) oldest() (sent int64, seq uint64, ok bool) {
	m, ok := b.cold.oldest()
	if b.ages.len() > 0 && (!ok || b.ages.top().key < m.sent) {
		top := b.ages.top()
		return top.key, b.slab.at(top.ref).seq, true
	}
	return m.sent, m.seq, ok
}

// label is what add was told about the message.
func (b *backlog) label(e *entry) label {
	l := label{group: b.groups.nameOf(e.group)}
	if len(b.origins) > 0 {
		l.source = b.origins[e.seq]
	}
	return l
}

// add puts a new message into the structure of its place.
func (b *backlog) add(e entry, l label) {
	e.group, e.aside = 0, false
	if l.group != "" {
		e.group = b.groups.join(l.group)
	}
	if l.source != "" {
		if b.origins == nil {
			b.origins = map[uint64]string{}
		}
		b.origins[e.seq] = l.source
	}
	ref := b.slab.alloc(e)
	b.index[e.seq] = ref
	if b.fifo {
		b.groups.at(e.group).line.insert(&b.slab, ref)
	}
	b.enter(ref)
	b.reopen(e.group)
}

// drop forgets a message.
func (b *backlog) drop(ref uint32) {
	b.leave(ref)
	e := b.slab.at(ref)
	delete(b.index, e.seq)
	if len(b.origins) > 0 {
		delete(b.origins, e.seq)
	}
	if n := e.group; n != 0 {
		if b.fifo {
			b.groups.at(n).line.remove(&b.slab, ref)
		}
		b.groups.part(n)
		b.reopen(n)
	}
	b.slab.release(ref)
	if b.len() == 0 && b.slab.next > worthShrinking {
		arrivals := b.arrivals
		*b = *newBacklog(b.fifo)
		b.arrivals = arrivals
	}
}

// shift moves a message to another place, visible from at on. In flight it is then in the hands of whoever received it.
func (b *backlog) shift(ref uint32, to place, at int64) { b.hand(ref, to, at, received) }

// hand is shift, where in flight it is then in the given hands.
func (b *backlog) hand(ref uint32, to place, at int64, in hands) {
	b.leave(ref)
	e := b.slab.at(ref)
	e.place, e.visible, e.hands = to, at, in
	b.enter(ref)
	b.reopen(e.group)
}

func (b *backlog) enter(ref uint32) {
	e := b.slab.at(ref)
	switch e.place {
	case visible:
		if !b.fifo {
			b.ready.insert(&b.slab, ref)
		}
		b.ages.push(&b.slab, e.sent, ref)
		b.arrivals++
	case delayed:
		b.delayed.push(&b.slab, e.visible, ref)
	case inFlight:
		b.inFlight.push(&b.slab, e.visible, ref)
		switch e.hands {
		case returned:
			b.retries.push(&b.slab, e.sent, ref)
		case unsure:
			b.unsure++
		}
		if e.group != 0 {
			b.groups.at(e.group).held++
		}
	}
}

func (b *backlog) leave(ref uint32) {
	e := b.slab.at(ref)
	switch e.place {
	case visible:
		b.leaveVisible(ref, e)
	case delayed:
		b.delayed.remove(&b.slab, int(e.pos))
	case inFlight:
		b.inFlight.remove(&b.slab, int(e.pos))
		switch e.hands {
		case returned:
			b.retries.remove(&b.slab, int(e.agePos))
		case unsure:
			b.unsure--
		}
		if e.group != 0 {
			b.groups.at(e.group).held--
		}
	}
}

func (b *backlog) leaveVisible(ref uint32, e *entry) {
	b.ages.remove(&b.slab, int(e.agePos))
	switch {
	case b.fifo:
		if g := b.groups.at(e.group); g.head == ref {
			b.heads.remove(&b.slab, int(e.pos))
			g.head = 0
		}
	case e.aside:
		b.apart.remove(e.pos)
		e.aside = false
	default:
		b.ready.remove(e.pos)
	}
}

// reopen brings the head of group n of a FIFO queue up to date after one of
// its messages changed. A group may be received from while its front is
// visible; when it becomes so, it takes its turn after the other groups.
func (b *backlog) reopen(n uint32) {
	if !b.fifo {
		return
	}
	g, head := b.groups.at(n), uint32(0)
	if g.line.len() > 0 {
		if front := g.line.at(0); b.slab.at(front).place == visible {
			head = front
		}
	}
	if g.head == head {
		return
	}
	if g.head != 0 {
		b.heads.remove(&b.slab, int(b.slab.at(g.head).pos))
	}
	if g.head = head; head != 0 {
		b.arrivals++
		b.heads.push(&b.slab, int64(b.arrivals), head)
	}
}

// advance makes visible whatever is due, in the order of the due times.
func (b *backlog) advance(now int64) {
	for {
		from := &b.inFlight
		if from.len() == 0 || b.delayed.len() > 0 && b.delayed.top().key < from.top().key {
			from = &b.delayed
		}
		if from.len() == 0 || from.top().key > now {
			return
		}
		b.shift(from.top().ref, visible, from.top().key)
	}
}

// next is when something becomes visible or outlives retention, in Unix
// milliseconds; never if nothing will.
func (b *backlog) next(retention int64) int64 {
	at := int64(never)
	if b.inFlight.len() > 0 {
		at = min(at, b.inFlight.top().key)
	}
	if b.delayed.len() > 0 {
		at = min(at, b.delayed.top().key)
	}
	if sent, _, ok := b.oldest(); ok {
		at = min(at, sent+retention)
	}
	return at
}

// all yields every message: the cold ones, then other visible ones. What is
// yielded must not be kept or changed.
func (b *backlog) all(yield func(*entry) bool) {
	for e := range b.cold.all {
		if !yield(e) {
			return
		}
	}
	b.entries(yield)
}

// entries yields every message that is not cold, the visible ones first.
func (b *backlog) entries(yield func(*entry) bool) {
	for _, r := range []*ring{&b.ready, &b.apart} {
		for pos := r.head; pos != r.tail; pos++ {
			if ref := *r.slot(pos); ref != 0 && !yield(b.slab.at(ref)) {
				return
			}
		}
	}
	for _, h := range b.heaps() {
		for _, n := range h.nodes {
			if !yield(b.slab.at(n.ref)) {
				return
			}
		}
	}
}

// heaps are those whose messages are in no ring.
func (b *backlog) heaps() []*heap {
	if b.fifo {
		return []*heap{&b.ages, &b.delayed, &b.inFlight}
	}
	return []*heap{&b.delayed, &b.inFlight}
}

// never is later than any time.
const never = 1<<63 - 1
