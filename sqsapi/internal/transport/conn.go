// The listener and the connections of the fasthttp part.

package transport

import (
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/muster-scale/muster/internal/accept"
)

// listener passes connections to the loops, and to fasthttp those that no loop takes.
type listener struct {
	net.Listener
	server *Server
}

// Accept returns the next connection that no loop takes. One for which the budget has no room is
// closed.
func (l listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		var ticket *accept.Ticket
		if counted, ok := inner.(*accept.Conn); ok {
			inner, ticket = counted.Detach()
		}
		if l.server.adopt(inner, ticket) {
			continue
		}
		if l.server.unverified.Take(ConnBytes) {
			return l.server.keep(inner, ticket, ConnBytes), nil
		}
		inner.Close()
		ticket.End()
	}
}

// adopt gives a connection to the next loop, in turn. It returns false without loops, or if the loop
// cannot take it.
func (f *Server) adopt(c net.Conn, ticket *accept.Ticket) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.loops) == 0 {
		return false
	}
	f.next = (f.next + 1) % len(f.loops)
	return f.loops[f.next].adopt(c, ticket)
}

// ConnBytes is the memory of a connection that fasthttp serves: its two buffers and a goroutine.
const ConnBytes = 2*bufferBytes + 8<<10

// keep registers a connection until it is closed. share is its part of the budget for unauthenticated
// callers, in bytes.
func (f *Server) keep(inner net.Conn, ticket *accept.Ticket, share int64) *serverConn {
	c := &serverConn{Conn: inner, server: f, ticket: ticket}
	c.share.Store(share)
	ticket.ClosedBy(func() {
		inner.Close()
		ticket.End() // at once: the serving goroutine may notice late
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		inner.Close()
	}
	f.open[c] = struct{}{}
	return c
}

// serverConn is a connection of the fasthttp part.
type serverConn struct {
	net.Conn
	server *Server
	ticket *accept.Ticket
	share  atomic.Int64 // bytes of server.unverified
	ahead  []byte       // bytes that a loop had already read
	// refused says that the last request was not read to its end.
	refused atomic.Bool
}

// markAuthenticated notes that the caller proved its identity, and returns the connection's share of
// the budget.
func (c *serverConn) markAuthenticated() {
	c.ticket.Trust()
	c.server.unverified.Give(c.share.Swap(0))
}

// markIdle notes that a connection waits for its next request, so that it may be closed for a new one.
func markIdle(c net.Conn, state fasthttp.ConnState) {
	if c, ok := c.(*serverConn); ok && state == fasthttp.StateIdle {
		c.ticket.Rest()
	}
}

// Read returns the bytes that a loop had read, then those of the connection.
func (c *serverConn) Read(b []byte) (int, error) {
	if len(c.ahead) > 0 {
		n := copy(b, c.ahead)
		c.ahead = c.ahead[n:]
		return n, nil
	}
	return c.Conn.Read(b)
}

// lingerTimeout is the time for which a caller whose request was refused may still send. Closing a
// connection with unread bytes resets it, and the caller could lose the answer.
const lingerTimeout = 500 * time.Millisecond

// Close closes the connection and unregisters it.
func (c *serverConn) Close() error {
	c.server.mu.Lock()
	delete(c.server.open, c)
	c.server.mu.Unlock()
	defer c.ticket.End()
	defer func() { c.server.unverified.Give(c.share.Swap(0)) }()
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && c.refused.Load() && half.CloseWrite() == nil {
		if c.SetReadDeadline(time.Now().Add(lingerTimeout)) == nil {
			io.Copy(io.Discard, c.Conn) // until the caller closes, or the deadline
		}
	}
	return c.Conn.Close()
}
