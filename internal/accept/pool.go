// Package accept accepts connections for servers that must survive too many of them.
//
// A [Pool] counts the connections of several listeners together. It keeps their number below that of
// the files the process may open, with a reserve for the program's own files. Without room for a new
// connection, an idle one is closed: first one whose caller was never authenticated, then an
// authenticated one. A connection that serves a request is never closed for another.
//
//	pool := accept.NewPool(accept.Limit(accept.OpenFiles()), log)
//	listener = pool.Listen("sqs", listener, 0)
//	accept.Attend(server)       // net/http: report idle connections
//	accept.Trust(r.Context())   // in a handler: the caller is authenticated
//
// Each connection has a [Ticket], its place in the pool, through which a server reports when a request
// was authenticated and when it was answered. [Attend] does the latter for net/http;
// sqsapi/internal/transport does both itself.
//
// A failing accept is retried with a growing pause and logged. [Pool.Failing] reports it as long as it
// lasts, for health checks. A [Budget] bounds the memory for callers who are not authenticated yet.
//
// The package knows no protocol and no keys.
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
	// most is the largest number of connections of a pool, whatever the system allows: each one costs
	// memory.
	most = 8192
	// leastReserve and mostReserve bound the number of files kept for the program itself.
	leastReserve, mostReserve = 128, 1024
	// few is the number of connections where the system allows hardly any files.
	few = 16
	// closing is the number of connections that may be closing while new ones are accepted in their
	// place. Beyond it a new connection waits, in steps of closingStep, for at most closingFor.
	closing     = 32
	closingStep = time.Millisecond
	closingFor  = 100 * time.Millisecond
	// remembered is the time for which a refused connection counts as a failure.
	remembered = 5 * time.Second
	// saidEvery is the least time between two log lines about the same fault.
	saidEvery = time.Minute
)

// Limit returns the number of connections for a process that may open the given number of files: all
// but a quarter. That quarter is the reserve, at least 128 and at most 1,024 files.
func Limit(files uint64) int {
	files = min(files, most+mostReserve)
	reserve := min(max(int(files)/4, leastReserve), mostReserve)
	return min(max(int(files)-reserve, few), most)
}

// Pool counts connections. Its methods are safe for concurrent use.
type Pool struct {
	limit int
	log   *slog.Logger
	turns atomic.Int64 // a logical clock: orders connections by the time they became idle

	mu        sync.Mutex
	tickets   map[*Ticket]struct{}
	leaving   int        // number of tickets chosen to make room that have not ended yet
	unknown   *list.List // tickets of callers not authenticated yet, the oldest first
	listeners map[*listener]struct{}
	refused   time.Time // time of the last refused connection
	said      time.Time // time of the last log line about it
}

// NewPool returns a pool of up to limit connections. log, which may be nil, receives faults that the
// operator must know of.
func NewPool(limit int, log *slog.Logger) *Pool {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Pool{limit: limit, log: log, tickets: map[*Ticket]struct{}{}, unknown: list.New(),
		listeners: map[*listener]struct{}{}}
}

// Open returns the number of connections.
func (p *Pool) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.tickets)
}

// Serving returns the number of connections that serve an authenticated request.
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

// Failing returns why connections cannot be accepted now; nil if they can.
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

// admit adds a connection. extra is the number by which its listener may exceed the limit. Without room
// it closes an idle connection; if there is none it returns false.
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

// crowded says that the pool is full and as many connections as allowed are closing already.
func (p *Pool) crowded(extra int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.tickets) >= p.limit+extra && p.leaving >= closing
}

// relieve closes an unauthenticated connection, if there is one. It is called when files run out
// although the pool has room.
func (p *Pool) relieve() {
	p.mu.Lock()
	t := p.oldestUnknown()
	p.mu.Unlock()
	t.evict()
}

// oldestUnknown marks the oldest unauthenticated connection as leaving and returns it, or nil. p.mu
// must be held.
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

// longestIdle marks the connection that has been idle for longest as leaving and returns it, or nil.
// p.mu must be held.
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

// Ticket is the place of a connection in a pool. A nil ticket is that of a connection that no pool
// counts; its methods do nothing. The methods are safe for concurrent use.
type Ticket struct {
	pool    *Pool
	turn    atomic.Int64  // when it was accepted or became idle, in pool.turns
	trusted atomic.Bool   // its caller was authenticated
	busy    atomic.Bool   // it serves an authenticated request
	place   *list.Element // in pool.unknown; guarded by pool.mu
	leaving bool          // it was chosen to make room; guarded by pool.mu

	mu    sync.Mutex
	close func()
	ended bool
}

// Trust reports that a request was authenticated. Until [Ticket.Rest] the connection is not closed to
// make room.
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

// forget removes t from the list of unauthenticated callers; pool.mu must be held.
func (t *Ticket) forget() {
	if t.place != nil {
		t.pool.unknown.Remove(t.place)
		t.place = nil
	}
}

// Trusted says whether a request of the connection was ever authenticated.
func (t *Ticket) Trusted() bool { return t != nil && t.trusted.Load() }

// Rest reports that the request was answered.
func (t *Ticket) Rest() {
	if t != nil && t.busy.Load() {
		t.turn.Store(t.pool.turns.Add(1))
		t.busy.Store(false)
	}
}

// Busy says whether the connection serves an authenticated request.
func (t *Ticket) Busy() bool { return t != nil && t.busy.Load() }

// ClosedBy sets the function that closes the connection to make room. It is not called after
// [Ticket.End].
func (t *Ticket) ClosedBy(closes func()) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.close = closes
}

// End gives up the place, because the connection is closed.
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

// stays withdraws the choice of t to make room; pool.mu must be held.
func (t *Ticket) stays() {
	if t.leaving {
		t.leaving = false
		t.pool.leaving--
	}
}

// Stay reports that the connection was not closed to make room, because a request arrived on it.
func (t *Ticket) Stay() {
	t.pool.mu.Lock()
	defer t.pool.mu.Unlock()
	t.stays()
}

// evict closes the connection, unless a request was authenticated since it was chosen.
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
