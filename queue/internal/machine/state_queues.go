package machine

// Put creates a queue.
func (st *State) Put(saved *QueueRow, s Settings) *Queue {
	st.lastID++
	saved.ID, saved.Floor = st.lastID, st.LastSeq
	q := newQueue(saved, s)
	st.attach(q)
	st.NoteUndo(func() { st.detach(q) })
	st.Ops = append(st.Ops, Op{Kind: OpPutQueue, Queue: saved})
	return q
}

func (st *State) attach(q *Queue) { st.Names[q.Saved.Name], st.IDs[q.Saved.ID] = q, q }

func (st *State) detach(q *Queue) {
	delete(st.Names, q.Saved.Name)
	delete(st.IDs, q.Saved.ID)
}

// Alter replaces what is saved of a queue.
func (st *State) Alter(q *Queue, saved *QueueRow, s Settings) {
	oldSaved, oldSettings := q.Saved, q.Settings
	st.NoteUndo(func() { q.Saved, q.Settings = oldSaved, oldSettings })
	q.Saved, q.Settings = saved, s
	st.Touch(q)
	st.Ops = append(st.Ops, Op{Kind: OpPutQueue, Queue: saved})
}

// Purge forgets all messages of a queue.
func (st *State) Purge(q *Queue) {
	saved := *q.Saved
	saved.Floor = st.LastSeq
	st.Alter(q, &saved, q.Settings)
	st.discard(q)
}

// Drop forgets a queue and its messages.
func (st *State) Drop(q *Queue) {
	st.detach(q)
	st.NoteUndo(func() { st.attach(q) })
	st.Touch(q)
	st.Ops = append(st.Ops, Op{Kind: OpDropQueue, Queue: q.Saved})
	st.discard(q)
}

// discard empties q in memory and leaves its rows to sweep.
func (st *State) discard(q *Queue) {
	old, sends, garbage, buried, stale, damaged := q.Backlog, q.Sends, st.Garbage, st.Buried, len(st.Stale), q.Damaged
	st.NoteUndo(func() {
		q.Backlog, q.Sends, st.Garbage, st.Buried, st.Stale, q.Damaged = old, sends, garbage, buried, st.Stale[:stale],
			damaged
	})
	for seq := range damaged {
		st.Garbage = append(st.Garbage, seq)
	}
	q.Damaged = map[uint64]Numbers{}
	for i := range old.Cold.Runs {
		st.discardRun(&old.Cold.Runs[i])
	}
	for e := range old.entries {
		st.Garbage = append(st.Garbage, e.Seq)
	}
	for key, s := range sends.All {
		st.Stale = append(st.Stale, DedupRow{Queue: q.Saved.ID, Key: key, Seq: s.Seq})
	}
	q.Sends = window[SentOnce]{}
	q.Backlog = newBacklog(old.Fifo)
	q.Arrivals = old.Arrivals
}

// discardRun leaves the rows of a run to sweep.
func (st *State) discardRun(r *run) {
	st.Buried = append(st.Buried, r.Packs...)
	for _, open := range [][]Sighting{r.front, r.back} {
		for _, m := range open {
			st.Garbage = append(st.Garbage, m.Seq)
		}
	}
}
