package queue

// state is the pure state machine over all queues. Times are Unix
// milliseconds. Its methods assume validated arguments; they collect the
// operations to persist in ops and what is needed to undo them in images.
type state struct {
	names    map[string]*queue
	ids      map[uint32]*queue
	lastSeq  uint64
	lastID   uint32
	safe     uint64 // sequences up to this one are known to be in the store
	ops      []op
	images   []image
	touched  []*queue
	unsaved  []messageRef
	garbage  []uint64 // rows of purged and deleted queues, still in the store
	draining int      // how many of garbage are in ops
}

// queue is one queue: its settings and its messages.
type queue struct {
	saved    *queueRow // replaced, never changed
	settings settings
	*backlog
	touched bool

	sent, deleted, received uint64
}

// row is e as the store keeps it.
func (q *queue) row(e *entry) row { return row{e.numbers, q.saved.id} }

// image is what a message, or a queue, was before a change.
type image struct {
	q       *queue
	seq     uint64
	prior   entry
	existed bool
	undo    func()
}

type messageRef struct {
	q   *queue
	seq uint64
}

// delivery is a received message as the state knows it.
type delivery struct {
	seq   uint64
	queue uint32
	count uint32
	sent  int64
	first int64
}

// seqBits is the room for sequences within one epoch. An epoch in the upper
// bits makes a sequence unique for ever, even if the newest rows were deleted
// before a crash: a receipt handle can never hit another message.
const seqBits = 40

func newState(epoch uint64) *state {
	first := epoch << seqBits
	return &state{names: map[string]*queue{}, ids: map[uint32]*queue{}, lastSeq: first, safe: first}
}

// touch notes that q changed in this group, so that the shell looks at it.
func (st *state) touch(q *queue) {
	if !q.touched {
		q.touched = true
		st.touched = append(st.touched, q)
	}
}

// note remembers what message seq of q was before it is changed.
func (st *state) note(q *queue, seq uint64) {
	st.touch(q)
	im := image{q: q, seq: seq}
	if ref, e := q.find(seq); ref != 0 {
		im.prior, im.existed = *e, true
	}
	st.images = append(st.images, im)
}

// noteUndo remembers how to take a change of a queue back.
func (st *state) noteUndo(undo func()) { st.images = append(st.images, image{undo: undo}) }

// committed ends a group: everything in ops is in the store.
func (st *state) committed() {
	st.safe = st.lastSeq
	st.garbage = st.garbage[:len(st.garbage)-st.draining]
	st.endGroup()
}

// rollback ends a group by undoing it.
func (st *state) rollback() {
	for i := len(st.images) - 1; i >= 0; i-- {
		im := &st.images[i]
		if im.undo != nil {
			im.undo()
			continue
		}
		if ref, _ := im.q.find(im.seq); ref != 0 {
			im.q.drop(ref)
		}
		if im.existed {
			im.q.add(im.prior)
			if im.prior.unsaved {
				st.unsaved = append(st.unsaved, messageRef{im.q, im.seq})
			}
		}
	}
	st.endGroup()
}

func (st *state) endGroup() {
	clear(st.ops)
	clear(st.images)
	st.ops, st.images, st.draining = st.ops[:0], st.images[:0], 0
}

// persist marks e as saved and emits its row.
func (st *state) persist(q *queue, e *entry) {
	e.unsaved = false
	st.ops = append(st.ops, op{kind: opUpdate, row: q.row(e)})
}

// flush emits the rows of the first receives not written yet. Messages that
// were deleted meanwhile cost nothing.
func (st *state) flush() {
	for _, m := range st.unsaved {
		if ref, e := m.q.find(m.seq); ref != 0 && e.unsaved {
			st.note(m.q, m.seq)
			st.persist(m.q, e)
		}
	}
	st.unsaved = st.unsaved[:0]
}

// sweep emits up to limit deletes of rows of purged and deleted queues.
func (st *state) sweep(limit int) {
	st.draining = min(limit, len(st.garbage))
	for _, seq := range st.garbage[len(st.garbage)-st.draining:] {
		st.ops = append(st.ops, op{kind: opRemove, seq: seq})
	}
}

