package transport

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// watching is the context of a request of a [Front]. It never ends: whether the caller is still there is looked at only
// while a call waits.
type exchangeContext struct {
	context.Context
	exchange *exchange
}

// Watched ends when the caller hangs up. stop must be called before the request is answered.
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
	conn.SetReadDeadline(time.Time{}) // that of the request is shorter than a caller may wait
	register, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if hungUp(raw) {
			cancel()
		}
	}()
	return register, func() {
		conn.SetReadDeadline(time.Unix(1, 0)) // ends the look; the next request sets its own
		<-done
		conn.SetReadDeadline(time.Time{})
	}
}

var errNotWatched = errors.New("the connection has no file descriptor")

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

// hungUp waits until the connection can be read and says whether that is because it ended; what a caller sends ahead is
// left where it is.
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
