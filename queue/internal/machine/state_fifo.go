package machine

import "slices"

// SentOnce is an accepted message of a FIFO queue, remembered for DedupFor so that it is not stored twice.
type SentOnce struct {
	Seq uint64
	ID  [16]byte
}

// DedupRow is a SentOnce as the store keeps it.
type DedupRow struct {
	Queue   uint32
	Key     string
	Seq     uint64
	ID      [16]byte
	Expires int64
}

// dedupKey returns the key that duplicates share. Ids contain no space, so group and id cannot run into each other.
func (q *Queue) dedupKey(rec *Record) string {
	if q.Settings.DedupByGroup {
		return rec.Group + " " + rec.Dedup
	}
	return rec.Dedup
}

// SendOnce adds a message to a FIFO queue unless it is a duplicate. It returns the message that is stored.
func (st *State) SendOnce(q *Queue, now, delay int64, rec *Record) (_ SentOnce, duplicate bool) {
	st.expireWindows(q, now)
	key := q.dedupKey(rec)
	if prior, ok := q.Sends.get(key, now); ok {
		return prior, true
	}
	stored := SentOnce{st.Send(q, now, delay, rec), rec.ID}
	q.Sends.put(key, stored, now+DedupFor)
	st.NoteUndo(q.Sends.undoPut)
	st.Ops = append(st.Ops, Op{Kind: OpPutDedup, Dedup: &DedupRow{q.Saved.ID, key, stored.Seq, stored.ID,
		now + DedupFor}})
	return stored, false
}

// expireWindows ends deduplication and attempts whose time is over.
func (st *State) expireWindows(q *Queue, now int64) {
	q.Sends.expire(now, func(key string, s SentOnce) {
		st.Stale = append(st.Stale, DedupRow{Queue: q.Saved.ID, Key: key, Seq: s.Seq})
	})
	q.attempts.expire(now, func(string, *attempt) {})
}

// WindowSlack is the time, in milliseconds, by which the end of deduplication may be late. It keeps a queue with many
// ids from waking the writer for each.
const WindowSlack = 10_000

// Due returns the time at which q needs attention next.
func (q *Queue) Due() int64 {
	at := q.next(q.Settings.Retention)
	if next := min(q.Sends.next(), q.attempts.next()); next != Never {
		at = min(at, next+WindowSlack)
	}
	if q.Moving() != nil {
		at = min(at, q.moveAt)
	}
	return at
}

// receiveGroups receives up to limit messages of a FIFO queue, as many as possible of one group before the next.
func (st *State) receiveGroups(q *Queue, now, timeout int64, limit int, out []Delivery) []Delivery {
	limit += len(out)
	for skipped := 0; len(out) < limit && skipped < MaxSkipped && q.Heads.Len() > 0; {
		g := q.Slab.At(q.Heads.top().Ref).Group
		var done bool
		for i := 0; !done && len(out) < limit && skipped < MaxSkipped && i < q.Groups.at(g).line.len(); {
			ref := q.Groups.at(g).line.at(i)
			switch {
			case q.Slab.At(ref).Place != Visible:
				done = true
			case q.InFlight.Len() >= MaxInFlight:
				return out
			case st.evict(q, ref, now):
				skipped++
				done = q.Len() == 0 // an empty backlog has dropped its groups
			default:
				e := st.takeInFlight(q, ref, now, timeout)
				st.persist(q, e)
				out = append(out, q.Delivery(e))
				i++
			}
		}
	}
	return out
}

// attempt is the result of a receive with an attempt id.
type attempt struct {
	got     []Delivery
	visible int64
}

// maxAttempts bounds the attempts remembered for one queue.
const maxAttempts = 10_000

// ReceiveAgain repeats an attempt if all its messages are still in flight and unchanged: they are received again with
// the same handles and a new visibility timeout. Otherwise it returns false, and the attempt counts as new.
func (st *State) ReceiveAgain(q *Queue, now, timeout int64, id string, out []Delivery) ([]Delivery, bool) {
	q.Advance(now)
	a, ok := q.attempts.get(id, now)
	if !ok || slices.ContainsFunc(a.got, func(d Delivery) bool {
		ref, e := q.Find(d.Seq)
		return ref == 0 || e.Place != InFlight || e.Count != d.Count || e.Visible != a.visible
	}) {
		return out, false
	}
	a.visible = now + timeout
	for _, d := range a.got {
		ref, e := q.Find(d.Seq)
		st.note(q, d.Seq)
		e.Received = now
		q.shift(ref, InFlight, a.visible)
		st.persist(q, e)
	}
	return append(out, a.got...), true
}

// Remember keeps the result of an attempt. It is not stored: after a restart a repeated attempt is a new one.
func (st *State) Remember(q *Queue, now, timeout int64, id string, got []Delivery) {
	if len(q.attempts.values) >= maxAttempts {
		q.attempts.shift(func(string, *attempt) {})
	}
	q.attempts.put(id, &attempt{slices.Clone(got), now + timeout}, now+DedupFor)
}
