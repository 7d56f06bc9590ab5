package writer

import "github.com/muster-scale/muster/queue/internal/machine"

// ServeNow serves a receive from what is in the store already, without the
// writer, which may be waiting for the disk. It reports whether c is served. It
// leaves to the writer whatever must be on disk before the answer, whatever
// waits its turn behind others, and FIFO queues: nothing visible is passed over
// only to be quick. What c got by then it keeps.
func (w *Writer) ServeNow(c *Receive) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.st.Names[c.Queue]
	if q == nil || q.Fifo || w.broken != nil || w.Alive() != nil { // alive: what is taken later is never written
		return false
	}
	if d := w.desks[q]; d != nil && len(d.waiting) > 0 {
		return false
	}
	now := w.Tick()
	timeout := c.Timeout
	if timeout < 0 {
		timeout = q.Settings.Visibility
	}
	c.Out = w.st.ReceiveStored(q, now, timeout, c.Max, c.Out)
	if len(c.Out) == 0 {
		return q.Len() == 0 && !c.Wait
	}
	c.q = q
	c.collect(w, 0)
	w.schedule(q, now)
	if len(c.Out) < c.Max && q.Visible() > 0 && q.InFlight.Len() < machine.MaxInFlight {
		c.taken = len(c.Out)
		return false
	}
	return true
}

// schedule sees to it that the writer wakes up in time for q, and to write what
// is unsaved. Who changes a queue outside of a turn of the writer calls it.
func (w *Writer) schedule(q *machine.Queue, now int64) {
	before := min(w.wakeAt, w.flushAt)
	if w.wakeAt = min(w.wakeAt, q.Due()); len(w.st.Unsaved) > 0 {
		w.flushAt = min(w.flushAt, now+FlushAfter)
	}
	if min(w.wakeAt, w.flushAt) < before {
		select {
		case w.rearm <- struct{}{}:
		default: // already told
		}
	}
}
