package writer

import "github.com/muster-scale/muster/queue/internal/machine"

// ServeNow serves a receive from stored messages without the goroutine of the writer, which may be
// waiting for the disk. It says whether c is served. It leaves to the writer what must be on disk
// before the answer, receives that others wait before, and FIFO queues. It does not skip a visible
// message to be faster: the order stays. c keeps what it got, also when ServeNow returns false.
func (w *Writer) ServeNow(c *Receive) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.st.Names[c.Queue]
	if q == nil || q.Fifo || w.broken != nil || w.Alive() != nil { // after the end nothing taken would be written
		return false
	}
	if d := w.waitLists[q]; d != nil && len(d.waiting) > 0 {
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

// schedule makes the writer wake up in time for q and for unsaved rows. It must be called after a
// change of a queue outside of a turn of the writer; w.mu must be held.
func (w *Writer) schedule(q *machine.Queue, now int64) {
	before := min(w.wakeAt, w.flushAt)
	if w.wakeAt = min(w.wakeAt, q.Due()); len(w.st.Unsaved) > 0 {
		w.flushAt = min(w.flushAt, now+FlushAfter)
	}
	if min(w.wakeAt, w.flushAt) < before {
		select {
		case w.rearm <- struct{}{}:
		default: // one signal is pending already
		}
	}
}
