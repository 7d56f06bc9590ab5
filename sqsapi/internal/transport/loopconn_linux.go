package transport

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-scale/muster/internal/accept"
	"github.com/muster-scale/muster/sqsapi/internal/protocol"
)

// loopConn is a connection of a loop, which alone uses it.
type loopConn struct {
	loop          *loop
	fd            int
	state         connState
	simpleRequest *simpleRequest
	unread        []byte             // what was read and is not yet used
	unwritten     []byte             // what is not yet written
	readable      bool               // there may be more to read
	ended         bool               // nothing more will come
	queued        bool               // it is in todo
	until         time.Duration      // it is ended then, since the loop began; 0 is never
	hangUp        context.CancelFunc // of a call that waits
	ticket        *accept.Ticket     // nil if nobody counts connections
	verified      bool               // its caller proved who it is
	headChecked   bool               // the head of the request that is coming in is fine
	counted       int64              // of held, those in the front's budget
}

type connState uint8

const (
	idle    connState = iota // or with a part of a request
	serving                  // the answer is being made
	writing                  // the answer does not fit into the socket
	closed
)

// ready takes note of an event.
func (l *loop) ready(c *loopConn, events uint32) {
	if events&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		c.readable = true
	}
	if events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		c.ended = true
		if c.hangUp != nil {
			c.hangUp()
		}
	}
	switch {
	case c.state == writing && events&(unix.EPOLLOUT|unix.EPOLLHUP|unix.EPOLLERR) != 0:
		l.write(c, c.unwritten)
	case c.state == idle && c.readable:
		l.step(c)
	}
}

// later lets c go on in this round.
func (l *loop) later(c *loopConn) {
	if !c.queued {
		c.queued = true
		l.todo = append(l.todo, c)
	}
}

// step reads once and serves the first request, if it is whole.
func (l *loop) step(c *loopConn) {
	c.queued = false
	if c.state != idle {
		return
	}
	b := l.in[:copy(l.in, c.unread)]
	if c.readable {
		n, err := unix.Read(c.fd, l.in[len(b):])
		switch {
		case err != nil && isAgain(err):
			c.readable = err == unix.EINTR
		case err != nil:
			l.end(c)
			return
		default:
			c.readable = n > 0 && (c.ended || n == len(l.in)-len(b)) // else it was all there is
			c.ended = c.ended || n == 0
			b = l.in[:len(b)+n]
		}
	}
	n, f := c.simpleRequest.read(b)
	switch {
	case f == notSimple:
		l.handOver(c, b)
	case f == complete:
		c.headChecked = false
		if !c.keepUnread(b[n:]) {
			l.overloaded(c)
			return
		}
		c.state, c.until = serving, 0
		l.serve(c)
	case f == headOnly && !c.headChecked && l.server.refuses(&c.simpleRequest.request):
		l.handOver(c, b) // which answers without the rest
	default:
		c.headChecked = f == headOnly
		l.pause(c, b)
	}
}

// pause waits for the rest of a request.
func (l *loop) pause(c *loopConn, b []byte) {
	began := len(c.unread) == 0 && len(b) > 0
	switch {
	case !c.keepUnread(b):
		l.overloaded(c)
	case c.readable:
		l.later(c)
	case c.ended:
		l.end(c)
	case began:
		l.setTimeout(c, l.server.fallback.ReadTimeout)
	}
}

// hold keeps what is not yet used, and reports whether it may: of callers who have not proved who they are,
// only so much is kept in all.
func (c *loopConn) keepUnread(b []byte) bool {
	if want := int64(len(b)); !c.verified && !c.ticket.Trusted() && want > c.counted {
		if !c.loop.server.unverified.Take(want - c.counted) {
			return false
		}
		c.counted = want
	}
	if len(b) == 0 {
		c.forget()
		return true
	}
	c.unread = append(c.unread[:0], b...)
	return true
}

// forget lets go of what is held.
func (c *loopConn) forget() {
	c.unread = nil
	c.loop.server.unverified.Give(c.counted)
	c.counted = 0
}

// LetIn says that the caller proved who it is.
func (c *loopConn) MarkAuthenticated() {
	c.verified = true
	c.ticket.Trust()
}

// serve answers the request that was read.
func (l *loop) serve(c *loopConn) {
	defer c.endIfItFails()
	r := &c.simpleRequest.request
	if l.calls != nil && l.calls.Begin(r, c.simpleRequest.body, c) {
		if l.queue.Gathered() >= submitAfter {
			l.queue.Submit()
		}
		return
	}
	body := &memoryBody{all: slices.Clone(c.simpleRequest.body)}
	body.Reset(body.all)
	r.Body = body
	l.runAsync(c, func(ctx context.Context, w http.ResponseWriter) { l.server.endpoint.ServeHTTP(w, r.WithContext(ctx)) })
}

