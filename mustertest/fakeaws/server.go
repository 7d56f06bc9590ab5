package fakeaws

import (
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/account"
)

// This file has the server: it finds the service and the protocol of a request, lets one request at a time reach the
// world, and gives no answer where the world says so.

const (
	// maxBody is the largest body of a request in bytes, also after decompression.
	maxBody = 8 << 20
	// maxUnmodelled bounds the names that Unmodelled and Calls keep, against clients that make names up.
	maxUnmodelled = 1_000
	// maxMemberName is how many bytes of a member's name are kept.
	maxMemberName = 256
)

// Server serves one world. It is an [http.Handler] and safe for concurrent use: requests and calls of Do take turns.
type Server struct {
	mu         sync.Mutex
	world      *model.World
	clock      func() time.Time // nil while time stands still
	messages   http.Handler     // answers for SQS instead of the world; nil for the world
	calls      map[string]int   // by action
	unmodelled map[string]bool  // "ACTION.MEMBER"
	requests   int              // numbers the request ids
	closed     chan struct{}    // ends calls that hang
	once       sync.Once
	// permissions are the actions that arrived, by their names in IAM.
	permissions map[string]bool
}

// New returns a server for a world. The world belongs to the server from now on: reach it through Do.
func New(w *model.World) *Server {
	return &Server{world: w, calls: map[string]int{}, unmodelled: map[string]bool{},
		permissions: map[string]bool{}, closed: make(chan struct{})}
}

// Follow advances the world to the time of a clock before each request. Nil makes time stand still again.
func (s *Server) Follow(clock func() time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock = clock
}

// Now returns the world's present instant.
func (s *Server) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.world.Now()
}

// Advance lets time pass in the world.
func (s *Server) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.Advance(s.world.Now().Add(d))
}

// Until lets time pass in the world until an instant. An instant in the past changes nothing.
func (s *Server) Until(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.Advance(t)
}

// Do calls f with the world while no request is served. f must not keep the world, nor call the server.
func (s *Server) Do(f func(*model.World)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.world)
}

// Calls returns how many calls of an action arrived, refused ones included. An action that two services share counts
// for both.
func (s *Server) Calls(action string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[action]
}

// Called returns the actions that arrived, refused ones included, by their names in IAM such as
// "autoscaling:SetDesiredCapacity", sorted.
func (s *Server) Called() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.permissions))
}

// Unmodelled returns the members that calls stated and the model does not have, as ACTION.MEMBER, sorted, at most
// 1,000.
func (s *Server) Unmodelled() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.unmodelled))
}

// Close ends the calls that hang without an answer. It may be called more than once.
func (s *Server) Close() { s.once.Do(func() { close(s.closed) }) }

// call is one request.
type call struct {
	service account.API // empty when the signature names none
	action  string
	wire    wire
	id      string // the request id, in every answer
}

// wire is a protocol. Its methods are safe for concurrent use.
type wire interface {
	// request returns the action and its members. An action that cannot be found is a name that no table has.
	request(r *http.Request, body []byte) (action string, members tree, err error)
	// answer writes the result of an action.
	answer(w http.ResponseWriter, c call, result any)
	// refuse writes a fault.
	refuse(w http.ResponseWriter, c call, f *account.Fault)
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests++
	// Request ids are counted, not drawn: a failing test shows the same ids each time.
	c := call{id: fmt.Sprintf("00000000-0000-4000-8000-%012d", s.requests)}
	region := s.world.Region()
	s.mu.Unlock()
	w.Header().Set("X-Amzn-Requestid", c.id)
	var f *account.Fault
	// The protocol is found even for a refused request, because a client reads a refusal in its own protocol.
	c.service, f = serviceOf(r, region)
	if c.wire = wireOf(r, c.service); f != nil {
		c.wire.refuse(w, c, f)
		return
	}
	body, err := read(w, r)
	if err != nil {
		c.wire.refuse(w, c, &account.Fault{Code: "RequestEntityTooLarge", Message: err.Error(),
			Status: http.StatusRequestEntityTooLarge})
		return
	}
	action, members, err := c.wire.request(r, body)
	if c.action = action; err != nil {
		c.wire.refuse(w, c, malformed(c.service, err))
		return
	}
	// Messages answers first: the world's own SQS has no messages.
	if s.forward(w, r, c, body) {
		return
	}
	// The lock is free again before anything is written: a slow client must not stop the world.
	result, lost, f := s.run(c, members)
	switch {
	case lost || f != nil && f.Hang:
		s.hang(w, r, lost)
	case f != nil:
		c.wire.refuse(w, c, f)
	default:
		c.wire.answer(w, c, result)
	}
}

