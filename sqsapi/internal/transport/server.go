package transport

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/muster-scale/muster/internal/accept"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi/internal/protocol"
)

// Server serves an endpoint as a server of net/http does, with less processor time: it reads only the
// parts of a request that the endpoint needs. It is for plain TCP. Its methods are safe for concurrent
// use.
type Server struct {
	endpoint  http.Handler
	own       Endpoint // endpoint as an Endpoint; nil if it is none
	log       *slog.Logger
	fallback  *fasthttp.Server
	exchanges sync.Pool
	// unverified bounds the memory for callers who are not authenticated yet.
	unverified *accept.Budget

	mu     sync.Mutex
	open   map[*serverConn]struct{}
	loops  []*loop
	next   int // index of the loop that took the last connection
	closed bool
}

// Options configure a Server.
type Options struct {
	// Endpoint answers the requests. An [Endpoint] is served on loops.
	Endpoint http.Handler
	// Unverified bounds the memory for callers who are not authenticated yet; nil means a new budget of
	// [UnverifiedBytes].
	Unverified *accept.Budget
	// Request is the longest time for a small request to arrive, and Idle the longest time between two
	// requests of a connection; 0 means [HeaderTimeout] and two minutes.
	Request, Idle time.Duration
	// Logger receives internal faults; nil discards them.
	Logger *slog.Logger
}

// Endpoint is a handler that a Server can serve on its loops. Its methods are safe for concurrent use.
type Endpoint interface {
	// Refusal returns the reason to refuse a request whatever its body, or nil.
	Refusal(r *http.Request) error
	// Refuse answers r with an error of Refusal.
	Refuse(w http.ResponseWriter, r *http.Request, err error)
	// NewCalls returns the calls of one loop. They call wake, from any goroutine, when some of them
	// have finished.
	NewCalls(wake func()) Calls
}

// Calls starts the calls of one loop. Only that loop uses it.
type Calls interface {
	// Batcher returns the batcher to which the calls add requests. Only the loop submits it.
	Batcher() *queue.Batcher
	// Begin starts a call that waits for nothing but a commit. It returns false if r is not such a
	// call. It keeps nothing of r and body.
	Begin(r *http.Request, body []byte, who Caller) bool
	// Conclude writes an error, or a result without a fast encoder.
	Conclude(w http.ResponseWriter, action string, result any, err error)
}

// Caller receives the answer of a call. MarkAuthenticated is called first, if the caller is
// authenticated. Then exactly one of the others is called, once, during Begin or later.
type Caller interface {
	// MarkAuthenticated notes that the caller proved its identity.
	MarkAuthenticated()
	// Answer takes a function that makes the answer and does not block.
	Answer(make func() (any, error))
	// AnswerLater takes a function that may block for long, runs it on a goroutine of its own and
	// writes its result.
	AnswerLater(answer func(context.Context) (any, error))
}

const (
	// HeaderTimeout is the longest time for request line and headers, or a whole small request, to
	// arrive.
	HeaderTimeout = 5 * time.Second
	// BodyTimeout is the longest time for a large request to arrive.
	BodyTimeout = 30 * time.Second
	// UnverifiedBytes bounds the memory, over all connections, for callers who are not authenticated
	// yet.
	UnverifiedBytes = 64 << 20
	// TrustedBytes is the memory allocated for a body just because its Content-Length says so. More is
	// allocated as bytes arrive.
	TrustedBytes = 64 << 10
	// MaxRequestBytes bounds a request body. A message of 1 MiB may take six times as much in JSON,
	// where a character can be written as \u003c.
	MaxRequestBytes = 7 << 20
	// bufferBytes is the size of the read buffer and of the write buffer of a connection: most requests
	// and answers pass in one piece. It also bounds the headers, which are parsed in place.
	bufferBytes = 16 << 10
)

// New returns a server of an endpoint. Call [Server.Serve] to start it.
func New(o Options) *Server {
	f := &Server{endpoint: o.Endpoint, log: o.Logger, open: map[*serverConn]struct{}{}, unverified: o.Unverified}
	f.own, _ = o.Endpoint.(Endpoint)
	if f.log == nil {
		f.log = slog.New(slog.DiscardHandler)
	}
	if f.unverified == nil {
		f.unverified = accept.NewBudget(UnverifiedBytes)
	}
	f.exchanges.New = func() any { return newExchange() }
	f.fallback = &fasthttp.Server{
		Handler: f.answer, ErrorHandler: f.refuse, HeaderReceived: f.readTimeout, ExpectHandler: f.answerExpect,
		ConnState:   markIdle,
		Logger:      discardLogger{},
		ReadTimeout: cmp.Or(o.Request, HeaderTimeout), WriteTimeout: queue.MaxWait + 30*time.Second,
		IdleTimeout:    cmp.Or(o.Idle, 2*time.Minute),
		ReadBufferSize: bufferBytes, WriteBufferSize: bufferBytes, MaxRequestBodySize: MaxRequestBytes,
		StreamRequestBody:     true,
		NoDefaultServerHeader: true, NoDefaultContentType: true, DisablePreParseMultipartForm: true,
		CloseOnShutdown: true,
	}
	return f
}

