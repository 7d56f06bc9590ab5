package sim

// ring is a queue that grows as needed.
type ring[T any] struct {
	slots      []T
	head, size int
}

func (r *ring[T]) len() int { return r.size }
func (r *ring[T]) front() T { return r.slots[r.head] }

func (r *ring[T]) grow() {
	if r.size < len(r.slots) {
		return
	}
	bigger := make([]T, max(64, 2*len(r.slots)))
	n := copy(bigger, r.slots[r.head:])
	copy(bigger[n:], r.slots[:r.head])
	r.slots, r.head = bigger, 0
}

func (r *ring[T]) pushBack(v T) {
	r.grow()
	r.slots[(r.head+r.size)&(len(r.slots)-1)] = v
	r.size++
}

func (r *ring[T]) pushFront(v T) {
	r.grow()
	r.head = (r.head - 1) & (len(r.slots) - 1)
	r.slots[r.head] = v
	r.size++
}

func (r *ring[T]) popFront() T {
	v := r.slots[r.head]
	r.head = (r.head + 1) & (len(r.slots) - 1)
	r.size--
	return v
}
