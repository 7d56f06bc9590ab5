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

// Front serves an endpoint as a server of net/http does, in less processor time: it takes from a request what the
// endpoint needs, and starts no goroutine for each. It is for plain TCP; the two are tested to answer alike. Its
// methods are safe for concurrent use.
type Server struct {
	endpoint  http.Handler
	own       Endpoint // the same; nil if it is of another kind
	log       *slog.Logger
	fallback  *fasthttp.Server
	exchanges sync.Pool
	// unverified bounds what is held for callers who have not proved who they are.
	unverified *accept.Budget

	mu     sync.Mutex
	open   map[*serverConn]struct{}
	loops  []*loop
	next   int // which loop takes the next connection
	closed bool
}

// Options say what a front serves, and how patiently.
type Options struct {
	// Endpoint answers the requests. One with the methods of [Endpoint] is served in less time.
	Endpoint http.Handler
	// Unverified bounds what is held for callers who have not proved who they are; nil means one of [UnverifiedBytes].
	Unverified *accept.Budget
	// Request is how long a small request may take to arrive, and Idle how long a connection may wait for one; 0 means
	// [HeaderTimeout] and two minutes.
	Request, Idle time.Duration
	// Logger receives what went wrong inside; nil discards it.
	Logger *slog.Logger
}

// Endpoint is what a front asks of the endpoint besides answers, so that it can refuse a request by its head and
// serve usual calls on its loops. Its methods are safe for concurrent use.
type Endpoint interface {
	// Refusal returns why the endpoint refuses a request whatever its body; nil if it may not.
	Refusal(r *http.Request) error
	// Refuse answers r with such a refusal.
	Refuse(w http.ResponseWriter, r *http.Request, err error)
	// NewCalls returns what begins the calls of one loop, which ring wakes when some of them are done.
	NewCalls(wake func()) Calls
}

// Calls begins the calls of one loop, which alone uses it.
type Calls interface {
	// Batcher returns what the calls hand to the queue; nothing is handed in before the loop says so.
	Batcher() *queue.Batcher
	// Begin begins a call that waits for nothing but a commit, and reports whether r is one. It keeps nothing of r and
	// its body.
	Begin(r *http.Request, body []byte, who Caller) bool
	// Conclude writes an answer that is an error, or is not written without reflection.
	Conclude(w http.ResponseWriter, action string, result any, err error)
}

// Caller is who makes a call. LetIn is called when the caller has proved who it is, and then one of the others,
// once: at once, or when the call is done.
type Caller interface {
	// LetIn takes note that the caller proved who it is.
	MarkAuthenticated()
	// Answer takes what makes the answer.
	Answer(make func() (any, error))
	// Waits takes what may wait for long and then answers.
	AnswerLater(answer func(context.Context) (any, error))
}

const (
	// HeaderTimeout is how long a request line and its headers, or a whole small request, may take to arrive.
	HeaderTimeout = 5 * time.Second
	// BodyTimeout is how long a large request may take.
	BodyTimeout = 30 * time.Second
	// UnverifiedBytes is how much is held, over all connections, for callers who have not proved who they are.
	UnverifiedBytes = 64 << 20
	// TrustedBytes is how much room is made for a body because a header says so.
	TrustedBytes = 64 << 10
	// MaxRequestBytes bounds a request body. A message of 1 MiB may take six
	// times as much in JSON, where a character can be written as \u003c.
	MaxRequestBytes = 7 << 20
	// frontBuffer is what a connection of a front has to read with and to write with: most requests and answers go
	// through in one piece. It also bounds the headers, since they are looked at in place.
	bufferBytes = 16 << 10
)

// New returns a server of an endpoint, which serves once [Front.Serve] is called.
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
		Handler: f.answer, ErrorHandler: f.refuse, HeaderReceived: f.readTimeout, ExpectHandler: f.setTimeout, ConnState: markIdle,
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

// quiet drops what the library says of connections that broke.
type discardLogger struct{}

// Printf does nothing.
func (discardLogger) Printf(string, ...any) {}

// Serve answers the connections of l until [Front.Shutdown] or [Front.Close]; then the error matches
// [http.ErrServerClosed].
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

// Shutdown takes no more connections and waits, until ctx ends, for the requests under way.
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

// stopLoops stops the loops, and returns them.
func (f *Server) stopLoops(now bool) []*loop {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.loops {
		l.stop(now)
	}
	return f.loops
}

// Close ends all connections.
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
		err = nil // it did not wait
	}
	return err
}

// patience gives a large request more time to arrive.
func (f *Server) readTimeout(h *fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
	if n := h.ContentLength(); n < 0 || n > TrustedBytes {
		c.ReadTimeout = BodyTimeout
	}
	return c
}

// refuse answers what is not a request. A caller who sends none in time is not answered: it may not know that it has
// the connection.
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

// hangUpAfter ends the connection after an answer to a request that was not read to its end.
func hangUpAfter(c *fasthttp.RequestCtx) {
	if conn, ok := c.Conn().(*serverConn); ok {
		conn.refused.Store(true)
	}
	c.SetConnectionClose()
}

// refuses says whether the endpoint refuses a request whatever its body.
func (f *Server) refuses(r *http.Request) bool { return f.own != nil && f.own.Refusal(r) != nil }

// expect answers a caller who waits with the body until it is asked for: it is asked only if the request may be let in.
func (f *Server) setTimeout(c *fasthttp.RequestCtx) int {
	x := f.exchange(c)
	defer f.release(x)
	if f.own == nil || x.read() != nil {
		return http.StatusContinue // what is wrong is found again
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

// answer answers one request.
func (f *Server) answer(c *fasthttp.RequestCtx) {
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
