// The turns of the writer: taking requests, gathering, committing, and what happens when a commit
// fails.

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

// Reply carries the one answer of a request, to a waiting goroutine or to a batcher.
type Reply struct {
	waiting chan error // has room for one, so that the writer never blocks
	batcher *Batcher
	then    func(error)
}

// NewReply returns the reply of a request for [Writer.Do].
func NewReply() Reply { return Reply{waiting: make(chan error, 1)} }

// give answers; Writer.mu must be held.
func (r Reply) give(err error) {
	if r.batcher != nil {
		r.batcher.note(outcome{r.then, err})
		return
	}
	r.waiting <- err
}

// final returns the answer after the writer ended: ErrClosed if it gave none.
func (r Reply) final() error {
	select {
	case err := <-r.waiting:
		return err
	default:
		return ErrClosed
	}
}

// verdict says when a request is answered after apply.
type verdict uint8

const (
	answerNow    verdict = iota // nothing must be committed first
	answerLater                 // after the group is committed
	answerParked                // when a message arrives; it is in the wait list of its queue
	answeredEach                // a bundle: each request has its own verdict
)

// Command is a request to the writer: [Send], [Receive], [Settle] or [Call]. The writer calls both
// methods with Writer.mu held. It calls apply again if the group was undone.
type Command interface {
	apply(w *Writer, now int64) verdict
	finish(w *Writer, err error)
}

// Writer owns the state of the queues. Its goroutine runs all turns, except those that a caller with a
// [Batcher] runs itself; see commitNow. Its methods are safe for concurrent use.
type Writer struct {
	log     *slog.Logger
	store   machine.Store
	started time.Time

	// turning is held during a turn, by the goroutine or by a caller in commitNow. It guards group,
	// full and timer.
	turning sync.Mutex
	group   []Command
	full    bool // the group is being applied again, without what needs room
	timer   *time.Timer

	// SoloGroups counts fast commits in a row with one request each, up to SoloAfter.
	SoloGroups atomic.Int32
	// Closing is closed when no more requests are accepted.
	Closing  chan struct{}
	requests chan Command
	rearm    chan struct{} // something is due earlier than the timer
	done     chan struct{} // the writer has ended
	short    atomic.Bool   // the storage is full, and that was logged

	mu        sync.Mutex // guards the fields below; never held during a commit
	st        *machine.State
	last      int64 // the last Tick; time never goes back
	cache     *cache
	waitLists map[*machine.Queue]*waitList
	wakes     map[string][]chan struct{}
	// toNotify are the batchers that have something to deliver and were not notified yet.
	toNotify []*Batcher

	broken  error // why nothing more is accepted, or nil
	wakeAt  int64 // the earliest due time of all queues, or earlier
	flushAt int64 // when pending rows must be written; Never if there are none
}

// ErrClosed says that the writer was closed.
var ErrClosed = errors.New("queue service is closed")

const (
	// maxGroup bounds the requests committed together.
	maxGroup = 1024
	// gatherRounds bounds how often a group waits for requests of callers that were just answered.
	gatherRounds = 4
	// FlushAfter is the longest time for which a first receive stays unwritten, in milliseconds.
	FlushAfter = 20
	// retryFull is the pause before a full store is tried again without a request, in milliseconds.
	retryFull = 500
	// SweepRows bounds the dead rows removed with one flush.
	SweepRows = 1000
	// SoloAfter is the number of fast groups of one request after which a caller counts as the only
	// one.
	SoloAfter = 8
	// FastCommit is the longest commit, in milliseconds, that a caller should wait for itself. With a
	// slower disk, waking another goroutine is cheap in comparison, and the caller has others to serve.
	FastCommit = 2
)

// run takes turns until the writer is closed.
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

// round is one turn of the goroutine if works, its last one if ends. Otherwise it only sets the timer.
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

// commitNow lets the caller run one turn for c, if it has been the only one with anything to commit.
// Its request then reaches the disk without waking the goroutine, which takes nearly as long as a fast
// disk. It says whether c was handled.
func (w *Writer) commitNow(c Command) bool {
	if w.SoloGroups.Load() < SoloAfter || len(w.requests) > 0 || !w.turning.TryLock() {
		return false
	}
	defer w.turning.Unlock()
	if w.Alive() != nil {
		return false // the last turn may be over
	}
	w.turn(c, false)
	w.arm()
	return true
}

// turn applies waiting requests, commits their changes and answers them. gathers says whether it waits
// a moment for more.
func (w *Writer) turn(first Command, gathers bool) {
	w.mu.Lock()
	now := w.Tick()
	w.take(first, now)
	if now >= w.wakeAt {
		w.touchAll(now)
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
	w.notifyAll()
	w.commit(now)
	w.notifyAll()
	w.announce(now)
	w.notifyAll()
}

// gather yields to callers that were just answered: they often send another request, which then shares
// the sync of this group. It stops as soon as no request waits.
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

// take applies first and the requests that wait in the channel.
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

// apply runs one command, and answers it or adds it to the group.
func (w *Writer) apply(c Command, now int64) {
	if w.broken != nil {
		c.finish(w, w.broken)
		return
	}
	mark := len(w.st.Images)
	switch c.apply(w, now) {
	case answerNow:
		// What was answered stays, even if the group is undone.
		w.st.Images = w.st.Images[:mark]
		c.finish(w, nil)
	case answerLater:
		w.group = append(w.group, c)
	}
}

// commit makes the group durable and answers it. A full disk leads to a second attempt, see again. A
// busy file refuses the group and nothing else. Any other error is final.
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

// count updates SoloGroups after a group of size requests, whose commit took that many milliseconds.
func (w *Writer) count(size int, took int64) {
	switch {
	case size > 1 || took > FastCommit:
		w.SoloGroups.Store(0)
	case size == 1:
		w.SoloGroups.Store(min(w.SoloGroups.Load()+1, SoloAfter))
	}
}

// write commits the operations. In memory it then keeps the group, or undoes it after an error.
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

// again applies the group once more without what needs room, so that deletes keep working on a full
// disk.
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

// poison refuses everything from now on. After a failed sync it is unknown what the disk holds: the
// kernel may have dropped the dirty pages, so a second sync that succeeds proves nothing.
func (w *Writer) poison(cause error) error {
	w.broken = fmt.Errorf("%w: %w; nothing more is accepted: check the disk, then restart", storage.ErrStorage, cause)
	w.log.Error("queue storage failed: nothing more is accepted until a restart", slog.Any("error", cause))
	for _, d := range w.waitLists {
		for _, c := range d.waiting {
			c.finish(w, w.broken)
		}
		d.waiting = nil
	}
	return w.broken
}

// arm sets the timer to the next due time.
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
		least = retryFull // the due work may be the very write that failed
	}
	w.timer.Reset(time.Duration(max(least, at-w.Now())) * time.Millisecond)
}

// end runs the last turn, which writes what is pending, and refuses the waiting receives.
func (w *Writer) end() {
	w.mu.Lock()
	w.flushAt = 0 // due
	w.mu.Unlock()
	w.turn(nil, true)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.waitLists {
		for _, c := range d.waiting {
			c.finish(w, ErrClosed)
		}
		d.waiting = nil
	}
}
