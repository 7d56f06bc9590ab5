package machine

// SetAside moves a message to those that are damaged. Its row stays in the store, and says nothing of this: whoever
// opens the store again finds out when the message is to be delivered.
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
