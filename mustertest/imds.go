package mustertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// This file stands in for the instance metadata service of EC2, version 2. Source: the EC2 user guide, "Use the
// Instance Metadata Service to access instance metadata" and its chapters on Spot interruptions.

const (
	imdsToken    = "X-Aws-Ec2-Metadata-Token"
	imdsTokenTTL = "X-Aws-Ec2-Metadata-Token-Ttl-Seconds"
	// imdsLongestTTL is the longest life of a token, in seconds: six hours.
	imdsLongestTTL = 21600
)

// The paths below latest/ that announce what is about to happen to an instance. Each answers 404 while nothing is.
const (
	// SpotAction has the interruption of a Spot instance.
	SpotAction = "meta-data/spot/instance-action"
	// RebalanceAdvice has the recommendation to rebalance.
	RebalanceAdvice = "meta-data/events/recommendations/rebalance"
	// TargetState has the lifecycle state to which an Auto Scaling group moves the instance.
	TargetState = "meta-data/autoscaling/target-lifecycle-state"
)

// IMDS stands in for the instance metadata service of EC2, version 2, which a program on an instance finds at
// 169.254.169.254. Make one with [NewIMDS] and serve it, for instance with [net/http/httptest.NewServer]; point the
// program at it with AWS_EC2_METADATA_SERVICE_ENDPOINT.
//
// A token is taken with PUT latest/api/token, lives as long as the header of that request says (1 to 21600 seconds),
// and is needed for everything else. A request without a valid token is answered 401, one for a path without a value
// 404. A token request that went through a proxy (X-Forwarded-For) is refused with 403. The answer to a token request
// never arrives at a client that is further away, in hops, than the hop limit allows.
//
// It is safe for concurrent use.
type IMDS struct {
	clock func() time.Time

	mu       sync.Mutex
	values   map[string]string    // by path below latest/
	tokens   map[string]time.Time // expiry by token
	issued   int                  // tokens given out
	limit    int                  // HttpPutResponseHopLimit
	distance int                  // hops between the program and the instance
	failing  int                  // requests that will still fail
	optional bool                 // requests without a token are allowed
	requests int
}

// NewIMDS returns the metadata of an on-demand instance, i-0123456789abcdef0 in us-east-1a, without any announcement.
// clock is read at each request; pass time.Now unless the test has a clock of its own.
func NewIMDS(clock func() time.Time) *IMDS {
	s := &IMDS{clock: clock, tokens: map[string]time.Time{}, limit: 1, distance: 1, values: map[string]string{
		"meta-data/instance-id":                 "i-0123456789abcdef0",
		"meta-data/instance-type":               "m7g.large",
		"meta-data/instance-life-cycle":         "on-demand",
		"meta-data/placement/availability-zone": "us-east-1a",
		"meta-data/placement/region":            "us-east-1",
	}}
	document, err := json.Marshal(map[string]string{
		"accountId": "000000000000", "availabilityZone": "us-east-1a", "instanceId": "i-0123456789abcdef0",
		"instanceType": "m7g.large", "region": "us-east-1", "version": "2017-09-30",
	})
	if err == nil { // strings always have an encoding
		s.values["dynamic/instance-identity/document"] = string(document)
	}
	return s
}

// Set sets the value at a path below latest/, such as meta-data/tags/instance/Name.
func (s *IMDS) Set(path, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[path] = value
}

// Clear removes the value at a path, which answers 404 from now on.
func (s *IMDS) Clear(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.values, path)
}

// Interrupt makes the instance a Spot instance with an interruption notice. The action is terminate, stop or
// hibernate. It happens at the given time, which the real service announces two minutes ahead.
func (s *IMDS) Interrupt(action string, at time.Time) {
	s.Set("meta-data/instance-life-cycle", "spot")
	s.Set(SpotAction, fmt.Sprintf(`{"action":%q,"time":%q}`, action, at.UTC().Format(time.RFC3339)))
	s.Set("meta-data/spot/termination-time", at.UTC().Format(time.RFC3339))
}

