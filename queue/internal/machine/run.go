package machine

import (
	"cmp"
	"slices"
)

// run is a sequence of cold messages in which neither sequences nor times go
// back. What is received next and what came last is at hand, the rest packed.
type run struct {
	front []Sighting
	Packs []pack
	back  []Sighting
	n     int
	// latest is when a message became visible that was sent later than that,
	// which the clock allows only if it was set back; the others did when they
	// were sent.
	latest int64
}

// visible is when a message of r became visible.
func (r *run) visible(m Sighting) int64 { return min(m.Sent, r.latest) }

// first is the message to receive next; r must not be empty.
func (r *run) first() Sighting {
	switch {
	case len(r.front) > 0:
		return r.front[0]
	case len(r.Packs) > 0:
		return r.Packs[0].First
	}
	return r.back[0]
}

// last is the message that came last; r must not be empty.
func (r *run) last() Sighting {
	switch {
	case len(r.back) > 0:
		return r.back[len(r.back)-1]
	case len(r.Packs) > 0:
		return r.Packs[len(r.Packs)-1].Last
	}
	return r.front[len(r.front)-1]
}

// push adds a message at the end, if it belongs there.
func (r *run) push(m Sighting, visible int64) bool {
	if last := r.last(); m.Seq <= last.Seq || m.Sent < last.Sent || r.visible(m) != visible {
		return false
	}
	if len(r.back) == PackSize {
		r.Packs = append(r.Packs, Packed(r.back))
		r.back = r.back[:0]
	}
	r.back = append(r.back, m)
	r.n++
	return true
}

// pop takes the first message out; r must not be empty.
func (r *run) pop() Sighting {
	if len(r.front) == 0 {
		if len(r.Packs) > 0 {
			r.front = r.Packs[0].Unpack(make([]Sighting, 0, PackSize))
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

// find looks a message up, and takes it out if asked to.
func (r *run) find(seq uint64, take bool) (m Sighting, ok bool) {
	if r.n == 0 || seq < r.first().Seq || seq > r.last().Seq {
		return m, false
	}
	for _, open := range []*[]Sighting{&r.front, &r.back} {
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
	all := r.Packs[at].Unpack(make([]Sighting, 0, PackSize))
	in, ok := search(all, seq)
	if !ok {
		return m, false
	}
	if m = all[in]; take {
		r.n--
		if all = slices.Delete(all, in, in+1); len(all) == 0 {
			r.Packs = slices.Delete(r.Packs, at, at+1)
		} else {
			r.Packs[at] = Packed(all)
		}
	}
	return m, true
}

func search(in []Sighting, seq uint64) (at int, ok bool) {
	return slices.BinarySearchFunc(in, seq, func(m Sighting, seq uint64) int { return cmp.Compare(m.Seq, seq) })
}

// all yields the messages of r in their order.
func (r *run) all(yield func(Sighting) bool) {
	for _, m := range r.front {
		if !yield(m) {
			return
		}
	}
	buf := make([]Sighting, 0, PackSize)
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
