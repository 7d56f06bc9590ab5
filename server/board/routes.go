package board

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/server"
	"github.com/muster-scale/muster/server/stream"
	"github.com/muster-scale/muster/tree"
)

// Options say what a [Live] shows. Functions are called by several goroutines.
type Options struct {
	// Fleets returns the running loops by name, and Standing the phases of their lives; Standing may be nil.
	Fleets   func() map[string]server.Fleet
	Standing func() map[string]server.Standing
	// Faults, Incidents and Configuration may be nil.
	Faults        func() []string
	Incidents     func() server.Incidents
	Configuration func() Configuration
	Version       string
	// History has the recorded decisions.
	History History
	// Curves reads curves of the past; nil if none are kept.
	Curves Curve
	// Logs is the directory of the fleets' logs; empty if there are none.
	Logs string
	// Queues are the embedded queues; may be nil.
	Queues *queue.Service
	// LastFailures finds why messages failed; may be nil.
	LastFailures server.LastFailures
	// Trees reads the running trees; may be nil.
	Trees func(ctx context.Context) ([]tree.Root, error)
	// Now returns the time; nil is the clock.
	Now func() time.Time
}

// clock returns the time as answers have it.
func (l *Live) clock() time.Time {
	if l.o.Now != nil {
		return l.o.Now()
	}
	return time.Now().UTC().Round(0)
}

// History reads recorded decisions.
type History interface {
	// Before returns up to n records of a fleet with sequence numbers below seq, newest first.
	Before(ctx context.Context, fleet string, seq int64, n int, kinds ...muster.RecordKind) ([]muster.Record, error)
	// Read calls yield with the records of a fleet from a time on, oldest first.
	Read(ctx context.Context, fleet string, since time.Time, yield func(muster.Record) bool) error
}

// Routes returns the routes of the board.
func (l *Live) Routes() []server.Route {
	return []server.Route{
		{Pattern: "GET /v1/board", Serve: l.board},
		{Pattern: "GET /v1/board/decisions", Serve: l.everyDecision},
		{Pattern: "GET /v1/stream", Serve: l.stream},
		{Pattern: "GET /v1/fleets/{fleet}", Serve: l.fleet},
		{Pattern: "GET /v1/fleets/{fleet}/series", Serve: l.series},
		{Pattern: "GET /v1/fleets/{fleet}/decisions", Serve: l.decisions},
		{Pattern: "GET /v1/fleets/{fleet}/logs", Serve: l.logs},
		{Pattern: "GET /v1/curves", Serve: l.curves},
		{Pattern: "GET /v1/decisions/{fleet}/{position}", Serve: l.decision},
		{Pattern: "GET /v1/trees", Serve: l.trees},
		{Pattern: "GET /v1/configuration", Serve: l.configuration},
		{Pattern: "POST /v1/queues/{queue}/purge", Serve: l.purge},
		{Pattern: "POST /v1/queues/{queue}/redrive", Serve: l.redrive},
		{Pattern: "GET /v1/queues/{queue}/moves", Serve: l.moves},
	}
}

// answer answers with a body in JSON.
func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(body) // an error means that the client has gone
}

// fail answers with an error in JSON.
func fail(w http.ResponseWriter, code int, format string, args ...any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(map[string]string{"error": fmt.Sprintf(format, args...)})
}

// board answers with all fleets or, given a cursor, with what changed since.
func (l *Live) board(w http.ResponseWriter, r *http.Request) {
	now := l.clock()
	l.watch(now)
	if !r.URL.Query().Has("since") {
		answer(w, l.whole(now))
		return
	}
	a := Since{At: now, Events: []Sent{}}
	l.mu.Lock()
	l.update(now)
	l.mu.Unlock()
	events, known := l.log.Since(r.URL.Query().Get("since"))
	if !known {
		b := l.whole(now)
		a.Board, a.Cursor = &b, b.Cursor
		answer(w, a)
		return
	}
	a.Cursor = r.URL.Query().Get("since")
	for _, e := range events {
		a.Cursor = e.ID
		a.Events = append(a.Events, Sent{ID: e.ID, Event: e.Name, Data: json.RawMessage(e.Data)})
	}
	answer(w, a)
}

// stream sends the board and then what changes.
func (l *Live) stream(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("fleet")
	if _, ok := l.o.Fleets()[name]; !ok && name != "" {
		fail(w, http.StatusNotFound, "there is no fleet %.100q", name)
		return
	}
	l.watch(l.clock())
	v := stream.View{Name: boardEvent, Whole: func() ([]byte, string) {
		now := l.clock()
		l.watch(now)
		b := l.whole(now)
		text, _ := json.Marshal(b) // a board can be encoded
		return text, b.Cursor
	}}
	if name != "" {
		v.ExtraName, v.Extra = fleetEvent, func(ctx context.Context) []byte { return l.changedDetail(ctx, name) }
	}
	l.log.Serve(w, r, v)
}

// limitOf returns the number of a query parameter, from 1 to most; otherwise is its default. It answers an invalid one.
func limitOf(w http.ResponseWriter, r *http.Request, name string, otherwise, most int) (int, bool) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return otherwise, true
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		fail(w, http.StatusBadRequest, "%s: found %.20q, allowed is 1 to %d", name, text, most)
		return 0, false
	}
	return n, true
}

// timeOf returns the time of a query parameter; otherwise is its default. It answers an invalid one.
func timeOf(w http.ResponseWriter, r *http.Request, name string, otherwise time.Time) (time.Time, bool) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return otherwise, true
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		fail(w, http.StatusBadRequest, "%s: found %.40q, allowed is a time such as 2026-01-02T15:04:05Z", name, text)
		return time.Time{}, false
	}
	return at.UTC(), true
}

// durationOf returns the duration of a query parameter within bounds; otherwise is its default.
func durationOf(w http.ResponseWriter, r *http.Request, name string, otherwise, least, most time.Duration) (
	time.Duration, bool,
) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return otherwise, true
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < least || d > most {
		fail(w, http.StatusBadRequest, "%s: found %.40q, allowed is a duration from %s to %s", name, text, least, most)
		return 0, false
	}
	return d, true
}

// known returns the fleet that a path names, and answers if there is none.
func (l *Live) known(w http.ResponseWriter, r *http.Request) (server.Fleet, string, bool) {
	name := r.PathValue("fleet")
	f, ok := l.o.Fleets()[name]
	if !ok {
		fail(w, http.StatusNotFound, "there is no fleet %.100q", name)
	}
	return f, name, ok
}

// configuration answers with the effective configuration.
func (l *Live) configuration(w http.ResponseWriter, _ *http.Request) {
	if l.o.Configuration == nil {
		fail(w, http.StatusNotFound, "this API knows no configuration")
		return
	}
	answer(w, l.o.Configuration())
}
