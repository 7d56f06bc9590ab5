package queue

// backlog holds the messages of one queue. Every message is in exactly one of
// three structures, so that each count is a length.
type backlog struct {
	slab     slab
	index    map[uint64]uint32 // by sequence
	ready    ring
	ages     heap // the visible ones by the time they were sent
	delayed  heap // by the time they become visible
	inFlight heap // by the time they become visible again
	arrivals uint64
}

func newBacklog() *backlog {
	return &backlog{index: map[uint64]uint32{}, ages: heap{ages: true}}
}

// worthShrinking is the number of entries above which an emptied backlog gives
// its memory back.
const worthShrinking = 1 << 14

func (b *backlog) len() int { return len(b.index) }

func (b *backlog) find(seq uint64) (uint32, *entry) {
	ref := b.index[seq]
	if ref == 0 {
		return 0, nil
	}
	return ref, b.slab.at(ref)
}

// add puts a new message into the structure of its place.
func (b *backlog) add(e entry) {
	ref := b.slab.alloc(e)
	b.index[e.seq] = ref
	b.enter(ref)
}

// drop forgets a message.
func (b *backlog) drop(ref uint32) {
	b.leave(ref)
	delete(b.index, b.slab.at(ref).seq)
	b.slab.release(ref)
	if len(b.index) == 0 && b.slab.next > worthShrinking {
		arrivals := b.arrivals
		*b = *newBacklog()
		b.arrivals = arrivals
	}
}

// shift moves a message to another place, visible from at on.
func (b *backlog) shift(ref uint32, to place, at int64) {
	b.leave(ref)
	e := b.slab.at(ref)
	e.place, e.visible = to, at
	b.enter(ref)
}

func (b *backlog) enter(ref uint32) {
	e := b.slab.at(ref)
	switch e.place {
	case visible:
		b.ready.insert(&b.slab, ref)
		b.ages.push(&b.slab, e.sent, ref)
		b.arrivals++
	case delayed:
		b.delayed.push(&b.slab, e.visible, ref)
	case inFlight:
		b.inFlight.push(&b.slab, e.visible, ref)
	}
}

func (b *backlog) leave(ref uint32) {
	e := b.slab.at(ref)
	switch e.place {
	case visible:
		b.ready.remove(e.pos)
		b.ages.remove(&b.slab, int(e.agePos))
	case delayed:
		b.delayed.remove(&b.slab, int(e.pos))
	case inFlight:
		b.inFlight.remove(&b.slab, int(e.pos))
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
	if b.ages.len() > 0 {
		at = min(at, b.ages.top().key+retention)
	}
	return at
}

// refs yields every message: the visible ones in order, then the others.
func (b *backlog) refs(yield func(uint32) bool) {
	for pos := b.ready.head; pos != b.ready.tail; pos++ {
		if ref := *b.ready.slot(pos); ref != 0 && !yield(ref) {
			return
		}
	}
	for _, h := range []*heap{&b.delayed, &b.inFlight} {
		for _, n := range h.nodes {
			if !yield(n.ref) {
				return
			}
		}
	}
}

// never is later than any time.
const never = 1<<63 - 1
