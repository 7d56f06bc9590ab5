package queue

// put creates a queue.
func (st *state) put(saved *queueRow, s settings) *queue {
	st.lastID++
	saved.id, saved.floor = st.lastID, st.lastSeq
	q := newQueue(saved, s)
	st.attach(q)
	st.noteUndo(func() { st.detach(q) })
	st.ops = append(st.ops, op{kind: opPutQueue, queue: saved})
	return q
}

func (st *state) attach(q *queue) { st.names[q.saved.name], st.ids[q.saved.id] = q, q }

func (st *state) detach(q *queue) {
	delete(st.names, q.saved.name)
	delete(st.ids, q.saved.id)
}

// alter replaces what is saved of a queue.
func (st *state) alter(q *queue, saved *queueRow, s settings) {
	oldSaved, oldSettings := q.saved, q.settings
	st.noteUndo(func() { q.saved, q.settings = oldSaved, oldSettings })
	q.saved, q.settings = saved, s
	st.touch(q)
	st.ops = append(st.ops, op{kind: opPutQueue, queue: saved})
}

// purge forgets all messages of a queue.
func (st *state) purge(q *queue) {
	saved := *q.saved
	saved.floor = st.lastSeq
	st.alter(q, &saved, q.settings)
	st.discard(q)
}

// drop forgets a queue and its messages.
func (st *state) drop(q *queue) {
	st.detach(q)
	st.noteUndo(func() { st.attach(q) })
	st.touch(q)
	st.ops = append(st.ops, op{kind: opDropQueue, queue: q.saved})
	st.discard(q)
}

// discard empties q in memory and leaves its rows to sweep.
func (st *state) discard(q *queue) {
	old, sends, garbage, buried, stale, damaged := q.backlog, q.sends, st.garbage, st.buried, len(st.stale), q.damaged
	st.noteUndo(func() {
		q.backlog, q.sends, st.garbage, st.buried, st.stale, q.damaged = old, sends, garbage, buried, st.stale[:stale], damaged
	})
	for seq := range damaged {
		st.garbage = append(st.garbage, seq)
	}
	q.damaged = map[uint64]numbers{}
	for i := range old.cold.runs {
		st.discardRun(&old.cold.runs[i])
	}
	for e := range old.entries {
		st.garbage = append(st.garbage, e.seq)
	}
	for key, s := range sends.all {
		st.stale = append(st.stale, dedupRow{queue: q.saved.id, key: key, seq: s.seq})
	}
	q.sends = window[sentOnce]{}
	q.backlog = newBacklog(old.fifo)
	q.arrivals = old.arrivals
}

// discardRun leaves the rows of a run to sweep.
func (st *state) discardRun(r *run) {
	st.buried = append(st.buried, r.packs...)
	for _, open := range [][]sighting{r.front, r.back} {
		for _, m := range open {
			st.garbage = append(st.garbage, m.seq)
		}
	}
}
