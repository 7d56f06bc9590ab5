package sqsapi

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"mime"
	"net/http"
	"sync/atomic"
	"time"

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
	now   func() time.Time
	last  atomic.Pointer[signingKey]
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
	a := &api{Options: o, hosts: map[string]bool{}, now: time.Now}
	for _, host := range o.Hosts {
		a.hosts[normalHost(host)] = true
	}
	return a
}

// NewServer wraps the endpoint in a server whose timeouts leave room for the
// longest long poll, and for nothing much longer.
func NewServer(endpoint http.Handler) *http.Server {
	return &http.Server{
		Handler:           endpoint,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout,
		WriteTimeout:      queue.MaxWait + 30*time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    headerBytes,
	}
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
	if !f.sender() {
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
	if err := a.guard(r); err != nil {
		return "", nil, err
	}
	body, err := a.identify(w, r)
	if err != nil {
		return "", nil, err
	}
	name, decode, err := protocol.request(r, body)
	if err != nil {
		return name, nil, err
	}
	run, ok := actions[name]
	if !ok {
		return name, nil, unknownAction(name)
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	result, err = run(&call{api: a, ctx: r.Context(), base: scheme + "://" + r.Host}, decode)
	return name, result, err
}

// identify reads the body and checks the signature.
func (a *api) identify(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	claim, err := a.claim(r)
	if err != nil {
		return nil, err
	}
	body, err := readBody(w, r)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge()
	}
	if err != nil {
		return nil, malformed("The request body could not be read: %v.", err)
	}
	return body, claim.verify(r, body, &a.last)
}

func tooLarge() *fault {
	return &fault{"RequestEntityTooLarge", "RequestEntityTooLarge", http.StatusRequestEntityTooLarge, false,
		fmt.Sprintf("The request is larger than %d bytes.", maxRequestBytes)}
}

// trustedBytes is how much room is made for a body because a header says so.
const trustedBytes = 64 << 10

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if held, ok := r.Body.(*heldBody); ok {
		return held.all, nil
	}
	var b bytes.Buffer
	b.Grow(int(min(max(r.ContentLength, 0), trustedBytes)) + bytes.MinRead) // so that nothing is copied to find the end
	_, err := b.ReadFrom(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	return b.Bytes(), err
}

// call is one request as the actions see it.
type call struct {
	*api
	ctx  context.Context
	base string // scheme and host the caller used
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
