package sim

// waiters are the workers whose receive calls wait for a message, the one that waits longest first.
type waiters struct {
	head, tail int32
	order      []int32 // the same ones in no particular order, to choose any
}

func newWaiters() waiters { return waiters{head: none, tail: none} }

func (w *waiters) len() int        { return len(w.order) }
func (w *waiters) first() int32    { return w.head }
func (w *waiters) any(k int) int32 { return w.order[k] }
func (w *waiters) push(members []*member, i int32) {
	m := members[i]
	m.before, m.after = w.tail, none
	if w.tail == none {
		w.head = i
	} else {
		members[w.tail].after = i
	}
	w.tail = i
	m.place = int32(len(w.order))
	w.order = append(w.order, i)
}

func (w *waiters) remove(members []*member, i int32) {
	m := members[i]
	if m.before == none {
		w.head = m.after
	} else {
		members[m.before].after = m.after
	}
	if m.after == none {
		w.tail = m.before
	} else {
		members[m.after].before = m.before
	}
	last := w.order[len(w.order)-1]
	w.order[m.place] = last
	members[last].place = m.place
	w.order = w.order[:len(w.order)-1]
}
