package queue

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"time"

	"github.com/muster-scale/muster/queue/internal/machine"
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

// writer changes the state. It is one goroutine, but for a turn that a courier takes itself; see [Service.commitNow].
type writer struct {
	*Service
	group []command
	full  bool // the group is applied again, without what needs room
	timer *time.Timer
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
	// loneAfter is after how many quick groups of one request a client counts as the only one.
	loneAfter = 8
	// quickCommit is how long a commit takes at most that a caller may wait for, in milliseconds: with a slower disk,
	// waking up another goroutine is nothing, and the caller has others to serve meanwhile.
	quickCommit = 2
)

func newWriter(s *Service) *writer {
	return &writer{Service: s, timer: time.NewTimer(0)}
}

// run serves requests until the service is closed.
func (w *writer) run() {
	defer close(w.done)
	defer w.timer.Stop()
	for {
		var first command
		works, ends := true, false
		select {
		case first = <-w.requests:
		case <-w.timer.C:
		case <-w.rearm:
			works = false
		case <-w.closing:
			ends = true
		}
		if w.round(first, works, ends); ends {
			return
		}
	}
}

// round is one turn of the goroutine, if it works, or its end.
func (w *writer) round(first command, works, ends bool) {
	w.turning.Lock()
	defer w.turning.Unlock()
	if ends {
		w.end()
		return
	}
	if works {
		w.turn(first, true)
	}
	w.arm()
}

// commitNow lets the caller be the writer for one turn, if it has been the only one with anything to commit:
// its request then reaches the disk without waiting until another goroutine wakes up, which takes nearly as
// long as a fast disk does. It reports whether c was seen to.
func (s *Service) commitNow(c command) bool {
	if s.lone.Load() < loneAfter || len(s.requests) > 0 || !s.turning.TryLock() {
		return false
	}
	defer s.turning.Unlock()
	if s.alive() != nil {
		return false // the end may have been already
	}
	s.writer.turn(c, false)
	s.writer.arm()
	return true
}

// turn applies waiting requests, commits their changes and answers them. gathers says whether it waits a moment
// for more.
func (w *writer) turn(first command, gathers bool) {
	w.mu.Lock()
	now := w.tick()
	w.take(first, now)
	if now >= w.wakeAt {
		w.lookAtAll(now)
	}
	w.settle(now)
	w.mu.Unlock()
	if gathers {
		now = w.gather(now)
	}
	w.mu.Lock()
	if w.broken == nil && now >= w.flushAt {
		w.flushAt = machine.Never
		w.st.Flush()
		w.st.Sweep(sweepRows)
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
	mark := len(w.st.Images)
	switch c.apply(w, now) {
	case answerNow:
		// What is answered stays, even if the group is undone.
		w.st.Images = w.st.Images[:mark]
		c.finish(w.Service, nil)
	case answerLater:
		w.group = append(w.group, c)
	}
}

// commit makes the group durable and answers it.
func (w *writer) commit(now int64) {
	wrote := len(w.st.Ops) > 0
	size, began := len(w.group), w.now()
	err := w.write()
	w.count(size, w.now()-began)
	if errors.Is(err, ErrStorageFull) {
		err = w.again(now)
	} else if err == nil && wrote && w.short.Swap(false) {
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

// count notes how many requests a group had, and how long its commit took.
func (w *writer) count(size int, took int64) {
	switch {
	case size > 1 || took > quickCommit:
		w.lone.Store(0)
	case size == 1:
		w.lone.Store(min(w.lone.Load()+1, loneAfter))
	}
}

// write commits the operations and, depending on the outcome, keeps or undoes
// the group in memory.
func (w *writer) write() error {
	var err error
	if len(w.st.Ops) > 0 {
		err = w.store.Commit(w.st.Ops)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.st.Rollback()
		return err
	}
	w.cache.follow(w.st.Ops)
	w.st.Committed()
	return nil
}

// again applies the group once more without what needs room, so that deletes
// keep working on a full disk.
func (w *writer) again(now int64) error {
	w.sayFull()
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
	if at == machine.Never || w.broken != nil {
		w.timer.Stop()
		return
	}
	least := int64(0)
	if w.short.Load() {
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
	w.turn(nil, true)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.desks {
		for _, c := range d.waiting {
			c.finish(w.Service, ErrClosed)
		}
		d.waiting = nil
	}
}
