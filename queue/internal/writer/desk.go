package writer

import (
	"slices"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/rules"
)

// desk is where receives wait for messages of one queue, first come first served.
type desk struct {
	waiting  []*Receive
	serving  bool
	arrivals uint64 // as last announced
	held     bool   // the queue held messages when last announced
}

// lookAtAll moves on every queue; it runs only when something may be due.
func (w *Writer) lookAtAll(now int64) {
	w.wakeAt = machine.Never
	for _, q := range w.st.IDs {
		w.st.Touch(q)
	}
}

// settle expires messages of the touched queues and serves their waiters.
func (w *Writer) settle(now int64) {
	for i := 0; i < len(w.st.Touched); i++ { // serving may touch more
		q := w.st.Touched[i]
		if w.broken == nil {
			w.st.Expire(q, now)
			w.st.StepMove(q, now)
		}
		w.serve(q, now)
	}
}

// serve gives what is visible in q to the receives that wait, in their order.
func (w *Writer) serve(q *machine.Queue, now int64) {
	d := w.desks[q]
	if d == nil || d.serving {
		return
	}
	d.serving = true
	for len(d.waiting) > 0 && q.Runnable() > 0 && q.InFlight.Len() < machine.MaxInFlight && w.broken == nil {
		c := d.waiting[0]
		d.waiting = slices.Delete(d.waiting, 0, 1)
		w.apply(c, now)
		if n := len(d.waiting); n > 0 && d.waiting[n-1] == c {
			w.wakeAt = now // it passed over as many as one step may: go on in the next
			break
		}
	}
	d.serving = false
}

// announce wakes the subscribers of the touched queues and notes when these
// queues need attention next.
func (w *Writer) announce(now int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range w.st.Touched {
		q.Touched = false
		gone := w.st.IDs[q.Saved.ID] != q
		if !gone {
			w.wakeAt = min(w.wakeAt, q.Due())
		}
		d := w.deskOf(q)
		if q.Arrivals != d.arrivals || d.held && q.Len() == 0 {
			for _, wake := range w.wakes[q.Saved.Name] {
				select {
				case wake <- struct{}{}:
				default: // already signalled
				}
			}
		}
		d.arrivals, d.held = q.Arrivals, q.Len() > 0
		if gone {
			for _, c := range d.waiting {
				c.finish(w, rules.NoQueue(q.Saved.Name))
			}
			delete(w.desks, q)
		}
	}
	clear(w.st.Touched)
	w.st.Touched = w.st.Touched[:0]
	if w.flushAt == machine.Never && len(w.st.Unsaved)+len(w.st.Garbage)+len(w.st.Buried)+len(w.st.Stale) > 0 {
		w.flushAt = now + FlushAfter
	}
}

// deskOf returns the desk of q, making it if needed; mu must be held.
func (w *Writer) deskOf(q *machine.Queue) *desk {
	d := w.desks[q]
	if d == nil {
		d = &desk{}
		w.desks[q] = d
	}
	return d
}
