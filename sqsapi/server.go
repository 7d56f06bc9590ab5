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

// Options say what New serves, and to whom.
type Options struct {
	// Queues is the service behind the protocol.
	Queues *queue.Service
	// Keys is the key pair with which callers sign.
	Keys Keys
	// AnyCredentials accepts any signature, and unsigned requests. Browsers and foreign hosts are
	// refused all the same.
	AnyCredentials bool
	// Hosts are the names and addresses, without port, under which the endpoint is reached besides
	// loopback.
	Hosts []string
	// Region appears in queue ARNs; empty means us-east-1.
	Region string
	// Account appears in queue URLs and ARNs; empty means 000000000000.
	Account string
	// Serving ends when the server is about to stop. Waiting receives are then answered at once, so
	// that their connections need not be cut. Nil never ends.
	Serving context.Context
	// Logger receives internal faults; nil discards them.
	Logger *slog.Logger
}

// api is the endpoint.
type api struct {
	*action.Service
	signatures *sigv4.Verifier
	hosts      map[string]bool
	hints      atomic.Int32 // number of hints logged
	// unverified bounds the memory of requests whose signature was not checked yet. overload is the
	// time at which it was last logged as exhausted, in Unix seconds.
	unverified *accept.Budget
	overload   atomic.Int64
}

// New returns the endpoint. It is safe for concurrent use.
func New(o Options) http.Handler { return newAPI(o) }

// newAPI fills in the defaults of o.
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

// NewServer returns a net/http server of the endpoint. Its timeouts are long enough for the longest
// long poll, and not much longer.
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

// TCPServer serves the endpoint on plain TCP with less processor time than [NewServer]: it reads only
// what the endpoint needs, and on Linux starts no goroutine per connection. Tests compare the answers of the
// two. Serve answers the connections of a listener until Shutdown, which waits for running requests, or
// Close, which does not; its error then matches [http.ErrServerClosed]. These methods are safe for
// concurrent use.
type TCPServer = transport.Server

// headerBytes bounds request line and headers of a request to [NewServer].
const headerBytes = 64 << 10

// NewTCPServer returns a server of the endpoint with the limits of [NewServer], except that request
// line and headers may have 16 KiB together. log, which may be nil, receives internal faults.
func NewTCPServer(endpoint http.Handler, log *slog.Logger) *TCPServer {
	return transport.New(tcpOptions(endpoint, log))
}

// tcpOptions returns the options of a TCPServer. An endpoint made by New shares its budget, so that the
// bound holds over all its servers.
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

// conclude writes the answer of one request, and logs errors that the caller did not cause.
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

// serve identifies the caller, decodes the request and runs its action.
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

// traceIDHeader is the HTTP header whose value becomes the trace header of a message without one.
const traceIDHeader = "X-Amzn-Trace-Id"

// ReturnedHeader is an HTTP header of ChangeMessageVisibility and its batch. With any value, the
// messages are returned and wait for their retry until they are visible. Without it, their receivers
// prolong their lease. It is an extension: SQS ignores it, and clients need not send it.
const ReturnedHeader = "X-Muster-Returned"
