// The requests. apply changes the state under Writer.mu and says when to answer. finish counts and
// answers, after the commit or with its error. If the group is undone, apply runs again, so it must
// overwrite what it left before.

package writer

import (
	"slices"
	"time"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/rules"
	"github.com/muster-scale/muster/queue/internal/storage"
)

// Send adds messages to a queue. Answer gets one error for all of them; Outgoing gets the stored ids.
type Send struct {
	Queue    string
	Fifo     bool
	Outgoing []Sending
	Answer   Reply
	q        *machine.Queue
	err      error
}

// Sending is one accepted message of a send. Stored and Duplicate are its outcome.
type Sending struct {
	Record    *machine.Record
	Delay     int64 // milliseconds; negative means that of the queue
	Stored    machine.SentOnce
	Duplicate bool
}

// apply refuses the whole send when the disk is full. Deletes must continue then, see Writer.again.
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

// Receive takes messages, now or when some arrive. With Wait it joins the wait list of its queue when
// none is visible; Writer.await bounds the time.
type Receive struct {
	Queue   string
	Fifo    bool
	Max     int
	Timeout int64 // milliseconds; negative means that of the queue
	Wait    bool
	WaitFor time.Duration // the longest wait
	Attempt string
	Answer  Reply
	q       *machine.Queue
	Out     []machine.Delivery
	Records []*machine.Record // contents of Out; nil where the disk must be read
	taken   int               // the number of Out that ServeNow took before the writer got the request
	err     error
}

// apply keeps what ServeNow took. Receives that waited before go first.
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
		c.q.Advance(now) // a timeout may have ended
		if c.q.InFlight.Len() >= machine.MaxInFlight {
			c.err = rules.Refuse(rules.ErrOverLimit, "Too many messages in flight: the limit is %d; delete messages "+
				"first.",
				machine.MaxInFlight)
			return answerNow
		}
	}
	c.q.Advance(now)
	w.serve(c.q, now) // receives that wait already go first
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
		d := w.waitListOf(c.q)
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

// Kept returns err unless ServeNow took messages for c. Those are in flight whatever happened later, so
// they are returned and the error is dropped.
func (c *Receive) Kept(err error) error {
	if err != nil && c.taken > 0 {
		c.Out, err = c.Out[:c.taken], nil
	}
	return err
}

// collect counts the deliveries of Out with index from and above, and adds the contents that are in
// memory.
func (c *Receive) collect(w *Writer, from int) {
	c.q.Received += uint64(len(c.Out) - from)
	for _, d := range c.Out[from:] {
		c.Records = append(c.Records, w.cache.records[d.Seq])
	}
}

// withdraw ends the wait of a receive, with an empty answer. It does nothing if the receive was
// answered meanwhile.
type withdraw struct{ receive *Receive }

func (c withdraw) apply(w *Writer, _ int64) verdict {
	d := w.waitLists[c.receive.q]
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

// Target is a message named by a receipt, and its outcome.
type Target struct {
	machine.Delivery
	Handle      string
	Timeout     int64               // of a change, in milliseconds from now
	FlightState machine.FlightState // until it is visible again, after a change
	removed     bool
	Err         error
}

// Settle deletes messages or, with Change, changes their visibility.
type Settle struct {
	Queue   string
	Targets []Target
	Refused []error // one per target: why package queue refused it, or nil
	Change  bool
	Answer  Reply
	q       *machine.Queue
	err     error
}

// apply runs each target on its own: one bad handle does not refuse the others.
func (c *Settle) apply(w *Writer, now int64) verdict {
	if c.q = w.st.Names[c.Queue]; c.q == nil {
		c.err = rules.NoQueue(c.Queue)
		return answerNow
	}
	before := len(w.st.Ops)
	for i := range c.Targets {
		t := &c.Targets[i]
		switch {
		case t.Seq == 0: // package queue refused its receipt
		case t.Queue != c.q.Saved.ID:
			t.Err = rules.Refuse(rules.ErrReceiptHandleInvalid, "The receipt handle %q is not valid for this queue.",
				t.Handle)
		case c.Change:
			t.Err = w.st.Change(c.q, now, t.Timeout, t.Seq, t.Count, t.FlightState)
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
	return answerLater // a repeated delete must not be answered before the first is on disk
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

// Call runs a function on the state, for changes of queues and moves. Run gets the time in Unix
// milliseconds. If it returns an error it must not have changed anything.
type Call struct {
	Run    func(st *machine.State, now int64) error
	Room   bool // it is refused when the disk is full
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

// fullError is the refusal of a request for which the disk has no room.
func fullError() error {
	return rules.Refuse(storage.ErrStorageFull,
		"The queue storage is full: nothing was stored. Delete messages or free disk space, then send again.")
}
