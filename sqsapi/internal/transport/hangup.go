// Noticing that a caller hangs up while its call waits. Nothing watches a connection otherwise: for a
// short call that would cost more than it saves.

package transport

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// exchangeContext is the context of a request that fasthttp serves. It never ends by itself; see
// WithHangUp.
type exchangeContext struct {
	context.Context
	exchange *exchange
}

// WithHangUp returns a context that ends when the caller of the request with context ctx hangs up. stop
// must be called before the request is answered.
func WithHangUp(ctx context.Context) (_ context.Context, stop func()) {
	if l, ok := ctx.(loopContext); ok {
		return l.gone, func() {}
	}
	w, ok := ctx.(exchangeContext)
	if !ok {
		return ctx, func() {}
	}
	raw, err := rawConn(w.exchange.fast.Conn())
	if err != nil {
		return ctx, func() {}
	}
	conn := w.exchange.fast.Conn()
	conn.SetReadDeadline(time.Time{}) // the deadline of the request is shorter than a long poll
	register, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if hungUp(raw) {
			cancel()
		}
	}()
	return register, func() {
		conn.SetReadDeadline(time.Unix(1, 0)) // ends hungUp; the next request sets its own deadline
		<-done
		conn.SetReadDeadline(time.Time{})
	}
}

var errNotWatched = errors.New("the connection has no file descriptor")

// rawConn returns the connection below c, for system calls.
func rawConn(c net.Conn) (syscall.RawConn, error) {
	if server, ok := c.(*serverConn); ok {
		c = server.Conn
	}
	s, ok := c.(syscall.Conn)
	if !ok {
		return nil, errNotWatched
	}
	return s.SyscallConn()
}

// hungUp waits until the connection is readable, and says whether that is because it ended. MSG_PEEK
// leaves bytes of the next request in place.
func hungUp(raw syscall.RawConn) bool {
	var n int
	var failed error
	err := raw.Read(func(fd uintptr) bool {
		var b [1]byte
		n, _, failed = unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		return !errors.Is(failed, unix.EAGAIN)
	})
	return err == nil && (failed != nil || n == 0)
}
