package sqsapi

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
)

// server is what both servers of the endpoint are.
type server interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
	Close() error
}

// servers are the two of the endpoint.
var servers = map[string]func(http.Handler) server{
	"front":    func(h http.Handler) server { return NewTCPServer(h, nil) },
	"net/http": func(h http.Handler) server { return NewServer(h) },
}

// Listen serves the endpoint on loopback until the test ends and returns its URL.
func Listen(t *testing.T, kind string, endpoint http.Handler) (url string) {
	t.Helper()
	return "http://" + start(t, servers[kind](endpoint))
}

func start(t *testing.T, s server) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), l.Close()); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return l.Addr().String()
}
