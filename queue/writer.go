package queue

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"time"
)

// reply carries the one answer of a request: to who waits for it, or to a courier.
type reply struct {
	waiting chan error // has room for it, so that the writer never waits
	courier *Courier
	then    func(error)
}

func newReply() reply { return reply{waiting: make(chan error, 1)} }

// give answers; Service.mu must be held.
func (r reply) give(err error) {
	if r.courier != nil {
		r.courier.note(outcome{r.then, err})
		return
	}
	r.waiting <- err
}

// final is the answer after the writer ended.
func (r reply) final() error {
	select {
	case err := <-r.waiting:
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
	answeredEach                // it was several, and each was seen to
)

// command is a request to the writer. Both methods are called by the writer
// with Service.mu held; apply again if the group was undone.
type command interface {
	apply(w *writer, now int64) verdict
	finish(s *Service, err error)
}

// writer is the one goroutine that changes the state.
type writer struct {
	*Service
	group   []command
	full    bool // the group is applied again, without what needs room
	wasFull bool // said in the log
	timer   *time.Timer
}

const (
	// maxGroup bounds the requests committed together.
	maxGroup = 1024
	// gatherRounds bounds how often a group waits for the quick ones.
	gatherRounds = 4
	// flushAfter is how long a first receive may stay unwritten, in milliseconds.
	flushAfter = 20
	// retryFull is the pause before a full store is tried again unasked, in milliseconds.
	retryFull = 500
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
		case <-w.rearm:
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
	w.take(first, now)
	if now >= w.wakeAt {
		w.lookAtAll(now)
	}
	w.settle(now)
	w.mu.Unlock()
	now = w.gather(now)
	w.mu.Lock()
	if w.broken == nil && now >= w.flushAt {
		w.flushAt = never
		w.st.flush()
		w.st.sweep(sweepRows)
	}
	w.mu.Unlock()
	w.ringAll()
	w.commit(now)
	w.ringAll()
	w.announce(now)
	w.ringAll()
}

// gather lets those run who were answered a moment ago: they will often ask
// for more, and what comes now shares the sync of this group. It stops as soon
// as nobody has anything.
func (w *writer) gather(now int64) int64 {
	for range gatherRounds {
		if len(w.group) == 0 {
			break
		}
		runtime.Gosched()
		if len(w.requests) == 0 {
			break
		}
		w.mu.Lock()
		now = w.tick()
		w.take(nil, now)
		w.settle(now)
		w.mu.Unlock()
	}
	return now
}

// take applies first and what waits in the channel.
func (w *writer) take(first command, now int64) {
	if first != nil {
		w.apply(first, now)
	}
	for len(w.group) < maxGroup {
		select {
		case c := <-w.requests:
			w.apply(c, now)
		default:
			return
		}
	}
}

// apply runs one command.
func (w *writer) apply(c command, now int64) {
	if w.broken != nil {
		c.finish(w.Service, w.broken)
		return
	}
	mark := len(w.st.images)
	switch c.apply(w, now) {
	case answerNow:
		// What is answered stays, even if the group is undone.
		w.st.images = w.st.images[:mark]
		c.finish(w.Service, nil)
	case answerLater:
		w.group = append(w.group, c)
	}
}

// commit makes the group durable and answers it.
func (w *writer) commit(now int64) {
	wrote := len(w.st.ops) > 0
	err := w.write()
	if errors.Is(err, ErrStorageFull) {
		err = w.again(now)
	} else if err == nil && wrote && w.wasFull {
		w.wasFull = false
		w.log.Info("queue storage has room again")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case errors.Is(err, ErrStorageFull):
		err = fullError()
	case errors.Is(err, ErrStorageBusy): // nothing was written
	case err != nil:
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
		w.log.Error("queue storage is full: sends are refused until there is room")
	}
	w.wasFull = true
	w.mu.Lock()
	group := slices.Clone(w.group)
	w.group = w.group[:0]
	w.full = true
	for _, c := range group {
		w.apply(c, now)
	}
	w.full = false
	w.settle(now)
	w.mu.Unlock()
	return w.write()
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

// arm sets the timer to what is due next.
func (w *writer) arm() {
	w.mu.Lock()
	at := min(w.wakeAt, w.flushAt)
	w.mu.Unlock()
	if at == never || w.broken != nil {
		w.timer.Stop()
		return
	}
	least := int64(0)
	if w.wasFull {
		least = retryFull // what is due may be what could not be written
	}
	w.timer.Reset(time.Duration(max(least, at-w.now())) * time.Millisecond)
}

// end answers what was accepted, writes what is pending, and sends the
// waiting receives away.
func (w *writer) end() {
	w.mu.Lock()
	w.flushAt = 0 // due
	w.mu.Unlock()
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
