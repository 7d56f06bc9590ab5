package machine

import "slices"

// MoveStatus is the state of a move of messages.
type MoveStatus string

// The statuses of a move, in the words of SQS.
const (
	MoveRunning   MoveStatus = "RUNNING"
	MoveCompleted MoveStatus = "COMPLETED"
	MoveCancelled MoveStatus = "CANCELLED"
	MoveFailed    MoveStatus = "FAILED"
)

// Why a move failed, in the words of SQS.
const (
	noSource      = "CouldNotDetermineMessageSource"
	noDestination = "AWS.SimpleQueueService.NonExistentQueue"
)

const (
	// maxMovesKept is the number of moves that a queue remembers, the running one included.
	maxMovesKept = 10
	// MoveBatch bounds the messages moved in one step. Other requests are served between steps.
	MoveBatch = 100
	// movesPerSecond is the number of steps per second into which a limited rate is divided.
	movesPerSecond = 10
)

// MoveRow is a move as the store keeps it. Its id is a message sequence, so it is unique and later moves have larger
// ones. A row is replaced, never changed, so that an undo can restore the old one.
type MoveRow struct {
	ID            uint64
	Queue         uint32
	Destination   string // empty means the queue each message came from
	Rate          int64  // messages per second; 0 means as fast as possible
	Status        MoveStatus
	Failure       string
	Started       int64
	Moved, ToMove int64
}

// Moving returns the running move out of q, or nil.
func (q *Queue) Moving() *MoveRow {
	if n := len(q.Moves); n > 0 && q.Moves[n-1].Status == MoveRunning {
		return q.Moves[n-1]
	}
	return nil
}

// First returns the message to receive next, or 0.
func (q *Queue) First() uint32 {
	if !q.Fifo {
		return q.front()
	}
	if q.Heads.Len() == 0 {
		return 0
	}
	return q.Heads.top().Ref
}

// StartMove starts a move of the messages of q that are visible now.
func (st *State) StartMove(q *Queue, now int64, destination string, rate int64) *MoveRow {
	q.Advance(now)
	st.LastSeq++
	m := &MoveRow{
		ID: st.LastSeq, Queue: q.Saved.ID, Destination: destination, Rate: rate,
		Status: MoveRunning, Started: now, ToMove: int64(q.Visible()),
	}
	old := q.Moves
	kept := slices.Clone(old)
	if len(kept) == maxMovesKept {
		st.Ops = append(st.Ops, Op{Kind: OpDropMove, Move: kept[0]})
		kept = kept[1:]
	}
	st.NoteUndo(func() { q.Moves = old })
	q.Moves, q.moveAt = append(kept, m), now
	st.Touch(q)
	st.Ops = append(st.Ops, Op{Kind: OpPutMove, Move: m})
	return m
}

// PutMove replaces the newest move of q.
func (st *State) PutMove(q *Queue, m *MoveRow) {
	last, old := len(q.Moves)-1, q.Moves
	q.Moves = slices.Clone(old)
	q.Moves[last] = m
	st.NoteUndo(func() { q.Moves = old })
	st.Touch(q)
	st.Ops = append(st.Ops, Op{Kind: OpPutMove, Move: m})
}

// StepMove moves the next batch of the running move out of q if it is due. Without a rate the next step is due 1 ms
// later, so that a long move does not block other requests.
func (st *State) StepMove(q *Queue, now int64) {
	running := q.Moving()
	if running == nil || now < q.moveAt || st.IDs[q.Saved.ID] != q {
		return // nothing to do, not yet, or the queue was deleted
	}
	m, batch, pause := *running, int64(MoveBatch), int64(1)
	if m.Rate > 0 {
		batch = max(1, m.Rate/movesPerSecond)
		pause = batch * 1000 / m.Rate
	}
	q.moveAt = now + pause
	for range batch {
		ref := q.First()
		if ref == 0 || m.Moved >= m.ToMove {
			m.Status = MoveCompleted
			break
		}
		to, failure := st.MoveTarget(q, ref, m.Destination)
		if to == nil {
			m.Status, m.Failure = MoveFailed, failure
			break
		}
		st.Redrive(q, ref, to, now)
		m.Moved++
	}
	if m.Status == MoveRunning && (m.Moved >= m.ToMove || q.First() == 0) {
		m.Status = MoveCompleted
	}
	st.PutMove(q, &m)
}

// MoveTarget returns the queue to which a message of q goes, or why there is none.
func (st *State) MoveTarget(q *Queue, ref uint32, destination string) (_ *Queue, failure string) {
	if destination == "" {
		if destination = q.origins[q.Slab.At(ref).Seq]; destination == "" {
			return nil, noSource
		}
	}
	to := st.Names[destination]
	if to == nil || to == q || to.Fifo != q.Fifo {
		return nil, noDestination
	}
	return to, ""
}

// HasSources says whether any queue uses name as its dead-letter queue.
func (st *State) HasSources(name string) bool {
	for _, q := range st.Names {
		if q.DeadLetterQueue() == name {
			return true
		}
	}
	return false
}
