package queue

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"time"
)

// reply carries the one answer of a request; it has room for it, so that the
// writer never waits.
type reply chan error

func newReply() reply { return make(reply, 1) }

// final is the answer after the writer ended.
func (r reply) final() error {
	select {
	case err := <-r:
		return err
	default:
		return ErrClosed
	}
}

// verdict says what becomes of a request after apply.
type verdict uint8

const (
	answerNow    verdict = iota // nothing to wait for
	answerLater                 // after the group is committed
	answerParked                // when a message comes; it waits at its queue's desk
)

// command is a request to the writer. Both methods are called by the writer
// with Service.mu held; apply again if the group was undone.
type command interface {
	apply(w *writer, now int64) verdict
	finish(s *Service, err error)
}

// desk is where receives wait for messages of one queue, first come first served.
type desk struct {
	waiting  []*receive
	arrivals uint64 // as last announced
	held     bool   // the queue held messages when last announced
}

// writer is the one goroutine that changes the state.
type writer struct {
	*Service
	group   []command
	full    bool  // the group is applied again, without what needs room
	wasFull bool  // said in the log
	broken  error // the log can no longer be written
	wakeAt  int64 // no queue has anything due earlier
	flushAt int64 // when pending rows must be written; 0 if there are none
	timer   *time.Timer
}

const (
	// maxGroup bounds the requests committed together.
	maxGroup = 1024
	// flushAfter is how long a first receive may stay unwritten, in milliseconds.
	flushAfter = 20
	// sweepRows bounds the dead rows removed together with one flush.
	sweepRows = 1000
)

func newWriter(s *Service) *writer {
	return &writer{Service: s, timer: time.NewTimer(0)}
}

// run serves requests until the service is closed.
func (w *writer) run() {
	defer close(w.done)
	defer w.timer.Stop()
	for {
		select {
		case c := <-w.requests:
			w.turn(c)
		case <-w.timer.C:
			w.turn(nil)
		case <-w.closing:
			w.end()
			return
		}
		w.arm()
	}
}

// turn applies waiting requests, commits their changes and answers them.
func (w *writer) turn(first command) {
	w.mu.Lock()
	now := w.tick()
	answered := w.take(first, now)
	if now >= w.wakeAt {
		w.lookAtAll(now)
	}
	answered = w.settle(now) || answered
	w.mu.Unlock()
	if answered && len(w.group) > 0 {
		// Those just answered will often delete what they received: let them
		// join this group rather than wait for the next one.
		runtime.Gosched()
		w.mu.Lock()
		now = w.tick()
		w.take(nil, now)
		w.settle(now)
		w.mu.Unlock()
	}
	if w.flushAt != 0 && now >= w.flushAt {
		w.mu.Lock()
		w.flushAt = 0
		w.st.flush()
		w.st.sweep(sweepRows)
		w.mu.Unlock()
	}
	w.commit(now)
	w.announce(now)
}

// take applies first and what waits in the channel. It reports whether any
// was answered at once.
func (w *writer) take(first command, now int64) (answered bool) {
	if first != nil {
		answered = w.apply(first, now)
	}
	for len(w.group) < maxGroup {
		select {
		case c := <-w.requests:
			answered = w.apply(c, now) || answered
		default:
			return answered
		}
	}
	return answered
}

// apply runs one command and reports whether it was answered.
func (w *writer) apply(c command, now int64) bool {
	if w.broken != nil {
		c.finish(w.Service, w.broken)
		return true
	}
	mark := len(w.st.images)
	switch c.apply(w, now) {
	case answerNow:
		// What is answered stays, even if the group is undone.
		w.st.images = w.st.images[:mark]
		c.finish(w.Service, nil)
		return true
	case answerLater:
		w.group = append(w.group, c)
	}
	return false
}

// lookAtAll moves on every queue; it runs only when something may be due.
func (w *writer) lookAtAll(now int64) {
	w.wakeAt = never
	for _, q := range w.st.ids {
		w.st.touch(q)
	}
}

