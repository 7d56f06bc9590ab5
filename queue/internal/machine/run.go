package machine

import (
	"cmp"
	"slices"
)

// run is a sequence of packed messages in which neither sequences nor times decrease. The messages to receive next
// (front) and the newest ones (back) are unpacked, the rest is in Packs between them.
type run struct {
	front []PackedMessage
	Packs []pack
	back  []PackedMessage
	n     int
	// latest caps the visible times. Normally a message becomes visible when it is sent, and latest is Never. If the
	// clock was set back, Load moves visible times before the time of sending, and latest is that time.
	latest int64
}

// visible returns the time at which m became visible.
func (r *run) visible(m PackedMessage) int64 { return min(m.Sent, r.latest) }

// first returns the message to receive next; r must not be empty.
func (r *run) first() PackedMessage {
	switch {
	case len(r.front) > 0:
		return r.front[0]
	case len(r.Packs) > 0:
		return r.Packs[0].First
	}
	return r.back[0]
}

// last returns the newest message; r must not be empty.
func (r *run) last() PackedMessage {
	switch {
	case len(r.back) > 0:
		return r.back[len(r.back)-1]
	case len(r.Packs) > 0:
		return r.Packs[len(r.Packs)-1].Last
	}
	return r.front[len(r.front)-1]
}

// push adds a message at the end if it keeps the order and became visible as the run says.
func (r *run) push(m PackedMessage, visible int64) bool {
	if last := r.last(); m.Seq <= last.Seq || m.Sent < last.Sent || r.visible(m) != visible {
		return false
	}
	if len(r.back) == PackSize {
		r.Packs = append(r.Packs, NewPack(r.back))
		r.back = r.back[:0]
	}
	r.back = append(r.back, m)
	r.n++
	return true
}

// pop removes and returns the first message; r must not be empty.
func (r *run) pop() PackedMessage {
	if len(r.front) == 0 {
		if len(r.Packs) > 0 {
			r.front = r.Packs[0].Unpack(make([]PackedMessage, 0, PackSize))
			r.Packs[0] = pack{}
			r.Packs = r.Packs[1:]
		} else {
			r.front, r.back = r.back, nil
		}
	}
	m := r.front[0]
	r.front = r.front[1:]
	r.n--
	return m
}

// find returns a message. take also removes it, which may repack one pack.
func (r *run) find(seq uint64, take bool) (m PackedMessage, ok bool) {
	if r.n == 0 || seq < r.first().Seq || seq > r.last().Seq {
		return m, false
	}
	for _, open := range []*[]PackedMessage{&r.front, &r.back} {
		if at, ok := search(*open, seq); ok {
			m = (*open)[at]
			if take {
				*open = slices.Delete(*open, at, at+1)
				r.n--
			}
			return m, true
		}
	}
	at, _ := slices.BinarySearchFunc(r.Packs, seq, func(p pack, seq uint64) int { return cmp.Compare(p.Last.Seq, seq) })
	if at == len(r.Packs) || r.Packs[at].First.Seq > seq {
		return m, false
	}
	all := r.Packs[at].Unpack(make([]PackedMessage, 0, PackSize))
	in, ok := search(all, seq)
	if !ok {
		return m, false
	}
	if m = all[in]; take {
		r.n--
		if all = slices.Delete(all, in, in+1); len(all) == 0 {
			r.Packs = slices.Delete(r.Packs, at, at+1)
		} else {
			r.Packs[at] = NewPack(all)
		}
	}
	return m, true
}

// search returns the index of a sequence in unpacked messages.
func search(in []PackedMessage, seq uint64) (at int, ok bool) {
	return slices.BinarySearchFunc(in, seq, func(m PackedMessage, seq uint64) int { return cmp.Compare(m.Seq, seq) })
}

// all yields the messages of r in order.
func (r *run) all(yield func(PackedMessage) bool) {
	for _, m := range r.front {
		if !yield(m) {
			return
		}
	}
	buf := make([]PackedMessage, 0, PackSize)
	for i := range r.Packs {
		for _, m := range r.Packs[i].Unpack(buf[:0]) {
			if !yield(m) {
				return
			}
		}
	}
	for _, m := range r.back {
		if !yield(m) {
			return
		}
	}
}
