package machine

import "slices"

// SentOnce is an accepted message, remembered for five minutes so that the
// same is not stored twice.
type SentOnce struct {
	Seq uint64
	ID  [16]byte
}

// DedupRow is a sentOnce as the store keeps it.
type DedupRow struct {
	Queue   uint32
	Key     string
	Seq     uint64
	ID      [16]byte
	Expires int64
}

// dedupKey is what two messages share that are the same. Ids contain no space.
func (q *Queue) dedupKey(rec *Record) string {
	if q.Settings.DedupByGroup {
		return rec.Group + " " + rec.Dedup
	}
	return rec.Dedup
}

// SendOnce adds a message to a FIFO queue unless the same was sent within five
// minutes. It returns the one that is stored, or was.
func (st *State) SendOnce(q *Queue, now, delay int64, rec *Record) (_ SentOnce, duplicate bool) {
	st.expireWindows(q, now)
	key := q.dedupKey(rec)
	if prior, ok := q.Sends.get(key, now); ok {
		return prior, true
	}
	stored := SentOnce{st.Send(q, now, delay, rec), rec.ID}
	q.Sends.put(key, stored, now+DedupFor)
	st.NoteUndo(q.Sends.unput)
	st.Ops = append(st.Ops, Op{Kind: OpPutDedup, Dedup: &DedupRow{q.Saved.ID, key, stored.Seq, stored.ID,
		now + DedupFor}})
	return stored, false
}

// expireWindows ends what five minutes have passed over.
func (st *State) expireWindows(q *Queue, now int64) {
	q.Sends.expire(now, func(key string, s SentOnce) {
		st.Stale = append(st.Stale, DedupRow{Queue: q.Saved.ID, Key: key, Seq: s.Seq})
	})
	q.attempts.expire(now, func(string, *attempt) {})
}

// WindowSlack keeps queues with much to forget from waking the writer for each.
const WindowSlack = 10_000

// Due is when q needs attention next, in Unix milliseconds.
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

// receiveGroups takes up to limit messages of a FIFO queue, as many as
// possible of one group before it goes on to the next.
func (st *State) receiveGroups(q *Queue, now, timeout int64, limit int, out []Delivery) []Delivery {
	limit += len(out)
	for passed := 0; len(out) < limit && passed < MaxPassed && q.Heads.Len() > 0; {
		g := q.Slab.At(q.Heads.top().Ref).Group
		var done bool
		for i := 0; !done && len(out) < limit && passed < MaxPassed && i < q.Groups.at(g).line.len(); {
			ref := q.Groups.at(g).line.at(i)
			switch {
			case q.Slab.At(ref).Place != Visible:
				done = true
			case q.InFlight.Len() >= MaxInFlight:
				return out
			case st.pass(q, ref, now):
				passed++
				done = q.Len() == 0 // the groups may be gone with it
			default:
				e := st.hold(q, ref, now, timeout)
				st.persist(q, e)
				out = append(out, q.Delivery(e))
				i++
			}
		}
	}
	return out
}

// attempt is what a receive with an attempt id got.
type attempt struct {
	got     []Delivery
	visible int64
}

// maxAttempts bounds the attempts remembered for one queue.
const maxAttempts = 10_000

// ReceiveAgain repeats an attempt whose messages are all still in flight and
// untouched: they are given out once more under the same handles, with a new
// visibility timeout.
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

// Remember keeps what an attempt got. It is not stored: after a restart a
// repeated attempt is a new one.
func (st *State) Remember(q *Queue, now, timeout int64, id string, got []Delivery) {
	if len(q.attempts.values) >= maxAttempts {
		q.attempts.shift(func(string, *attempt) {})
	}
	q.attempts.put(id, &attempt{slices.Clone(got), now + timeout}, now+DedupFor)
}
