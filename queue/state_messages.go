package queue

// send adds a message and returns its sequence.
func (st *state) send(q *queue, now, delay int64, rec *record) uint64 {
	st.lastSeq++
	e := entry{numbers: numbers{seq: st.lastSeq, sent: now, visible: now + delay}, place: visible}
	if delay > 0 {
		e.place = delayed
	}
	st.note(q, e.seq)
	q.add(e, label{group: rec.group, source: rec.source})
	st.ops = append(st.ops, op{kind: opInsert, row: q.row(&e), record: rec})
	return e.seq
}

// receive takes up to limit visible messages for timeout and appends them to
// out. durable says that the store must know before they are handed out.
func (st *state) receive(q *queue, now, timeout int64, limit int, out []delivery) (_ []delivery, durable bool) {
	q.advance(now)
	if q.fifo {
		return st.receiveGroups(q, now, timeout, limit, out), true
	}
	wanted := len(out) + limit
	for passed := 0; len(out) < wanted && passed < maxPassed && q.inFlight.len() < MaxInFlight; {
		ref := q.front()
		if ref == 0 {
			break
		}
		if st.pass(q, ref, now) {
			durable = true
			passed++
			continue
		}
		e := q.slab.at(ref)
		if e.count == 0 {
			durable = durable || e.seq > st.safe
			out = append(out, st.takeFirst(q, ref, now, timeout))
			continue
		}
		e = st.hold(q, ref, now, timeout)
		st.persist(q, e)
		durable = true
		out = append(out, q.delivery(e))
	}
	return out, durable
}

// takeFirst takes a message in flight that was never received; it is written
// later.
func (st *state) takeFirst(q *queue, ref uint32, now, timeout int64) delivery {
	e := st.hold(q, ref, now, timeout)
	e.unsaved = true
	st.unsaved = append(st.unsaved, messageRef{q, e.seq})
	return q.delivery(e)
}

// hold takes a visible message in flight.
func (st *state) hold(q *queue, ref uint32, now, timeout int64) *entry {
	e := q.slab.at(ref)
	st.note(q, e.seq)
	if e.count == 0 {
		e.first = now
	}
	e.count++
	e.received = now
	q.shift(ref, inFlight, now+timeout)
	return e
}

func (q *queue) delivery(e *entry) delivery {
	return delivery{e.seq, q.saved.id, e.count, e.sent, e.first}
}

// maxPassed bounds the messages that leave a queue unreceived in one step.
const maxPassed = 1000

// pass drops a message that outlived its retention, or moves one that was
// received too often, instead of it being received.
func (st *state) pass(q *queue, ref uint32, now int64) bool {
	e := q.slab.at(ref)
	if e.sent+q.settings.retention <= now {
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
func (st *state) forget(q *queue, ref uint32) {
	seq := q.slab.at(ref).seq
	st.note(q, seq)
	q.drop(ref)
	st.ops = append(st.ops, op{kind: opRemove, seq: seq})
}

// deadLetterFor is the queue that e must be moved to instead of being received.
func (st *state) deadLetterFor(q *queue, e *entry) *queue {
	r := q.settings.redrive
	if r == nil || int64(e.count)-int64(e.carried) < int64(r.max) {
		return nil
	}
	target := st.names[q.deadLetterQueue()]
	if target == q {
		return nil
	}
	return target
}

// bury moves a message to a dead-letter queue. Its receive count goes along,
// and on a standard queue the time it was sent.
func (st *state) bury(q *queue, ref uint32, to *queue, now int64) {
	n := q.slab.at(ref).numbers
	n.received, n.carried = 0, n.count
	if q.fifo {
		n.sent = now
	}
	st.move(q, ref, to, now, n, q.saved.name)
}

// redrive moves a message out of a dead-letter queue, as if it were sent now.
func (st *state) redrive(q *queue, ref uint32, to *queue, now int64) {
	st.move(q, ref, to, now, numbers{sent: now}, "")
}

// move gives a message to another queue, visible at once, under a new
// sequence and otherwise with the numbers n.
func (st *state) move(q *queue, ref uint32, to *queue, now int64, n numbers, source string) {
	old := q.slab.at(ref).seq
	l := label{q.groups.nameOf(q.slab.at(ref).group), source}
	st.note(q, old)
	q.drop(ref)
	st.lastSeq++
	n.seq, n.visible = st.lastSeq, now
	e := entry{numbers: n, place: visible}
	to.advance(now)
	st.note(to, n.seq)
	to.add(e, l)
	st.ops = append(st.ops, op{kind: opMove, seq: old, row: to.row(&e), source: source})
}

// remove deletes a message by the handle of its count-th receive. It reports
// whether it did: a message that is gone is left alone, and so is one that was
// received again since. A FIFO queue refuses a handle whose time ran out.
func (st *state) remove(q *queue, now int64, seq uint64, count uint32) (bool, error) {
	q.advance(now)
	ref, e := q.find(seq)
	switch {
	case ref == 0:
		return st.forgetDamaged(q, seq), nil
	case q.fifo && (e.count > count || e.place != inFlight):
		return false, errExpiredHandle
	case e.count > count:
		return false, nil
	}
	st.forget(q, ref)
	return true, nil
}

// change makes a message visible after timeout, by the handle of its count-th
// receive. A standard queue accepts every handle of a message that it still
// has, as AWS does: one of an earlier receive, and one whose time has run out. A
// FIFO queue accepts the newest, until its time runs out. in says whose hands a message is in that is not visible at
// once.
func (st *state) change(q *queue, now, timeout int64, seq uint64, count uint32, in hands) error {
	q.advance(now)
	ref, e := q.find(seq)
	if ref == 0 {
		return errMessageGone
	}
	if q.fifo && (e.count > count || e.place != inFlight) {
		return errExpiredHandle
	}
	received := e.received
	if received == 0 {
		received = now // the receive was not written before a crash
	}
	if now+timeout > received+MaxVisibility.Milliseconds() {
		return outside("VisibilityTimeout", timeout/1000, "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]")
	}
	st.note(q, seq)
	e.count, e.received = max(e.count, count), received
	if e.first == 0 {
		e.first = received
	}
	if timeout > 0 {
		q.hand(ref, inFlight, now+timeout, in)
	} else {
		q.shift(ref, visible, now)
	}
	st.persist(q, q.slab.at(ref))
	return nil
}

// expire drops visible messages of q that outlived its retention, as many as
// one step may; what is left stays due. It also ends old deduplication.
func (st *state) expire(q *queue, now int64) {
	q.advance(now)
	st.expireWindows(q, now)
	for range maxPassed {
		sent, seq, ok := q.oldest()
		if !ok || sent+q.settings.retention > now {
			break
		}
		ref, _ := q.find(seq)
		st.forget(q, ref)
	}
}
