// The event loop of a number of connections. Everything of a loop runs on its goroutine, except the
// functions that say that they are safe for concurrent use.

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

// loop serves connections on one goroutine. Each round it reads what arrived, submits all new work to
// the queue together, and writes the answers that are ready. Work that may block runs on a goroutine of
// its own. A connection with a request that is not simple moves to fasthttp.
type loop struct {
	server *Server
	calls  Calls          // nil if the endpoint is no Endpoint
	queue  *queue.Batcher // the batcher of calls
	poll   int            // the epoll instance
	wakeFD int            // an eventfd, which ends the wait for events
	asleep atomic.Bool    // the loop waits for events, or is about to
	woken  atomic.Bool    // there is work besides events
	ended  chan struct{}

	mu     sync.Mutex
	posted []func() // functions for the loop to run
	gone   bool     // the loop has ended and runs nothing

	conns    map[int]*loopConn
	todo     []*loopConn // connections that can continue without an event
	stopping bool        // connections end after their running request
	begun    time.Time
	now      time.Time     // time of this round
	age      time.Duration // now - begun
	sweepAt  time.Duration // earliest timeout of a connection, or earlier; 0 if none has one
	date     []byte        // Date header of the second dated
	dated    int64
	in, out  []byte // reused for every read and write
	body     []byte // reused for every answer
}

const (
	// timeoutStep is the precision of timeouts. Coarse timeouts let one sweep end many connections.
	timeoutStep = 20 * time.Millisecond
	// submitAfter is the number of gathered requests after which they are submitted at once. More
	// requests per commit cost less, but meanwhile the disk would be idle.
	submitAfter = 8
	// keptBytes is the largest buffer that is reused, in bytes.
	keptBytes = 256 << 10
)

// newLoop creates a loop; run starts it.
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

// register reports events of a file descriptor from now on. They are edge-triggered: each change is
// reported once.
func (l *loop) register(fd int, events uint32) error {
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(l.poll, unix.EPOLL_CTL_ADD, fd,
		&unix.EpollEvent{Events: events | unix.EPOLLET, Fd: int32(fd)}))
}

// wake makes the loop handle work that is not an event. It is safe for concurrent use. The system call
// is needed only if the loop sleeps.
func (l *loop) wake() {
	l.woken.Store(true)
	if l.asleep.Swap(false) {
		unix.Write(l.wakeFD, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // fails only if a wake-up is pending already
	}
}

// post lets the loop run do, and returns false if the loop has ended. It is safe for concurrent use.
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
		l.takeUp() // outcomes of the last round first: their answers free connections for this one
		for i := range events[:n] {
			if c := l.conns[int(events[i].Fd)]; c != nil {
				l.ready(c, events[i].Events)
			}
		}
		l.stepAll()
		if l.queue != nil {
			l.queue.Submit()
		}
		l.takeUp() // Submit may have committed at once
		if l.sweepAt > 0 && l.age >= l.sweepAt {
			l.sweep()
		}
	}
	l.mu.Lock()
	// From here on post refuses; what was posted before still runs below.
	l.gone = true
	l.mu.Unlock()
	l.runPosted()
	unix.Close(l.wakeFD)
	unix.Close(l.poll)
}

// takeUp does what wake announced: it delivers outcomes of the queue and runs what was posted. It always does both,
// because one wake-up stands for either. Whichever is left here waits until an event of some connection.
func (l *loop) takeUp() {
	if !l.woken.Swap(false) {
		return
	}
	if l.queue != nil {
		l.queue.Deliver()
	}
	l.runPosted()
}

// wait returns the pending events. If there is nothing else to do it waits for events, a wake-up or the
// next timeout. asleep is set before woken is checked, so that a wake-up in between is not lost.
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
	n, _ := unix.EpollWait(l.poll, events, most) // the only error is an interruption
	return max(n, 0)
}

// stepAll continues connections that need no event, one step each per pass, so that none starves the
// others. After 16 passes new events get their turn.
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

// runPosted runs the functions of post.
func (l *loop) runPosted() {
	l.mu.Lock()
	posted := l.posted
	l.posted = nil
	l.mu.Unlock()
	for _, do := range posted {
		do()
	}
}

// adopt takes over a connection and says whether it did. It duplicates the file descriptor, because the
// runtime's poller owns the one of c. It is safe for concurrent use.
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
	c.Close() // the duplicate stays open
	return true
}

// open starts serving a connection.
func (l *loop) open(fd int, ticket *accept.Ticket) {
	c := &loopConn{loop: l, fd: fd, simpleRequest: newSimpleRequest(), ticket: ticket}
	// The listener may hand over a connection after stop was posted.
	if l.stopping || l.register(fd, unix.EPOLLIN|unix.EPOLLOUT|unix.EPOLLRDHUP) != nil {
		unix.Close(fd)
		ticket.End()
		return
	}
	ticket.ClosedBy(func() { l.post(func() { l.yield(c) }) })
	l.conns[fd] = c
	l.setTimeout(c, l.server.fallback.ReadTimeout)
}

// setTimeout ends the connection unless another timeout is set within that time.
func (l *loop) setTimeout(c *loopConn, within time.Duration) {
	c.until = (l.age + within).Truncate(timeoutStep) + timeoutStep
	if l.sweepAt == 0 || c.until < l.sweepAt {
		l.sweepAt = c.until
	}
}

// sweep ends the connections whose timeout is over, and computes the next timeout.
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

// end closes a connection and gives back what it held.
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

// yield closes a connection whose place is needed for another one, unless a request arrived on it
// meanwhile.
func (l *loop) yield(c *loopConn) {
	if c.ticket.Busy() {
		c.ticket.Stay()
		return
	}
	l.end(c)
}

// overloaded refuses a request for which the budget has no room, and closes the connection.
func (l *loop) overloaded(c *loopConn) {
	a := &response{header: http.Header{protocol.RequestIDHeader: {protocol.RequestID()}}}
	protocol.JSON{}.Fault(a, protocol.Busy())
	l.reply(c, a)
	l.end(c)
}

// handOver moves a connection to fasthttp, with the bytes read from it.
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
	unix.EpollCtl(l.poll, unix.EPOLL_CTL_DEL, c.fd, nil) // otherwise events of the duplicate would still be reported
	file := os.NewFile(uintptr(c.fd), "connection")
	defer file.Close()
	conn, err := net.FileConn(file)
	if err == nil && l.stopping {
		err = errors.Join(http.ErrServerClosed, conn.Close())
	}
	if err != nil {
		f.log.Warn("closed an sqs connection that could not be handed over", "error", err)
		f.unverified.Give(share)
		c.ticket.End()
		return
	}
	inner := f.keep(conn, c.ticket, share)
	inner.ahead = ahead
	go f.fallback.ServeConn(inner) // errors concern this connection alone
}

// stop ends the loop after the running requests; now does not wait for them. It is safe for concurrent
// use.
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

// startLoops starts half as many loops as there are processors, at most 8: the queue and the calls need
// the rest. If one cannot be created, connections beyond it go to fasthttp.
func startLoops(f *Server) []*loop {
	var loops []*loop
	for range max(1, min(runtime.GOMAXPROCS(0)/2, 8)) {
		l, err := newLoop(f)
		if err != nil {
			f.log.Warn("sqs connections are served without an event loop, which takes more processor time",
				"error", err)
			break
		}
		go l.run()
		loops = append(loops, l)
	}
	return loops
}

// isAgain says that a read or write would block, or was interrupted.
func isAgain(err error) bool { return err == syscall.EAGAIN || err == syscall.EINTR }
