package transport

import (
	"errors"
	"math"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-scale/muster/internal/accept"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi/internal/protocol"
)

// loop serves connections on one goroutine: it reads what has come, hands what is to be stored in together, and writes
// the answers when they are there. So a request costs one read and one write, and no goroutine is woken for it. What
// may wait runs on a goroutine of its own, and a connection with another than plain requests goes to the other server.
type loop struct {
	server *Server
	calls  Calls          // nil if the endpoint has none
	queue  *queue.Batcher // of calls
	poll   int            // the epoll instance
	wakeFD int            // an eventfd: ends the wait for events
	asleep atomic.Bool    // it waits for events, or is about to
	woken  atomic.Bool    // there is something to do besides events
	ended  chan struct{}

	mu     sync.Mutex
	posted []func() // to be run by the loop
	gone   bool     // nothing is run any more

	conns    map[int]*loopConn
	todo     []*loopConn // may go on without an event
	stopping bool        // connections end after the request under way
	begun    time.Time
	now      time.Time     // when the events of this round came
	age      time.Duration // the same since begun
	sweepAt  time.Duration // no connection is to be ended earlier; 0 if none is
	date     []byte        // the header of that second
	dated    int64
	in, out  []byte // used again for every read and write
	body     []byte // for every answer
}

const (
	// patienceStep is how exactly connections are ended that are too slow.
	timeoutStep = 20 * time.Millisecond
	// handInAfter is how many requests are read before the first of them is committed: more at once cost less, but the
	// disk must not wait for them.
	submitAfter = 8
	// keptBytes is the largest answer whose memory is used again.
	keptBytes = 256 << 10
)

func newLoop(f *Server) (*loop, error) {
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	wakeFD, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, errors.Join(os.NewSyscallError("eventfd", err), unix.Close(poll))
	}
	l := &loop{
		server: f, poll: poll, wakeFD: wakeFD, ended: make(chan struct{}), conns: map[int]*loopConn{},
		begun: time.Now(), in: make([]byte, maxSimpleBytes+bufferBytes),
	}
	if f.own != nil {
		l.calls = f.own.NewCalls(l.wake)
		l.queue = l.calls.Batcher()
	}
	if err := l.register(wakeFD, unix.EPOLLIN); err != nil {
		return nil, errors.Join(err, unix.Close(wakeFD), unix.Close(poll))
	}
	return l, nil
}

// watch reports events of a file descriptor from now on, each once.
func (l *loop) register(fd int, events uint32) error {
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(l.poll, unix.EPOLL_CTL_ADD, fd,
		&unix.EpollEvent{Events: events | unix.EPOLLET, Fd: int32(fd)}))
}

// ring lets the loop look at what is not an event. It is safe for concurrent use.
func (l *loop) wake() {
	l.woken.Store(true)
	if l.asleep.Swap(false) {
		unix.Write(l.wakeFD, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // fails only if it was rung and not heard yet
	}
}

// post has do run by the loop, and reports whether it will be. It is safe for concurrent use.
func (l *loop) post(do func()) bool {
	l.mu.Lock()
	gone := l.gone
	if !gone {
		l.posted = append(l.posted, do)
	}
	l.mu.Unlock()
	if !gone {
		l.wake()
	}
	return !gone
}

// run serves until the loop is stopped and has no connections left.
func (l *loop) run() {
	defer close(l.ended)
	events := make([]unix.EpollEvent, 128)
	for !l.stopping || len(l.conns) > 0 {
		n := l.wait(events)
		l.now = time.Now()
		l.age = l.now.Sub(l.begun)
		if l.woken.Swap(false) && l.queue != nil {
			l.queue.Deliver()
		}
		for i := range events[:n] {
			if c := l.conns[int(events[i].Fd)]; c != nil {
				l.ready(c, events[i].Events)
			}
		}
		l.stepAll()
		l.runPosted()
		if l.queue != nil {
			l.queue.Submit()
			if l.woken.Swap(false) { // it was committed at once
				l.queue.Deliver()
			}
		}
		if l.sweepAt > 0 && l.age >= l.sweepAt {
			l.sweep()
		}
	}
	l.mu.Lock()
	l.gone = true
	l.mu.Unlock()
	l.runPosted()
	unix.Close(l.wakeFD)
	unix.Close(l.poll)
}

// wait returns the events there are. If there is nothing to do it waits for some, or until somebody rings.
func (l *loop) wait(events []unix.EpollEvent) int {
	if n, err := unix.EpollWait(l.poll, events, 0); n > 0 || err != nil || len(l.todo) > 0 {
		return max(n, 0)
	}
	most := -1
	if l.sweepAt > 0 {
		most = int(min(max(0, l.sweepAt-time.Since(l.begun)+time.Millisecond-1)/time.Millisecond, math.MaxInt32))
	}
	l.asleep.Store(true)
	defer l.asleep.Store(false)
	if l.woken.Load() {
		return 0
	}
	n, _ := unix.EpollWait(l.poll, events, most) // an error is an interruption
	return max(n, 0)
}

// goOn lets the connections go on that need no event for it, each by one step at a time.
func (l *loop) stepAll() {
	for range 16 {
		if len(l.todo) == 0 {
			return
		}
		todo := l.todo
		l.todo = nil
		for _, c := range todo {
			l.step(c)
		}
	}
}

func (l *loop) runPosted() {
	l.mu.Lock()
	posted := l.posted
	l.posted = nil
	l.mu.Unlock()
	for _, do := range posted {
		do()
	}
}

// adopt takes a connection over from l's listener and reports whether it did. It is safe for concurrent use.
func (l *loop) adopt(c net.Conn, ticket *accept.Ticket) bool {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return false
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return false
	}
	fd := -1
	if raw.Control(func(one uintptr) {
		fd, err = unix.FcntlInt(one, unix.F_DUPFD_CLOEXEC, 0)
	}) != nil || err != nil {
		return false
	}
	if !l.post(func() { l.open(fd, ticket) }) {
		unix.Close(fd)
		return false
	}
	c.Close() // this name of it
	return true
}

