package sqsapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/muster-scale/muster/internal/accept"
	"github.com/muster-scale/muster/queue"
)

// Front serves the endpoint as the server of [NewServer] does, in less processor time: it takes from a request what the
// endpoint needs, and starts no goroutine for each. It is for plain TCP; the two are tested to answer alike. Its methods
// are safe for concurrent use.
type Front struct {
	endpoint  http.Handler
	log       *slog.Logger
	server    *fasthttp.Server
	exchanges sync.Pool
	// unverified bounds what is held for callers who have not proved who they are.
	unverified *accept.Budget

	mu     sync.Mutex
	open   map[*frontConn]struct{}
	loops  []*loop
	next   int // which loop takes the next connection
	closed bool
}

const (
	headerTimeout = 5 * time.Second  // for a request line and its headers, or a whole small request
	bodyTimeout   = 30 * time.Second // for a request
	headerBytes   = 64 << 10
	// frontBuffer is what a connection of a front has to read with and to write with: most requests and answers go through
	// in one piece. It also bounds the headers, since they are looked at in place.
	frontBuffer = 16 << 10
)

// NewFront returns a server of the endpoint with the limits of [NewServer], save that request line and headers may have 16
// KiB together. The logger, which may be nil, receives
// what went wrong inside.
func NewFront(endpoint http.Handler, log *slog.Logger) *Front {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	f := &Front{endpoint: endpoint, log: log, open: map[*frontConn]struct{}{}, unverified: accept.NewBudget(unverifiedBytes)}
	if a, ok := endpoint.(*api); ok {
		f.unverified = a.unverified
	}
	f.exchanges.New = func() any { return newExchange() }
	f.server = &fasthttp.Server{
		Handler: f.answer, ErrorHandler: f.refuse, HeaderReceived: f.patience, ExpectHandler: f.expect, ConnState: rest, Logger: quiet{},
		ReadTimeout: headerTimeout, WriteTimeout: queue.MaxWait + 30*time.Second, IdleTimeout: 2 * time.Minute,
		ReadBufferSize: frontBuffer, WriteBufferSize: frontBuffer, MaxRequestBodySize: maxRequestBytes, StreamRequestBody: true,
		NoDefaultServerHeader: true, NoDefaultContentType: true, DisablePreParseMultipartForm: true, CloseOnShutdown: true,
	}
	return f
}

// quiet drops what the library says of connections that broke.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// Serve answers the connections of l until [Front.Shutdown] or [Front.Close]; then the error matches
// [http.ErrServerClosed].
func (f *Front) Serve(l net.Listener) error {
	f.mu.Lock()
	if f.loops == nil && !f.closed {
		f.loops = startLoops(f)
	}
	f.mu.Unlock()
	err := f.server.Serve(frontListener{l, f})
	if err == nil {
		err = http.ErrServerClosed
	}
	return err
}

// Shutdown takes no more connections and waits, until ctx ends, for the requests under way.
func (f *Front) Shutdown(ctx context.Context) error {
	loops := f.stopLoops(false)
	err := f.server.ShutdownWithContext(ctx)
	for _, l := range loops {
		select {
		case <-l.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}

// stopLoops stops the loops, and returns them.
func (f *Front) stopLoops(now bool) []*loop {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.loops {
		l.stop(now)
	}
	return f.loops
}

// Close ends all connections.
func (f *Front) Close() error {
	past, cancel := context.WithCancel(context.Background())
	cancel()
	for _, l := range f.stopLoops(true) {
		<-l.ended
	}
	err := f.server.ShutdownWithContext(past)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for c := range f.open {
		c.Conn.Close()
	}
	if errors.Is(err, context.Canceled) {
		err = nil // it did not wait
	}
	return err
}

// frontListener knows its connections.
type frontListener struct {
	net.Listener
	front *Front
}

func (l frontListener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		var ticket *accept.Ticket
		if counted, ok := inner.(*accept.Conn); ok {
			inner, ticket = counted.Detach()
		}
		if l.front.adopt(inner, ticket) {
			continue
		}
		if l.front.unverified.Take(connBytes) {
			return l.front.keep(inner, ticket, connBytes), nil
		}
		inner.Close()
		ticket.End()
	}
}

// adopt gives a connection to a loop, if there is one that takes it.
func (f *Front) adopt(c net.Conn, ticket *accept.Ticket) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.loops) == 0 {
		return false
	}
	f.next = (f.next + 1) % len(f.loops)
	return f.loops[f.next].adopt(c, ticket)
}

// connBytes is what a connection costs that the library serves: what it reads and writes with, and a goroutine.
const connBytes = 2*frontBuffer + 8<<10

