package machine

// State is the pure state machine over all queues. Times are Unix
// milliseconds. Its methods assume validated arguments; they collect the
// operations to persist in ops and what is needed to undo them in images.
type State struct {
	Names    map[string]*Queue
	IDs      map[uint32]*Queue
	Dropped  map[string]int64 // when a queue of that name was deleted; strict services only
	LastSeq  uint64
	lastID   uint32
	Safe     uint64 // sequences up to this one are known to be in the store
	Ops      []Op
	Images   []image
	Touched  []*Queue
	Unsaved  []messageRef
	Garbage  []uint64   // rows of purged and deleted queues, still in the store
	Buried   []pack     // more of them
	Stale    []DedupRow // deduplication that ended, still in the store
	draining int        // how many of garbage are in ops
	ending   int        // how many of stale are in ops
	KeepWarm int        // how many visible messages of a queue stay entries at least
}

// Queue is one queue: its settings and its messages.
type Queue struct {
	Saved    *QueueRow // replaced, never changed
	Settings Settings
	*Backlog
	Touched bool

	Sends    window[SentOnce]   // FIFO: what was sent, by deduplication key
	attempts window[*attempt]   // FIFO: what was received, by attempt id
	Moves    []*MoveRow         // out of this queue, the newest last; replaced, never changed
	moveAt   int64              // when the running one goes on
	Purged   int64              // the last purge, if any
	Damaged  map[uint64]Numbers // set aside, by sequence

	Sent, Deleted, Received uint64
}

func newQueue(saved *QueueRow, s Settings) *Queue {
	return &Queue{Saved: saved, Settings: s, Backlog: newBacklog(s.Fifo), Damaged: map[uint64]Numbers{}}
}

// row is e as the store keeps it.
func (q *Queue) row(e *Entry) Row { return Row{e.Numbers, q.Saved.ID} }

// image is what a message, or a queue, was before a change.
type image struct {
	q       *Queue
	seq     uint64
	prior   Entry
	label   Label
	existed bool
	undo    func()
}

type messageRef struct {
	q   *Queue
	seq uint64
}

// Delivery is a received message as the state knows it.
type Delivery struct {
	Seq   uint64
	Queue uint32
	Count uint32
	Sent  int64
	First int64
}

// SeqBits is the room for sequences within one epoch. An epoch in the upper
// bits makes a sequence unique for ever, even if the newest rows were deleted
// before a crash: a receipt handle can never hit another message.
const SeqBits = 40

// NewState returns a state without queues, for the epoch that the store counts.
func NewState(epoch uint64) *State {
	first := epoch << SeqBits
	return &State{Names: map[string]*Queue{}, IDs: map[uint32]*Queue{}, Dropped: map[string]int64{}, LastSeq: first,
		Safe: first, KeepWarm: ColdAfter}
}

// Touch notes that q changed in this group, so that the shell looks at it.
func (st *State) Touch(q *Queue) {
	if !q.Touched {
		q.Touched = true
		st.Touched = append(st.Touched, q)
	}
}

// note remembers what message seq of q was before it is changed.
func (st *State) note(q *Queue, seq uint64) {
	st.Touch(q)
	im := image{q: q, seq: seq}
	if ref, e := q.Find(seq); ref != 0 {
		im.prior, im.label, im.existed = *e, q.Label(e), true
	}
	st.Images = append(st.Images, im)
}

// NoteUndo remembers how to take a change of a queue back.
func (st *State) NoteUndo(undo func()) { st.Images = append(st.Images, image{undo: undo}) }

// Committed ends a group: everything in ops is in the store.
func (st *State) Committed() {
	st.Safe = st.LastSeq
	st.Garbage = st.Garbage[:len(st.Garbage)-st.draining]
	st.Stale = st.Stale[:len(st.Stale)-st.ending]
	st.freeze()
	st.endGroup()
}

// freeze makes messages cold that are new in the store, on queues where many wait.
func (st *State) freeze() {
	for i := range st.Ops {
		if o := &st.Ops[i]; o.Kind == OpInsert || o.Kind == OpMove {
			if q := st.IDs[o.Row.Queue]; q != nil {
				q.freeze(o.Row.Seq, st.KeepWarm)
			}
		}
	}
}

// Rollback ends a group by undoing it.
func (st *State) Rollback() {
	for i := len(st.Images) - 1; i >= 0; i-- {
		im := &st.Images[i]
		if im.undo != nil {
			im.undo()
			continue
		}
		if ref, _ := im.q.Find(im.seq); ref != 0 {
			im.q.drop(ref)
		}
		if im.existed {
			im.q.Add(im.prior, im.label)
			if im.prior.unsaved {
				st.Unsaved = append(st.Unsaved, messageRef{im.q, im.seq})
			}
		}
	}
	st.endGroup()
}

func (st *State) endGroup() {
	clear(st.Ops)
	clear(st.Images)
	st.Ops, st.Images, st.draining, st.ending = st.Ops[:0], st.Images[:0], 0, 0
}

// persist marks e as saved and emits its row.
func (st *State) persist(q *Queue, e *Entry) {
	e.unsaved = false
	st.Ops = append(st.Ops, Op{Kind: OpUpdate, Row: q.row(e)})
}

// Flush emits the rows of the first receives not written yet. Messages that
// were deleted meanwhile cost nothing.
func (st *State) Flush() {
	for _, m := range st.Unsaved {
		if ref, e := m.q.Find(m.seq); ref != 0 && e.unsaved {
			st.note(m.q, m.seq)
			st.persist(m.q, e)
		}
	}
	st.Unsaved = st.Unsaved[:0]
}

// Sweep emits up to limit deletes each of rows of purged and deleted queues,
// and of deduplication that ended.
func (st *State) Sweep(limit int) {
	if len(st.Garbage) < limit {
		st.exhume()
	}
	st.draining = min(limit, len(st.Garbage))
	for _, seq := range st.Garbage[len(st.Garbage)-st.draining:] {
		st.Ops = append(st.Ops, Op{Kind: OpRemove, Seq: seq})
	}
	st.ending = min(limit, len(st.Stale))
	for i := range st.Stale[len(st.Stale)-st.ending:] {
		st.Ops = append(st.Ops, Op{Kind: OpDropDedup, Dedup: &st.Stale[len(st.Stale)-st.ending+i]})
	}
}

// exhume unpacks some of what is buried, as garbage to sweep.
func (st *State) exhume() {
	last := len(st.Buried) - 1
	if last < 0 {
		return
	}
	garbage, buried := st.Garbage, st.Buried
	st.NoteUndo(func() { st.Garbage, st.Buried = garbage, buried })
	for _, m := range st.Buried[last].Unpack(nil) {
		st.Garbage = append(st.Garbage, m.Seq)
	}
	st.Buried = st.Buried[:last:last] // what is buried next overwrites nothing
}

// inter adds a row that is dead to what is buried, while loading: rows come in
// the order of their sequences.
func (st *State) inter(seq uint64) {
	st.Garbage = append(st.Garbage, seq)
	if len(st.Garbage) < PackSize {
		return
	}
	all := make([]Sighting, len(st.Garbage))
	for i, seq := range st.Garbage {
		all[i].Seq = seq
	}
	st.Buried = append(st.Buried, Packed(all))
	st.Garbage = st.Garbage[:0]
}
