package sqsapi

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"log/slog"
	"math/rand/v2"
	"mime"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/muster-scale/muster/internal/accept"
	"github.com/muster-scale/muster/queue"
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

// maxRequestBytes bounds a request body. A message of 1 MiB may take six
// times as much in JSON, where a character can be written as \u003c.
const maxRequestBytes = 7 << 20

// api is the state of the endpoint. Only the key it signed with last changes.
type api struct {
	Options
	hosts map[string]bool
	// actions is the table, for actions that look others up.
	actions map[string]action
	now     func() time.Time
	last    atomic.Pointer[signingKey]
	hints   atomic.Int32 // how many were logged
	// unverified bounds what is held of requests whose signature was not checked yet, and overload says when that was
	// logged, in Unix seconds.
	unverified *accept.Budget
	overload   atomic.Int64
}

// unverifiedBytes is how much is held, over all connections, for callers who have not proved who they are.
const unverifiedBytes = 64 << 20

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
	a := &api{Options: o, hosts: map[string]bool{}, actions: actions, now: time.Now, unverified: accept.NewBudget(unverifiedBytes)}
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
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout,
		WriteTimeout:      queue.MaxWait + 30*time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    headerBytes,
	}
	accept.Attend(s)
	return s
}

// ServeHTTP answers one request.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, protocol := requestID(), codecOf(r)
	action, result, err := a.serve(w, r, protocol)
	a.conclude(w, protocol, id, action, result, err)
}

// conclude writes the answer to one request.
func (a *api) conclude(w http.ResponseWriter, protocol codec, id, action string, result any, err error) {
	w.Header().Set(requestIDHeader, id)
	if err == nil {
		protocol.result(w, action, result)
		return
	}
	f := faultOf(err)
	if e, ok := errors.AsType[*queue.Error](err); ok && e.Queue != "" {
		a.hint(e.Queue)
	}
	if own, ok := errors.AsType[*fault](err); ok && own.shape == busyShape {
		a.sayOverload()
	} else if !f.sender() {
		a.Logger.Error("sqs request failed", "request", id, "action", quote(action), "error", err)
	}
	protocol.fault(w, f)
}

// requestIDHeader is written as net/http writes it in any case.
const requestIDHeader = "X-Amzn-Requestid"

// codec is one of the two protocols.
type codec interface {
	// request names the action and returns how to decode its parameters.
	request(r *http.Request, body []byte) (action string, decode func(into any) error, err error)
	// result answers with what the action returned.
	result(w http.ResponseWriter, action string, result any)
	// fault answers with an error.
	fault(w http.ResponseWriter, f *fault)
}

// mediaType is the type of the body, in small letters and without parameters.
func mediaType(r *http.Request) string {
	given := r.Header.Get("Content-Type")
	if given == contentType { // as nearly every request says it
		return given
	}
	kind, _, _ := mime.ParseMediaType(given)
	return kind
}

// codecOf tells the protocols apart: JSON names its action in a header.
func codecOf(r *http.Request) codec {
	kind := mediaType(r)
	if r.Method == http.MethodGet || kind == formType || kind == "" && r.Header.Get(targetHeader) == "" {
		return queryProtocol{}
	}
	return jsonProtocol{}
}

func (a *api) serve(w http.ResponseWriter, r *http.Request, protocol codec) (name string, result any, err error) {
	body, claim, err := a.identify(w, r)
	if err != nil {
		return "", nil, err
	}
	name, decode, err := protocol.request(r, body)
	if err != nil {
		return name, nil, err
	}
	act, ok := a.actions[name]
	if !ok {
		return name, nil, noAction(http.StatusBadRequest, "the action "+quote(name))
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	c := &call{api: a, ctx: r.Context(), base: scheme + "://" + r.Host, at: a.placeOf(r, claim), trace: r.Header.Get(traceIDHeader),
		returned: r.Header.Get(ReturnedHeader) != ""}
	result, err = c.run(act, decode)
	return name, result, err
}

// call is one request as the actions see it.
type call struct {
	*api
	ctx   context.Context
	base  string // scheme and host the caller used
	at    place  // where it calls
	trace string // its trace header
	// returned says that a change of visibility gives a message back, which waits for its retry then.
	returned bool
}

// requestID makes an id for a request. It tells requests apart, and is no secret.
func requestID() string { return string(appendRequestID(make([]byte, 0, 36))) }

// appendRequestID adds such an id.
func appendRequestID(out []byte) []byte {
	var b [16]byte
	binary.NativeEndian.PutUint64(b[:], rand.Uint64())
	binary.NativeEndian.PutUint64(b[8:], rand.Uint64())
	from := 0
	for _, end := range [...]int{4, 6, 8, 10, 16} {
		if from > 0 {
			out = append(out, '-')
		}
		out = hex.AppendEncode(out, b[from:end])
		from = end
	}
	return out
}
