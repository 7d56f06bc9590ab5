// Package accept takes connections so that a server goes on when there are too many of them.
//
// A [Pool] counts the connections of several listeners together and keeps them below the number of files that
// the process may have open, with a reserve for the files of the program itself. When there is no room for a
// new connection, an idle one makes it: first one whose caller never proved who it is, then one whose caller
// did. A connection that serves a request is never closed for another. An error of accept is retried with a
// growing pause and said in the log; [Pool.Failing] tells it for as long as it lasts.
//
// A [Budget] bounds the bytes that are held for callers who have not proved who they are.
//
// The package knows nothing of protocols: a server says through a [Ticket] when a request was let in and when
// it is answered.
package accept

import (
	"container/list"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// most is the largest number of connections of a pool, whatever the system allows: each costs memory.
	most = 8192
	// leastReserve and mostReserve bound the files that are kept for the program itself.
	leastReserve, mostReserve = 128, 1024
	// few is how many connections there may be where the system allows hardly any files.
	few = 16
	// closing is how many connections may still be on their way out while new ones are taken in their place. For more
	// than these a new connection waits, in steps of closingStep, for closingFor at most.
	closing     = 32
	closingStep = time.Millisecond
	closingFor  = 100 * time.Millisecond
	// remembered is how long a refused connection counts as a failure.
	remembered = 5 * time.Second
	// saidEvery is the least time between two log lines about the same.
	saidEvery = time.Minute
)

// Limit returns how many connections a process may have that may open the given number of files: all but a
// quarter, which is the reserve, at least 128 and at most 1,024 of them.
func Limit(files uint64) int {
	files = min(files, most+mostReserve)
	reserve := min(max(int(files)/4, leastReserve), mostReserve)
	return min(max(int(files)-reserve, few), most)
}

// Pool counts connections. Its methods are safe for concurrent use.
type Pool struct {
	limit int
	log   *slog.Logger
	turns atomic.Int64 // counts what happens, so that the connection can be found that has been idle for longest

	mu        sync.Mutex
	tickets   map[*Ticket]struct{}
	leaving   int        // how many of tickets are to make room and did not yet
	unknown   *list.List // of the tickets whose callers did not prove who they are, the oldest first
	listeners map[*listener]struct{}
	refused   time.Time // when there was no room for the last time
	said      time.Time // when that was logged
}

// NewPool returns a pool of so many connections. The logger, which may be nil, receives what the operator must know.
func NewPool(limit int, log *slog.Logger) *Pool {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Pool{limit: limit, log: log, tickets: map[*Ticket]struct{}{}, unknown: list.New(),
		listeners: map[*listener]struct{}{}}
}

// Open returns how many connections there are.
func (p *Pool) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.tickets)
}

// Serving returns how many of them serve a request that was let in.
func (p *Pool) Serving() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for t := range p.tickets {
		if t.busy.Load() {
			n++
		}
	}
	return n
}

// Failing returns why connections cannot be taken at this moment; nil if they can.
func (p *Pool) Failing() error {
	p.mu.Lock()
	refused, listeners := p.refused, slices.Collect(maps.Keys(p.listeners))
	p.mu.Unlock()
	var failures []error
	for _, l := range listeners {
		failures = append(failures, l.failing())
	}
	if !refused.IsZero() && time.Since(refused) < remembered {
		failures = append(failures, fmt.Errorf(
			"new connections are refused: there are %d, which is the limit, and none is idle", p.limit))
	}
	return errors.Join(failures...)
}

// admit takes a connection in; extra is how many more than the limit its listener may have. It reports false if
// there is no room, and makes some by closing an idle connection if there is one.
func (p *Pool) admit(t *Ticket, extra int) bool {
	for waited := time.Duration(0); waited < closingFor && p.crowded(extra); waited += closingStep {
		time.Sleep(closingStep)
	}
	p.mu.Lock()
	var evicted *Ticket
	fits := len(p.tickets) < p.limit+extra
	if !fits && p.leaving < closing {
		if evicted = p.oldestUnknown(); evicted == nil {
			evicted = p.longestIdle()
		}
		fits = evicted != nil
	}
	if fits {
		p.tickets[t], t.place = struct{}{}, p.unknown.PushBack(t)
	} else {
		p.refused = time.Now()
	}
	say := !fits || evicted != nil
	if say = say && time.Since(p.said) >= saidEvery; say {
		p.said = time.Now()
	}
	open := len(p.tickets)
	p.mu.Unlock()
	if say {
		p.log.Warn(
			"there is no room for more connections: an idle one is closed for each new one, and when none is "+
				"idle new ones are refused; raise the limit of open files (ulimit -n) if this many are meant to be",
			"open", open, "limit", p.limit)
	}
	evicted.evict()
	return fits
}