// open begins with a connection.
func (l *loop) open(fd int, ticket *accept.Ticket) {
	c := &loopConn{loop: l, fd: fd, simpleRequest: newSimpleRequest(), ticket: ticket}
	if l.stopping || l.register(fd, unix.EPOLLIN|unix.EPOLLOUT|unix.EPOLLRDHUP) != nil {
		unix.Close(fd)
		ticket.End()
		return
	}
	ticket.ClosedBy(func() { l.post(func() { l.yield(c) }) })
	l.conns[fd] = c
	l.setTimeout(c, l.server.fallback.ReadTimeout)
}

// expect ends the connection if nothing happens for a time.
func (l *loop) setTimeout(c *loopConn, within time.Duration) {
	c.until = (l.age + within).Truncate(timeoutStep) + timeoutStep
	if l.sweepAt == 0 || c.until < l.sweepAt {
		l.sweepAt = c.until
	}
}

// sweep ends the connections that were too slow.
func (l *loop) sweep() {
	l.sweepAt = 0
	for _, c := range l.conns {
		switch {
		case c.until == 0:
		case l.age >= c.until:
			l.end(c)
		case l.sweepAt == 0 || c.until < l.sweepAt:
			l.sweepAt = c.until
		}
	}
}

// end ends a connection.
func (l *loop) end(c *loopConn) {
	if c.state == closed {
		return
	}
	c.state = closed
	delete(l.conns, c.fd)
	unix.Close(c.fd)
	c.forget()
	c.ticket.End()
	if c.hangUp != nil {
		c.hangUp()
	}
}

// makeRoom ends a connection whose place is needed, unless a request was let in at that moment.
func (l *loop) yield(c *loopConn) {
	if c.ticket.Busy() {
		c.ticket.Stay()
		return
	}
	l.end(c)
}

// overloaded ends a connection for whose unverified bytes there is no room.
func (l *loop) overloaded(c *loopConn) {
	a := &response{header: http.Header{protocol.RequestIDHeader: {protocol.RequestID()}}}
	protocol.JSON{}.Fault(a, protocol.Busy())
	l.reply(c, a)
	l.end(c)
}

// handOver gives a connection to the other server, with what was read of it.
func (l *loop) handOver(c *loopConn, read []byte) {
	f, share := l.server, int64(ConnBytes)
	if c.verified || c.ticket.Trusted() {
		share = 0
	} else if !f.unverified.Take(share) {
		l.overloaded(c)
		return
	}
	c.state = closed
	delete(l.conns, c.fd)
	ahead := slices.Clone(read)
	c.forget()
	unix.EpollCtl(l.poll, unix.EPOLL_CTL_DEL, c.fd, nil) // else its other name would be reported
	file := os.NewFile(uintptr(c.fd), "connection")
	defer file.Close()
	conn, err := net.FileConn(file)
	if err == nil && l.stopping {
		err = errors.Join(http.ErrServerClosed, conn.Close())
	}
	if err != nil {
		f.log.Warn("an sqs connection was ended", "error", err)
		f.unverified.Give(share)
		c.ticket.End()
		return
	}
	inner := f.keep(conn, c.ticket, share)
	inner.ahead = ahead
	go f.fallback.ServeConn(inner) // what fails is the connection's
}

// stop ends the loop when the requests under way are answered; now does not wait for them.
func (l *loop) stop(now bool) {
	l.post(func() {
		l.stopping = true
		for _, c := range l.conns {
			if now || c.state == idle {
				l.end(c)
			}
		}
	})
}

// startLoops returns the loops of a front.
func startLoops(f *Server) []*loop {
	var loops []*loop
	for range max(1, min(runtime.GOMAXPROCS(0)/2, 8)) {
		l, err := newLoop(f)
		if err != nil {
			f.log.Warn("sqs connections are served in the slower way", "error", err)
			break
		}
		go l.run()
		loops = append(loops, l)
	}
	return loops
}

// isAgain says that there is nothing to read, or no room to write.
func isAgain(err error) bool { return err == syscall.EAGAIN || err == syscall.EINTR }
