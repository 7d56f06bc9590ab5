package accept

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

const (
	// firstPause and longestPause bound the pause between two attempts of a failing accept.
	firstPause, longestPause = 5 * time.Millisecond, time.Second
	// settles is the time for which an accept must wait without an error until the listener counts as
	// working again.
	settles = 100 * time.Millisecond
)

// Listen returns a listener that adds the connections of l to the pool. name is for the log. extra is
// the number of connections that it may have beyond the limit of the pool: a listener that must always
// be reachable, such as that for health checks, gets some.
func (p *Pool) Listen(name string, l net.Listener, extra int) net.Listener {
	if own, ok := l.(interface {
		Within(func(net.Listener) net.Listener) net.Listener
	}); ok {
		return own.Within(func(inner net.Listener) net.Listener { return p.Listen(name, inner, extra) })
	}
	out := &listener{Listener: l, pool: p, name: name, extra: extra, closed: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listeners[out] = struct{}{}
	return out
}

// listener is such a listener. It retries failing accepts until it is closed.
type listener struct {
	net.Listener
	pool   *Pool
	name   string
	extra  int
	closed chan struct{}
	once   sync.Once

	mu      sync.Mutex
	err     error     // error of the last accept, if it failed
	trying  time.Time // start of the present accept; zero during a pause
	said    time.Time // time of the last log line about err
	retries int
}

// Accept waits for a connection. It fails only if the listener is closed or can never accept again.
func (l *listener) Accept() (net.Conn, error) {
	for pause := firstPause; ; {
		l.try()
		c, err := l.Listener.Accept()
		if err == nil {
			l.works()
			if admitted := l.admit(c); admitted != nil {
				return admitted, nil
			}
			pause = firstPause
			continue
		}
		if final(err) {
			l.leave()
			return nil, err
		}
		l.fails(err, pause)
		l.pool.relieve()
		select {
		case <-time.After(pause):
		case <-l.closed:
			return nil, net.ErrClosed
		}
		pause = min(2*pause, longestPause)
	}
}

// Close ends the listener.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	l.leave()
	return l.Listener.Close()
}

// leave removes the listener from the pool.
func (l *listener) leave() {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	delete(l.pool.listeners, l)
}

// final says whether no later accept can succeed.
func final(err error) bool {
	return errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.EBADF) || errors.Is(err, syscall.EINVAL) ||
		errors.Is(err, syscall.ENOTSOCK)
}

// admit returns a connection with its ticket. Without room it closes the connection and returns nil.
func (l *listener) admit(inner net.Conn) net.Conn {
	t := &Ticket{pool: l.pool}
	t.turn.Store(l.pool.turns.Add(1))
	c := &Conn{Conn: inner, ticket: t}
	t.close = func() { c.Close() }
	if l.pool.admit(t, l.extra) {
		return c
	}
	inner.Close()
	return nil
}

// try records that an accept begins.
func (l *listener) try() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trying = time.Now()
}

// works records that a connection arrived.
func (l *listener) works() {
	l.mu.Lock()
	before, retries := l.err, l.retries
	l.err, l.retries = nil, 0
	l.mu.Unlock()
	if before != nil {
		l.pool.log.Info("connections are accepted again", "listener", l.name, "address", l.Addr().String(), "retries",
			retries)
	}
}

// fails records a failed accept, and logs it at most every saidEvery.
func (l *listener) fails(err error, pause time.Duration) {
	l.mu.Lock()
	l.err, l.trying = err, time.Time{}
	l.retries++
	say := l.retries == 1 || time.Since(l.said) >= saidEvery
	if say {
		l.said = time.Now()
	}
	retries := l.retries
	l.mu.Unlock()
	if say {
		l.pool.log.Error("connections cannot be accepted; retrying", "listener", l.name,
			"address", l.Addr().String(), "error", err, "retries", retries, "pause", pause)
	}
}

// failing returns the error of the last accept, unless a present one has waited long enough without an
// error.
func (l *listener) failing() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil || !l.trying.IsZero() && time.Since(l.trying) > settles {
		return nil
	}
	return fmt.Errorf("%s at %s cannot accept connections: %w", l.name, l.Addr(), l.err)
}

// Conn is a connection with its ticket.
type Conn struct {
	net.Conn
	ticket *Ticket
}

// Close closes the connection and gives up its place.
func (c *Conn) Close() error {
	c.ticket.End()
	return c.Conn.Close()
}

// SyscallConn returns the raw connection, if the system has one.
func (c *Conn) SyscallConn() (syscall.RawConn, error) {
	if raw, ok := c.Conn.(syscall.Conn); ok {
		return raw.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// CloseWrite closes the sending side, if the connection supports that.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Detach returns the connection below c and its ticket, which the caller must end. c must not be used
// any more.
func (c *Conn) Detach() (net.Conn, *Ticket) { return c.Conn, c.ticket }

// TicketOf returns the ticket of a connection, also below TLS; nil if no pool counts it.
func TicketOf(c net.Conn) *Ticket {
	if secure, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = secure.NetConn()
	}
	if counted, ok := c.(*Conn); ok {
		return counted.ticket
	}
	return nil
}

// ticketKey is the context key of the ticket of a request.
type ticketKey struct{}

// Attend makes a net/http server report idle connections to the pool. It replaces ConnState and
// ConnContext.
func Attend(s *http.Server) {
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return WithTicket(ctx, TicketOf(c)) }
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateIdle {
			TicketOf(c).Rest()
		}
	}
}

// WithTicket returns a context with a ticket, for [Trust].
func WithTicket(ctx context.Context, t *Ticket) context.Context {
	return context.WithValue(ctx, ticketKey{}, t)
}

// Trust reports, for the connection of the request with context ctx, that the request was
// authenticated.
func Trust(ctx context.Context) {
	t, _ := ctx.Value(ticketKey{}).(*Ticket) // nil does nothing
	t.Trust()
}
