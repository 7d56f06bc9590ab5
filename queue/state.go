package queue

// state is the pure state machine over all queues. Times are Unix
// milliseconds. Its methods assume validated arguments; they collect the
// operations to persist in ops and what is needed to undo them in images.
type state struct {
	names    map[string]*queue
	ids      map[uint32]*queue
	dropped  map[string]int64 // when a queue of that name was deleted; strict services only
	lastSeq  uint64
	lastID   uint32
	safe     uint64 // sequences up to this one are known to be in the store
	ops      []op
	images   []image
	touched  []*queue
	unsaved  []messageRef
	garbage  []uint64   // rows of purged and deleted queues, still in the store
	buried   []pack     // more of them
	stale    []dedupRow // deduplication that ended, still in the store
	draining int        // how many of garbage are in ops
	ending   int        // how many of stale are in ops
	keepWarm int        // how many visible messages of a queue stay entries at least
}

// queue is one queue: its settings and its messages.
type queue struct {
	saved    *queueRow // replaced, never changed
	settings settings
	*backlog
	touched bool

	sends    window[sentOnce]   // FIFO: what was sent, by deduplication key
	attempts window[*attempt]   // FIFO: what was received, by attempt id
	moves    []*moveRow         // out of this queue, the newest last; replaced, never changed
	moveAt   int64              // when the running one goes on
	purged   int64              // the last purge, if any
	damaged  map[uint64]numbers // set aside, by sequence

	sent, deleted, received uint64
}

func newQueue(saved *queueRow, s settings) *queue {
	return &queue{saved: saved, settings: s, backlog: newBacklog(s.fifo), damaged: map[uint64]numbers{}}
}

// row is e as the store keeps it.
func (q *queue) row(e *entry) row { return row{e.numbers, q.saved.id} }

// image is what a message, or a queue, was before a change.
type image struct {
	q       *queue
	seq     uint64
	prior   entry
	label   label
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
	return &state{names: map[string]*queue{}, ids: map[uint32]*queue{}, dropped: map[string]int64{}, lastSeq: first, safe: first, keepWarm: coldAfter}
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
		im.prior, im.label, im.existed = *e, q.label(e), true
	}
	st.images = append(st.images, im)
}

// noteUndo remembers how to take a change of a queue back.
func (st *state) noteUndo(undo func()) { st.images = append(st.images, image{undo: undo}) }

// committed ends a group: everything in ops is in the store.
func (st *state) committed() {
	st.safe = st.lastSeq
	st.garbage = st.garbage[:len(st.garbage)-st.draining]
	st.stale = st.stale[:len(st.stale)-st.ending]
	st.freeze()
	st.endGroup()
}

// freeze makes messages cold that are new in the store, on queues where many wait.
func (st *state) freeze() {
	for i := range st.ops {
		if o := &st.ops[i]; o.kind == opInsert || o.kind == opMove {
			if q := st.ids[o.row.queue]; q != nil {
				q.freeze(o.row.seq, st.keepWarm)
			}
		}
	}
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
			im.q.add(im.prior, im.label)
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
	st.ops, st.images, st.draining, st.ending = st.ops[:0], st.images[:0], 0, 0
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

// sweep emits up to limit deletes each of rows of purged and deleted queues,
// and of deduplication that ended.
func (st *state) sweep(limit int) {
	if len(st.garbage) < limit {
		st.exhume()
	}
	st.draining = min(limit, len(st.garbage))
	for _, seq := range st.garbage[len(st.garbage)-st.draining:] {
		st.ops = append(st.ops, op{kind: opRemove, seq: seq})
	}
	st.ending = min(limit, len(st.stale))
	for i := range st.stale[len(st.stale)-st.ending:] {
		st.ops = append(st.ops, op{kind: opDropDedup, dedup: &st.stale[len(st.stale)-st.ending+i]})
	}
}

// exhume unpacks some of what is buried, as garbage to sweep.
func (st *state) exhume() {
	last := len(st.buried) - 1
	if last < 0 {
		return
	}
	garbage, buried := st.garbage, st.buried
	st.noteUndo(func() { st.garbage, st.buried = garbage, buried })
	for _, m := range st.buried[last].unpack(nil) {
		st.garbage = append(st.garbage, m.seq)
	}
	st.buried = st.buried[:last:last] // what is buried next overwrites nothing
}

// inter adds a row that is dead to what is buried, while loading: rows come in
// the order of their sequences.
func (st *state) inter(seq uint64) {
	st.garbage = append(st.garbage, seq)
	if len(st.garbage) < packSize {
		return
	}
	all := make([]sighting, len(st.garbage))
	for i, seq := range st.garbage {
		all[i].seq = seq
	}
	st.buried = append(st.buried, packed(all))
	st.garbage = st.garbage[:0]
}
