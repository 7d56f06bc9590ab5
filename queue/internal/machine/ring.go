package machine

// ring holds visible messages in receive order: by the time they became visible, then by sequence. Nearly all
// messages are added at the back and removed at the front. Removing one from the middle leaves a hole.
type ring struct {
	slots []uint32 // a power of two; 0 is a hole
	Head  uint32   // absolute position; slot = position & (len-1), so overflow is harmless
	Tail  uint32
	Live  int
}

// Slot returns the slot of an absolute position.
func (r *ring) Slot(pos uint32) *uint32 { return &r.slots[pos&uint32(len(r.slots)-1)] }

// front returns the first message, or 0. It skips the holes before it for good.
func (r *ring) front() uint32 {
	for r.Head != r.Tail {
		if ref := *r.Slot(r.Head); ref != 0 {
			return ref
		}
		r.Head++
	}
	return 0
}

// remove makes a hole at pos and trims holes at the end.
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

// insert adds ref where its time and sequence belong. A message that becomes visible has the newest time, so only
// ties, and an undo at the front, search further.
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

// Before says whether a is received before b: it became visible earlier, or at the same time and was sent earlier.
func Before(a, b *Entry) bool {
	return a.Visible < b.Visible || a.Visible == b.Visible && a.Seq < b.Seq
}

// grow makes room for one more message, and drops holes when it copies.
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
