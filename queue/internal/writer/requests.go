// The writer as its callers see it: opening, closing, submitting requests and waiting for answers. All
// of it runs on the goroutines of the callers.

package writer

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/rules"
)

// requestBuffer is the number of requests that may wait while a group is committed; further callers
// block.
const requestBuffer = 1024

// New loads the state from a store and starts the writer. cacheBytes bounds the contents of messages in
// memory. secret is the key of the receipt handles.
func New(store machine.Store, cacheBytes int64, log *slog.Logger) (w *Writer, secret []byte, err error) {
	w = &Writer{
		log: log, store: store, started: time.Now(), timer: time.NewTimer(0),
		requests:  make(chan Command, requestBuffer),
		Closing:   make(chan struct{}),
		rearm:     make(chan struct{}, 1),
		flushAt:   machine.Never,
		done:      make(chan struct{}),
		cache:     newCache(cacheBytes),
		waitLists: map[*machine.Queue]*waitList{},
		wakes:     map[string][]chan struct{}{},
	}
	if w.st, secret, err = machine.Load(store, w.Now(), rules.ParseSettings); err != nil {
		w.timer.Stop()
		return nil, nil, err
	}
	go w.run()
	return w, secret, nil
}

// Close answers the accepted requests and writes what is pending. Later requests and waiting receives
// fail with [ErrClosed]. It must be called once. It does not close the store.
func (w *Writer) Close() {
	close(w.Closing)
	<-w.done
	w.refuseRest()
}

// Lock locks the state and returns it for reading until Unlock. Changes go through Do.
func (w *Writer) Lock() *machine.State {
	w.mu.Lock()
	return w.st
}

// Unlock unlocks the state.
func (w *Writer) Unlock() { w.mu.Unlock() }

// Cached returns the content of a message if it is in memory; the state must be locked.
func (w *Writer) Cached(seq uint64) *machine.Record { return w.cache.records[seq] }

// Full says whether the disk had no room for the last write.
func (w *Writer) Full() bool { return w.short.Load() }

// SayFull notes that the disk is full, and logs it the first time.
func (w *Writer) SayFull() {
	if !w.short.Swap(true) {
		w.log.Error("queue storage is full: sends are refused until there is room; delete messages, purge queues or " +
			"free disk space")
	}
}

// Now returns the present in Unix milliseconds. It follows the monotonic clock, so setting the wall
// clock moves no deadline.
func (w *Writer) Now() int64 {
	return w.started.Add(time.Since(w.started)).UnixMilli()
}

// Tick returns the present for the state, which never goes back; w.mu must be held.
func (w *Writer) Tick() int64 {
	w.last = max(w.last, w.Now())
	return w.last
}

// Alive returns ErrClosed if requests are no longer accepted.
func (w *Writer) Alive() error {
	select {
	case <-w.Closing:
		return ErrClosed
	default:
		return nil
	}
}

// submit hands a request to the writer. It blocks while the channel is full.
func (w *Writer) submit(ctx context.Context, c Command) error {
	if err := w.Alive(); err != nil {
		return err
	}
	select {
	case w.requests <- c:
		return nil
	case <-w.Closing:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Do hands a request to the writer and waits for its answer. If ctx ends first, the outcome of the
// request is unknown: it may still be applied.
func (w *Writer) Do(ctx context.Context, c Command, answer Reply) error {
	if err := w.submit(ctx, c); err != nil {
		return err
	}
	select {
	case err := <-answer.waiting:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the outcome is unknown: %w", ctx.Err())
	case <-w.done:
		return answer.final()
	}
}

// Receive serves a receive, from stored messages if possible, otherwise through the writer. It waits
// for up to c.WaitFor.
func (w *Writer) Receive(ctx context.Context, c *Receive) error {
	if w.ServeNow(c) {
		return nil
	}
	c.Answer = NewReply()
	err := w.submit(ctx, c)
	if err == nil {
		err = w.await(ctx, c, c.WaitFor)
	}
	return c.Kept(err)
}

// await waits for the answer to c, for up to wait if no message is visible.
func (w *Writer) await(ctx context.Context, c *Receive, wait time.Duration) error {
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case err := <-c.Answer.waiting:
			return err
		case <-timer.C:
		case <-ctx.Done():
		case <-w.done:
		}
		// Messages may be handed to c at this moment, and would be lost if c just left. The writer
		// decides: it answers c with messages or with none.
		if err := w.submit(context.WithoutCancel(ctx), withdraw{c}); err != nil {
			<-w.done
			return c.Answer.final()
		}
	}
	select {
	case err := <-c.Answer.waiting:
		return err
	case <-w.done:
		return c.Answer.final()
	}
}

// Subscribe returns a channel that is signalled when messages of the named queue become receivable, and
// when the queue becomes empty. Signals are coalesced: at most one is pending. The queue need not exist
// yet. cancel ends the subscription; the channel is never closed.
func (w *Writer) Subscribe(name string) (wake <-chan struct{}, cancel func()) {
	ch := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wakes[name] = append(w.wakes[name], ch)
	return ch, func() { w.unsubscribe(name, ch) }
}

func (w *Writer) unsubscribe(name string, ch chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, c := range w.wakes[name] {
		if c == ch {
			w.wakes[name] = append(w.wakes[name][:i:i], w.wakes[name][i+1:]...)
			break
		}
	}
	if len(w.wakes[name]) == 0 {
		delete(w.wakes, name)
	}
}