// keep remembers a connection until it is closed, which has a share of what may be held for unknown callers.
func (f *Front) keep(inner net.Conn, ticket *accept.Ticket, share int64) *frontConn {
	c := &frontConn{Conn: inner, front: f, ticket: ticket}
	c.share.Store(share)
	ticket.ClosedBy(func() {
		inner.Close()
		ticket.End() // at once: who serves it may take a while to find out
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		inner.Close()
	}
	f.open[c] = struct{}{}
	return c
}

type frontConn struct {
	net.Conn
	front  *Front
	ticket *accept.Ticket
	share  atomic.Int64 // of front.unverified
	ahead  []byte       // read already
	// refused says that the last request was not read to its end.
	refused atomic.Bool
}

// letIn says that the caller proved who it is.
func (c *frontConn) letIn() {
	c.ticket.Trust()
	c.front.unverified.Give(c.share.Swap(0))
}

// rest says that a connection waits for a request.
func rest(c net.Conn, state fasthttp.ConnState) {
	if c, ok := c.(*frontConn); ok && state == fasthttp.StateIdle {
		c.ticket.Rest()
	}
}

// Read reads what was read already first.
func (c *frontConn) Read(b []byte) (int, error) {
	if len(c.ahead) > 0 {
		n := copy(b, c.ahead)
		c.ahead = c.ahead[n:]
		return n, nil
	}
	return c.Conn.Read(b)
}

// lingers is how long a caller whose request was refused may still send: were the connection ended before, the answer
// might be lost.
const lingers = 500 * time.Millisecond

// Close forgets the connection.
func (c *frontConn) Close() error {
	c.front.mu.Lock()
	delete(c.front.open, c)
	c.front.mu.Unlock()
	defer c.ticket.End()
	defer func() { c.front.unverified.Give(c.share.Swap(0)) }()
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && c.refused.Load() && half.CloseWrite() == nil {
		if c.SetReadDeadline(time.Now().Add(lingers)) == nil {
			io.Copy(io.Discard, c.Conn) // until the caller has the answer, or time is over
		}
	}
	return c.Conn.Close()
}

// patience gives a large request more time to arrive.
func (f *Front) patience(h *fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
	if n := h.ContentLength(); n < 0 || n > trustedBytes {
		c.ReadTimeout = bodyTimeout
	}
	return c
}

// refuse answers what is not a request. A caller who sends none in time is not answered: it may not know that it has the
// connection.
func (f *Front) refuse(c *fasthttp.RequestCtx, err error) {
	if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
		c.Conn().Close()
		return
	}
	problem := &fault{"InvalidHttpRequest", "InvalidHttpRequest", http.StatusBadRequest, false, "The request is not valid HTTP."}
	if errors.Is(err, fasthttp.ErrBodyTooLarge) {
		problem = tooLarge()
	}
	if _, ok := errors.AsType[*fasthttp.ErrSmallBuffer](err); ok {
		problem = &fault{"InvalidHttpRequest", "InvalidHttpRequest", http.StatusRequestHeaderFieldsTooLarge, false,
			fmt.Sprintf("The headers are larger than %d bytes.", frontBuffer)}
	}
	hangUpAfter(c)
	x := f.exchange(c)
	defer f.release(x)
	x.Header().Set(requestIDHeader, requestID())
	jsonProtocol{}.fault(x, problem)
	x.finish()
}

// hangUpAfter ends the connection after an answer to a request that was not read to its end.
func hangUpAfter(c *fasthttp.RequestCtx) {
	if conn, ok := c.Conn().(*frontConn); ok {
		conn.refused.Store(true)
	}
	c.SetConnectionClose()
}

// expect answers a caller who waits with the body until it is asked for: it is asked only if the request may be let in.
func (f *Front) expect(c *fasthttp.RequestCtx) int {
	a, ok := f.endpoint.(*api)
	x := f.exchange(c)
	defer f.release(x)
	if !ok || x.read() != nil {
		return http.StatusContinue // what is wrong is found again
	}
	_, err := a.judge(x.request)
	if err == nil {
		return http.StatusContinue
	}
	hangUpAfter(c)
	a.conclude(x, codecOf(x.request), requestID(), "", nil, err)
	x.finish()
	return x.status
}

// answer answers one request.
func (f *Front) answer(c *fasthttp.RequestCtx) {
	x := f.exchange(c)
	defer f.release(x)
	defer func() {
		if failure := recover(); failure != nil { // as net/http does: one request must not end the program
			f.log.Error("sqs request failed", "error", failure)
			c.Response.Reset()
			c.Error("", http.StatusInternalServerError)
		}
	}()
	if err := x.read(); err != nil {
		f.refuse(c, err)
		return
	}
	f.endpoint.ServeHTTP(x, x.request)
	if !x.stream.drained() {
		hangUpAfter(c)
	}
	x.finish()
}

func (f *Front) exchange(c *fasthttp.RequestCtx) *exchange {
	x, ok := f.exchanges.Get().(*exchange)
	if !ok {
		x = newExchange() // the pool holds nothing else
	}
	x.fast = c
	return x
}

