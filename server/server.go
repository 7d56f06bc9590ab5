package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/event"
	"github.com/muster-scale/muster/guard"
	"github.com/muster-scale/muster/internal/accept"
	"github.com/muster-scale/muster/internal/exposition"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/server/session"
	"github.com/muster-scale/muster/worker/protocol"
)

// Fleet is a running loop, for the API.
type Fleet interface {
	// Report passes a worker's report to the controller and returns its answer to the worker.
	Report(ctx context.Context, r protocol.Report) (protocol.Directive, error)
	// Last returns the outcome of the last step; false before the first one.
	Last() (controller.Outcome, bool)
	// Wake makes the fleet poll soon. It never blocks.
	Wake()
}

// Decisions reads recorded decisions, newest first.
type Decisions interface {
	Last(ctx context.Context, fleet string, n int, kinds ...muster.RecordKind) ([]muster.Record, error)
}

// Options configure the API.
type Options struct {
	Token Token
	// Fleets returns the running loops by name, in a map that never changes. It is called for every request.
	Fleets func() map[string]Fleet
	// Standing returns the phases of the fleets, in a map that never changes; nil if all run.
	Standing func() map[string]Standing
	// Faults returns the problems that concern no single fleet; may be nil.
	Faults func() []string
	// Incidents returns the incidents; may be nil.
	Incidents func() Incidents
	// Accepting returns why the endpoints cannot accept connections at the moment, or nil; may itself be nil.
	Accepting func() error
	// Decisions is the history.
	Decisions Decisions
	// Queues are the embedded queues; nil serves none.
	Queues *queue.Service
	// LastFailures finds why messages failed; nil if that is unknown.
	LastFailures LastFailures
	// Logs returns what is known of the log of a fleet's workers, for the deployment guard; nil if none is kept.
	Logs func(fleet string) guard.Logs
	// Metrics adds the metrics to a page; may be nil. Several goroutines call it.
	Metrics func(*exposition.Page)
	// Event is told of every event, with its result; may be nil. Several goroutines call it.
	Event func(kind event.Kind, result string)
	// Version is that of the program, as the status shows it.
	Version string
	// Hosts are host names under which the API may be reached, in addition to those of loopback.
	Hosts []string
	// Routes are served in addition, to requests with the token or a session.
	Routes []Route
	// Sessions let browsers in; nil lets none in. Peek allows them to read the bodies of messages.
	Sessions *session.Sessions
	Peek     bool
	// Page is the dashboard; nil serves none.
	Page Page
	// Prefix is a path below which page and API are served, too, as in "/muster"; it may be empty.
	Prefix string
}

// Route is a route of another package. A pattern has a method and a path, as [http.ServeMux] takes them. A route whose
// method is not GET or HEAD changes something: a browser's session then needs the role of an operator and its write
// token.
type Route struct {
	Pattern string
	Serve   http.HandlerFunc
}

// Page serves the files of the dashboard.
type Page interface {
	http.Handler
	// Has tells whether a file exists at a path.
	Has(path string) bool
}

const (
	// maxBody bounds the body of a request in bytes, except of messages for a queue.
	maxBody = 256 << 10
	// unverifiedReports bounds the bytes of reports, over all connections, that are read before their token is
	// verified.
	unverifiedReports = 16 << 20
	// maxDecisions bounds the decisions in one answer.
	maxDecisions = 1000
	// eventsPerSecond and eventBurst limit the events of all senders together: a flood of events costs at most that
	// many polls.
	eventsPerSecond = 20
	eventBurst      = 100
)

