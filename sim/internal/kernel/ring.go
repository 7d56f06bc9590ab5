package kernel

// Ring is a queue that is open at both ends and grows as needed. The zero value is empty. Front and PopFront must not
// be called when it is empty.
type Ring[T any] struct {
	slots      []T // its length is zero or a power of two, so that a mask finds the place of an element
	head, size int
}

// Len returns the number of elements.
func (r *Ring[T]) Len() int { return r.size }

// Front returns the first element.
func (r *Ring[T]) Front() T { return r.slots[r.head] }

// grow makes room for one more element.
func (r *Ring[T]) grow() {
	if r.size < len(r.slots) {
		return
	}
	bigger := make([]T, max(64, 2*len(r.slots)))
	n := copy(bigger, r.slots[r.head:])
	copy(bigger[n:], r.slots[:r.head])
	r.slots, r.head = bigger, 0
}

// PushBack adds an element behind the last one.
func (r *Ring[T]) PushBack(v T) {
	r.grow()
	r.slots[(r.head+r.size)&(len(r.slots)-1)] = v
	r.size++
}

// PushFront adds an element before the first one.
func (r *Ring[T]) PushFront(v T) {
	r.grow()
	r.head = (r.head - 1) & (len(r.slots) - 1)
	r.slots[r.head] = v
	r.size++
}

// PopFront removes the first element and returns it.
func (r *Ring[T]) PopFront() T {
	v := r.slots[r.head]
	r.head = (r.head + 1) & (len(r.slots) - 1)
	r.size--
	return v
}
