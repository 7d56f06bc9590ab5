package queue

import "github.com/muster-scale/muster/queue/internal/machine"

// serveNow serves a receive from what is in the store already, without the
// writer, which may be waiting for the disk. It reports whether c is served. It
// leaves to the writer whatever must be on disk before the answer, whatever
// waits its turn behind others, and FIFO queues: nothing visible is passed over
// only to be quick. What c got by then it keeps.
func (s *Service) serveNow(c *receive) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.st.Names[c.queue]
	if q == nil || q.Fifo || s.broken != nil || s.alive() != nil { // alive: what is taken later is never written
		return false
	}
	if d := s.desks[q]; d != nil && len(d.waiting) > 0 {
		return false
	}
	now := s.tick()
	timeout := c.timeout
	if timeout < 0 {
		timeout = q.Settings.Visibility
	}
	c.out = s.st.ReceiveStored(q, now, timeout, c.max, c.out)
	if len(c.out) == 0 {
		return q.Len() == 0 && !c.wait
	}
	c.q = q
	c.collect(s, 0)
	s.schedule(q, now)
	if len(c.out) < c.max && q.Visible() > 0 && q.InFlight.Len() < MaxInFlight {
		c.taken = len(c.out)
		return false
	}
	return true
}

// schedule sees to it that the writer wakes up in time for q, and to write what
// is unsaved. Who changes a queue outside of a turn of the writer calls it.
func (s *Service) schedule(q *machine.Queue, now int64) {
	before := min(s.wakeAt, s.flushAt)
	if s.wakeAt = min(s.wakeAt, q.Due()); len(s.st.Unsaved) > 0 {
		s.flushAt = min(s.flushAt, now+flushAfter)
	}
	if min(s.wakeAt, s.flushAt) < before {
		select {
		case s.rearm <- struct{}{}:
		default: // already told
		}
	}
}
