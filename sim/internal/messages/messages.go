// Package messages is the simulated queue of package sim: what SQS, or the embedded queue, does with messages. It keeps
// every message in the system in exactly one of these states:
//
//	Send --> waiting --Receive--> in flight --Finish--> gone (finished)
//	           ^                      |     --Bury----> gone (dead letter)
//	           |                      | Hide
//	           +------- Show ------ hidden
//
// Messages of a FIFO group wait behind the first one of the group: at most one message of a group is receivable, in
// flight or hidden at a time, and the next one becomes receivable when that one is gone.
//
// The package does not know when anything happens. Package sim decides that, keeps the time, and adds the events. It
// must call the methods in the order of the states above; none of them checks that.
package messages

import (
	"github.com/muster-scale/muster/sim/internal/kernel"
	"github.com/muster-scale/muster/sim/internal/trees"
	"github.com/muster-scale/muster/sim/trace"
)

// Message is one message in the system. Times are nanoseconds since the start of the run.
type Message struct {
	// Sent is when it was sent, Since when it was last received.
	Sent, Since int64
	// Service is how long its work takes on a core of its own. Took is how long its last work took where members share
	// cores, and is set by the caller.
	Service, Took int64
	// Children are sent when it is finished; Place is its place in a tree.
	Children []trace.Message
	Place    trees.Place
	// Class and Group are those of the trace; an empty group is none.
	Class, Group string
	// Luck is what the luck of its children follows from.
	Luck kernel.Luck
	// Receives counts how often it was received.
	Receives int32
	// Poison is true for a message whose work always fails.
	Poison bool

	next int32 // the message behind it in its group, or kernel.None
}

// Queue holds the messages in the system by number. The number of a message that is gone is used again, so memory
// depends on the messages in the system and not on the length of the trace. The zero value is an empty queue.
type Queue struct {
	all  []Message
	free []int32 // unused places of all

	waiting kernel.Ring[int32] // receivable, in the order in which they are handed out
	grouped int                // messages that wait behind another one of their group
	groups  map[string]*group
	// retrying has the hidden messages that a worker returned for another attempt.
	retrying map[int32]bool

	hidden, inFlight     int
	sent, finished, dead int64
}

// group is a FIFO group one of whose messages is receivable, in flight or hidden. The others form a list from first to
// last, linked by Message.next; both are kernel.None when there is no other.
type group struct{ first, last int32 }

// At returns a message by its number. The pointer is valid until the next Send or the end of the message.
func (q *Queue) At(ref int32) *Message { return &q.all[ref] }

// Send adds a message and returns its number.
func (q *Queue) Send(m Message) int32 {
	q.sent++
	m.next = kernel.None
	var ref int32
	if n := len(q.free); n > 0 {
		ref = q.free[n-1]
		q.free = q.free[:n-1]
		q.all[ref] = m
	} else {
		ref = int32(len(q.all))
		q.all = append(q.all, m)
	}
	q.offer(ref)
	return ref
}

// offer makes a new message receivable, or puts it behind its group.
func (q *Queue) offer(ref int32) {
	name := q.all[ref].Group
	if name == "" {
		q.waiting.PushBack(ref)
		return
	}
	g := q.groups[name]
	if g == nil {
		if q.groups == nil {
			q.groups = map[string]*group{}
		}
		q.groups[name] = &group{first: kernel.None, last: kernel.None}
		q.waiting.PushBack(ref)
		return
	}
	if g.last == kernel.None {
		g.first = ref
	} else {
		q.all[g.last].next = ref
	}
	g.last = ref
	q.grouped++
}

// Receive hands out the first receivable message at the time now. There must be one.
func (q *Queue) Receive(now int64) int32 {
	ref := q.waiting.PopFront()
	m := &q.all[ref]
	m.Receives++
	m.Since = now
	q.inFlight++
	return ref
}

// Hide takes a message out of flight; it must be shown again later. With retry a worker returned it for another
// attempt; otherwise its worker died.
func (q *Queue) Hide(ref int32, retry bool) {
	q.inFlight--
	q.hidden++
	if retry {
		if q.retrying == nil {
			q.retrying = map[int32]bool{}
		}
		q.retrying[ref] = true
	}
}

// Show makes a hidden message receivable. It goes to the front, where its age belongs.
func (q *Queue) Show(ref int32) {
	q.hidden--
	delete(q.retrying, ref)
	q.waiting.PushFront(ref)
}

// Finish removes a message in flight whose work is done.
func (q *Queue) Finish(ref int32) {
	q.finished++
	q.remove(ref)
}

// Bury removes a message in flight that has used up its attempts: it is a dead letter.
func (q *Queue) Bury(ref int32) {
	q.dead++
	q.remove(ref)
}

// remove forgets a message in flight, and makes the next one of its group receivable.
func (q *Queue) remove(ref int32) {
	q.inFlight--
	m := &q.all[ref]
	if m.Group != "" {
		g := q.groups[m.Group]
		if g.first == kernel.None {
			delete(q.groups, m.Group)
		} else {
			next := g.first
			g.first = q.all[next].next
			if g.first == kernel.None {
				g.last = kernel.None
			}
			q.grouped--
			q.waiting.PushBack(next)
		}
	}
	*m = Message{}
	q.free = append(q.free, ref)
}

// Receivable returns how many messages can be received now.
func (q *Queue) Receivable() int { return q.waiting.Len() }

// Backlog returns how many messages wait, including those behind the first one of their group, as SQS counts them.
func (q *Queue) Backlog() int { return q.waiting.Len() + q.grouped }

// InProgress returns how many messages workers hold.
func (q *Queue) InProgress() int { return q.inFlight }

// InFlight returns how many messages are received and not yet deleted, as SQS counts them: those in progress and those
// that are hidden.
func (q *Queue) InFlight() int { return q.inFlight + q.hidden }

// Retrying returns how many hidden messages wait for another attempt.
func (q *Queue) Retrying() int { return len(q.retrying) }

// Sent counts the messages that were sent since the start of the run.
func (q *Queue) Sent() int64 { return q.sent }

// Finished counts the messages whose work is done.
func (q *Queue) Finished() int64 { return q.finished }

// Dead counts the dead letters.
func (q *Queue) Dead() int64 { return q.dead }

// InSystem returns how many messages were sent and are neither finished nor dead. It always equals Backlog plus
// InFlight; package sim checks that after every step.
func (q *Queue) InSystem() int64 { return q.sent - q.finished - q.dead }

// Oldest returns when the first receivable message was sent, which is the oldest one where messages are handed out in
// their order; false when none waits.
func (q *Queue) Oldest() (sent int64, any bool) {
	if q.waiting.Len() == 0 {
		return 0, false
	}
	return q.all[q.waiting.Front()].Sent, true
}

// OldestRetry returns when the oldest message that waits for another attempt was sent; false when there is none.
func (q *Queue) OldestRetry() (sent int64, any bool) {
	for ref := range q.retrying { // in any order: the minimum does not depend on it
		if at := q.all[ref].Sent; !any || at < sent {
			sent, any = at, true
		}
	}
	return sent, any
}
