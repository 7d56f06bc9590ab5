// A connection of a loop. It moves from idle to serving when a complete request was read, to writing if
// the answer does not fit into the socket buffer, and back to idle. It serves one request at a time, so
// answers keep the order of requests.

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

// loopConn is a connection of a loop, and the Caller of its request. Only its loop uses it.
type loopConn struct {
	loop          *loop
	fd            int
	state         connState
	simpleRequest *simpleRequest
	unread        []byte             // bytes read that no request has used yet
	unwritten     []byte             // bytes of the answer that are not written yet
	readable      bool               // the socket may have more to read
	ended         bool               // the caller will send no more
	queued        bool               // the connection is in todo
	until         time.Duration      // timeout, as loop.age; 0 is none
	hangUp        context.CancelFunc // ends the context of a waiting call
	ticket        *accept.Ticket     // nil if connections are not counted
	verified      bool               // the caller is authenticated
	headChecked   bool               // the head of the incomplete request is not refused
	counted       int64              // bytes of unread that count against the budget
}

// connState is the state of a connection.
type connState uint8

const (
	idle    connState = iota // no request, or a part of one
	serving                  // the call is running
	writing                  // the answer waits for room in the socket buffer
	closed
)

// ready handles an event of a connection.
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

// later continues c in this round without an event.
func (l *loop) later(c *loopConn) {
	if !c.queued {
		c.queued = true
		l.todo = append(l.todo, c)
	}
}

// step reads once, and serves the first request if it is complete.
func (l *loop) step(c *loopConn) {
	c.queued = false
	if c.state != idle {
		return
	}
	// All connections share one read buffer; unfinished requests are copied in and out.
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
			c.readable = n > 0 && (c.ended || n == len(l.in)-len(b)) // a short read emptied the socket
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
		l.handOver(c, b) // fasthttp answers without reading the body
	default:
		c.headChecked = f == headOnly
		l.pause(c, b)
	}
}

// pause keeps the bytes of an incomplete request until more arrive. The timeout runs from the first
// byte, so a slow caller cannot prolong it.
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

// keepUnread keeps bytes for later. It returns false if the caller is not authenticated and the budget
// has no room for them.
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

// forget drops the kept bytes and returns them to the budget.
func (c *loopConn) forget() {
	c.unread = nil
	c.loop.server.unverified.Give(c.counted)
	c.counted = 0
}

// MarkAuthenticated notes that the caller proved its identity. Its connection is then not closed for
// another one.
func (c *loopConn) MarkAuthenticated() {
	c.verified = true
	c.ticket.Trust()
}

// serve starts the call of the request that was read. A request that Calls does not take runs through
// ServeHTTP on a goroutine of its own, with a copy of the body.
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
	l.runAsync(c, func(ctx context.Context, w http.ResponseWriter) {
		l.server.endpoint.ServeHTTP(w, r.WithContext(ctx))
	})
}

// runAsync runs a call on a goroutine of its own; the loop writes its answer.
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

// endIfItFails closes a connection whose request made the endpoint panic: one request must not end the
// program.
func (c *loopConn) endIfItFails() {
	if failure := recover(); failure != nil {
		c.loop.server.log.Error("sqs request failed", "error", failure)
		c.loop.end(c)
	}
}

// Answer writes the answer of a call of the loop. The frequent case, a success with a fast encoder, is
// written without http.Header.
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

// AnswerLater runs a call that may block, and writes its answer.
func (c *loopConn) AnswerLater(run func(context.Context) (any, error)) {
	l := c.loop
	action := c.simpleRequest.request.Header.Get(protocol.TargetHeader)
	l.runAsync(c, func(ctx context.Context, w http.ResponseWriter) {
		result, err := run(ctx)
		l.calls.Conclude(w, action, result, err)
	})
}

// reply writes an answer with headers, in the order of their names.
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

// shrink drops the buffers after a large answer.
func (l *loop) shrink() {
	if cap(l.out) > keptBytes {
		l.out, l.body = nil, nil
	}
}

// appendDate appends the Date header, which is formatted once a second.
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

// write writes an answer, or the rest of one. Afterwards the connection waits for its next request, or
// continues with one that has arrived already.
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
