package queue

// ring is the order in which visible messages are received: by the time they
// became visible, then by sequence. Messages come nearly always at the back
// and go at the front; one may leave from the middle, which leaves a hole.
type ring struct {
	slots []uint32 // a power of two; 0 is a hole
	head  uint32   // absolute; slot = position & (len-1), so wrapping is harmless
	tail  uint32
	live  int
}

func (r *ring) slot(pos uint32) *uint32 { return &r.slots[pos&uint32(len(r.slots)-1)] }

// front is the first message, or 0.
func (r *ring) front() uint32 {
	for r.head != r.tail {
		if ref := *r.slot(r.head); ref != 0 {
			return ref
		}
		r.head++
	}
	return 0
}

func (r *ring) remove(pos uint32) {
	*r.slot(pos) = 0
	r.live--
	if r.live == 0 {
		r.head = r.tail
	}
	for r.tail != r.head && *r.slot(r.tail - 1) == 0 {
		r.tail--
	}
}

// insert puts ref where its time and sequence belong. What becomes visible has
// the newest time, so that only ties, and an undo at the front, look further.
func (r *ring) insert(s *slab, ref uint32) {
	r.grow(s)
	r.live++
	e := s.at(ref)
	if first := r.front(); first != 0 && before(e, s.at(first)) {
		r.head--
		*r.slot(r.head), e.pos = ref, r.head
		return
	}
	pos := r.tail
	r.tail++
	for pos != r.head {
		prior := *r.slot(pos - 1)
		if prior != 0 {
			p := s.at(prior)
			if !before(e, p) {
				break
			}
			p.pos = pos
		}
		*r.slot(pos) = prior
		pos--
	}
	*r.slot(pos), e.pos = ref, pos
}

func before(a, b *entry) bool {
	return a.visible < b.visible || a.visible == b.visible && a.seq < b.seq
}

// grow makes room for one more, dropping holes on the way.
func (r *ring) grow(s *slab) {
	if int(r.tail-r.head) < len(r.slots) {
		return
	}
	size := max(16, len(r.slots))
	for size < 2*(r.live+1) {
		size *= 2
	}
	old := *r
	*r = ring{slots: make([]uint32, size), live: old.live}
	for pos := old.head; pos != old.tail; pos++ {
		if ref := *old.slot(pos); ref != 0 {
			*r.slot(r.tail), s.at(ref).pos = ref, r.tail
			r.tail++
		}
	}
}