// discardLogger drops fasthttp's messages about broken connections.
type discardLogger struct{}

// Printf does nothing.
func (discardLogger) Printf(string, ...any) {}

// Serve answers the connections of l until [Server.Shutdown] or [Server.Close]; its error then matches
// [http.ErrServerClosed]. It may run for several listeners at once.
func (f *Server) Serve(l net.Listener) error {
	f.mu.Lock()
	if f.loops == nil && !f.closed {
		f.loops = startLoops(f)
	}
	f.mu.Unlock()
	err := f.fallback.Serve(listener{l, f})
	if err == nil {
		err = http.ErrServerClosed
	}
	return err
}

// Shutdown accepts no more connections and waits for the running requests, or until ctx ends.
func (f *Server) Shutdown(ctx context.Context) error {
	loops := f.stopLoops(false)
	err := f.fallback.ShutdownWithContext(ctx)
	for _, l := range loops {
		select {
		case <-l.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}

// stopLoops stops the loops and returns them. now cuts running requests.
func (f *Server) stopLoops(now bool) []*loop {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.loops {
		l.stop(now)
	}
	return f.loops
}

// Close closes all connections at once.
func (f *Server) Close() error {
	past, cancel := context.WithCancel(context.Background())
	cancel()
	for _, l := range f.stopLoops(true) {
		<-l.ended
	}
	err := f.fallback.ShutdownWithContext(past)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for c := range f.open {
		c.Conn.Close()
	}
	if errors.Is(err, context.Canceled) {
		err = nil // past has ended, so nothing was waited for
	}
	return err
}

// readTimeout gives a large request more time to arrive.
func (f *Server) readTimeout(h *fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
	if n := h.ContentLength(); n < 0 || n > TrustedBytes {
		c.ReadTimeout = BodyTimeout
	}
	return c
}

// refuse answers bytes that are not a valid request. A caller that sends nothing in time gets no
// answer: it may not have noticed yet that it holds a connection, and would take the answer for that of
// its next request.
func (f *Server) refuse(c *fasthttp.RequestCtx, err error) {
	if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
		c.Conn().Close()
		return
	}
	problem := protocol.InvalidHTTP(http.StatusBadRequest, "The request is not valid HTTP.")
	if errors.Is(err, fasthttp.ErrBodyTooLarge) {
		problem = protocol.TooLarge(MaxRequestBytes)
	}
	if _, ok := errors.AsType[*fasthttp.ErrSmallBuffer](err); ok {
		problem = protocol.InvalidHTTP(http.StatusRequestHeaderFieldsTooLarge, "The headers are larger than %d bytes.",
			bufferBytes)
	}
	hangUpAfter(c)
	x := f.exchange(c)
	defer f.release(x)
	x.Header().Set(protocol.RequestIDHeader, protocol.RequestID())
	protocol.JSON{}.Fault(x, problem)
	x.finish()
}

// hangUpAfter closes the connection after an answer to a request that was not read to its end.
func hangUpAfter(c *fasthttp.RequestCtx) {
	if conn, ok := c.Conn().(*serverConn); ok {
		conn.refused.Store(true)
	}
	c.SetConnectionClose()
}

// refuses says whether the endpoint refuses a request whatever its body.
func (f *Server) refuses(r *http.Request) bool { return f.own != nil && f.own.Refusal(r) != nil }

// answerExpect answers a caller that waits with the body for a 100 Continue (Expect header). It asks
// for the body only if the request may be accepted.
func (f *Server) answerExpect(c *fasthttp.RequestCtx) int {
	x := f.exchange(c)
	defer f.release(x)
	if f.own == nil || x.read() != nil {
		return http.StatusContinue // answer finds the fault again, and reports it
	}
	err := f.own.Refusal(x.request)
	if err == nil {
		return http.StatusContinue
	}
	hangUpAfter(c)
	f.own.Refuse(x, x.request, err)
	x.finish()
	return x.status
}

// answer answers one request of fasthttp.
func (f *Server) answer(c *fasthttp.RequestCtx) {
	x := f.exchange(c)
	defer f.release(x)
	defer func() {
		if failure := recover(); failure != nil { // as in net/http, one request must not end the program
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
