package sqsapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/muster-scale/muster/internal/accept"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi/internal/action"
	"github.com/muster-scale/muster/sqsapi/internal/protocol"
	"github.com/muster-scale/muster/sqsapi/internal/sigv4"
	"github.com/muster-scale/muster/sqsapi/internal/transport"
)

// Options say what New serves and to whom.
type Options struct {
	// Queues is the service behind the protocol.
	Queues *queue.Service
	// Keys is the pair that callers sign with.
	Keys Keys
	// AnyCredentials accepts every signature, and none. Browsers and foreign
	// hosts are refused all the same.
	AnyCredentials bool
	// Hosts are names and addresses, without port, that a request may be for
	// besides the loopback ones.
	Hosts []string
	// Region appears in queue ARNs; empty means us-east-1.
	Region string
	// Account appears in queue URLs and ARNs; empty means 000000000000.
	Account string
	// Serving ends when the server is about to stop: receives that wait are
	// then answered at once, and their connections need not be cut. Nil never
	// ends.
	Serving context.Context
	// Logger receives what went wrong inside; nil discards it.
	Logger *slog.Logger
}

// api is the state of the endpoint.
type api struct {
	*action.Service
	signatures *sigv4.Verifier
	hosts      map[string]bool
	hints      atomic.Int32 // how many were logged
	// unverified bounds what is held of requests whose signature was not checked yet, and overload says when that was
	// logged, in Unix seconds.
	unverified *accept.Budget
	overload   atomic.Int64
}

// New returns the endpoint. It is safe for concurrent use.
func New(o Options) http.Handler { return newAPI(o) }

func newAPI(o Options) *api {
	if o.Region == "" {
		o.Region = "us-east-1"
	}
	if o.Account == "" {
		o.Account = "000000000000"
	}
	if o.Serving == nil {
		o.Serving = context.Background()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	a := &api{
		Service: &action.Service{
			Queues: o.Queues, Region: o.Region, Account: o.Account, Actions: action.Table, Serving: o.Serving,
			Logger: o.Logger, WithHangUp: transport.WithHangUp,
		},
		signatures: &sigv4.Verifier{
			AccessKeyID: o.Keys.AccessKeyID, SecretAccessKey: o.Keys.SecretAccessKey, AnyCredentials: o.AnyCredentials,
			Now: time.Now,
		},
		hosts: map[string]bool{}, unverified: accept.NewBudget(transport.UnverifiedBytes),
	}
	for _, host := range o.Hosts {
		a.hosts[normalHost(host)] = true
	}
	return a
}

// NewServer wraps the endpoint in a server whose timeouts leave room for the
// longest long poll, and for nothing much longer.
func NewServer(endpoint http.Handler) *http.Server {
	s := &http.Server{
		Handler:           endpoint,
		ReadHeaderTimeout: transport.HeaderTimeout,
		ReadTimeout:       transport.BodyTimeout,
		WriteTimeout:      queue.MaxWait + 30*time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    headerBytes,
	}
	accept.Attend(s)
	return s
}

// Front serves the endpoint as the server of [NewServer] does, in less processor time: it takes from a request what
// the endpoint needs, and starts no goroutine for each. It is for plain TCP; the two are tested to answer alike. Serve
// answers the connections of a listener until Shutdown, which waits for the requests under way, or Close, which does
// not; then its error matches [http.ErrServerClosed]. These methods are safe for concurrent use.
type TCPServer = transport.Server

// headerBytes bounds the request line and headers of a request to [NewServer].
const headerBytes = 64 << 10

// NewFront returns a server of the endpoint with the limits of [NewServer], save that request line and headers may have
// 16 KiB together. The logger, which may be nil, receives what went wrong inside.
func NewTCPServer(endpoint http.Handler, log *slog.Logger) *TCPServer {
	return transport.New(tcpOptions(endpoint, log))
}

// frontOf are the options of a front of the endpoint.
func tcpOptions(endpoint http.Handler, log *slog.Logger) transport.Options {
	o := transport.Options{Endpoint: endpoint, Logger: log}
	if a, ok := endpoint.(*api); ok {
		o.Unverified = a.unverified
	}
	return o
}

// ServeHTTP answers one request.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, codec := protocol.RequestID(), protocol.CodecOf(r)
	action, result, err := a.serve(w, r, codec)
	a.conclude(w, codec, id, action, result, err)
}

// conclude writes the answer to one request.
func (a *api) conclude(w http.ResponseWriter, codec protocol.Codec, id, action string, result any, err error) {
	w.Header().Set(protocol.RequestIDHeader, id)
	if err == nil {
		codec.Result(w, action, result)
		return
	}
	f := protocol.FaultOf(err)
	if e, ok := errors.AsType[*queue.Error](err); ok && e.Queue != "" {
		a.hint(e.Queue)
	}
	if protocol.IsBusy(err) {
		a.logOverload()
	} else if !f.Sender() {
		a.Logger.Error("sqs request failed", "request", id, "action", protocol.Quote(action), "error", err)
	}
	codec.Fault(w, f)
}

// serve finds out who calls and what for, and does that.
func (a *api) serve(w http.ResponseWriter, r *http.Request, codec protocol.Codec) (name string, result any, err error) {
	body, claim, err := a.identify(w, r)
	if err != nil {
		return "", nil, err
	}
	asked, err := codec.Request(r, body)
	if err != nil {
		return asked.Action, nil, err
	}
	row, ok := a.Actions[asked.Action]
	if !ok || asked.AtQueue && row.RefusedAtQueueURL {
		return asked.Action, nil, asked.Unknown()
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	c := &action.Call{Service: a.Service, Context: r.Context(), Base: scheme + "://" + r.Host, At: a.placeOf(r, claim),
		Trace: r.Header.Get(traceIDHeader), Returned: r.Header.Get(ReturnedHeader) != ""}
	result, err = c.Run(row, asked.Decode)
	return asked.Action, result, err
}

// traceIDHeader is the HTTP header that becomes the trace header of a message that has none.
const traceIDHeader = "X-Amzn-Trace-Id"

// ReturnedHeader is an HTTP header of ChangeMessageVisibility and its batch. With any text in it, the messages are
// given back and wait for their retry until they are visible; without it they are held on. SQS does not know it, and
// its clients need not.
const ReturnedHeader = "X-Muster-Returned"
