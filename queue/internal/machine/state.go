package machine

// State is the pure state machine over all queues. Its methods assume validated arguments. They collect operations to
// persist in Ops, and in Images what Rollback needs to undo them.
type State struct {
	Names   map[string]*Queue
	IDs     map[uint32]*Queue
	Dropped map[string]int64 // times of deletion by queue name; strict services only
	LastSeq uint64
	lastID  uint32
	Safe    uint64 // sequences up to this one are in the store
	Ops     []Op
	Images  []image
	// Touched lists the queues that changed in this group. Unsaved lists first receives not in Ops yet;
	// see Flush.
	Touched      []*Queue
	Unsaved      []messageRef
	Garbage      []uint64   // sequences of dead rows, to be removed from the store
	GarbagePacks []pack     // more of them, packed
	Stale        []DedupRow // ended deduplication, to be removed from the store
	draining     int        // the last ones of Garbage that are in Ops
	expiring     int        // the last ones of Stale that are in Ops
	KeepEntries  int        // visible messages of a queue that stay entries; PackAfter outside tests
}

// Queue is one queue: its settings and its messages.
type Queue struct {
	Saved    *QueueRow // replaced, never changed
	Settings Settings
	*Backlog
	Touched bool

	Sends    window[SentOnce]   // FIFO: sent messages by deduplication key
	attempts window[*attempt]   // FIFO: received messages by attempt id
	Moves    []*MoveRow         // moves out of this queue, the newest last; replaced, never changed
	moveAt   int64              // when the next step of the running move is due
	Purged   int64              // time of the last purge, or 0
	Damaged  map[uint64]Numbers // damaged messages by sequence; see SetAside

	// Counted since the service was opened; package writer increments them.
	Sent, Deleted, Received uint64
}

func newQueue(saved *QueueRow, s Settings) *Queue {
	return &Queue{Saved: saved, Settings: s, Backlog: newBacklog(s.Fifo), Damaged: map[uint64]Numbers{}}
}

// row returns e as the store keeps it.
func (q *Queue) row(e *Entry) Row { return Row{e.Numbers, q.Saved.ID} }

// image is the state of a message before a change, or a function that undoes a change of a queue.
type image struct {
	q       *Queue
	seq     uint64
	prior   Entry
	label   Label
	existed bool
	undo    func()
}

// messageRef names a message. Its entry may be gone by the time it is used.
type messageRef struct {
	q   *Queue
	seq uint64
}

// Delivery is one receive of a message. Queue, Seq and Count make its receipt handle.
type Delivery struct {
	Seq   uint64
	Queue uint32
	Count uint32
	Sent  int64
	First int64
}

// SeqBits is the number of bits for sequences within one epoch. The epoch, which each opening of the store
// increments, is in the upper bits. So a sequence is unique for ever, even if the newest rows were deleted before a
// crash, and a receipt handle can never match another message.
const SeqBits = 40

// NewState returns a state without queues, for the epoch of the store.
func NewState(epoch uint64) *State {
	first := epoch << SeqBits
	return &State{Names: map[string]*Queue{}, IDs: map[uint32]*Queue{}, Dropped: map[string]int64{}, LastSeq: first,
		Safe: first, KeepEntries: PackAfter}
}

// Touch notes that q changed in this group, so that the writer serves its waiting receives and its subscribers.
func (st *State) Touch(q *Queue) {
	if !q.Touched {
		q.Touched = true
		st.Touched = append(st.Touched, q)
	}
}

// note saves the state of message seq of q before it is changed.
func (st *State) note(q *Queue, seq uint64) {
	st.Touch(q)
	im := image{q: q, seq: seq}
	if ref, e := q.Find(seq); ref != 0 {
		im.prior, im.label, im.existed = *e, q.Label(e), true
	}
	st.Images = append(st.Images, im)
}

// NoteUndo registers a function that undoes a change of a queue.
func (st *State) NoteUndo(undo func()) { st.Images = append(st.Images, image{undo: undo}) }

// Committed ends a group whose operations are all in the store.
func (st *State) Committed() {
	st.Safe = st.LastSeq
	st.Garbage = st.Garbage[:len(st.Garbage)-st.draining]
	st.Stale = st.Stale[:len(st.Stale)-st.expiring]
	st.compact()
	st.endGroup()
}

