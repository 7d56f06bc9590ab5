package writer

import (
	"slices"
	"time"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/rules"
	"github.com/muster-scale/muster/queue/internal/storage"
)

// Send adds messages to a queue.
type Send struct {
	Queue    string
	Fifo     bool
	Outgoing []Sending
	Answer   Reply
	q        *machine.Queue
	err      error
}

// Sending is one accepted message of a send.
type Sending struct {
	Record    *machine.Record
	Delay     int64 // milliseconds; negative means the queue's
	Stored    machine.SentOnce
	Duplicate bool
}

func (c *Send) apply(w *Writer, now int64) verdict {
	if c.q = w.st.Names[c.Queue]; c.q == nil {
		c.err = rules.NoQueue(c.Queue)
		return answerNow
	}
	if w.full {
		c.err = fullError()
		return answerNow
	}
	for i := range c.Outgoing {
		m := &c.Outgoing[i]
		delay := m.Delay
		if delay < 0 {
			delay = c.q.Settings.Delay
		}
		if c.q.Fifo {
			m.Stored, m.Duplicate = w.st.SendOnce(c.q, now, delay, m.Record)
		} else {
			m.Stored.Seq = w.st.Send(c.q, now, delay, m.Record)
		}
	}
	return answerLater
}

func (c *Send) finish(_ *Writer, err error) {
	if err == nil {
		err = c.err
	}
	if err == nil {
		for i := range c.Outgoing {
			if !c.Outgoing[i].Duplicate {
				c.q.Sent++
			}
		}
	}
	c.Answer.give(err)
}

// Receive takes messages, now or when some come.
type Receive struct {
	Queue    string
	Fifo     bool
	Max      int
	Timeout  int64 // milliseconds; negative means the queue's
	Wait     bool
	Patience time.Duration // how long it waits
	Attempt  string
	Answer   Reply
	q        *machine.Queue
	Out      []machine.Delivery
	Records  []*machine.Record // of Out, as far as they are in memory
	taken    int               // how many of Out were taken before the writer saw it
	err      error
}

func (c *Receive) apply(w *Writer, now int64) verdict {
	c.Out = c.Out[:c.taken]
	if c.q = w.st.Names[c.Queue]; c.q == nil {
		c.err = rules.NoQueue(c.Queue)
		return answerNow
	}
	timeout := c.Timeout
	if timeout < 0 {
		timeout = c.q.Settings.Visibility
	}
	if c.q.InFlight.Len() >= machine.MaxInFlight && !c.Wait && !c.q.Fifo && c.taken == 0 {
		c.q.Advance(now) // which may make room
		if c.q.InFlight.Len() >= machine.MaxInFlight {
			c.err = rules.Refuse(rules.ErrOverLimit, "Too many messages in flight: the limit is %d; delete messages "+
				"first.",
				machine.MaxInFlight)
			return answerNow
		}
	}
	c.q.Advance(now)
	w.serve(c.q, now) // who waited before goes first
	if c.Attempt != "" {
		var again bool
		if c.Out, again = w.st.ReceiveAgain(c.q, now, timeout, c.Attempt, c.Out); again {
			return answerLater
		}
	}
	var durable bool
	c.Out, durable = w.st.Receive(c.q, now, timeout, c.Max-c.taken, c.Out)
	if c.Attempt != "" && len(c.Out) > 0 {
		w.st.Remember(c.q, now, timeout, c.Attempt, c.Out)
	}
	switch {
	case len(c.Out) == 0 && c.Wait:
		d := w.deskOf(c.q)
		d.waiting = append(d.waiting, c)
		return answerParked
	case durable:
		return answerLater
	}
	return answerNow
}

func (c *Receive) finish(w *Writer, err error) {
	if err == nil {
		err = c.err
	}
	if err == nil {
		c.collect(w, c.taken)
	}
	c.Answer.give(err)
}

// Kept returns what an error means to the receive: what was taken before the writer saw it is kept in any case.
func (c *Receive) Kept(err error) error {
	if err != nil && c.taken > 0 {
		c.Out, err = c.Out[:c.taken], nil
	}
	return err
}

