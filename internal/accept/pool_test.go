package accept

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestLimitLeavesFilesForTheProgram(t *testing.T) {
	for _, row := range []struct {
		files uint64
		want  int
	}{
		{0, few}, {64, few}, {200, 72}, {1024, 768}, {4096, 3072}, {8192, 7168}, {1 << 20, most}, {1<<64 - 1, most},
	} {
		if got := Limit(row.files); got != row.want {
			t.Errorf("of %d files: %d connections, want %d", row.files, got, row.want)
		}
	}
	if Limit(OpenFiles()) < few {
		t.Errorf("this process may have %d files open", OpenFiles())
	}
}

// scripted is a listener whose accepts are those of a list; then it waits until it is closed.
type scripted struct {
	mu     sync.Mutex
	next   []any // a net.Conn or an error
	more   chan struct{}
	closed chan struct{}
}

func newScripted(next ...any) *scripted {
	return &scripted{next: next, more: make(chan struct{}, 1), closed: make(chan struct{})}
}

func (s *scripted) add(next ...any) {
	s.mu.Lock()
	s.next = append(s.next, next...)
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default: // told already
	}
}

func (s *scripted) Accept() (net.Conn, error) {
	for {
		s.mu.Lock()
		if len(s.next) > 0 {
			one := s.next[0]
			s.next = s.next[1:]
			s.mu.Unlock()
			if c, ok := one.(net.Conn); ok {
				return c, nil
			}
			return nil, one.(error)
		}
		s.mu.Unlock()
		select {
		case <-s.more:
		case <-s.closed:
			return nil, net.ErrClosed
		}
	}
}

func (s *scripted) Close() error   { close(s.closed); return nil }
func (s *scripted) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9324} }

// fakeConn is a connection that only knows whether it is closed.
type fakeConn struct {
	net.Conn
	name   string
	closed bool
}

func (c *fakeConn) Close() error { c.closed = true; return nil }

func accept(t *testing.T, l net.Listener) *Conn {
	t.Helper()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return c.(*Conn)
}

// TestAnErrorOfAcceptIsTriedAgain lets accepts fail as they do when files run out.
func TestAnErrorOfAcceptIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		tooMany := &net.OpError{Op: "accept", Err: syscall.EMFILE}
		inner := newScripted(tooMany, tooMany, tooMany, &fakeConn{})
		p := NewPool(10, slog.New(slog.NewTextHandler(&log, nil)))
		l := p.Listen("the SQS endpoint", inner, 0)
		if err := p.Failing(); err != nil {
			t.Errorf("before anything happened: %v", err)
		}
		begun := time.Now()
		first := accept(t, l)
		if took := time.Since(begun); took != 5*time.Millisecond+10*time.Millisecond+20*time.Millisecond {
			t.Errorf("three pauses took %v", took)
		}
		if err := p.Failing(); err != nil || p.Open() != 1 {
			t.Errorf("after a connection: %v, %d open", err, p.Open())
		}
		accepted := make(chan error, 1)
		go func() {
			_, err := l.Accept()
			accepted <- err
		}()
		inner.add(tooMany)
		synctest.Wait()
		if err := p.Failing(); err == nil || !errors.Is(err, syscall.EMFILE) ||
			!strings.Contains(err.Error(), "the SQS endpoint at 127.0.0.1:9324 cannot accept connections") {
			t.Errorf("while it fails: %v", err)
		}
		time.Sleep(time.Second)
		if err := p.Failing(); err != nil {
			t.Errorf("when the next accept waits without an error: %v", err)
		}
		if !first.Conn.(*fakeConn).closed {
			t.Error("an idle connection of an unknown caller was kept when files ran out")
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if err := <-accepted; !errors.Is(err, net.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		for want, times := range map[string]int{"connections cannot be accepted": 2,
			"connections are accepted again": 1} {
			if n := strings.Count(log.String(), want); n != times {
				t.Errorf("%q was said %d times, want %d: %s", want, n, times, &log)
			}
		}
	})
}

func TestAListenerThatIsNoneAnyMoreEnds(t *testing.T) {
	p := NewPool(10, nil)
	l := p.Listen("x", newScripted(&net.OpError{Op: "accept", Err: syscall.EBADF}), 0)
	if _, err := l.Accept(); !errors.Is(err, syscall.EBADF) {
		t.Errorf("error %v", err)
	}
	if err := p.Failing(); err != nil {
		t.Errorf("a listener that ended is said to fail: %v", err)
	}
}

// TestWhoMakesRoom fills a pool of three and opens one more.
func TestWhoMakesRoom(t *testing.T) {
	const (
		unknown = "unknown" // idle, and nothing is known of its caller
		resting = "resting" // idle, of a known caller
		serving = "serving" // a request of a known caller is served
	)
	for _, row := range []struct {
		name   string
		states [3]string
		closed string // the connection that makes room; empty if the new one is refused
	}{
		{"the oldest of an unknown caller", [3]string{unknown, unknown, unknown}, "0"},
		{"one of an unknown caller before an older one of a known caller", [3]string{resting, unknown, unknown}, "1"},
		{"one of a known caller when there is no other", [3]string{resting, resting, serving}, "0"},
		{"never one that serves", [3]string{serving, serving, unknown}, "2"},
		{"never one that serves, even if all do", [3]string{serving, serving, serving}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := newScripted()
				p := NewPool(3, nil)
				l := p.Listen("x", inner, 0)
				var conns []*fakeConn
				for i, state := range row.states {
					c := &fakeConn{name: fmt.Sprint(i)}
					conns = append(conns, c)
					inner.add(c)
					counted := accept(t, l)
					if state != unknown {
						counted.ticket.Trust()
					}
					if state == resting {
						counted.ticket.Rest()
					}
				}
				last := &fakeConn{name: "new"}
				inner.add(last)
				go l.Accept()
				synctest.Wait()
				for _, c := range conns {
					if c.closed != (c.name == row.closed) {
						t.Errorf("connection %s closed: %t", c.name, c.closed)
					}
				}
				if last.closed != (row.closed == "") || (p.Failing() != nil) != (row.closed == "") {
					t.Errorf("the new one is closed: %t; %v", last.closed, p.Failing())
				}
				time.Sleep(remembered)
				if err := p.Failing(); err != nil {
					t.Errorf("later: %v", err)
				}
				l.Close()
			})
		})
	}
}

