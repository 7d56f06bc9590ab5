package machine

// Send adds a message and returns its sequence.
func (st *State) Send(q *Queue, now, delay int64, rec *Record) uint64 {
	st.LastSeq++
	e := Entry{Numbers: Numbers{Seq: st.LastSeq, Sent: now, Visible: now + delay}, Place: Visible}
	if delay > 0 {
		e.Place = Delayed
	}
	st.note(q, e.Seq)
	q.Add(e, Label{Group: rec.Group, Source: rec.Source})
	st.Ops = append(st.Ops, Op{Kind: OpInsert, Row: q.row(&e), Record: rec})
	return e.Seq
}

// Receive takes up to limit visible messages for timeout and appends them to
// out. durable says that the store must know before they are handed out.
func (st *State) Receive(q *Queue, now, timeout int64, limit int, out []Delivery) (_ []Delivery, durable bool) {
	q.Advance(now)
	if q.Fifo {
		return st.receiveGroups(q, now, timeout, limit, out), true
	}
	wanted := len(out) + limit
	for passed := 0; len(out) < wanted && passed < MaxPassed && q.InFlight.Len() < MaxInFlight; {
		ref := q.front()
		if ref == 0 {
			break
		}
		if st.pass(q, ref, now) {
			durable = true
			passed++
			continue
		}
		e := q.Slab.At(ref)
		if e.Count == 0 {
			durable = durable || e.Seq > st.Safe
			out = append(out, st.takeFirst(q, ref, now, timeout))
			continue
		}
		e = st.hold(q, ref, now, timeout)
		st.persist(q, e)
		durable = true
		out = append(out, q.Delivery(e))
	}
	return out, durable
}

// takeFirst takes a message in flight that was never received; it is written
// later.
func (st *State) takeFirst(q *Queue, ref uint32, now, timeout int64) Delivery {
	e := st.hold(q, ref, now, timeout)
	e.unsaved = true
	st.Unsaved = append(st.Unsaved, messageRef{q, e.Seq})
	return q.Delivery(e)
}

// hold takes a visible message in flight.
func (st *State) hold(q *Queue, ref uint32, now, timeout int64) *Entry {
	e := q.Slab.At(ref)
	st.note(q, e.Seq)
	if e.Count == 0 {
		e.First = now
	}
	e.Count++
	e.Received = now
	q.shift(ref, InFlight, now+timeout)
	return e
}

// Delivery is the receive that e is in.
func (q *Queue) Delivery(e *Entry) Delivery {
	return Delivery{e.Seq, q.Saved.ID, e.Count, e.Sent, e.First}
}

// MaxPassed bounds the messages that leave a queue unreceived in one step.
const MaxPassed = 1000

// pass drops a message that outlived its retention, or moves one that was
// received too often, instead of it being received.
func (st *State) pass(q *Queue, ref uint32, now int64) bool {
	e := q.Slab.At(ref)
	if e.Sent+q.Settings.Retention <= now {
		st.forget(q, ref)
		return true
	}
	target := st.deadLetterFor(q, e)
	if target != nil {
		st.bury(q, ref, target, now)
	}
	return target != nil
}

// forget deletes a message.
func (st *State) forget(q *Queue, ref uint32) {
	seq := q.Slab.At(ref).Seq
	st.note(q, seq)
	q.drop(ref)
	st.Ops = append(st.Ops, Op{Kind: OpRemove, Seq: seq})
}

// deadLetterFor is the queue that e must be moved to instead of being received.
func (st *State) deadLetterFor(q *Queue, e *Entry) *Queue {
	r := q.Settings.Redrive
	if r == nil || int64(e.Count)-int64(e.Carried) < int64(r.Max) {
		return nil
	}
	target := st.Names[q.DeadLetterQueue()]
	if target == q {
		return nil
	}
	return target
}

// bury moves a message to a dead-letter queue. Its receive count goes along,
// and on a standard queue the time it was sent.
func (st *State) bury(q *Queue, ref uint32, to *Queue, now int64) {
	n := q.Slab.At(ref).Numbers
	n.Received, n.Carried = 0, n.Count
	if q.Fifo {
		n.Sent = now
	}
	st.move(q, ref, to, now, n, q.Saved.Name)
}