func (f *Front) release(x *exchange) {
	x.reset()
	f.exchanges.Put(x)
}

// exchange is one request and its answer in the terms of net/http. Nothing of it may be kept.
type exchange struct {
	fast    *fasthttp.RequestCtx
	request *http.Request
	target  url.URL
	body    heldBody
	stream  bodyStream
	values  []string // those of the headers
	header  http.Header
	status  int
}

// heldBody is a body that is in memory.
type heldBody struct {
	all []byte
	bytes.Reader
}

// Close does nothing.
func (*heldBody) Close() error { return nil }

// bodyStream is a body that is read from the connection.
type bodyStream struct {
	io.Reader
	length int // as it was announced; negative if it was not
	ended  bool
}

// Read reads on.
func (s *bodyStream) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	s.ended = s.ended || err == io.EOF
	return n, err
}

// Close does nothing: the next request is behind.
func (*bodyStream) Close() error { return nil }

// prefetched is how much of a body the library has read before anybody looks at it.
const prefetched = 8 << 10

// drained says whether nothing of the body is left in the connection, and drops what is in memory anyway.
func (s *bodyStream) drained() bool {
	if s.Reader != nil && !s.ended && s.length >= 0 && s.length <= prefetched {
		io.Copy(io.Discard, s)
	}
	return s.Reader == nil || s.ended
}

func newExchange() *exchange {
	x := &exchange{header: http.Header{}}
	empty := http.Request{Header: http.Header{}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	x.request = empty.WithContext(watching{context.Background(), x})
	return x
}

// reset lets go of the request.
func (x *exchange) reset() {
	clear(x.request.Header)
	clear(x.header)
	clear(x.values)
	x.values, x.status, x.body.all, x.fast, x.stream = x.values[:0], 0, nil, nil, bodyStream{}
	x.body.Reset(nil)
}

// read takes over what the endpoint looks at.
func (x *exchange) read() error {
	h := &x.fast.Request.Header
	r := x.request
	r.Method, r.Host, r.RequestURI = string(h.Method()), string(h.Host()), string(h.RequestURI())
	if x.target = (url.URL{Path: "/"}); r.RequestURI != "/" {
		u, err := url.ParseRequestURI(r.RequestURI)
		if err != nil {
			return err
		}
		if x.target = *u; u.Host != "" {
			r.Host = u.Host
		}
	}
	r.URL = &x.target
	hosts := 0
	for key, value := range h.All() {
		name := headerName(key)
		if name == "Host" {
			hosts++
			continue
		}
		x.values = append(x.values, string(value))
		last := len(x.values)
		if before, ok := r.Header[name]; ok {
			r.Header[name] = append(before[:len(before):len(before)], x.values[last-1])
			continue
		}
		r.Header[name] = x.values[last-1 : last : last]
	}
	if hosts > 1 {
		return errors.New("more than one host")
	}
	if r.ContentLength = int64(max(-1, h.ContentLength())); h.ContentLength() < -1 {
		r.ContentLength = 0 // there is none
	}
	if s := x.fast.RequestBodyStream(); s != nil {
		x.stream = bodyStream{Reader: s, length: int(r.ContentLength)}
		r.Body = &x.stream
		return nil
	}
	x.body.all = x.fast.PostBody()
	x.body.Reset(x.body.all)
	r.Body = &x.body
	return nil
}

// headerName is the text of a name, without making a new one for those that every request has.
func headerName(key []byte) string {
	switch string(key) {
	case "Host":
		return "Host"
	case "Content-Type":
		return "Content-Type"
	case "Content-Length":
		return "Content-Length"
	case targetHeader:
		return targetHeader
	case "User-Agent":
		return "User-Agent"
	case "Authorization":
		return "Authorization"
	case "X-Amz-Date":
		return "X-Amz-Date"
	}
	return string(key)
}

// Header returns the headers of the answer.
func (x *exchange) Header() http.Header { return x.header }

// WriteHeader sets the status, once.
func (x *exchange) WriteHeader(status int) {
	if x.status == 0 {
		x.status = status
	}
}

// Write adds to the body of the answer.
func (x *exchange) Write(b []byte) (int, error) {
	x.WriteHeader(http.StatusOK)
	x.fast.Response.AppendBody(b)
	return len(b), nil
}

// finish hands over the status and the headers.
func (x *exchange) finish() {
	x.WriteHeader(http.StatusOK)
	x.fast.SetStatusCode(x.status)
	for name, values := range x.header {
		switch name {
		case "Content-Length": // the library counts
		case "Content-Type":
			x.fast.Response.Header.SetContentType(values[0])
		default:
			x.fast.Response.Header.SetCanonical([]byte(name), []byte(values[0])) // as all names of answers are
			for _, value := range values[1:] {
				x.fast.Response.Header.Add(name, value)
			}
		}
	}
}
