package machine

// Put creates a queue. Its floor is the present sequence, so that rows of an earlier queue with the same id stay
// dead.
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

// Alter replaces the saved row and the settings of a queue.
func (st *State) Alter(q *Queue, saved *QueueRow, s Settings) {
	oldSaved, oldSettings := q.Saved, q.Settings
	st.NoteUndo(func() { q.Saved, q.Settings = oldSaved, oldSettings })
	q.Saved, q.Settings = saved, s
	st.Touch(q)
	st.Ops = append(st.Ops, Op{Kind: OpPutQueue, Queue: saved})
}

// Purge deletes all messages of a queue. Raising the floor is one small write; Sweep removes the rows later.
func (st *State) Purge(q *Queue) {
	saved := *q.Saved
	saved.Floor = st.LastSeq
	st.Alter(q, &saved, q.Settings)
	st.discard(q)
}

// Drop deletes a queue with its messages.
func (st *State) Drop(q *Queue) {
	st.detach(q)
	st.NoteUndo(func() { st.attach(q) })
	st.Touch(q)
	st.Ops = append(st.Ops, Op{Kind: OpDropQueue, Queue: q.Saved})
	st.discard(q)
}

// discard empties q in memory and leaves its rows to Sweep.
func (st *State) discard(q *Queue) {
	old, sends, damaged := q.Backlog, q.Sends, q.Damaged
	garbage, packs, stale := st.Garbage, st.GarbagePacks, len(st.Stale)
	st.NoteUndo(func() {
		q.Backlog, q.Sends, q.Damaged = old, sends, damaged
		st.Garbage, st.GarbagePacks, st.Stale = garbage, packs, st.Stale[:stale]
	})
	for seq := range damaged {
		st.Garbage = append(st.Garbage, seq)
	}
	q.Damaged = map[uint64]Numbers{}
	for i := range old.Packed.Runs {
		st.discardRun(&old.Packed.Runs[i])
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

// discardRun leaves the rows of a run to Sweep. Packs are moved over without being unpacked.
func (st *State) discardRun(r *run) {
	st.GarbagePacks = append(st.GarbagePacks, r.Packs...)
	for _, open := range [][]PackedMessage{r.front, r.back} {
		for _, m := range open {
			st.Garbage = append(st.Garbage, m.Seq)
		}
	}
}

// SetAside moves a message to the damaged ones of its queue and says whether it was there. Its row in the store does
// not change: after a restart the message is found damaged again when it is to be delivered.
func (st *State) SetAside(q *Queue, seq uint64) bool {
	ref, e := q.Find(seq)
	if ref == 0 {
		return false
	}
	n := e.Numbers
	st.note(q, seq)
	q.drop(ref)
	q.Damaged[seq] = n
	st.NoteUndo(func() { delete(q.Damaged, seq) })
	return true
}

// forgetDamaged deletes a damaged message, and says whether there was one.
func (st *State) forgetDamaged(q *Queue, seq uint64) bool {
	n, ok := q.Damaged[seq]
	if ok {
		delete(q.Damaged, seq)
		st.NoteUndo(func() { q.Damaged[seq] = n })
		st.Ops = append(st.Ops, Op{Kind: OpRemove, Seq: seq})
	}
	return ok
}