// Redrive moves a message out of a dead-letter queue, as if it were sent now.
func (st *State) Redrive(q *Queue, ref uint32, to *Queue, now int64) {
	st.move(q, ref, to, now, Numbers{Sent: now}, "")
}

// move gives a message to another queue, visible at once, under a new
// sequence and otherwise with the numbers n.
func (st *State) move(q *Queue, ref uint32, to *Queue, now int64, n Numbers, source string) {
	old := q.Slab.At(ref).Seq
	l := Label{q.Groups.NameOf(q.Slab.At(ref).Group), source}
	st.note(q, old)
	q.drop(ref)
	st.LastSeq++
	n.Seq, n.Visible = st.LastSeq, now
	e := Entry{Numbers: n, Place: Visible}
	to.Advance(now)
	st.note(to, n.Seq)
	to.Add(e, l)
	st.Ops = append(st.Ops, Op{Kind: OpMove, Seq: old, Row: to.row(&e), Source: source})
}

// Remove deletes a message by the handle of its count-th receive. It reports
// whether it did: a message that is gone is left alone, and so is one that was
// received again since. A FIFO queue refuses a handle whose time ran out.
func (st *State) Remove(q *Queue, now int64, seq uint64, count uint32) (bool, error) {
	q.Advance(now)
	ref, e := q.Find(seq)
	switch {
	case ref == 0:
		return st.forgetDamaged(q, seq), nil
	case q.Fifo && (e.Count > count || e.Place != InFlight):
		return false, ErrExpiredHandle
	case e.Count > count:
		return false, nil
	}
	st.forget(q, ref)
	return true, nil
}

// Change makes a message visible after timeout, by the handle of its count-th
// receive. A standard queue accepts every handle of a message that it still
// has, as AWS does: one of an earlier receive, and one whose time has run out. A
// FIFO queue accepts the newest, until its time runs out. in says whose hands a message is in that is not visible at
// once.
func (st *State) Change(q *Queue, now, timeout int64, seq uint64, count uint32, in Hands) error {
	q.Advance(now)
	ref, e := q.Find(seq)
	if ref == 0 {
		return ErrMessageGone
	}
	if q.Fifo && (e.Count > count || e.Place != InFlight) {
		return ErrExpiredHandle
	}
	received := e.Received
	if received == 0 {
		received = now // the receive was not written before a crash
	}
	if now+timeout > received+MaxVisibility.Milliseconds() {
		return ErrTooLong
	}
	st.note(q, seq)
	e.Count, e.Received = max(e.Count, count), received
	if e.First == 0 {
		e.First = received
	}
	if timeout > 0 {
		q.hand(ref, InFlight, now+timeout, in)
	} else {
		q.shift(ref, Visible, now)
	}
	st.persist(q, q.Slab.At(ref))
	return nil
}

// Expire drops visible messages of q that outlived its retention, as many as
// one step may; what is left stays due. It also ends old deduplication.
func (st *State) Expire(q *Queue, now int64) {
	q.Advance(now)
	st.expireWindows(q, now)
	for range MaxPassed {
		sent, seq, ok := q.Oldest()
		if !ok || sent+q.Settings.Retention > now {
			break
		}
		ref, _ := q.Find(seq)
		st.forget(q, ref)
	}
}

// ReceiveStored takes up to limit messages whose first receive this is, and
// which are in the store. It emits nothing and leaves nothing to undo, so that
// it may run while a group is committed.
func (st *State) ReceiveStored(q *Queue, now, timeout int64, limit int, out []Delivery) []Delivery {
	q.Advance(now)
	mark := len(st.Images)
	for wanted := len(out) + limit; len(out) < wanted && q.InFlight.Len() < MaxInFlight; {
		ref := q.front()
		if ref == 0 {
			break
		}
		if e := q.Slab.At(ref); e.Count > 0 || e.Seq > st.Safe || e.Sent+q.Settings.Retention <= now {
			break
		}
		out = append(out, st.takeFirst(q, ref, now, timeout))
	}
	st.Images = st.Images[:mark]
	return out
}