// compact packs messages that the group added, on queues where many wait. It runs after the commit, because until
// then Rollback may remove them.
func (st *State) compact() {
	for i := range st.Ops {
		if o := &st.Ops[i]; o.Kind == OpInsert || o.Kind == OpMove {
			if q := st.IDs[o.Row.Queue]; q != nil {
				q.compact(o.Row.Seq, st.KeepEntries)
			}
		}
	}
}

// Rollback ends a group and undoes it, the last change first.
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

// endGroup clears what belongs to one group. The slices keep their memory, not their pointers.
func (st *State) endGroup() {
	clear(st.Ops)
	clear(st.Images)
	st.Ops, st.Images, st.draining, st.expiring = st.Ops[:0], st.Images[:0], 0, 0
}

// persist emits the row of e, which is then saved.
func (st *State) persist(q *Queue, e *Entry) {
	e.unsaved = false
	st.Ops = append(st.Ops, Op{Kind: OpUpdate, Row: q.row(e)})
}

// Flush emits the rows of first receives that were not written yet. A message deleted since costs nothing, which is
// the point of writing them late.
func (st *State) Flush() {
	for _, m := range st.Unsaved {
		if ref, e := m.q.Find(m.seq); ref != 0 && e.unsaved {
			st.note(m.q, m.seq)
			st.persist(m.q, e)
		}
	}
	st.Unsaved = st.Unsaved[:0]
}

// Sweep emits up to limit deletes of dead rows, and as many of ended deduplication. Removing them a part at a time
// keeps a purge of millions from blocking other requests.
func (st *State) Sweep(limit int) {
	if len(st.Garbage) < limit {
		st.unpackGarbage()
	}
	st.draining = min(limit, len(st.Garbage))
	for _, seq := range st.Garbage[len(st.Garbage)-st.draining:] {
		st.Ops = append(st.Ops, Op{Kind: OpRemove, Seq: seq})
	}
	st.expiring = min(limit, len(st.Stale))
	for i := range st.Stale[len(st.Stale)-st.expiring:] {
		st.Ops = append(st.Ops, Op{Kind: OpDropDedup, Dedup: &st.Stale[len(st.Stale)-st.expiring+i]})
	}
}

// unpackGarbage moves the last pack of garbage to Garbage.
func (st *State) unpackGarbage() {
	last := len(st.GarbagePacks) - 1
	if last < 0 {
		return
	}
	garbage, packs := st.Garbage, st.GarbagePacks
	st.NoteUndo(func() { st.Garbage, st.GarbagePacks = garbage, packs })
	for _, m := range st.GarbagePacks[last].Unpack(nil) {
		st.Garbage = append(st.Garbage, m.Seq)
	}
	st.GarbagePacks = st.GarbagePacks[:last:last] // an append must not overwrite what an undo needs
}

// addGarbage adds a dead row while loading, and packs full sets. Rows come in the order of their sequences.
func (st *State) addGarbage(seq uint64) {
	st.Garbage = append(st.Garbage, seq)
	if len(st.Garbage) < PackSize {
		return
	}
	all := make([]PackedMessage, len(st.Garbage))
	for i, seq := range st.Garbage {
		all[i].Seq = seq
	}
	st.GarbagePacks = append(st.GarbagePacks, NewPack(all))
	st.Garbage = st.Garbage[:0]
}

// Settings are the parsed attributes of a queue. Times are in milliseconds.
type Settings struct {
	Visibility, Delay, Retention, Wait int64
	MaxBytes                           int
	Redrive                            *Redrive
	Allow                              RedriveAllow

	Fifo         bool
	ContentDedup bool // ContentBasedDeduplication: the body's hash is the default id
	DedupByGroup bool // deduplication ids are unique within a group only
}

// Redrive is the RedrivePolicy of a queue.
type Redrive struct {
	Target string // queue name
	Max    int    // maxReceiveCount
}

// RedriveAllow says which queues may use this one as their dead-letter queue.
type RedriveAllow struct {
	Permission string   // allowAll, denyAll or byQueue
	Sources    []string // queue names
}
