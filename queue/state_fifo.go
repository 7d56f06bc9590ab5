package queue

import "slices"

// sentOnce is an accepted message, remembered for five minutes so that the
// same is not stored twice.
type sentOnce struct {
	seq uint64
	id  [16]byte
}

// dedupRow is a sentOnce as the store keeps it.
type dedupRow struct {
	queue   uint32
	key     string
	seq     uint64
	id      [16]byte
	expires int64
}

// dedupKey is what two messages share that are the same. Ids contain no space.
func (q *queue) dedupKey(rec *record) string {
	if q.settings.dedupByGroup {
		return rec.group + " " + rec.dedup
	}
	return rec.dedup
}

// sendOnce adds a message to a FIFO queue unless the same was sent within five
// minutes. It returns the one that is stored, or was.
func (st *state) sendOnce(q *queue, now, delay int64, rec *record) (_ sentOnce, duplicate bool) {
	st.expireWindows(q, now)
	key := q.dedupKey(rec)
	if prior, ok := q.sends.get(key, now); ok {
		return prior, true
	}
	stored := sentOnce{st.send(q, now, delay, rec), rec.id}
	q.sends.put(key, stored, now+dedupFor)
	st.noteUndo(q.sends.unput)
	st.ops = append(st.ops, op{kind: opPutDedup, dedup: &dedupRow{q.saved.id, key, stored.seq, stored.id, now + dedupFor}})
	return stored, false
}

// expireWindows ends what five minutes have passed over.
func (st *state) expireWindows(q *queue, now int64) {
	q.sends.expire(now, func(key string, s sentOnce) {
		st.stale = append(st.stale, dedupRow{queue: q.saved.id, key: key, seq: s.seq})
	})
	q.attempts.expire(now, func(string, *attempt) {})
}

// windowSlack keeps queues with much to forget from waking the writer for each.
const windowSlack = 10_000

// due is when q needs attention next, in Unix milliseconds.
func (q *queue) due() int64 {
	at := q.next(q.settings.retention)
	if next := min(q.sends.next(), q.attempts.next()); next != never {
		at = min(at, next+windowSlack)
	}
	if q.moving() != nil {
		at = min(at, q.moveAt)
	}
	return at
}

// receiveGroups takes up to limit messages of a FIFO queue, as many as
// possible of one group before it goes on to the next.
func (st *state) receiveGroups(q *queue, now, timeout int64, limit int, out []delivery) []delivery {
	limit += len(out)
	for passed := 0; len(out) < limit && passed < maxPassed && q.heads.len() > 0; {
		g := q.slab.at(q.heads.top().ref).group
		var done bool
		for i := 0; !done && len(out) < limit && passed < maxPassed && i < q.groups.at(g).line.len(); {
			ref := q.groups.at(g).line.at(i)
			switch {
			case q.slab.at(ref).place != visible:
				done = true
			case q.inFlight.len() >= MaxInFlight:
				return out
			case st.pass(q, ref, now):
				passed++
				done = q.len() == 0 // the groups may be gone with it
			default:
				e := st.hold(q, ref, now, timeout)
				st.persist(q, e)
				out = append(out, q.delivery(e))
				i++
			}
		}
	}
	return out
}

// attempt is what a receive with an attempt id got.
type attempt struct {
	got     []delivery
	visible int64
}

// maxAttempts bounds the attempts remembered for one queue.
const maxAttempts = 10_000

// receiveAgain repeats an attempt whose messages are all still in flight and
// untouched: they are given out once more under the same handles, with a new
// visibility timeout.
func (st *state) receiveAgain(q *queue, now, timeout int64, id string, out []delivery) ([]delivery, bool) {
	q.advance(now)
	a, ok := q.attempts.get(id, now)
	if !ok || slices.ContainsFunc(a.got, func(d delivery) bool {
		ref, e := q.find(d.seq)
		return ref == 0 || e.place != inFlight || e.count != d.count || e.visible != a.visible
	}) {
		return out, false
	}
	a.visible = now + timeout
	for _, d := range a.got {
		ref, e := q.find(d.seq)
		st.note(q, d.seq)
		e.received = now
		q.shift(ref, inFlight, a.visible)
		st.persist(q, e)
	}
	return append(out, a.got...), true
}

// remember keeps what an attempt got. It is not stored: after a restart a
// repeated attempt is a new one.
func (st *state) remember(q *queue, now, timeout int64, id string, got []delivery) {
	if len(q.attempts.values) >= maxAttempts {
		q.attempts.shift(func(string, *attempt) {})
	}
	q.attempts.put(id, &attempt{slices.Clone(got), now + timeout}, now+dedupFor)
}
