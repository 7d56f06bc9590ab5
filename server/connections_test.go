package server_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/internal/accept"
	"github.com/muster-scale/muster/server"
)

// TestReadinessTellsThatNobodyCanConnect asks while an endpoint takes no connections, and afterwards.
func TestReadinessTellsThatNobodyCanConnect(t *testing.T) {
	var failing error
	api := server.New(server.Options{
		Token: server.NewToken(secret), Fleets: func() map[string]server.Fleet { return nil },
		Accepting: func() error { return failing },
	})
	get := func(path string) (int, string) {
		r := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
		r.Header.Set("Authorization", "Bearer "+secret)
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for _, row := range []struct {
		name    string
		failing error
		code    int
		says    string
	}{
		{"it can be reached", nil, http.StatusOK, "ready"},
		{"it cannot", errors.New("the SQS endpoint at 127.0.0.1:9324 cannot accept connections: too many open files"),
			http.StatusServiceUnavailable, "too many open files"},
		{"it can again", nil, http.StatusOK, "ready"},
	} {
		failing = row.failing
		if code, text := get("/readyz"); code != row.code || !strings.Contains(text, row.says) {
			t.Errorf("%s: /readyz answers %d %q", row.name, code, text)
		}
		if _, text := get("/v1/status"); strings.Contains(text, "too many open files") != (row.failing != nil) {
			t.Errorf("%s: the status is %s", row.name, text)
		}
	}
}

// TestConnectionsWithTLSAreCountedBelowIt fills a pool of two with connections that say nothing, beside one with the
// token.
func TestConnectionsWithTLSAreCountedBelowIt(t *testing.T) {
	const host = "muster.example.com"
	cert, key, roots := certificate(t, host)
	l, err := server.ListenTLS("127.0.0.1:0", cert, key)
	if err != nil {
		t.Fatal(err)
	}
	p := accept.NewPool(2, nil)
	s := server.NewServer(server.New(server.Options{
		Token: server.NewToken(secret), Fleets: func() map[string]server.Fleet { return nil },
		Hosts: []string{"127.0.0.1"},
	}))
	go s.Serve(p.Listen("the HTTP API", l, 0))
	defer s.Close()
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: host}},
		Timeout: 10 * time.Second}
	defer c.CloseIdleConnections()
	ask := func() {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+l.Addr().String()+"/v1/queues",
			nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+secret)
		answer, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if text, err := io.ReadAll(answer.Body); err != nil || answer.TLS == nil {
			t.Fatalf("%s, %v, TLS %v", text, err, answer.TLS)
		}
	}
	ask()
	var silent []net.Conn
	for range 6 {
		one, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer one.Close()
		silent = append(silent, one)
	}
	for i, one := range silent[:4] { // the others may have a place
		one.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := one.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("silent connection %d is kept: %v", i, err)
		}
	}
	ask()
}

// TestReportsOfNobodyAreBoundedTogether sends the begin of many reports, each with a made-up token.
func TestReportsOfNobodyAreBoundedTogether(t *testing.T) {
	w := newWorld(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := server.NewServer(w.serves)
	go s.Serve(l)
	defer s.Close()
	const size, most = 256 << 10, 64 // 16 MiB
	refused := make(chan string, 2*most)
	for range most + 8 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST /v1/reports HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+
			"guess\r\nContent-Length: %d\r\n\r\n{", size)
		go func() {
			b := make([]byte, 64)
			n, _ := c.Read(b)
			refused <- string(b[:n])
		}()
	}
	for range 8 {
		if answer := <-refused; !strings.HasPrefix(answer, "HTTP/1.1 503") {
			t.Errorf("answer %q, want 503", answer)
		}
	}
}
