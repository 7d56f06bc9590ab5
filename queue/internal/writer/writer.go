package writer

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/storage"
)

// Reply carries the one answer of a request: to who waits for it, or to a mailbox.
type Reply struct {
	waiting chan error // has room for it, so that the writer never waits
	mailbox *Mailbox
	then    func(error)
}

// NewReply returns one that is waited for with [Writer.Do].
func NewReply() Reply { return Reply{waiting: make(chan error, 1)} }

// give answers; Writer.mu must be held.
func (r Reply) give(err error) {
	if r.mailbox != nil {
		r.mailbox.note(outcome{r.then, err})
		return
	}
	r.waiting <- err
}

// final is the answer after the writer ended.
func (r Reply) final() error {
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

// Command is a request to the writer: [Send], [Receive], [Settle] or [Call]. Both methods are called by the writer
// with Writer.mu held; apply again if the group was undone.
type Command interface {
	apply(w *Writer, now int64) verdict
	finish(w *Writer, err error)
}

// Writer owns the state of the queues. It is one goroutine, but for a turn that a caller with a [Mailbox] takes itself;
// see commitNow. Its methods are safe for concurrent use.
type Writer struct {
	log     *slog.Logger
	store   machine.Store
	started time.Time

	// turning is held by who is the writer at a moment: its goroutine, or a mailbox that commits at once. It guards
	// group, full and timer.
	turning sync.Mutex
	group   []Command
	full    bool // the group is applied again, without what needs room
	timer   *time.Timer

	// Lone is how many groups of one request were quickly committed, one after the other.
	Lone atomic.Int32
	// Closing is closed when no more requests are taken.
	Closing  chan struct{}
	requests chan Command
	rearm    chan struct{} // something is due earlier than the writer thinks
	done     chan struct{} // the writer has ended
	short    atomic.Bool   // the storage is full, and that was said

	mu    sync.Mutex // guards what follows; never held during a commit
	st    *machine.State
	last  int64 // time never goes back
	cache *cache
	desks map[*machine.Queue]*desk
	wakes map[string][]chan struct{}
	// ringing are the mailboxes that have something to deliver and were not yet told.
	ringing []*Mailbox

	broken  error // the log can no longer be written
	wakeAt  int64 // no queue has anything due earlier
	flushAt int64 // when pending rows must be written; never if there are none
}

// ErrClosed says that the writer was closed.
var ErrClosed = errors.New("queue service is closed")

const (
	// maxGroup bounds the requests committed together.
	maxGroup = 1024
	// gatherRounds bounds how often a group waits for the quick ones.
	gatherRounds = 4
	// FlushAfter is how long a first receive may stay unwritten, in milliseconds.
	FlushAfter = 20
	// retryFull is the pause before a full store is tried again unasked, in milliseconds.
	retryFull = 500
	// SweepRows bounds the dead rows removed together with one flush.
	SweepRows = 1000
	// LoneAfter is after how many quick groups of one request a client counts as the only one.
	LoneAfter = 8
	// QuickCommit is how long a commit takes at most that a caller may wait for, in milliseconds: with a slower disk,
	// waking up another goroutine is nothing, and the caller has others to serve meanwhile.
	QuickCommit = 2
)

// run serves requests until the service is closed.
func (w *Writer) run() {
	defer close(w.done)
	defer w.timer.Stop()
	for {
		var first Command
		works, ends := true, false
		select {
		case first = <-w.requests:
		case <-w.timer.C:
		case <-w.rearm:
			works = false
		case <-w.Closing:
			ends = true
		}
		if w.round(first, works, ends); ends {
			return
		}
	}
}

// round is one turn of the goroutine, if it works, or its end.
func (w *Writer) round(first Command, works, ends bool) {
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
func (w *Writer) commitNow(c Command) bool {
	if w.Lone.Load() < LoneAfter || len(w.requests) > 0 || !w.turning.TryLock() {
		return false
	}
	defer w.turning.Unlock()
	if w.Alive() != nil {
		return false // the end may have been already
	}
	w.turn(c, false)
	w.arm()
	return true
}

// turn applies waiting requests, commits their changes and answers them. gathers says whether it waits a moment
// for more.
func (w *Writer) turn(first Command, gathers bool) {
	w.mu.Lock()
	now := w.Tick()
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
		w.st.Sweep(SweepRows)
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
func (w *Writer) gather(now int64) int64 {
	for range gatherRounds {
		if len(w.group) == 0 {
			break
		}
		runtime.Gosched()
		if len(w.requests) == 0 {
			break
		}
		w.mu.Lock()
		now = w.Tick()
		w.take(nil, now)
		w.settle(now)
		w.mu.Unlock()
	}
	return now
}

// take applies first and what waits in the channel.
func (w *Writer) take(first Command, now int64) {
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
func (w *Writer) apply(c Command, now int64) {
	if w.broken != nil {
		c.finish(w, w.broken)
		return
	}
	mark := len(w.st.Images)
	switch c.apply(w, now) {
	case answerNow:
		// What is answered stays, even if the group is undone.
		w.st.Images = w.st.Images[:mark]
		c.finish(w, nil)
	case answerLater:
		w.group = append(w.group, c)
	}
}

// commit makes the group durable and answers it.
func (w *Writer) commit(now int64) {
	wrote := len(w.st.Ops) > 0
	size, began := len(w.group), w.Now()
	err := w.write()
	w.count(size, w.Now()-began)
	if errors.Is(err, storage.ErrStorageFull) {
		err = w.again(now)
	} else if err == nil && wrote && w.short.Swap(false) {
		w.log.Info("queue storage has room again")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case errors.Is(err, storage.ErrStorageFull):
		err = fullError()
	case errors.Is(err, storage.ErrStorageBusy): // nothing was written
	case err != nil:
		err = w.poison(err)
	}
	for _, c := range w.group {
		c.finish(w, err)
	}
	clear(w.group)
	w.group = w.group[:0]
}

// count notes how many requests a group had, and how long its commit took.
func (w *Writer) count(size int, took int64) {
	switch {
	case size > 1 || took > QuickCommit:
		w.Lone.Store(0)
	case size == 1:
		w.Lone.Store(min(w.Lone.Load()+1, LoneAfter))
	}
}

// write commits the operations and, depending on the outcome, keeps or undoes
// the group in memory.
func (w *Writer) write() error {
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
func (w *Writer) again(now int64) error {
	w.SayFull()
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
func (w *Writer) poison(cause error) error {
	w.broken = fmt.Errorf("%w: %w; nothing more is accepted: check the disk, then restart", storage.ErrStorage, cause)
	w.log.Error("queue storage failed: nothing more is accepted until a restart", slog.Any("error", cause))
	for _, d := range w.desks {
		for _, c := range d.waiting {
			c.finish(w, w.broken)
		}
		d.waiting = nil
	}
	return w.broken
}

// arm sets the timer to what is due next.
func (w *Writer) arm() {
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
	w.timer.Reset(time.Duration(max(least, at-w.Now())) * time.Millisecond)
}

// end answers what was accepted, writes what is pending, and sends the
// waiting receives away.
func (w *Writer) end() {
	w.mu.Lock()
	w.flushAt = 0 // due
	w.mu.Unlock()
	w.turn(nil, true)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.desks {
		for _, c := range d.waiting {
			c.finish(w, ErrClosed)
		}
		d.waiting = nil
	}
}
