// Waiting receives and subscribers: who is served, and who is woken, after the state changed.

package writer

import (
	"slices"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/rules"
)

// waitList holds the receives that wait for messages of one queue, first come first served.
type waitList struct {
	waiting []*Receive
	// serving keeps serve from being entered again: it applies receives, and a receive serves its
	// queue.
	serving  bool
	arrivals uint64 // Backlog.Arrivals at the last announce
	held     bool   // the queue had messages at the last announce
}

// touchAll marks every queue as changed, so that settle visits it. It runs when the earliest due time
// is reached; announce then computes the next one.
func (w *Writer) touchAll(now int64) {
	w.wakeAt = machine.Never
	for _, q := range w.st.IDs {
		w.st.Touch(q)
	}
}

// settle removes expired messages of the touched queues, continues their moves and serves their waiting
// receives.
func (w *Writer) settle(now int64) {
	for i := 0; i < len(w.st.Touched); i++ { // serving may touch more queues
		q := w.st.Touched[i]
		if w.broken == nil {
			w.st.Expire(q, now)
			w.st.StepMove(q, now)
		}
		w.serve(q, now)
	}
}

// serve applies the waiting receives of q, in their order, while messages are visible.
func (w *Writer) serve(q *machine.Queue, now int64) {
	d := w.waitLists[q]
	if d == nil || d.serving {
		return
	}
	d.serving = true
	for len(d.waiting) > 0 && q.Runnable() > 0 && q.InFlight.Len() < machine.MaxInFlight && w.broken == nil {
		c := d.waiting[0]
		d.waiting = slices.Delete(d.waiting, 0, 1)
		w.apply(c, now)
		if n := len(d.waiting); n > 0 && d.waiting[n-1] == c {
			w.wakeAt = now // it skipped as many messages as one step may, and continues next turn
			break
		}
	}
	d.serving = false
}

// announce signals the subscribers of the touched queues, and computes when the writer must wake up
// next. Receives that wait at a deleted queue are refused.
func (w *Writer) announce(now int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range w.st.Touched {
		q.Touched = false
		gone := w.st.IDs[q.Saved.ID] != q
		if !gone {
			w.wakeAt = min(w.wakeAt, q.Due())
		}
		d := w.waitListOf(q)
		if q.Arrivals != d.arrivals || d.held && q.Len() == 0 {
			for _, wake := range w.wakes[q.Saved.Name] {
				select {
				case wake <- struct{}{}:
				default: // one signal is pending already
				}
			}
		}
		d.arrivals, d.held = q.Arrivals, q.Len() > 0
		if gone {
			for _, c := range d.waiting {
				c.finish(w, rules.NoQueue(q.Saved.Name))
			}
			delete(w.waitLists, q)
		}
	}
	clear(w.st.Touched)
	w.st.Touched = w.st.Touched[:0]
	if w.flushAt == machine.Never && len(w.st.Unsaved)+len(w.st.Garbage)+len(w.st.GarbagePacks)+len(w.st.Stale) > 0 {
		w.flushAt = now + FlushAfter
	}
}

// waitListOf returns the wait list of q and creates it if needed; mu must be held.
func (w *Writer) waitListOf(q *machine.Queue) *waitList {
	d := w.waitLists[q]
	if d == nil {
		d = &waitList{}
		w.waitLists[q] = d
	}
	return d
}