// New returns the API. Any number of connections may call it at once.
func New(o Options) http.Handler {
	a := &api{Options: o, events: &events{}, limit: rate.NewLimiter(eventsPerSecond, eventBurst),
		reports: accept.NewBudget(unverifiedReports), logins: newLoginLimit()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if o.Accepting != nil {
			if err := o.Accepting(); err != nil {
				fail(w, http.StatusServiceUnavailable, err.Error())
				return
			}
		}
		a.ready(w, r)
	})
	mux.HandleFunc("POST /v1/reports", a.report)
	for _, r := range append(a.routes(), o.Routes...) {
		mux.Handle(r.Pattern, a.withToken(r.Serve))
	}
	if o.Sessions != nil {
		mux.HandleFunc("POST /v1/session", a.login)
		mux.HandleFunc("GET /v1/session", a.whoami)
		mux.HandleFunc("DELETE /v1/session", a.logout)
		mux.HandleFunc("POST /v1/links", a.link)
	}
	// Unknown routes need the token, too, so that they do not reveal which routes exist.
	mux.Handle("/", a.page(a.withToken(func(w http.ResponseWriter, r *http.Request) {
		fail(w, http.StatusNotFound, fmt.Sprintf("there is no %s %s", r.Method, r.URL.Path))
	})))
	return a.below(a.guard(http.NewCrossOriginProtection().Handler(mux)))
}

// routes returns the routes of this package that need the token or a session.
func (a *api) routes() []Route {
	return []Route{
		{"GET /metrics", scrape(a.Metrics)},
		{"POST /v1/events", a.event},
		{"GET /v1/status", a.status},
		{"GET /v1/incidents", a.incidents},
		{"GET /v1/decisions", a.decisions},
		{"GET /v1/fleets/{fleet}/overrides", a.listOverrides},
		{"POST /v1/fleets/{fleet}/overrides", a.addOverride},
		{"DELETE /v1/fleets/{fleet}/overrides/{id}", a.cancelOverride},
		{"GET /v1/fleets/{fleet}/guard", a.judge},
		{"POST /v1/fleets/{fleet}/members/{member}/release", a.dismiss},
		{"GET /v1/queues", a.queues},
		{"GET /v1/queues/{queue}/messages", a.peek},
		{"POST /v1/queues/{queue}/messages", a.load},
		{"GET /v1/queues/{queue}/export", a.export},
	}
}

// NewServer returns a server for the API with bounded headers and times.
func NewServer(api http.Handler) *http.Server {
	s := &http.Server{
		Handler: api, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: 60 * time.Second, MaxHeaderBytes: 64 << 10,
	}
	accept.Attend(s)
	return s
}

// Server serves listeners, as [http.Server] does.
type Server interface {
	Serve(net.Listener) error
	// Shutdown waits for running requests until the context ends.
	Shutdown(context.Context) error
	// Close ends all connections.
	Close() error
}

// Serve lets s serve at l until ctx ends, then gives running requests a second to finish.
func Serve(ctx context.Context, l net.Listener, s Server) error {
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	select {
	case err := <-done:
		return fmt.Errorf("serve at %s: %w", l.Addr(), err)
	case <-ctx.Done():
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer stop()
		if s.Shutdown(ctx) != nil {
			s.Close()
		}
		return nil
	}
}

// Listen listens on a loopback address and refuses any other.
func Listen(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w; give an address like 127.0.0.1:9325", address, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("listen on %s: only loopback addresses are allowed, such as 127.0.0.1 or [::1]", address)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w; end the program that uses the port, or choose another address "+
			"under listen: in the configuration",
			address, err)
	}
	return l, nil
}

// ListenTLS listens on any address, with TLS only. The operator opens it to other machines on purpose.
func ListenTLS(address, certFile, keyFile string) (net.Listener, error) {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: read the certificate: %w", address, err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return secured(l, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}), nil
}

// secureListener is a TLS listener whose underlying connections can be counted.
type secureListener struct {
	net.Listener
	inner net.Listener
	tls   *tls.Config
}

// secured returns a TLS listener over inner.
func secured(inner net.Listener, config *tls.Config) secureListener {
	return secureListener{tls.NewListener(inner, config), inner, config}
}

// Within wraps the listener below TLS.
func (l secureListener) Within(wrap func(net.Listener) net.Listener) net.Listener {
	return secured(wrap(l.inner), l.tls)
}

