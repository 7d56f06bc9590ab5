package kernel

// Line holds the workers that wait for a message, by number, in the order in which they began to wait. Every operation
// takes constant time: a linked list keeps the order, and a slice of the same workers allows a random choice. [NewLine]
// makes an empty one.
type Line struct {
	head, tail int32
	any        []int32 // the same workers in no particular order
	links      []link  // by number of the worker
}

// link is the place of a waiting worker: the workers before and after it, and its index in Line.any.
type link struct{ before, after, index int32 }

// NewLine returns a line in which no worker waits.
func NewLine() Line { return Line{head: None, tail: None} }

// Len returns how many workers wait.
func (l *Line) Len() int { return len(l.any) }

// First returns the worker that waits longest, or None.
func (l *Line) First() int32 { return l.head }

// Any returns one of the workers, for k from 0 to Len()-1. Each k is another worker, and which one is arbitrary but
// reproducible.
func (l *Line) Any(k int) int32 { return l.any[k] }

// Push adds a worker at the end. It must not wait already.
func (l *Line) Push(i int32) {
	for int(i) >= len(l.links) {
		l.links = append(l.links, link{})
	}
	l.links[i] = link{before: l.tail, after: None, index: int32(len(l.any))}
	if l.tail == None {
		l.head = i
	} else {
		l.links[l.tail].after = i
	}
	l.tail = i
	l.any = append(l.any, i)
}

// Remove removes a worker, wherever it stands. It must wait.
func (l *Line) Remove(i int32) {
	at := l.links[i]
	if at.before == None {
		l.head = at.after
	} else {
		l.links[at.before].after = at.after
	}
	if at.after == None {
		l.tail = at.before
	} else {
		l.links[at.after].before = at.before
	}
	last := l.any[len(l.any)-1]
	l.any[at.index] = last
	l.links[last].index = at.index
	l.any = l.any[:len(l.any)-1]
}
