package sqsapi

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
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
	// Logger receives what went wrong inside; nil discards it.
	Logger *slog.Logger
}

// maxRequestBytes bounds a request body. A message of 1 MiB may take six
// times as much in JSON, where a character can be written as \u003c.
const maxRequestBytes = 7 << 20

// api is the state of the endpoint; it is never changed.
type api struct {
	Options
	hosts map[string]bool
	now   func() time.Time
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
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      queue.MaxWait + 30*time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
}

// ServeHTTP answers one request.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := requestID()
	w.Header().Set("x-amzn-RequestId", id)
	result, err := a.serve(w, r)
	if err == nil {
		writeJSON(w, result)
		return
	}
	f := faultOf(err)
	if !f.sender() {
		a.Logger.Error("sqs request failed", "request", id, "target", r.Header.Get("X-Amz-Target"), "error", err)
	}
	writeFault(w, f)
}

func (a *api) serve(w http.ResponseWriter, r *http.Request) (any, error) {
	if err := a.guard(r); err != nil {
		return nil, err
	}
	claim, err := a.claim(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, &fault{"RequestEntityTooLarge", "RequestEntityTooLarge", http.StatusRequestEntityTooLarge, false,
			fmt.Sprintf("The request is larger than %d bytes.", maxRequestBytes)}
	}
	if err != nil {
		return nil, malformed("The request body could not be read: %v.", err)
	}
	if err := claim.verify(r, body); err != nil {
		return nil, err
	}
	name, decode, err := decodeJSON(r, body)
	if err != nil {
		return nil, err
	}
	run, ok := actions[name]
	if !ok {
		return nil, unknownAction(name)
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return run(&call{api: a, ctx: r.Context(), base: scheme + "://" + r.Host}, decode)
}

// call is one request as the actions see it.
type call struct {
	*api
	ctx  context.Context
	base string // scheme and host the caller used
}

func requestID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}