// collect counts what was received, from the given one on, and adds the
// contents that are in memory.
func (c *Receive) collect(w *Writer, from int) {
	c.q.Received += uint64(len(c.Out) - from)
	for _, d := range c.Out[from:] {
		c.Records = append(c.Records, w.cache.records[d.Seq])
	}
}

// withdraw ends the waiting of a receive; if it waits no more, it does nothing.
type withdraw struct{ receive *Receive }

func (c withdraw) apply(w *Writer, _ int64) verdict {
	d := w.desks[c.receive.q]
	if d == nil {
		return answerNow
	}
	if at := slices.Index(d.waiting, c.receive); at >= 0 {
		d.waiting = slices.Delete(d.waiting, at, at+1)
		c.receive.finish(w, nil)
	}
	return answerNow
}

func (c withdraw) finish(*Writer, error) {}

// Target is a message named by a receipt, and what happened to it.
type Target struct {
	machine.Delivery
	Handle  string
	Timeout int64         // of a change, in milliseconds
	Hands   machine.Hands // after a change
	removed bool
	Err     error
}

// Settle deletes messages or changes their visibility.
type Settle struct {
	Queue   string
	Targets []Target
	Refused []error // by target, for its receipt or timeout
	Change  bool
	Answer  Reply
	q       *machine.Queue
	err     error
}

func (c *Settle) apply(w *Writer, now int64) verdict {
	if c.q = w.st.Names[c.Queue]; c.q == nil {
		c.err = rules.NoQueue(c.Queue)
		return answerNow
	}
	before := len(w.st.Ops)
	for i := range c.Targets {
		t := &c.Targets[i]
		switch {
		case t.Seq == 0: // its receipt was refused
		case t.Queue != c.q.Saved.ID:
			t.Err = rules.Refuse(rules.ErrReceiptHandleInvalid, "The receipt handle %q is not valid for this queue.",
				t.Handle)
		case c.Change:
			t.Err = w.st.Change(c.q, now, t.Timeout, t.Seq, t.Count, t.Hands)
		default:
			t.removed, t.Err = w.st.Remove(c.q, now, t.Seq, t.Count)
		}
		switch t.Err {
		case machine.ErrExpiredHandle:
			t.Err = rules.Outside("ReceiptHandle", t.Handle, "The receipt handle has expired.")
		case machine.ErrTooLong:
			t.Err = rules.Outside("VisibilityTimeout", t.Timeout/1000,
				"Total VisibilityTimeout for the message is beyond the limit [43200 seconds]")
		case machine.ErrMessageGone:
			t.Err = rules.Outside("ReceiptHandle", t.Handle,
				"Message does not exist or is not available for visibility timeout change.")
		}
	}
	if len(w.st.Ops) == before && len(w.group) == 0 {
		return answerNow
	}
	return answerLater // a second delete must not be answered before the first
}

func (c *Settle) finish(_ *Writer, err error) {
	if err == nil {
		err = c.err
	}
	if err == nil {
		for i := range c.Targets {
			if c.Targets[i].removed {
				c.q.Deleted++
			}
		}
	}
	c.Answer.give(err)
}

// Call changes queues; Run is given the time.
type Call struct {
	Run    func(st *machine.State, now int64) error
	Room   bool // it needs room in the store
	Answer Reply
	err    error
}

func (c *Call) apply(w *Writer, now int64) verdict {
	if w.full && c.Room {
		c.err = fullError()
		return answerNow
	}
	if c.err = c.Run(w.st, now); c.err != nil {
		return answerNow
	}
	return answerLater
}

func (c *Call) finish(_ *Writer, err error) {
	if err == nil {
		err = c.err
	}
	c.Answer.give(err)
}

func fullError() error {
	return rules.Refuse(storage.ErrStorageFull,
		"The queue storage is full: nothing was stored. Delete messages or free disk space, then send again.")
}
