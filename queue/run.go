package queue

import (
	"cmp"
	"slices"
)

// run is a sequence of cold messages in which neither sequences nor times go
// back. What is received next and what came last is at hand, the rest packed.
type run struct {
	front []sighting
	packs []pack
	back  []sighting
	n     int
	// latest is when a message became visible that was sent later than that,
	// which the clock allows only if it was set back; the others did when they
	// were sent.
	latest int64
}

// visible is when a message of r became visible.
func (r *run) visible(m sighting) int64 { return min(m.sent, r.latest) }

// first is the message to receive next; r must not be empty.
func (r *run) first() sighting {
	switch {
	case len(r.front) > 0:
		return r.front[0]
	case len(r.packs) > 0:
		return r.packs[0].first
	}
	return r.back[0]
}

// last is the message that came last; r must not be empty.
func (r *run) last() sighting {
	switch {
	case len(r.back) > 0:
		return r.back[len(r.back)-1]
	case len(r.packs) > 0:
		return r.packs[len(r.packs)-1].last
	}
	return r.front[len(r.front)-1]
}

// push adds a message at the end, if it belongs there.
func (r *run) push(m sighting, visible int64) bool {
	if last := r.last(); m.seq <= last.seq || m.sent < last.sent || r.visible(m) != visible {
		return false
	}
	if len(r.back) == packSize {
		r.packs = append(r.packs, packed(r.back))
		r.back = r.back[:0]
	}
	r.back = append(r.back, m)
	r.n++
	return true
}

// pop takes the first message out; r must not be empty.
func (r *run) pop() sighting {
	if len(r.front) == 0 {
		if len(r.packs) > 0 {
			r.front = r.packs[0].unpack(make([]sighting, 0, packSize))
			r.packs[0] = pack{}
			r.packs = r.packs[1:]
		} else {
			r.front, r.back = r.back, nil
		}
	}
	m := r.front[0]
	r.front = r.front[1:]
	r.n--
	return m
}

// find looks a message up, and takes it out if asked to.
func (r *run) find(seq uint64, take bool) (m sighting, ok bool) {
	if r.n == 0 || seq < r.first().seq || seq > r.last().seq {
		return m, false
	}
	for _, open := range []*[]sighting{&r.front, &r.back} {
		if at, ok := search(*open, seq); ok {
			m = (*open)[at]
			if take {
				*open = slices.Delete(*open, at, at+1)
				r.n--
			}
			return m, true
		}
	}
	at, _ := slices.BinarySearchFunc(r.packs, seq, func(p pack, seq uint64) int { return cmp.Compare(p.last.seq, seq) })
	if at == len(r.packs) || r.packs[at].first.seq > seq {
		return m, false
	}
	all := r.packs[at].unpack(make([]sighting, 0, packSize))
	in, ok := search(all, seq)
	if !ok {
		return m, false
	}
	if m = all[in]; take {
		r.n--
		if all = slices.Delete(all, in, in+1); len(all) == 0 {
			r.packs = slices.Delete(r.packs, at, at+1)
		} else {
			r.packs[at] = packed(all)
		}
	}
	return m, true
}

func search(in []sighting, seq uint64) (at int, ok bool) {
	return slices.BinarySearchFunc(in, seq, func(m sighting, seq uint64) int { return cmp.Compare(m.seq, seq) })
}

// all yields the messages of r in their order.
func (r *run) all(yield func(sighting) bool) {
	for _, m := range r.front {
		if !yield(m) {
			return
		}
	}
	buf := make([]sighting, 0, packSize)
	for i := range r.packs {
		for _, m := range r.packs[i].unpack(buf[:0]) {
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
