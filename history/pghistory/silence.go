package pghistory

import (
	"context"
	"net"
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

// bounded is a connection whose reads and writes take no longer than silence each. The driver reads only while it waits
// for an answer, so an idle connection does not fail.
type bounded struct {
	net.Conn
	silence time.Duration
}

// Read implements [net.Conn].
func (b *bounded) Read(p []byte) (int, error) {
	if err := b.Conn.SetReadDeadline(time.Now().Add(b.silence)); err != nil {
		return 0, err
	}
	return b.Conn.Read(p)
}

// Write implements [net.Conn].
func (b *bounded) Write(p []byte) (int, error) {
	if err := b.Conn.SetWriteDeadline(time.Now().Add(b.silence)); err != nil {
		return 0, err
	}
	return b.Conn.Write(p)
}