// api is the state of the API across requests.
type api struct {
	Options
	// events remembers repeated events. limit bounds all events together.
	events *events
	limit  *rate.Limiter
	// settled is true once all fleets were ready: a fleet that is added later does not make the API unready.
	settled atomic.Bool
	// reports bounds the memory of reports whose token is not verified yet.
	reports *accept.Budget
	// logins limits the attempts to log in.
	logins *rate.Limiter
}

// guard refuses foreign Host headers, which a web page could use to reach a loopback server, and bounds every body.
func (a *api) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		// No answer is a page of its own, may be framed, or tells another site where a link was.
		// The dashboard's page has a policy with what it needs.
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if !a.allowed(r.Host) {
			fail(w, http.StatusMisdirectedRequest,
				fmt.Sprintf("the API is not reached under the name %.100q; use 127.0.0.1 or localhost", r.Host))
			return
		}
		limit := int64(maxBody)
		if r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/v1/queues/") { // needs the token
			limit = MaxLoadBytes
		}
		r.Body = http.MaxBytesReader(w, r.Body, limit)
		next.ServeHTTP(w, r)
	})
}

// allowed tells whether a Host header names this machine or one of the configured hosts. A page on the web can make a
// browser send requests to 127.0.0.1 under its own name (DNS rebinding), but it cannot change that header.
func (a *api) allowed(hostport string) bool {
	host := hostport
	if h, port, err := net.SplitHostPort(hostport); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return false
		}
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if ip := net.ParseIP(host); host == "localhost" || (ip != nil && ip.IsLoopback()) {
		return true
	}
	for _, name := range a.Hosts {
		if strings.EqualFold(name, host) {
			return true
		}
	}
	return false
}

// withToken requires the operator's token, or a browser's session that allows the request. Afterwards the connection
// counts as trusted, so that connections without a token cannot use up the places of those with one.
func (a *api) withToken(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.Token.equal(bearer(r)) {
			if !a.bySession(w, r) {
				return
			}
			ctx, stop := a.Sessions.Within(r, time.Now())
			defer stop()
			r = r.WithContext(ctx)
		}
		accept.Trust(r.Context())
		next(w, r)
	})
}

// bearer returns the token of a request; empty if it has none.
func bearer(r *http.Request) string {
	if scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") {
		return token
	}
	return ""
}

func unauthorized(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", "Bearer")
	fail(w, http.StatusUnauthorized, "the token is missing or wrong: send it as Authorization: Bearer; muster up "+
		"keeps it in the file api-token of its data directory")
}

// fail answers with an error in JSON.
func fail(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	encode(w, map[string]string{"error": message})
}

// noFleet answers that no running fleet has the name, with the most similar name that one has.
func (a *api) noFleet(w http.ResponseWriter, name string) {
	text := fmt.Sprintf("there is no fleet %.100q", name)
	if near := keys.Suggest(name, slices.Sorted(maps.Keys(a.Fleets()))); near != "" && len(name) <= 100 {
		text += "; " + near
	}
	fail(w, http.StatusNotFound, text)
}

// answer answers with a body in JSON and the status 200.
func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	encode(w, body)
}

// encode writes a body. An error means that the client has gone.
func encode(w io.Writer, body any) { json.NewEncoder(w).Encode(body) }

// read decodes a JSON body strictly: a single value without unknown fields.
func read(r *http.Request, into any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	return whole(d, into)
}

// readReport decodes a JSON body as [read] does, but ignores unknown fields: a worker may be newer than the controller,
// and later versions only add fields.
func readReport(r *http.Request, into any) error { return whole(json.NewDecoder(r.Body), into) }

// whole decodes the only value of d.
func whole(d *json.Decoder, into any) error {
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return cmp.Or(err, errors.New("found more than one JSON value, one is allowed"))
	}
	return nil
}

// unreadable answers with an error of [read].
func unreadable(w http.ResponseWriter, err error) {
	code := http.StatusBadRequest
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		code = http.StatusRequestEntityTooLarge
	}
	fail(w, code, "read the request: "+err.Error())
}
