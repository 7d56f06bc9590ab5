package queue

import "slices"

// MoveStatus says how far a move of messages has come.
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
	// maxMovesKept is how many moves of a queue are remembered.
	maxMovesKept = 10
	// MaxMoveRate is the largest number of messages per second a move may be
	// limited to.
	MaxMoveRate = 500
	// moveBatch bounds the messages moved in one step, between which other
	// requests are served.
	moveBatch = 100
	// movesPerSecond is into how many steps a limited rate is divided.
	movesPerSecond = 10
)

// moveRow is a move as the store keeps it. Its id is a sequence, so that later
// moves have larger ones.
type moveRow struct {
	id            uint64
	queue         uint32
	destination   string // empty means where each message came from
	rate          int64  // messages per second; 0 means as fast as possible
	status        MoveStatus
	failure       string
	started       int64
	moved, toMove int64
}

// moving is the running move out of q, or nil.
func (q *queue) moving() *moveRow {
	if n := len(q.moves); n > 0 && q.moves[n-1].status == MoveRunning {
		return q.moves[n-1]
	}
	return nil
}

// first is the message to receive next, or 0.
func (q *queue) first() uint32 {
	if !q.fifo {
		return q.front()
	}
	if q.heads.len() == 0 {
		return 0
	}
	return q.heads.top().ref
}

// startMove begins to move what is visible now out of q.
func (st *state) startMove(q *queue, now int64, destination string, rate int64) *moveRow {
	q.advance(now)
	st.lastSeq++
	m := &moveRow{
		id: st.lastSeq, queue: q.saved.id, destination: destination, rate: rate,
		status: MoveRunning, started: now, toMove: int64(q.visible()),
	}
	old := q.moves
	kept := slices.Clone(old)
	if len(kept) == maxMovesKept {
		st.ops = append(st.ops, op{kind: opDropMove, move: kept[0]})
		kept = kept[1:]
	}
	st.noteUndo(func() { q.moves = old })
	q.moves, q.moveAt = append(kept, m), now
	st.touch(q)
	st.ops = append(st.ops, op{kind: opPutMove, move: m})
	return m
}

// putMove replaces the newest move of q.
func (st *state) putMove(q *queue, m *moveRow) {
	last, old := len(q.moves)-1, q.moves
	q.moves = slices.Clone(old)
	q.moves[last] = m
	st.noteUndo(func() { q.moves = old })
	st.touch(q)
	st.ops = append(st.ops, op{kind: opPutMove, move: m})
}

// stepMove goes on with the running move out of q, if it is due.
func (st *state) stepMove(q *queue, now int64) {
	running := q.moving()
	if running == nil || now < q.moveAt || st.ids[q.saved.id] != q {
		return // nothing to do, not yet, or the queue was deleted
	}
	m, batch, pause := *running, int64(moveBatch), int64(1)
	if m.rate > 0 {
		batch = max(1, m.rate/movesPerSecond)
		pause = batch * 1000 / m.rate
	}
	q.moveAt = now + pause
	for range batch {
		ref := q.first()
		if ref == 0 || m.moved >= m.toMove {
			m.status = MoveCompleted
			break
		}
		to, failure := st.moveTarget(q, ref, m.destination)
		if to == nil {
			m.status, m.failure = MoveFailed, failure
			break
		}
		st.redrive(q, ref, to, now)
		m.moved++
	}
	if m.status == MoveRunning && (m.moved >= m.toMove || q.first() == 0) {
		m.status = MoveCompleted
	}
	st.putMove(q, &m)
}

// moveTarget is the queue that a message of q goes to, or why there is none.
func (st *state) moveTarget(q *queue, ref uint32, destination string) (_ *queue, failure string) {
	if destination == "" {
		if destination = q.origins[q.slab.at(ref).seq]; destination == "" {
			return nil, noSource
		}
	}
	to := st.names[destination]
	if to == nil || to == q || to.fifo != q.fifo {
		return nil, noDestination
	}
	return to, ""
}