// aside runs what may wait on a goroutine of its own.
func (l *loop) runAsync(c *loopConn, run func(context.Context, http.ResponseWriter)) {
	gone, hangUp := context.WithCancel(context.Background())
	if c.ended {
		hangUp()
	}
	c.hangUp = hangUp
	go func() {
		a := &response{header: http.Header{}}
		func() {
			defer func() {
				if failure := recover(); failure != nil {
					l.server.log.Error("sqs request failed", "error", failure)
					a = &response{header: http.Header{}, status: http.StatusInternalServerError}
				}
			}()
			run(loopContext{context.Background(), gone, c.ticket}, a)
		}()
		l.post(func() {
			hangUp()
			c.hangUp = nil
			l.reply(c, a)
		})
	}()
}

// endIfItFails ends a connection whose request made the endpoint panic: one request must not end the program.
func (c *loopConn) endIfItFails() {
	if failure := recover(); failure != nil {
		c.loop.server.log.Error("sqs request failed", "error", failure)
		c.loop.end(c)
	}
}

// Answer answers a call of the loop.
func (c *loopConn) Answer(make func() (any, error)) {
	defer c.endIfItFails()
	l := c.loop
	result, err := make()
	fast, ok := result.(protocol.FastResult)
	if err != nil || !ok && result != nil {
		a := &response{header: http.Header{}}
		l.calls.Conclude(a, c.simpleRequest.request.Header.Get(protocol.TargetHeader), result, err)
		l.reply(c, a)
		return
	}
	if ok {
		l.body = fast.AppendJSON(l.body[:0])
	} else {
		l.body = append(l.body[:0], "{}"...)
	}
	b := append(l.out[:0], "HTTP/1.1 200 OK\r\n"...)
	b = protocol.AppendRequestID(append(l.appendDate(b), protocol.RequestIDHeader+": "...))
	b = append(b, "\r\nContent-Type: "+protocol.JSONType+"\r\nContent-Length: "...)
	b = append(strconv.AppendInt(b, int64(len(l.body)), 10), "\r\n"...)
	l.out = append(l.appendEnd(b), l.body...)
	l.write(c, l.out)
	l.shrink()
}

// Waits answers a call that waits.
func (c *loopConn) AnswerLater(run func(context.Context) (any, error)) {
	l := c.loop
	action := c.simpleRequest.request.Header.Get(protocol.TargetHeader)
	l.runAsync(c, func(ctx context.Context, w http.ResponseWriter) {
		result, err := run(ctx)
		l.calls.Conclude(w, action, result, err)
	})
}

// reply writes an answer.
func (l *loop) reply(c *loopConn, a *response) {
	a.WriteHeader(http.StatusOK)
	b := fmt.Appendf(l.out[:0], "HTTP/1.1 %d %s\r\n", a.status, http.StatusText(a.status))
	b = l.appendDate(b)
	a.header.Set("Content-Length", strconv.Itoa(len(a.body)))
	for _, name := range sortedNames(a.header) {
		for _, value := range a.header[name] {
			b = append(append(append(append(b, name...), ": "...), value...), "\r\n"...)
		}
	}
	b = l.appendEnd(b)
	l.out = append(b, a.body...)
	l.write(c, l.out)
	l.shrink()
}

// shrink lets go of the memory of a large answer.
func (l *loop) shrink() {
	if cap(l.out) > keptBytes {
		l.out, l.body = nil, nil
	}
}

// appendDate adds the header that says what time it is.
func (l *loop) appendDate(b []byte) []byte {
	if second := l.now.Unix(); second != l.dated {
		l.dated = second
		l.date = append(l.now.UTC().AppendFormat(append(l.date[:0], "Date: "...), http.TimeFormat), "\r\n"...)
	}
	return append(b, l.date...)
}

// appendEnd ends the headers.
func (l *loop) appendEnd(b []byte) []byte {
	if l.stopping {
		b = append(b, "Connection: close\r\n"...)
	}
	return append(b, "\r\n"...)
}

// write writes what is left of an answer; when all is written the connection goes on.
func (l *loop) write(c *loopConn, b []byte) {
	if c.state == closed {
		return
	}
	for len(b) > 0 {
		n, err := unix.Write(c.fd, b)
		switch {
		case err == unix.EAGAIN:
			if c.state != writing {
				c.state = writing
				l.setTimeout(c, l.server.fallback.WriteTimeout)
			}
			c.unwritten = append([]byte(nil), b...)
			return
		case err != nil && err != unix.EINTR:
			l.end(c)
			return
		}
		b = b[max(n, 0):]
	}
	c.state, c.unwritten = idle, nil
	c.ticket.Rest()
	if l.stopping {
		l.end(c)
		return
	}
	wait := l.server.fallback.IdleTimeout
	if len(c.unread) > 0 {
		wait = l.server.fallback.ReadTimeout
	}
	l.setTimeout(c, wait)
	if c.readable || c.ended || len(c.unread) > 0 {
		l.later(c)
	}
}