// crowded tells whether as many connections as may be are on their way out and not yet gone.
func (p *Pool) crowded(extra int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.tickets) >= p.limit+extra && p.leaving >= closing
}

// relieve closes an idle connection whose caller is unknown, if there is one: files ran out although there is room.
func (p *Pool) relieve() {
	p.mu.Lock()
	t := p.oldestUnknown()
	p.mu.Unlock()
	t.evict()
}

// oldestUnknown marks the oldest connection whose caller is unknown as leaving and returns it; nil if there is
// none. p.mu must be held.
func (p *Pool) oldestUnknown() *Ticket {
	front := p.unknown.Front()
	if front == nil {
		return nil
	}
	t, _ := p.unknown.Remove(front).(*Ticket) // nothing else is in it
	t.place, t.leaving = nil, true
	p.leaving++
	return t
}

// longestIdle does so for the connection that has been idle for longest. p.mu must be held.
func (p *Pool) longestIdle() *Ticket {
	var idle *Ticket
	for t := range p.tickets {
		if !t.leaving && !t.busy.Load() && (idle == nil || t.turn.Load() < idle.turn.Load()) {
			idle = t
		}
	}
	if idle != nil {
		idle.leaving = true
		p.leaving++
	}
	return idle
}

// Ticket is the place of a connection in a pool. The methods of a nil ticket, of a connection that no pool counts, do
// nothing. They are safe for concurrent use.
type Ticket struct {
	pool    *Pool
	turn    atomic.Int64  // when it came, or became idle, by the pool's count
	trusted atomic.Bool   // its caller proved who it is
	busy    atomic.Bool   // it serves a request of such a caller
	place   *list.Element // in pool.unknown; guarded by pool.mu
	leaving bool          // it is to make room; guarded by pool.mu

	mu    sync.Mutex
	close func()
	ended bool
}

// Trust says that a request was let in: its caller proved who it is. Until [Ticket.Rest] the connection is not
// closed to make room.
func (t *Ticket) Trust() {
	if t == nil {
		return
	}
	t.busy.Store(true)
	if !t.trusted.Load() && !t.trusted.Swap(true) {
		t.pool.mu.Lock()
		defer t.pool.mu.Unlock()
		t.forget()
	}
}

// forget takes t out of the list of unknown callers; pool.mu must be held.
func (t *Ticket) forget() {
	if t.place != nil {
		t.pool.unknown.Remove(t.place)
		t.place = nil
	}
}

// Trusted tells whether a request of the connection was ever let in.
func (t *Ticket) Trusted() bool { return t != nil && t.trusted.Load() }

// Rest says that the request was answered.
func (t *Ticket) Rest() {
	if t != nil && t.busy.Load() {
		t.turn.Store(t.pool.turns.Add(1))
		t.busy.Store(false)
	}
}

// Busy tells whether the connection serves a request that was let in.
func (t *Ticket) Busy() bool { return t != nil && t.busy.Load() }

// ClosedBy replaces how the connection is closed to make room. After [Ticket.End] it is not called.
func (t *Ticket) ClosedBy(closes func()) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.close = closes
}

// End gives the place up; the connection is closed.
func (t *Ticket) End() {
	if t == nil {
		return
	}
	t.mu.Lock()
	t.ended = true
	t.mu.Unlock()
	t.pool.mu.Lock()
	defer t.pool.mu.Unlock()
	delete(t.pool.tickets, t)
	t.forget()
	t.stays()
}

// stays ends that t is to make room; pool.mu must be held.
func (t *Ticket) stays() {
	if t.leaving {
		t.leaving = false
		t.pool.leaving--
	}
}

// Stay says that the connection was not closed when it was to make room: a request came at that moment.
func (t *Ticket) Stay() {
	t.pool.mu.Lock()
	defer t.pool.mu.Unlock()
	t.stays()
}

// evict closes the connection, unless a request was let in since it was chosen.
func (t *Ticket) evict() {
	if t == nil {
		return
	}
	if t.busy.Load() {
		t.Stay()
		return
	}
	t.mu.Lock()
	closes := t.close
	if t.ended {
		closes = nil
	}
	t.mu.Unlock()
	if closes != nil {
		closes()
	}
}
