package queue

// serveNow serves a receive from what is in the store already, without the
// writer, which may be waiting for the disk. It reports whether c is served. It
// leaves to the writer whatever must be on disk before the answer, whatever
// waits its turn behind others, and FIFO queues: nothing visible is passed over
// only to be quick. What c got by then it keeps.
func (s *Service) serveNow(c *receive) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.st.names[c.queue]
	if q == nil || q.fifo || s.broken != nil || s.alive() != nil { // alive: what is taken later is never written
		return false
	}
	if d := s.desks[q]; d != nil && len(d.waiting) > 0 {
		return false
	}
	now := s.tick()
	timeout := c.timeout
	if timeout < 0 {
		timeout = q.settings.visibility
	}
	c.out = s.st.receiveStored(q, now, timeout, c.max, c.out)
	if len(c.out) == 0 {
		return q.len() == 0 && !c.wait
	}
	c.q = q
	c.collect(s, 0)
	s.schedule(q, now)
	if len(c.out) < c.max && q.visible() > 0 && q.inFlight.len() < MaxInFlight {
		c.taken = len(c.out)
		return false
	}
	return true
}

// receiveStored takes up to limit messages whose first receive this is, and
// which are in the store. It emits nothing and leaves nothing to undo, so that
// it may run while a group is committed.
func (st *state) receiveStored(q *queue, now, timeout int64, limit int, out []delivery) []delivery {
	q.advance(now)
	mark := len(st.images)
	for wanted := len(out) + limit; len(out) < wanted && q.inFlight.len() < MaxInFlight; {
		ref := q.front()
		if ref == 0 {
			break
		}
		if e := q.slab.at(ref); e.count > 0 || e.seq > st.safe || e.sent+q.settings.retention <= now {
			break
		}
		out = append(out, st.takeFirst(q, ref, now, timeout))
	}
	st.images = st.images[:mark]
	return out
}

// schedule sees to it that the writer wakes up in time for q, and to write what
// is unsaved. Who changes a queue outside of a turn of the writer calls it.
func (s *Service) schedule(q *queue, now int64) {
	before := min(s.wakeAt, s.flushAt)
	if s.wakeAt = min(s.wakeAt, q.due()); len(s.st.unsaved) > 0 {
		s.flushAt = min(s.flushAt, now+flushAfter)
	}
	if min(s.wakeAt, s.flushAt) < before {
		select {
		case s.rearm <- struct{}{}:
		default: // already told
		}
	}
}