// TestTheLongestIdleMakesRoomFirst lets connections of known callers rest in another order than they came.
func TestTheLongestIdleMakesRoomFirst(t *testing.T) {
	inner := newScripted()
	p := NewPool(2, nil)
	l := p.Listen("x", inner, 0)
	a, b, c := &fakeConn{}, &fakeConn{}, &fakeConn{}
	inner.add(a)
	first := accept(t, l)
	inner.add(b)
	second := accept(t, l)
	for _, one := range []*Conn{second, first} {
		one.ticket.Trust()
		one.ticket.Rest()
	}
	inner.add(c)
	accept(t, l)
	if a.closed || !b.closed || c.closed {
		t.Errorf("closed: %t, %t, %t; want the second alone", a.closed, b.closed, c.closed)
	}
}

// TestALateRequestKeepsItsConnection lets one in between the choice of a connection and its end.
func TestALateRequestKeepsItsConnection(t *testing.T) {
	p := NewPool(1, nil)
	t1 := &Ticket{pool: p, close: func() { t.Error("it was closed") }}
	if !p.admit(t1, 0) {
		t.Fatal("no room for the first")
	}
	p.mu.Lock()
	chosen := p.oldestUnknown()
	p.mu.Unlock()
	t1.Trust()
	chosen.evict()
	t1.Rest()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.longestIdle() != t1 {
		t.Error("it can never make room again")
	}
}

// TestAListenerMayHaveMore keeps the API within reach while the endpoint is full.
func TestAListenerMayHaveMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(1, nil)
		full, inner := newScripted(), newScripted()
		a, b := p.Listen("full", full, 0), p.Listen("spare", inner, 1)
		for _, l := range []struct {
			*scripted
			net.Listener
		}{{full, a}, {inner, b}} {
			l.add(&fakeConn{})
			accept(t, l.Listener).ticket.Trust()
		}
		more := &fakeConn{}
		inner.add(more)
		go b.Accept()
		synctest.Wait()
		if !more.closed || p.Open() != 2 {
			t.Errorf("closed %t, %d open", more.closed, p.Open())
		}
		a.Close()
		b.Close()
	})
}

// TestAnHTTPServerSaysWhenItsConnectionsRest serves requests over real connections, of which there may be two.
func TestAnHTTPServerSaysWhenItsConnectionsRest(t *testing.T) {
	p := NewPool(2, nil)
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := p.Listen("x", inner, 0)
	hold, entered := make(chan struct{}), make(chan struct{})
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Trust(r.Context())
		if r.URL.Path == "/hold" {
			close(entered)
			<-hold
		}
		io.WriteString(w, "fine")
	})}
	Attend(s)
	go s.Serve(l)
	t.Cleanup(func() { s.Shutdown(context.WithoutCancel(t.Context())) })
	get := func(c *http.Client, path string) error {
		answer, err := c.Get("http://" + l.Addr().String() + path)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		_, err = io.ReadAll(answer.Body)
		return err
	}
	held := make(chan error, 1)
	go func() { held <- get(&http.Client{Transport: &http.Transport{}}, "/hold") }()
	<-entered
	// Each client has a connection of its own, which rests after the answer.
	for range 5 {
		for p.Serving() != 1 {
			<-time.After(time.Millisecond) // the last one is about to rest
		}
		if err := get(&http.Client{Transport: &http.Transport{}}, "/"); err != nil {
			t.Errorf("a new connection while an old one rests: %v", err)
		}
	}
	close(hold)
	if err := <-held; err != nil {
		t.Errorf("the request under way: %v", err)
	}
}

func TestABudgetIsNeverExceeded(t *testing.T) {
	b := NewBudget(100)
	if !b.Take(60) || b.Take(41) || !b.Take(40) || b.Used() != 100 {
		t.Errorf("%d of 100 are taken", b.Used())
	}
	b.Give(100)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 1000 {
				if b.Take(30) {
					if used := b.Used(); used > 100+8*30 { // a try that fails is seen for a moment
						t.Errorf("%d are taken", used)
					}
					b.Give(30)
				}
			}
		})
	}
	group.Wait()
	if b.Used() != 0 {
		t.Errorf("%d are left", b.Used())
	}
}

func TestNoTicketIsNoTrouble(t *testing.T) {
	var none *Ticket
	none.Trust()
	none.Rest()
	none.ClosedBy(func() {})
	none.End()
	Trust(t.Context())
	if none.Trusted() || none.Busy() || TicketOf(&fakeConn{}) != nil {
		t.Error("a ticket that is none")
	}
}