// run runs an action on the world, after the world has admitted it. lost tells that the answer must not arrive.
func (s *Server) run(c call, members tree) (result any, lost bool, f *account.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Time moves before the action, so that the world is as old as the client believes.
	if s.clock != nil {
		s.world.Advance(s.clock())
	}
	act, known := actions(c.service)[c.action]
	if !known {
		return nil, false, unknown(c)
	}
	s.count(c)
	admission := s.world.Admit(c.service, c.action)
	if admission.Fault != nil {
		return nil, false, admission.Fault
	}
	result, ignored, err := act(s.world, members)
	// Names come from the client, so their number and length are bounded.
	for _, name := range ignored {
		if len(s.unmodelled) < maxUnmodelled {
			s.unmodelled[c.action+"."+name[:min(len(name), maxMemberName)]] = true
		}
	}
	if f = faultOf(c.service, err); f != nil {
		return nil, admission.LoseAnswer, f
	}
	return result, admission.LoseAnswer, nil
}

// count counts a call. Names that no service has are counted only up to a bound.
func (s *Server) count(c call) {
	if _, known := s.calls[c.action]; known || len(s.calls) < maxUnmodelled {
		s.calls[c.action]++
		service := string(c.service)
		if c.service == account.CloudWatchService {
			service = "cloudwatch" // its signatures say monitoring
		}
		s.permissions[service+":"+c.action] = true
	}
}

// hang gives no answer. With cut it breaks the connection at once, otherwise it waits until the client gives up or
// the server is closed.
func (s *Server) hang(w http.ResponseWriter, r *http.Request, cut bool) {
	if !cut {
		select {
		case <-r.Context().Done():
		case <-s.closed:
		}
	}
	// A connection that is taken over and closed looks like a network failure to the client. Without one, as in a
	// recorder, a status is all that can be given.
	if h, ok := w.(http.Hijacker); ok {
		if conn, _, err := h.Hijack(); err == nil {
			conn.Close()
			return
		}
	}
	w.WriteHeader(http.StatusGatewayTimeout)
}

// read returns the body of a request, decompressed. The bound holds before and after: a small archive may be large.
func read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	var from io.Reader = http.MaxBytesReader(w, r.Body, maxBody)
	if r.Header.Get("Content-Encoding") == "gzip" {
		packed, err := gzip.NewReader(from)
		if err != nil {
			return nil, fmt.Errorf("read the request body: %w", err)
		}
		from = packed
	}
	body, err := io.ReadAll(io.LimitReader(from, maxBody+1))
	if err == nil && len(body) > maxBody {
		err = fmt.Errorf("the request body has more than %d bytes", maxBody)
	}
	return body, err
}

// serviceOf returns the service in the scope of a request's signature, or why the request is refused. The signature
// itself is not verified.
func serviceOf(r *http.Request, region string) (account.API, *account.Fault) {
	given := r.Header.Get("Authorization")
	rest, ok := strings.CutPrefix(given, "AWS4-HMAC-SHA256 ")
	if given == "" {
		return "", &account.Fault{Code: "MissingAuthenticationToken",
			Message: "Request is missing Authentication Token",
			Status:  403}
	}
	parts := map[string]string{}
	for part := range strings.SplitSeq(rest, ",") {
		k, v, _ := strings.Cut(strings.TrimSpace(part), "=")
		parts[k] = v
	}
	// AWS answers a wrong scope as a wrong signature, because the scope is part of what is signed.
	scope := strings.Split(parts["Credential"], "/") // key, date, region, service, aws4_request
	if !ok || len(scope) != 5 || scope[4] != "aws4_request" || parts["Signature"] == "" ||
		parts["SignedHeaders"] == "" || r.Header.Get("X-Amz-Date") == "" {
		return "", &account.Fault{Code: "IncompleteSignature",
			Message: "The request signature does not conform to AWS " +
				"standards: it needs Credential, SignedHeaders, Signature and X-Amz-Date.", Status: 403}
	}
	service := account.API(scope[3])
	if scope[2] != region {
		return service, &account.Fault{Code: "SignatureDoesNotMatch",
			Message: "Credential should be scoped to a valid " +
				"region, not '" + scope[2] + "'; this is " + region + ".", Status: 403}
	}
	if actions(service) == nil {
		return service, &account.Fault{Code: "SignatureDoesNotMatch",
			Message: "Credential should be scoped to correct " +
				"service; the model has no '" + scope[3] + "'.", Status: 403}
	}
	return service, nil
}

// wireOf returns the protocol of a request. Query is what is left: it has no header of its own.
func wireOf(r *http.Request, s account.API) wire {
	switch {
	case r.Header.Get("Smithy-Protocol") == "rpc-v2-cbor":
		return cborWire{}
	case r.Header.Get("X-Amz-Target") != "" || s == account.ECSService || s == account.ApplicationScalingService ||
		s == account.SQSService:
		return jsonWire{camel: s == account.ECSService}
	}
	return queryWire{}
}