// settle expires messages of the touched queues and serves their waiters. It
// reports whether a waiter was answered at once.
func (w *writer) settle(now int64) (answered bool) {
	for i := 0; i < len(w.st.touched); i++ { // serving may touch more
		q := w.st.touched[i]
		if w.broken == nil {
			w.st.expire(q, now)
		}
		d := w.desks[q]
		if d == nil {
			continue
		}
		for len(d.waiting) > 0 && q.ready.live > 0 && q.inFlight.len() < MaxInFlight && w.broken == nil {
			c := d.waiting[0]
			d.waiting = slices.Delete(d.waiting, 0, 1)
			answered = w.apply(c, now) || answered
		}
	}
	return answered
}

// commit makes the group durable and answers it.
func (w *writer) commit(now int64) {
	err := w.write()
	if errors.Is(err, ErrStorageFull) {
		err = w.again(now)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && !errors.Is(err, ErrStorageFull) {
		err = w.poison(err)
	}
	for _, c := range w.group {
		c.finish(w.Service, err)
	}
	clear(w.group)
	w.group = w.group[:0]
}

// write commits the operations and, depending on the outcome, keeps or undoes
// the group in memory.
func (w *writer) write() error {
	var err error
	if len(w.st.ops) > 0 {
		err = w.store.Commit(w.st.ops)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.st.rollback()
		return err
	}
	w.cache.follow(w.st.ops)
	w.st.committed()
	return nil
}

// again applies the group once more without what needs room, so that deletes
// keep working on a full disk.
func (w *writer) again(now int64) error {
	if !w.wasFull {
		w.log.Error("queue storage is full: sends are refused until there is room", slog.Int("waiting", len(w.group)))
	}
	w.mu.Lock()
	group := slices.Clone(w.group)
	w.group = w.group[:0]
	w.full = true
	for _, c := range group {
		w.apply(c, now)
	}
	w.full = false
	w.mu.Unlock()
	err := w.write()
	w.wasFull = true
	return err
}

// poison stops all later writes: after a failed sync nobody knows what the
// disk holds, so nothing may be acknowledged any more.
func (w *writer) poison(cause error) error {
	w.broken = fmt.Errorf("%w: %w; nothing more is accepted: check the disk, then restart", ErrStorage, cause)
	w.log.Error("queue storage failed: nothing more is accepted until a restart", slog.Any("error", cause))
	for _, d := range w.desks {
		for _, c := range d.waiting {
			c.finish(w.Service, w.broken)
		}
		d.waiting = nil
	}
	return w.broken
}

// announce wakes the subscribers of the touched queues and notes when these
// queues need attention next.
func (w *writer) announce(now int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range w.st.touched {
		q.touched = false
		gone := w.st.ids[q.saved.id] != q
		if !gone {
			w.wakeAt = min(w.wakeAt, q.next(q.settings.retention))
		}
		d := w.deskOf(q)
		if q.arrivals != d.arrivals || d.held && q.len() == 0 {
			for _, wake := range w.wakes[q.saved.name] {
				select {
				case wake <- struct{}{}:
				default: // already signalled
				}
			}
		}
		d.arrivals, d.held = q.arrivals, q.len() > 0
		if gone {
			for _, c := range d.waiting {
				c.finish(w.Service, noQueue(q.saved.name))
			}
			delete(w.desks, q)
		}
	}
	clear(w.st.touched)
	w.st.touched = w.st.touched[:0]
	if w.flushAt == 0 && len(w.st.unsaved)+len(w.st.garbage) > 0 {
		w.flushAt = now + flushAfter
	}
}

// deskOf returns the desk of q, making it if needed; mu must be held.
func (s *Service) deskOf(q *queue) *desk {
	d := s.desks[q]
	if d == nil {
		d = &desk{}
		s.desks[q] = d
	}
	return d
}

// arm sets the timer to what is due next.
func (w *writer) arm() {
	at := w.wakeAt
	if w.flushAt != 0 {
		at = min(at, w.flushAt)
	}
	if at == never || w.broken != nil {
		w.timer.Stop()
		return
	}
	w.timer.Reset(time.Duration(max(0, at-w.now())) * time.Millisecond)
}

// end answers what was accepted, writes what is pending, and sends the
// waiting receives away.
func (w *writer) end() {
	w.flushAt = 1 // due
	w.turn(nil)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.desks {
		for _, c := range d.waiting {
			c.finish(w.Service, ErrClosed)
		}
		d.waiting = nil
	}
}
