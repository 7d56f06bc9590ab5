package queue

import (
	"slices"
	"time"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/rules"
)

// send adds messages to a queue.
type send struct {
	queue    string
	fifo     bool
	outgoing []sending
	answer   reply
	q        *machine.Queue
	err      error
}

// sending is one accepted message of a send.
type sending struct {
	record    *machine.Record
	delay     int64 // milliseconds; negative means the queue's
	stored    machine.SentOnce
	duplicate bool
}

func (c *send) apply(w *writer, now int64) verdict {
	if c.q = w.st.Names[c.queue]; c.q == nil {
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
			delay = c.q.Settings.Delay
		}
		if c.q.Fifo {
			m.stored, m.duplicate = w.st.SendOnce(c.q, now, delay, m.record)
		} else {
			m.stored.Seq = w.st.Send(c.q, now, delay, m.record)
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
				c.q.Sent++
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
	q        *machine.Queue
	out      []machine.Delivery
	records  []*machine.Record // of out, as far as they are in memory
	taken    int               // how many of out were taken before the writer saw it
	err      error
}

func (c *receive) apply(w *writer, now int64) verdict {
	c.out = c.out[:c.taken]
	if c.q = w.st.Names[c.queue]; c.q == nil {
		c.err = noQueue(c.queue)
		return answerNow
	}
	timeout := c.timeout
	if timeout < 0 {
		timeout = c.q.Settings.Visibility
	}
	if c.q.InFlight.Len() >= MaxInFlight && !c.wait && !c.q.Fifo && c.taken == 0 {
		c.q.Advance(now) // which may make room
		if c.q.InFlight.Len() >= MaxInFlight {
			c.err = rules.Refuse(ErrOverLimit, "Too many messages in flight: the limit is %d; delete messages first.",
				MaxInFlight)
			return answerNow
		}
	}
	c.q.Advance(now)
	w.serve(c.q, now) // who waited before goes first
	if c.attempt != "" {
		var again bool
		if c.out, again = w.st.ReceiveAgain(c.q, now, timeout, c.attempt, c.out); again {
			return answerLater
		}
	}
	var durable bool
	c.out, durable = w.st.Receive(c.q, now, timeout, c.max-c.taken, c.out)
	if c.attempt != "" && len(c.out) > 0 {
		w.st.Remember(c.q, now, timeout, c.attempt, c.out)
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
	c.q.Received += uint64(len(c.out) - from)
	for _, d := range c.out[from:] {
		c.records = append(c.records, s.cache.records[d.Seq])
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
	machine.Delivery
	handle  string
	timeout int64         // of a change, in milliseconds
	hands   machine.Hands // after a change
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
	q       *machine.Queue
	err     error
}

func (c *settleAll) apply(w *writer, now int64) verdict {
	if c.q = w.st.Names[c.queue]; c.q == nil {
		c.err = noQueue(c.queue)
		return answerNow
	}
	before := len(w.st.Ops)
	for i := range c.targets {
		t := &c.targets[i]
		switch {
		case t.Seq == 0: // its receipt was refused
		case t.Queue != c.q.Saved.ID:
			t.err = rules.Refuse(ErrReceiptHandleInvalid, "The receipt handle %q is not valid for this queue.",
				t.handle)
		case c.change:
			t.err = w.st.Change(c.q, now, t.timeout, t.Seq, t.Count, t.hands)
		default:
			t.removed, t.err = w.st.Remove(c.q, now, t.Seq, t.Count)
		}
		switch t.err {
		case machine.ErrExpiredHandle:
			t.err = rules.Outside("ReceiptHandle", t.handle, "The receipt handle has expired.")
		case machine.ErrTooLong:
			t.err = rules.Outside("VisibilityTimeout", t.timeout/1000,
				"Total VisibilityTimeout for the message is beyond the limit [43200 seconds]")
		case machine.ErrMessageGone:
			t.err = rules.Outside("ReceiptHandle", t.handle,
				"Message does not exist or is not available for visibility timeout change.")
		}
	}
	if len(w.st.Ops) == before && len(w.group) == 0 {
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
				c.q.Deleted++
			}
		}
	}
	c.answer.give(err)
}

// call changes queues; run is given the time.
type call struct {
	run    func(st *machine.State, now int64) error
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
	name = rules.Clip(name)
	return &Error{Kind: ErrQueueNotFound, Text: "The specified queue does not exist: " + name, Queue: name}
}

func fullError() error {
	return rules.Refuse(ErrStorageFull,
		"The queue storage is full: nothing was stored. Delete messages or free disk space, then send again.")
}
