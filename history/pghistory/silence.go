package pghistory

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"
)

// This file bounds how long a connection waits for a server that is silent: one whose machine was cut off or suspended.
// The driver then waits in spite of the context of a call, and without an end.

// dialer makes connections that fail when the other side is silent for too long.
type dialer struct {
	net.Dialer
	silence time.Duration
}

// DialContext implements pq.DialerContext.
func (d dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := d.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &bounded{c, d.silence}, nil
}

// Dial implements pq.Dialer.
func (d dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialTimeout implements pq.Dialer.
func (d dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, stop := context.WithTimeout(context.Background(), timeout)
	defer stop()
	return d.DialContext(ctx, network, address)
}

// bounded is a connection that is closed when a read or a write takes longer than silence. The driver reads only while
// it waits for an answer, so an idle connection stays open.
type bounded struct {
	net.Conn
	silence time.Duration
}

// Read implements [net.Conn].
func (b *bounded) Read(p []byte) (int, error) { return b.watched(p, b.Conn.Read) }

// Write implements [net.Conn].
func (b *bounded) Write(p []byte) (int, error) { return b.watched(p, b.Conn.Write) }

// watched makes a call that ends when the connection is closed.
func (b *bounded) watched(p []byte, do func([]byte) (int, error)) (int, error) {
	limited, stop := context.WithTimeout(context.Background(), b.silence)
	defer stop()
	released := context.AfterFunc(limited, func() { b.Conn.Close() })
	n, err := do(p)
	if !released() && err != nil {
		err = fmt.Errorf("the server has not answered within %s: %w", b.silence, os.ErrDeadlineExceeded)
	}
	return n, err
}
