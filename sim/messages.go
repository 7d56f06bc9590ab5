package sim

import "github.com/muster-scale/muster/sim/trace"

// message is one message in the system.
type message struct {
	sent     int64
	service  int64
	since    int64 // when it was last received
	took     int64 // how long its last work took, where members share cores
	children []trace.Message
	class    string
	group    string
	place    place
	receives int32
	next     int32 // of its group's line
	poison   bool
}

// backlog is the simulated queue: messages by number, those that wait in order, those of FIFO groups behind their
// first.
type backlog struct {
	all  []message
	free []int32

	waiting ring[int32]
	// hidden counts messages that come back later, inFlight those that workers hold, or held when they died.
	hidden, inFlight int
	// retrying are those of the hidden ones that a worker gave back.
	retrying map[int32]bool
	// grouped counts waiting messages behind another one of their group.
	grouped int
	lines   map[string]*line

	sent, finished, dead int64
}

// line is a FIFO group: at most one of its messages is visible or in flight.
type line struct {
	first, last int32
	locked      bool
}

const none = int32(-1)

func (b *backlog) add(m message) int32 {
	b.sent++
	m.next = none
	if n := len(b.free); n > 0 {
		ref := b.free[n-1]
		b.free = b.free[:n-1]
		b.all[ref] = m
		return ref
	}
	b.all = append(b.all, m)
	return int32(len(b.all) - 1)
}

// offer makes a message receivable, or puts it behind its group.
func (b *backlog) offer(ref int32) {
	m := &b.all[ref]
	if m.group == "" {
		b.waiting.pushBack(ref)
		return
	}
	if b.lines == nil {
		b.lines = map[string]*line{}
	}
	l := b.lines[m.group]
	if l == nil {
		l = &line{first: none, last: none}
		b.lines[m.group] = l
	}
	if !l.locked {
		l.locked = true
		b.waiting.pushBack(ref)
		return
	}
	if l.last == none {
		l.first = ref
	} else {
		b.all[l.last].next = ref
	}
	l.last = ref
	b.grouped++
}

// again makes a message receivable that was received before: it goes to the front, where its age belongs.
func (b *backlog) again(ref int32) { b.waiting.pushFront(ref) }

// gone forgets a message that is finished or dead, and opens its group.
func (b *backlog) gone(ref int32) {
	m := &b.all[ref]
	if m.group != "" {
		l := b.lines[m.group]
		if l.first == none {
			delete(b.lines, m.group)
		} else {
			next := l.first
			l.first = b.all[next].next
			if l.first == none {
				l.last = none
			}
			b.grouped--
			b.waiting.pushBack(next)
		}
	}
	*m = message{}
	b.free = append(b.free, ref)
}

// visible is how many messages wait, those behind their group's first too, as SQS counts them.
func (b *backlog) visible() int { return b.waiting.len() + b.grouped }

// oldestRetry returns when the oldest message was sent that waits for its retry; false without any.
func (b *backlog) oldestRetry() (sent int64, any bool) {
	for ref := range b.retrying {
		if at := b.all[ref].sent; !any || at < sent {
			sent, any = at, true
		}
	}
	return sent, any
}

// inSystem is how many messages were sent and are neither finished nor dead.
func (b *backlog) inSystem() int64 { return b.sent - b.finished - b.dead }

// oldest returns when the oldest receivable message was sent; false when none waits.
func (b *backlog) oldest() (int64, bool) {
	if b.waiting.len() == 0 {
		return 0, false
	}
	return b.all[b.waiting.front()].sent, true
}
