package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/roster"
)

// Status is the answer of GET /v1/status. Fields may be added; readers ignore those they do not know.
type Status struct {
	Version string        `json:"version"`
	At      time.Time     `json:"at"`
	Fleets  []FleetStatus `json:"fleets"`
}

// FleetStatus is one fleet in [Status].
type FleetStatus struct {
	Name string `json:"name"`
	// Ready is false until the queue and the fleet were seen once.
	Ready       bool               `json:"ready"`
	Observation muster.Observation `json:"observation"`
	Decision    muster.Decision    `json:"decision"`
	// Sentence says the decision in words.
	Sentence string `json:"sentence"`
	// CostPerHour is what the desired size costs in an hour, in the currency of the configured price; zero without a price.
	CostPerHour float64 `json:"cost_per_hour,omitzero"`
	// Trouble says since when and why nothing is done, when the history cannot be written.
	Trouble string         `json:"trouble,omitzero"`
	Members []MemberStatus `json:"members"`
}

// MemberStatus is one member in [FleetStatus].
type MemberStatus struct {
	ID         string       `json:"id"`
	State      roster.State `json:"state"`
	LaunchedAt time.Time    `json:"launched_at"`
	Slots      int          `json:"slots"`
	Busy       int          `json:"busy"`
	// Incidents are what went wrong at its workers, as it was told last.
	Incidents []IncidentStatus `json:"incidents,omitzero"`
}

// IncidentStatus is what went wrong at a worker, in [MemberStatus].
type IncidentStatus struct {
	Worker string `json:"worker"`
	muster.Incident
	// At is when the controller was told.
	At time.Time `json:"at"`
}

func memberStatus(m controller.MemberView) MemberStatus {
	s := MemberStatus{ID: m.ID, State: m.State, LaunchedAt: m.LaunchedAt, Slots: m.Slots, Busy: m.Busy}
	for _, i := range m.Incidents {
		s.Incidents = append(s.Incidents, IncidentStatus{Worker: i.Worker, Incident: i.Incident, At: i.At})
	}
	return s
}

// DecisionRecord is one recorded decision, as GET /v1/decisions gives it.
type DecisionRecord struct {
	Position    muster.Position    `json:"position"`
	Observation muster.Observation `json:"observation"`
	Decision    muster.Decision    `json:"decision"`
	Sentence    string             `json:"sentence"`
}

