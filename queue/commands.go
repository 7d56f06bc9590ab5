package queue

import (
	"slices"
	"time"
)

// send adds messages to a queue.
type send struct {
	queue    string
	fifo     bool
	outgoing []sending
	answer   reply
	q        *queue
	err      error
}

// sending is one accepted message of a send.
type sending struct {
	record    *record
	delay     int64 // milliseconds; negative means the queue's
	stored    sentOnce
	duplicate bool
}

func (c *send) apply(w *writer, now int64) verdict {
	if c.q = w.st.names[c.queue]; c.q == nil {
		c.err = noQueue(c.queue)
		return answerNow
	}
	if w.full {
		c.err = fullError()
		return answerNow
	}
	for i := range c.outgoing {
		m := &c.outgoing[i]
		delay := m.delay
		if delay < 0 {
			delay = c.q.settings.delay
		}
		if c.q.fifo {
			m.stored, m.duplicate = w.st.sendOnce(c.q, now, delay, m.record)
		} else {
			m.stored.seq = w.st.send(c.q, now, delay, m.record)
		}
	}
	return answerLater
}

func (c *send) finish(_ *Service, err error) {
	if err == nil {
		err = c.err
	}
	if err == nil {
		for i := range c.outgoing {
			if !c.outgoing[i].duplicate {
				c.q.sent++
			}
		}
	}
	c.answer.give(err)
}

// receive takes messages, now or when some come.
type receive struct {
	queue    string
	fifo     bool
	max      int
	timeout  int64 // milliseconds; negative means the queue's
	wait     bool
	patience time.Duration // how long it waits
	attempt  string
	answer   reply
	q        *queue
	out      []delivery
	records  []*record // of out, as far as they are in memory
	taken    int       // how many of out were taken before the writer saw it
	err      error
}

func (c *receive) apply(w *writer, now int64) verdict {
	c.out = c.out[:c.taken]
	if c.q = w.st.names[c.queue]; c.q == nil {
		c.err = noQueue(c.queue)
		return answerNow
	}
	timeout := c.timeout
	if timeout < 0 {
		timeout = c.q.settings.visibility
	}
	if c.q.inFlight.len() >= MaxInFlight && !c.wait && !c.q.fifo && c.taken == 0 {
		c.q.advance(now) // which may make room
		if c.q.inFlight.len() >= MaxInFlight {
			c.err = refuse(ErrOverLimit, "Too many messages in flight: the limit is %d; delete messages first.", MaxInFlight)
			return answerNow
		}
	}
	c.q.advance(now)
	w.serve(c.q, now) // who waited before goes first
	if c.attempt != "" {
		var again bool
		if c.out, again = w.st.receiveAgain(c.q, now, timeout, c.attempt, c.out); again {
			return answerLater
		}
	}
	var durable bool
	c.out, durable = w.st.receive(c.q, now, timeout, c.max-c.taken, c.out)
	if c.attempt != "" && len(c.out) > 0 {
		w.st.remember(c.q, now, timeout, c.attempt, c.out)
	}
	switch {
	case len(c.out) == 0 && c.wait:
		d := w.deskOf(c.q)
		d.waiting = append(d.waiting, c)
		return answerParked
	case durable:
		return answerLater
	}
	return answerNow
}

func (c *receive) finish(s *Service, err error) {
	if err == nil {
		err = c.err
	}
	if err == nil {
		c.collect(s, c.taken)
	}
	c.answer.give(err)
}

// collect counts what was received, from the given one on, and adds the
// contents that are in memory.
func (c *receive) collect(s *Service, from int) {
	c.q.received += uint64(len(c.out) - from)
	for _, d := range c.out[from:] {
		c.records = append(c.records, s.cache.records[d.seq])
	}
}

// withdraw ends the waiting of a receive; if it waits no more, it does nothing.
type withdraw struct{ receive *receive }

func (c withdraw) apply(w *writer, _ int64) verdict {
	d := w.desks[c.receive.q]
	if d == nil {
		return answerNow
	}
	if at := slices.Index(d.waiting, c.receive); at >= 0 {
		d.waiting = slices.Delete(d.waiting, at, at+1)
		c.receive.finish(w.Service, nil)
	}
	return answerNow
}

func (c withdraw) finish(*Service, error) {}

// target is a message named by a receipt, and what happened to it.
type target struct {
	delivery
	handle  string
	timeout int64 // of a change, in milliseconds
	hands   hands // after a change
	removed bool
	err     error
}

// settleAll deletes messages or changes their visibility.
type settleAll struct {
	queue   string
	targets []target
	refused []error // by target, for its receipt or timeout
	change  bool
	answer  reply
	q       *queue
	err     error
}

func (c *settleAll) apply(w *writer, now int64) verdict {
	if c.q = w.st.names[c.queue]; c.q == nil {
		c.err = noQueue(c.queue)
		return answerNow
	}
	before := len(w.st.ops)
	for i := range c.targets {
		t := &c.targets[i]
		switch {
		case t.seq == 0: // its receipt was refused
		case t.queue != c.q.saved.id:
			t.err = refuse(ErrReceiptHandleInvalid, "The receipt handle %q is not valid for this queue.", t.handle)
		case c.change:
			t.err = w.st.change(c.q, now, t.timeout, t.seq, t.count, t.hands)
		default:
			t.removed, t.err = w.st.remove(c.q, now, t.seq, t.count)
		}
		switch t.err {
		case errExpiredHandle:
			t.err = outside("ReceiptHandle", t.handle, "The receipt handle has expired.")
		case errMessageGone:
			t.err = outside("ReceiptHandle", t.handle, "Message does not exist or is not available for visibility timeout change.")
		}
	}
	if len(w.st.ops) == before && len(w.group) == 0 {
		return answerNow
	}
	return answerLater // a second delete must not be answered before the first
}

func (c *settleAll) finish(_ *Service, err error) {
	if err == nil {
		err = c.err
	}
	if err == nil {
		for i := range c.targets {
			if c.targets[i].removed {
				c.q.deleted++
			}
		}
	}
	c.answer.give(err)
}

// call changes queues; run is given the time.
type call struct {
	run    func(st *state, now int64) error
	room   bool // it needs room in the store
	answer reply
	err    error
}

func (c *call) apply(w *writer, now int64) verdict {
	if w.full && c.room {
		c.err = fullError()
		return answerNow
	}
	if c.err = c.run(w.st, now); c.err != nil {
		return answerNow
	}
	return answerLater
}

func (c *call) finish(_ *Service, err error) {
	if err == nil {
		err = c.err
	}
	c.answer.give(err)
}

func noQueue(name string) error {
	name = clip(name)
	return &Error{Kind: ErrQueueNotFound, Text: "The specified queue does not exist: " + name, Queue: name}
}

func fullError() error {
	return refuse(ErrStorageFull, "The queue storage is full: nothing was stored. Delete messages or free disk space, then send again.")
}
