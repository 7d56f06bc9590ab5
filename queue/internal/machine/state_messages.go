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

// Receive puts up to limit visible messages in flight for timeout and appends them to out. durable says that the
// group must be committed before they are handed out. A first receive of a stored message of a standard queue needs
// no commit.
func (st *State) Receive(q *Queue, now, timeout int64, limit int, out []Delivery) (_ []Delivery, durable bool) {
	q.Advance(now)
	if q.Fifo {
		return st.receiveGroups(q, now, timeout, limit, out), true
	}
	wanted := len(out) + limit
	for skipped := 0; len(out) < wanted && skipped < MaxSkipped && q.InFlight.Len() < MaxInFlight; {
		ref := q.front()
		if ref == 0 {
			break
		}
		if st.evict(q, ref, now) {
			durable = true
			skipped++
			continue
		}
		e := q.Slab.At(ref)
		if e.Count == 0 {
			durable = durable || e.Seq > st.Safe
			out = append(out, st.takeFirst(q, ref, now, timeout))
			continue
		}
		e = st.takeInFlight(q, ref, now, timeout)
		st.persist(q, e)
		durable = true
		out = append(out, q.Delivery(e))
	}
	return out, durable
}

// takeFirst puts in flight a message that was never received; Flush writes its row later.
func (st *State) takeFirst(q *Queue, ref uint32, now, timeout int64) Delivery {
	e := st.takeInFlight(q, ref, now, timeout)
	e.unsaved = true
	st.Unsaved = append(st.Unsaved, messageRef{q, e.Seq})
	return q.Delivery(e)
}

// takeInFlight puts a visible message in flight.
func (st *State) takeInFlight(q *Queue, ref uint32, now, timeout int64) *Entry {
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

// Delivery returns the latest receive of e.
func (q *Queue) Delivery(e *Entry) Delivery {
	return Delivery{e.Seq, q.Saved.ID, e.Count, e.Sent, e.First}
}

// MaxSkipped bounds the messages that one step removes, moves or defers instead of receiving them.
const MaxSkipped = 1000

// evict removes a message that outlived its retention, or moves one that was received too often to the dead-letter
// queue. It returns false if the message may be received.
func (st *State) evict(q *Queue, ref uint32, now int64) bool {
	e := q.Slab.At(ref)
	if e.Sent+q.Settings.Retention <= now {
		st.forget(q, ref)
		return true
	}
	target := st.deadLetterFor(q, e)
	if target != nil {
		st.deadLetter(q, ref, target, now)
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

// deadLetterFor returns the queue to which e must be moved instead of being received, or nil. Receives in earlier
// queues do not count. A queue that is its own dead-letter queue keeps its messages.
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

// deadLetter moves a message to a dead-letter queue. It keeps its receive count and, on a standard queue, its time of
// sending.
func (st *State) deadLetter(q *Queue, ref uint32, to *Queue, now int64) {
	n := q.Slab.At(ref).Numbers
	n.Received, n.Carried = 0, n.Count
	if q.Fifo {
		n.Sent = now
	}
	st.move(q, ref, to, now, n, q.Saved.Name)
}

// Redrive moves a message out of a dead-letter queue as if it were sent now.
func (st *State) Redrive(q *Queue, ref uint32, to *Queue, now int64) {
	st.move(q, ref, to, now, Numbers{Sent: now}, "")
}

// move moves a message to another queue, visible at once, with a new sequence and otherwise the numbers n.
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

// Remove deletes a message by the handle of its count-th receive, and says whether it did. A message that is gone, or
// was received again since, is left alone. A FIFO queue refuses an outdated handle with ErrExpiredHandle.
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

// Change makes a message visible after timeout, by the handle of its count-th receive. As at AWS, a standard queue
// accepts every handle of a message that it still has, also one of an earlier receive or one whose timeout ended. A
// FIFO queue accepts the newest handle until its timeout ends. in is the flight state until the message is visible.
func (st *State) Change(q *Queue, now, timeout int64, seq uint64, count uint32, in FlightState) error {
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
		q.shiftAs(ref, InFlight, now+timeout, in)
	} else {
		q.shift(ref, Visible, now)
	}
	st.persist(q, q.Slab.At(ref))
	return nil
}

// Expire removes visible messages of q that outlived its retention, up to the bound of one step; the rest stays due.
// It also ends old deduplication.
func (st *State) Expire(q *Queue, now int64) {
	q.Advance(now)
	st.expireWindows(q, now)
	for range MaxSkipped {
		sent, seq, ok := q.Oldest()
		if !ok || sent+q.Settings.Retention > now {
			break
		}
		ref, _ := q.Find(seq)
		st.forget(q, ref)
	}
}

// ReceiveStored receives up to limit messages that are in the store and were never received. It emits nothing and
// leaves nothing to undo, so it may run while a group is being committed.
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