// Rebalance makes the instance a Spot instance with a rebalance recommendation, issued at the given time.
func (s *IMDS) Rebalance(at time.Time) {
	s.Set("meta-data/instance-life-cycle", "spot")
	s.Set(RebalanceAdvice, fmt.Sprintf(`{"noticeTime":%q}`, at.UTC().Format(time.RFC3339)))
}

// Target makes the instance one of an Auto Scaling group that moves it to a lifecycle state: InService, Terminated,
// Warmed:Stopped and so on.
func (s *IMDS) Target(state string) { s.Set(TargetState, state) }

// Hops sets how many hops the program is away, 2 in a container behind a bridge, and how many the instance allows
// (HttpPutResponseHopLimit). Both begin with 1.
func (s *IMDS) Hops(distance, limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.distance, s.limit = distance, limit
}

// Optional allows requests without a token, as instances with HttpTokens=optional do.
func (s *IMDS) Optional() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.optional = true
}

// Fail makes the next n requests fail with status 500.
func (s *IMDS) Fail(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = n
}

// Requests returns the numbers of requests that arrived and of tokens that were given out.
func (s *IMDS) Requests() (requests, tokens int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests, s.issued
}

// ServeHTTP implements [net/http.Handler].
func (s *IMDS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, known := strings.CutPrefix(r.URL.Path, "/latest/")
	s.mu.Lock()
	now := s.clock()
	s.requests++
	fails := s.failing > 0
	if fails {
		s.failing--
	}
	s.mu.Unlock()
	w.Header().Set("Server", "EC2ws")
	w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
	switch {
	case fails:
		refuse(w, http.StatusInternalServerError)
	case known && path == "api/token":
		s.token(w, r, now)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		refuse(w, http.StatusMethodNotAllowed)
	// The token is checked before the path: without a token, nothing shows which paths exist.
	case !s.admitted(r.Header.Get(imdsToken), now):
		refuse(w, http.StatusUnauthorized)
	default:
		// Paths outside of latest/ exist on a real instance too, but no program here reads them.
		text, found := s.lookUp(path)
		if !known || !found {
			refuse(w, http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, text)
	}
}

// refuse answers with a status and its text.
func refuse(w http.ResponseWriter, status int) { http.Error(w, http.StatusText(status), status) }

// token answers a request for a token.
func (s *IMDS) token(w http.ResponseWriter, r *http.Request, now time.Time) {
	ttl, err := strconv.Atoi(r.Header.Get(imdsTokenTTL))
	s.mu.Lock()
	far := s.distance > s.limit
	s.mu.Unlock()
	switch {
	// The answer needs more hops than the instance allows, so the client waits in vain.
	case far:
		<-r.Context().Done() // the network drops the answer
	case r.Method != http.MethodPut:
		refuse(w, http.StatusMethodNotAllowed)
	case r.Header.Get("X-Forwarded-For") != "":
		refuse(w, http.StatusForbidden)
	case err != nil || ttl < 1 || ttl > imdsLongestTTL:
		refuse(w, http.StatusBadRequest)
	default:
		s.mu.Lock()
		s.issued++
		token := fmt.Sprintf("AQAEAStandInToken%06d==", s.issued)
		s.tokens[token] = now.Add(time.Duration(ttl) * time.Second)
		s.mu.Unlock()
		w.Header().Set(imdsTokenTTL, strconv.Itoa(ttl))
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, token)
	}
}

// admitted tells whether a request with this token may read now.
func (s *IMDS) admitted(token string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token == "" {
		return s.optional
	}
	until, known := s.tokens[token]
	return known && now.Before(until)
}

// lookUp returns the value at a path; for a folder, the names in it, one per line.
func (s *IMDS) lookUp(path string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.values[path]; ok {
		return v, true
	}
	// The real service lists a folder with a slash behind each name that is a folder itself.
	folder := strings.TrimSuffix(path, "/") + "/"
	if path == "" {
		folder = ""
	}
	var names []string
	for p := range s.values {
		below, inside := strings.CutPrefix(p, folder)
		if !inside {
			continue
		}
		name, _, deeper := strings.Cut(below, "/")
		if deeper {
			name += "/"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), "\n"), len(names) > 0
}
