package sim

// waiters are the workers that wait for a message, by number, the one that waits longest first.
type waiters struct {
	head, tail int32
	order      []int32 // the same ones in no particular order, to choose any
	links      []link  // by number
}

// link is where a waiting worker stands: between which others, and where in the order of none.
type link struct{ before, after, place int32 }

func newWaiters() waiters { return waiters{head: none, tail: none} }

func (w *waiters) len() int        { return len(w.order) }
func (w *waiters) first() int32    { return w.head }
func (w *waiters) any(k int) int32 { return w.order[k] }

// push adds a worker that does not wait yet.
func (w *waiters) push(i int32) {
	for int(i) >= len(w.links) {
		w.links = append(w.links, link{})
	}
	w.links[i] = link{before: w.tail, after: none, place: int32(len(w.order))}
	if w.tail == none {
		w.head = i
	} else {
		w.links[w.tail].after = i
	}
	w.tail = i
	w.order = append(w.order, i)
}

// remove takes out a worker that waits.
func (w *waiters) remove(i int32) {
	l := w.links[i]
	if l.before == none {
		w.head = l.after
	} else {
		w.links[l.before].after = l.after
	}
	if l.after == none {
		w.tail = l.before
	} else {
		w.links[l.after].before = l.before
	}
	last := w.order[len(w.order)-1]
	w.order[l.place] = last
	w.links[last].place = l.place
	w.order = w.order[:len(w.order)-1]
}
