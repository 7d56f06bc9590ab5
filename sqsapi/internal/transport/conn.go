package transport

import (
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/muster-scale/muster/internal/accept"
)

// frontListener knows its connections.
type listener struct {
	net.Listener
	server *Server
}

// Accept returns the next connection that no loop takes.
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

// adopt gives a connection to a loop, if there is one that takes it.
func (f *Server) adopt(c net.Conn, ticket *accept.Ticket) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.loops) == 0 {
		return false
	}
	f.next = (f.next + 1) % len(f.loops)
	return f.loops[f.next].adopt(c, ticket)
}

// ConnBytes is what a connection costs that the library serves: what it reads and writes with, and a goroutine.
const ConnBytes = 2*bufferBytes + 8<<10

// keep remembers a connection until it is closed, which has a share of what may be held for unknown callers.
func (f *Server) keep(inner net.Conn, ticket *accept.Ticket, share int64) *serverConn {
	c := &serverConn{Conn: inner, server: f, ticket: ticket}
	c.share.Store(share)
	ticket.ClosedBy(func() {
		inner.Close()
		ticket.End() // at once: who serves it may take a while to find out
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		inner.Close()
	}
	f.open[c] = struct{}{}
	return c
}

type serverConn struct {
	net.Conn
	server *Server
	ticket *accept.Ticket
	share  atomic.Int64 // of front.unverified
	ahead  []byte       // read already
	// refused says that the last request was not read to its end.
	refused atomic.Bool
}

// letIn says that the caller proved who it is.
func (c *serverConn) markAuthenticated() {
	c.ticket.Trust()
	c.server.unverified.Give(c.share.Swap(0))
}

// rest says that a connection waits for a request.
func markIdle(c net.Conn, state fasthttp.ConnState) {
	if c, ok := c.(*serverConn); ok && state == fasthttp.StateIdle {
		c.ticket.Rest()
	}
}

// Read reads what was read already first.
func (c *serverConn) Read(b []byte) (int, error) {
	if len(c.ahead) > 0 {
		n := copy(b, c.ahead)
		c.ahead = c.ahead[n:]
		return n, nil
	}
	return c.Conn.Read(b)
}

// lingers is how long a caller whose request was refused may still send: were the connection ended before, the answer
// might be lost.
const lingerTimeout = 500 * time.Millisecond

// Close forgets the connection.
func (c *serverConn) Close() error {
	c.server.mu.Lock()
	delete(c.server.open, c)
	c.server.mu.Unlock()
	defer c.ticket.End()
	defer func() { c.server.unverified.Give(c.share.Swap(0)) }()
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && c.refused.Load() && half.CloseWrite() == nil {
		if c.SetReadDeadline(time.Now().Add(lingerTimeout)) == nil {
			io.Copy(io.Discard, c.Conn) // until the caller has the answer, or time is over
		}
	}
	return c.Conn.Close()
}