// NewStatus describes the fleets at the instant at.
func NewStatus(version string, at time.Time, fleets map[string]Fleet) Status {
	s := Status{Version: version, At: at, Fleets: []FleetStatus{}}
	for name, f := range fleets {
		status := FleetStatus{Name: name, Members: []MemberStatus{}}
		if o, ok := f.Last(); ok {
			status.Ready, status.Observation, status.Decision, status.Sentence = o.Ready, o.Observation, o.Decision, o.Decision.Sentence()
			status.Trouble, status.CostPerHour = o.Unrecorded, o.PricePerHour*float64(o.Decision.Desired)
			for _, m := range o.Members(at) {
				status.Members = append(status.Members, memberStatus(m))
			}
		}
		s.Fleets = append(s.Fleets, status)
	}
	slices.SortFunc(s.Fleets, func(a, b FleetStatus) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return s
}

func (a *api) status(w http.ResponseWriter, _ *http.Request) {
	answer(w, NewStatus(a.Version, time.Now().UTC(), a.Fleets()))
}

// report takes a worker's report. The API token, the fleet's and the member's own open it.
func (a *api) report(w http.ResponseWriter, r *http.Request) {
	given := bearer(r)
	if given == "" {
		unauthorized(w)
		return
	}
	var rep muster.Report
	err := readReport(r, &rep)
	// Whose token it is shows in the body. A stranger is not even told what is wrong with that.
	if !a.Token.equal(given) && !a.Token.Member(rep.Fleet, rep.Member).equal(given) && !a.Token.Fleet(rep.Fleet).equal(given) {
		unauthorized(w)
		return
	}
	if err != nil {
		unreadable(w, err)
		return
	}
	if err := roster.Check(rep); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	f, ok := a.Fleets()[rep.Fleet]
	if !ok {
		fail(w, http.StatusNotFound, fmt.Sprintf("there is no fleet %q", rep.Fleet))
		return
	}
	d, err := f.Report(r.Context(), rep)
	if errors.Is(err, controller.ErrNotReady) {
		w.Header().Set("Retry-After", "1")
		fail(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	answer(w, d)
}

// Event is what POST /v1/events takes. It carries no number: an event only wakes.
type Event struct {
	// Fleet is the fleet to wake; empty wakes all.
	Fleet string `json:"fleet"`
	// ID makes a repeated event harmless; it may be empty.
	// It is at most 256 bytes long and counts within its fleet.
	ID string `json:"id"`
}

func (a *api) event(w http.ResponseWriter, r *http.Request) {
	var e Event
	if err := read(r, &e); err != nil {
		unreadable(w, err)
		return
	}
	if len(e.ID) > 256 {
		fail(w, http.StatusBadRequest, fmt.Sprintf("read the event: its id has %d bytes, at most 256 are allowed", len(e.ID)))
		return
	}
	if _, ok := a.Fleets()[e.Fleet]; !ok && e.Fleet != "" {
		fail(w, http.StatusNotFound, fmt.Sprintf("there is no fleet %.100q", e.Fleet))
		return
	}
	if !a.limit.Allow() {
		w.Header().Set("Retry-After", "1")
		fail(w, http.StatusTooManyRequests, fmt.Sprintf("more than %d events a second; the next poll sees what they would have shown", eventsPerSecond))
		return
	}
	w.WriteHeader(http.StatusAccepted)
	if e.ID != "" && !a.events.first(e.Fleet+"\x00"+e.ID, time.Now()) {
		return
	}
	for name, f := range a.Fleets() {
		if e.Fleet == "" || e.Fleet == name {
			f.Wake()
		}
	}
}

func (a *api) decisions(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("fleet")
	if _, ok := a.Fleets()[name]; !ok {
		fail(w, http.StatusNotFound, fmt.Sprintf("there is no fleet %.100q; give ?fleet=NAME", name))
		return
	}
	n := 20
	if text := r.URL.Query().Get("limit"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 || n > maxDecisions {
			fail(w, http.StatusBadRequest, fmt.Sprintf("limit: found %.20q, allowed is 1 to %d", text, maxDecisions))
			return
		}
	}
	records, err := a.Decisions.Last(r.Context(), name, n, muster.Decided)
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	list := []DecisionRecord{}
	for _, rec := range records {
		var body controller.Decided
		if err := json.Unmarshal(rec.Body, &body); err != nil {
			fail(w, http.StatusInternalServerError, fmt.Sprintf("read decision %d: %v", rec.Position.Seq, err))
			return
		}
		list = append(list, DecisionRecord{Position: rec.Position, Observation: body.Observation, Decision: body.Decision, Sentence: body.Decision.Sentence()})
	}
	answer(w, map[string]any{"decisions": list})
}

// events remembers the fleets and ids of the events of the last quarter of an hour.
type events struct {
	mu   sync.Mutex
	seen map[string]time.Time
}

const (
	eventMemory = 15 * time.Minute
	maxEvents   = 10_000
)

func newEvents() *events { return &events{seen: map[string]time.Time{}} }

// first tells whether the event is new.
func (e *events) first(id string, now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if at, ok := e.seen[id]; ok && now.Sub(at) < eventMemory {
		return false
	}
	if len(e.seen) >= maxEvents {
		for old, at := range e.seen {
			if now.Sub(at) >= eventMemory {
				delete(e.seen, old)
			}
		}
		if len(e.seen) >= maxEvents {
			clear(e.seen) // forgetting costs a poll; growing would cost memory
		}
	}
	e.seen[id] = now
	return true
}
