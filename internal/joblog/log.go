package joblog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// bytesPerSecond and burstBytes bound the output of jobs that one Log accepts; more is dropped and
	// counted. Failures and lines of the worker have a limit of their own, so that a job that prints
	// without end does not hide why it failed.
	bytesPerSecond = 256 << 10
	burstBytes     = 768 << 10
	// maxBatch bounds one write in bytes, and so the memory while nothing can be written.
	// maxOutputBatch is the part of it for output of jobs.
	maxBatch       = 1 << 20
	maxOutputBatch = 768 << 10
	// writeGap is the least time between two writes.
	writeGap = 100 * time.Millisecond
	// foldEvery is the interval at which counts of repeated lines are written.
	foldEvery = time.Second
)

// Log writes to the log of a fleet for one process. Create one with [Open]; it is safe for concurrent
// use.
type Log struct {
	place  place
	member string
	// failed is called when nothing can be written any more, and with nil when that has ended.
	failed func(error)

	mu      sync.Mutex
	lines   bytes.Buffer
	jobs    *rate.Limiter
	others  *rate.Limiter
	leftOut int
	folds   folds
	closed  bool

	// wake says that records wait, done that Close was called, over that the goroutine has ended; fail
	// is its last error.
	wake chan struct{}
	done chan struct{}
	over chan struct{}
	fail error
}

// Open returns the writer of a fleet's log below dir, for a process of the named member. Nothing is
// created before the first record. failed, which may be nil, is called by one goroutine when records
// cannot be written, and with nil when they can be again.
func Open(dir, fleet, member string, failed func(error)) *Log {
	l := &Log{
		place: placeOf(dir, fleet), member: member, failed: failed, folds: newFolds(),
		jobs: rate.NewLimiter(bytesPerSecond, burstBytes), others: rate.NewLimiter(bytesPerSecond, burstBytes),
		wake: make(chan struct{}, 1), done: make(chan struct{}), over: make(chan struct{}),
	}
	go l.run()
	return l
}

// Write adds a record. A zero At becomes now, an empty Member that of the Log. It never blocks: a
// record that cannot be accepted is dropped and counted.
func (l *Log) Write(r Record) {
	now := time.Now()
	if r.At.IsZero() {
		r.At = now
	}
	if r.Member == "" {
		r.Member = l.member
	}
	r.At = r.At.UTC().Truncate(time.Millisecond)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	for _, r := range l.folds.take(r.bounded(), now) {
		l.put(r, now)
	}
}

// put encodes a record for the next write. The caller must hold the lock.
func (l *Log) put(r Record, now time.Time) {
	line, err := json.Marshal(r)
	limit, most := l.others, maxBatch
	if r.Kind == Output {
		limit, most = l.jobs, maxOutputBatch
	}
	// Full buffer or limit exceeded: the record is dropped, a job must not wait.
	if err != nil || l.lines.Len()+len(line)+1 > most || !limit.AllowN(now, len(line)+1) {
		l.leftOut += max(1, r.Repeated)
		return
	}
	l.lines.Write(line)
	l.lines.WriteByte('\n')
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Close writes the waiting records and returns the error of that write.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	l.mu.Unlock()
	close(l.done)
	<-l.over
	return l.fail
}

// run writes until the Log is closed.
func (l *Log) run() {
	defer close(l.over)
	tick := time.NewTicker(foldEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.wake:
		case <-tick.C:
			l.count(false)
		case <-l.done:
			l.count(true)
			l.fail = l.flush()
			return
		}
		l.tell(l.flush())
		select {
		case <-time.After(writeGap):
		case <-l.done:
		}
	}
}

// count adds the counts of repeated and dropped lines.
func (l *Log) count(all bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for _, r := range l.folds.due(now, all) {
		l.put(r, now)
	}
	if n := l.leftOut; n > 0 {
		r := Record{At: now.UTC().Truncate(time.Millisecond), Kind: Worker, Level: "WARN", Member: l.member,
			Text: fmt.Sprintf("%d lines are missing here: there were more than %d KiB a second, or the log could "+
				"not be written",
				n, bytesPerSecond>>10)}
		if l.put(r, now); l.leftOut == n {
			l.leftOut = 0
		} else {
			l.leftOut = n // no room for this line either; the next count adds it
		}
	}
}

// flush writes the waiting records. If that fails they stay for the next attempt.
func (l *Log) flush() error {
	l.mu.Lock()
	lines := bytes.Clone(l.lines.Bytes())
	l.mu.Unlock()
	if len(lines) == 0 {
		return nil
	}
	if err := l.place.append(lines); err != nil {
		return fmt.Errorf("write to the log in %s: %w", l.place.dir, err)
	}
	l.mu.Lock()
	// Records that arrived during the write stay in the buffer.
	l.lines.Next(len(lines))
	l.mu.Unlock()
	return nil
}

// tell calls failed when a failure begins and when it ends.
func (l *Log) tell(err error) {
	if (err == nil) != (l.fail == nil) && l.failed != nil {
		l.failed(err)
	}
	l.fail = err
}
