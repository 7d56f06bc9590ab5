package machine

import "slices"

// Label is the part of a message that is text: its group, and the queue it was dead-lettered from. Most messages have
// an empty label.
type Label struct {
	Group, Source string
}

// group is the messages of one MessageGroupId. On a FIFO queue only the first of them may be received; on a standard
// queue they are one tenant.
type group struct {
	name     string
	line     line   // in send order; FIFO queues only
	head     uint32 // the first of line while it is visible, else 0
	size     int    // messages
	inFlight int    // messages in flight
}

// groups numbers the groups of one queue from 1. A group exists while it has messages; its number is then used again.
type groups struct {
	list  []group
	free  []uint32
	Names map[string]uint32
}

// at returns group n. The pointer is invalid after the next join.
func (g *groups) at(n uint32) *group { return &g.list[n-1] }

// join adds one message to the group called name and returns its number.
func (g *groups) join(name string) uint32 {
	n := g.Names[name]
	if n == 0 {
		if last := len(g.free) - 1; last >= 0 {
			n, g.free = g.free[last], g.free[:last]
		} else {
			g.list = append(g.list, group{})
			n = uint32(len(g.list))
		}
		if g.Names == nil {
			g.Names = map[string]uint32{}
		}
		g.Names[name] = n
		g.at(n).name = name
	}
	g.at(n).size++
	return n
}

// part removes one message from group n.
func (g *groups) part(n uint32) {
	one := g.at(n)
	if one.size--; one.size == 0 {
		delete(g.Names, one.name)
		*one = group{}
		g.free = append(g.free, n)
	}
}

// NameOf returns the name of group n; that of 0 is empty.
func (g *groups) NameOf(n uint32) string {
	if n == 0 {
		return ""
	}
	return g.at(n).name
}

// line holds the messages of a group by sequence. Messages are added at the back and removed near the front.
type line struct {
	refs []uint32
	from int // refs before it are free
}

func (l *line) len() int { return len(l.refs) - l.from }

// at returns the i-th message, counted from 0.
func (l *line) at(i int) uint32 { return l.refs[l.from+i] }

// search returns the index in refs of a sequence, or where it belongs.
func (l *line) search(s *slab, seq uint64) int {
	at, _ := slices.BinarySearchFunc(l.refs[l.from:], seq, func(ref uint32, seq uint64) int {
		switch have := s.At(ref).Seq; {
		case have < seq:
			return -1
		case have > seq:
			return 1
		}
		return 0
	})
	return l.from + at
}

// insert adds a message. Only an undo and loading insert elsewhere than at the back.
func (l *line) insert(s *slab, ref uint32) {
	seq := s.At(ref).Seq
	if l.len() == 0 || s.At(l.refs[len(l.refs)-1]).Seq < seq {
		l.refs = append(l.refs, ref)
		return
	}
	at := l.search(s, seq)
	if l.from > 0 && at-l.from < len(l.refs)-at { // the front is nearer
		copy(l.refs[l.from-1:], l.refs[l.from:at])
		l.from--
		l.refs[at-1] = ref
		return
	}
	l.refs = slices.Insert(l.refs, at, ref)
}

// remove removes a message and closes the gap from the nearer end.
func (l *line) remove(s *slab, ref uint32) {
	at := l.from
	if l.refs[at] != ref {
		at = l.search(s, s.At(ref).Seq)
	}
	if at-l.from < len(l.refs)-at {
		copy(l.refs[l.from+1:at+1], l.refs[l.from:at])
		l.from++
	} else {
		l.refs = slices.Delete(l.refs, at, at+1)
	}
	if l.from > 16 && l.from > len(l.refs)/2 {
		l.refs = append(make([]uint32, 0, 2*l.len()), l.refs[l.from:]...)
		l.from = 0
	}
}
