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

const (
	maxBody = 8 << 20
	// maxUnmodelled is how many names of members Unmodelled remembers.
	maxUnmodelled = 1_000
	// maxMemberName is how many bytes of each it keeps.
	maxMemberName = 256
)

// Server serves one world. It is an [http.Handler] and safe for use by several goroutines: requests and calls of Do
// take turns.
type Server struct {
	mu         sync.Mutex
	world      *model.World
	clock      func() time.Time
	messages   http.Handler // answers for SQS in the world's stead
	calls      map[string]int
	unmodelled map[string]bool
	requests   int
	closed     chan struct{}
	once       sync.Once
}

// New returns a server for a world, which from now on belongs to it: reach it through Do.
func New(w *model.World) *Server {
	return &Server{world: w, calls: map[string]int{}, unmodelled: map[string]bool{}, closed: make(chan struct{})}
}

// Follow lets the world advance to what a clock says, before each request. Nil lets time stand still again.
func (s *Server) Follow(clock func() time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock = clock
}

// Now is the instant of the world.
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

// Until lets time pass in the world until an instant.
func (s *Server) Until(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.Advance(t)
}

// Do calls f with the world while no request is served. f must not keep the world.
func (s *Server) Do(f func(*model.World)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.world)
}

// Calls is how many calls of an action came, refused ones included. An action that two services have counts for both.
func (s *Server) Calls(action string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[action]
}

// Unmodelled are the members that came and that the model does not have, as ACTION.MEMBER in order, at most 1,000.
func (s *Server) Unmodelled() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.unmodelled))
}

// Close lets go of the calls that were made to hang. It may be called more than once.
func (s *Server) Close() { s.once.Do(func() { close(s.closed) }) }

// call is one request on its way.
type call struct {
	service account.API
	action  string
	wire    wire
	id      string
}

// wire is a protocol.
type wire interface {
	// request names the action and returns its members.
	request(r *http.Request, body []byte) (action string, members tree, err error)
	// answer writes what an action returned.
	answer(w http.ResponseWriter, c call, result any)
	// refuse writes a fault.
	refuse(w http.ResponseWriter, c call, f *account.Fault)
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests++
	c := call{id: fmt.Sprintf("00000000-0000-4000-8000-%012d", s.requests)}
	region := s.world.Region()
	s.mu.Unlock()
	w.Header().Set("X-Amzn-Requestid", c.id)
	var f *account.Fault
	c.service, f = signed(r, region)
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
	if s.forward(w, r, c, body) {
		return
	}
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

// run carries an action out.
func (s *Server) run(c call, members tree) (result any, lost bool, f *account.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clock != nil {
		s.world.Advance(s.clock())
	}
	act, known := actions(c.service)[c.action]
	if !known {
		return nil, false, unknown(c)
	}
	s.count(c.action)
	admission := s.world.Admit(c.service, c.action)
	if admission.Fault != nil {
		return nil, false, admission.Fault
	}
	result, ignored, err := act(s.world, members)
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

// count counts a call. Names that somebody makes up are counted as long as there is room.
func (s *Server) count(action string) {
	if _, known := s.calls[action]; known || len(s.calls) < maxUnmodelled {
		s.calls[action]++
	}
}

// hang gives no answer: at once, as a connection that breaks does, or until the client has had enough.
func (s *Server) hang(w http.ResponseWriter, r *http.Request, cut bool) {
	if !cut {
		select {
		case <-r.Context().Done():
		case <-s.closed:
		}
	}
	if h, ok := w.(http.Hijacker); ok {
		if conn, _, err := h.Hijack(); err == nil {
			conn.Close()
			return
		}
	}
	w.WriteHeader(http.StatusGatewayTimeout)
}

// read takes the body, unpacked if it was packed.
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

// signed finds the service that a request is for in the scope of its signature. The signature itself is not verified.
func signed(r *http.Request, region string) (account.API, *account.Fault) {
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

// wireOf tells the protocols apart.
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
