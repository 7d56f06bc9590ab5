package machine

// ring is the order in which visible messages are received: by the time they
// became visible, then by sequence. Messages come nearly always at the back
// and go at the front; one may leave from the middle, which leaves a hole.
type ring struct {
	slots []uint32 // a power of two; 0 is a hole
	Head  uint32   // absolute; slot = position & (len-1), so wrapping is harmless
	Tail  uint32
	Live  int
}

func (r *ring) Slot(pos uint32) *uint32 { return &r.slots[pos&uint32(len(r.slots)-1)] }

// front is the first message, or 0.
func (r *ring) front() uint32 {
	for r.Head != r.Tail {
		if ref := *r.Slot(r.Head); ref != 0 {
			return ref
		}
		r.Head++
	}
	return 0
}

func (r *ring) remove(pos uint32) {
	*r.Slot(pos) = 0
	r.Live--
	if r.Live == 0 {
		r.Head = r.Tail
	}
	for r.Tail != r.Head && *r.Slot(r.Tail - 1) == 0 {
		r.Tail--
	}
}

// insert puts ref where its time and sequence belong. What becomes visible has
// the newest time, so that only ties, and an undo at the front, look further.
func (r *ring) insert(s *slab, ref uint32) {
	r.grow(s)
	r.Live++
	e := s.At(ref)
	if first := r.front(); first != 0 && Before(e, s.At(first)) {
		r.Head--
		*r.Slot(r.Head), e.pos = ref, r.Head
		return
	}
	pos := r.Tail
	r.Tail++
	for pos != r.Head {
		prior := *r.Slot(pos - 1)
		if prior != 0 {
			p := s.At(prior)
			if !Before(e, p) {
				break
			}
			p.pos = pos
		}
		*r.Slot(pos) = prior
		pos--
	}
	*r.Slot(pos), e.pos = ref, pos
}

// Before tells whether a is received before b: it became visible earlier, or was sent earlier.
func Before(a, b *Entry) bool {
	return a.Visible < b.Visible || a.Visible == b.Visible && a.Seq < b.Seq
}

// grow makes room for one more, dropping holes on the way.
func (r *ring) grow(s *slab) {
	if int(r.Tail-r.Head) < len(r.slots) {
		return
	}
	size := max(16, len(r.slots))
	for size < 2*(r.Live+1) {
		size *= 2
	}
	old := *r
	*r = ring{slots: make([]uint32, size), Live: old.Live}
	for pos := old.Head; pos != old.Tail; pos++ {
		if ref := *old.Slot(pos); ref != 0 {
			*r.Slot(r.Tail), s.At(ref).pos = ref, r.Tail
			r.Tail++
		}
	}
}