// send adds a message and returns its sequence.
func (st *state) send(q *queue, now, delay int64, rec *record) uint64 {
	st.lastSeq++
	e := entry{numbers: numbers{seq: st.lastSeq, sent: now, visible: now + delay}, place: visible}
	if delay > 0 {
		e.place = delayed
	}
	st.note(q, e.seq)
	q.add(e)
	st.ops = append(st.ops, op{kind: opInsert, row: q.row(&e), record: rec})
	return e.seq
}

// receive takes up to limit visible messages for timeout and appends them to
// out. durable says that the store must know before they are handed out.
func (st *state) receive(q *queue, now, timeout int64, limit int, out []delivery) (_ []delivery, durable bool) {
	q.advance(now)
	wanted := len(out) + limit
	for passed := 0; len(out) < wanted && passed < maxPassed && q.inFlight.len() < MaxInFlight; {
		ref := q.ready.front()
		if ref == 0 {
			break
		}
		e := q.slab.at(ref)
		if st.pass(q, ref, now) {
			durable = true
			passed++
			continue
		}
		st.note(q, e.seq)
		first := e.count == 0
		e.count++
		e.received = now
		if first {
			e.first = now
		}
		q.shift(ref, inFlight, now+timeout)
		if first {
			e.unsaved = true
			st.unsaved = append(st.unsaved, messageRef{q, e.seq})
		} else {
			st.persist(q, e)
		}
		durable = durable || !first || e.seq > st.safe
		out = append(out, delivery{e.seq, q.saved.id, e.count, e.sent, e.first})
	}
	return out, durable
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
		st.move(q, ref, target, now)
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
	target := st.names[r.target]
	if target == q {
		return nil
	}
	return target
}

// move gives a message to another queue, visible at once, under a new
// sequence. Its sent time and its receive count go along.
func (st *state) move(q *queue, ref uint32, to *queue, now int64) {
	old := *q.slab.at(ref)
	st.note(q, old.seq)
	q.drop(ref)
	st.lastSeq++
	e := entry{numbers: old.numbers, place: visible}
	e.seq, e.visible, e.received, e.carried = st.lastSeq, now, 0, old.count
	to.advance(now)
	st.note(to, e.seq)
	to.add(e)
	st.ops = append(st.ops, op{kind: opMove, seq: old.seq, row: to.row(&e), source: q.saved.name})
}

// remove deletes a message by the handle of its count-th receive. It reports
// whether it did: a message that is gone, or that was received again since,
// is left alone.
func (st *state) remove(q *queue, seq uint64, count uint32) bool {
	ref, e := q.find(seq)
	if ref == 0 || e.count > count {
		return false
	}
	st.forget(q, ref)
	return true
}

// change makes a message visible after timeout. A message whose time has run
// out but which nobody received since is taken back.
func (st *state) change(q *queue, now, timeout int64, seq uint64, count uint32) error {
	q.advance(now)
	ref, e := q.find(seq)
	if ref == 0 {
		return refuse(ErrInvalidParameter, "Value for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change.")
	}
	if e.count > count {
		return refuse(ErrMessageNotInFlight, "The message was received again since this receipt handle was given out; the receipt no longer holds it.")
	}
	received := e.received
	if received == 0 {
		received = now // the receive was not written before a crash
	}
	if now+timeout > received+MaxVisibility.Milliseconds() {
		return outside("VisibilityTimeout", timeout/1000, "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]")
	}
	st.note(q, seq)
	e.count, e.received = count, received
	if e.first == 0 {
		e.first = received
	}
	if timeout > 0 {
		q.shift(ref, inFlight, now+timeout)
	} else {
		q.shift(ref, visible, now)
	}
	st.persist(q, q.slab.at(ref))
	return nil
}

// expire drops visible messages of q that outlived its retention, as many as
// one step may; what is left stays due.
func (st *state) expire(q *queue, now int64) {
	q.advance(now)
	for range maxPassed {
		if q.ages.len() == 0 || q.ages.top().key+q.settings.retention > now {
			break
		}
		st.forget(q, q.ages.top().ref)
	}
}
