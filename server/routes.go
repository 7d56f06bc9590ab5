package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/loop"
	"github.com/muster-scale/muster/internal/accept"
	"github.com/muster-scale/muster/internal/lifecycle"
	"github.com/muster-scale/muster/notice"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/worker/protocol"
)

// This file has the routes of fleets: status, worker reports and decisions, with their answers as types. Commands
// decode the same types.

// Status is the answer of GET /v1/status. Fields may be added; readers ignore unknown ones.
type Status struct {
	Version string        `json:"version"`
	At      time.Time     `json:"at"`
	Fleets  []FleetStatus `json:"fleets"`
	// Faults are problems that concern no single fleet, such as an invalid new configuration.
	Faults []string `json:"faults,omitzero"`
	// DamagedMessages counts, by queue, the messages of embedded queues that were set aside since the start because
	// their content is damaged; absent if there are none.
	DamagedMessages map[string]int `json:"damaged_messages,omitzero"`
	// OpenIncidents counts the open incidents: see [Incidents].
	OpenIncidents int `json:"open_incidents,omitzero"`
	// Notices are the channels of notices that could not deliver; absent if there are none.
	Notices []notice.Status `json:"notices,omitzero"`
}

// FleetStatus is one fleet in [Status].
type FleetStatus struct {
	Name string `json:"name"`
	// Phase is the phase of the fleet's life: waiting, starting, running, failed, stopping or, where
	// another controller leads it, standby. Only a running fleet is
	// sized.
	Phase string `json:"phase"`
	// Leader is the name of the controller that leads the fleet, where several share the fleets.
	Leader string `json:"leader,omitzero"`
	// Ready is false until the queue and the fleet were read once.
	Ready       bool               `json:"ready"`
	Observation muster.Observation `json:"observation"`
	Decision    muster.Decision    `json:"decision"`
	// Sentence describes the decision in words.
	Sentence string `json:"sentence"`
	// Policy is the policy in force, as the history stores it; absent until the first step.
	Policy json.RawMessage `json:"policy,omitzero"`
	// CostPerHour is the price of the desired count per hour, in the currency of the configured price; zero without a
	// price.
	CostPerHour float64 `json:"cost_per_hour,omitzero"`
	// Trouble says since when and why the fleet is not sized, or not as configured, and what comes next; empty
	// otherwise.
	Trouble string         `json:"trouble,omitzero"`
	Members []MemberStatus `json:"members"`
}

// Sized tells whether the fleet is sized now. If not, its last observation is out of date.
func (f FleetStatus) Sized() bool { return f.Phase == "" || f.Phase == string(lifecycle.Running) }

// MemberStatus is one member in [FleetStatus].
type MemberStatus struct {
	ID         string       `json:"id"`
	State      roster.State `json:"state"`
	LaunchedAt time.Time    `json:"launched_at"`
	Slots      int          `json:"slots"`
	Busy       int          `json:"busy"`
	// HeldSeconds is how long the messages at its workers have been in progress, on average, as last reported.
	HeldSeconds float64 `json:"held_mean_s,omitzero"`
	// Incidents are the recent problems at its workers.
	Incidents []IncidentStatus `json:"incidents,omitzero"`
}

// IncidentStatus is a problem at a worker, in [MemberStatus].
type IncidentStatus struct {
	Worker string `json:"worker"`
	protocol.Incident
	// At is when the controller received it.
	At time.Time `json:"at"`
}

// memberStatus describes a member. The mean of held times is rounded to milliseconds.
func memberStatus(m controller.MemberView) MemberStatus {
	s := MemberStatus{ID: m.ID, State: m.State, LaunchedAt: m.LaunchedAt, Slots: m.Slots, Busy: m.Busy}
	if m.Busy > 0 {
		s.HeldSeconds = math.Round(1000*m.HeldSeconds/float64(m.Busy)) / 1000
	}
	for _, i := range m.Incidents {
		s.Incidents = append(s.Incidents, IncidentStatus{Worker: i.Worker, Incident: i.Incident, At: i.At})
	}
	return s
}

// DecisionRecord is one recorded decision, in the answer of GET /v1/decisions.
type DecisionRecord struct {
	Position    muster.Position    `json:"position"`
	Observation muster.Observation `json:"observation"`
	Decision    muster.Decision    `json:"decision"`
	Sentence    string             `json:"sentence"`
}

// NewStatus describes the fleets at a time. A fleet without a standing runs.
func NewStatus(version string, at time.Time, fleets map[string]Fleet, standing map[string]Standing) Status {
	s := Status{Version: version, At: at, Fleets: []FleetStatus{}}
	for name, f := range fleets {
		o, ok := f.Last()
		status := StatusOf(name, o, ok, standing[name])
		if ok {
			status.Members = MembersOf(o, at)
		}
		s.Fleets = append(s.Fleets, status)
	}
	slices.SortFunc(s.Fleets, func(a, b FleetStatus) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

// StatusOf describes a fleet without its members, by the outcome of its last step; stepped is false before the first.
func StatusOf(name string, o controller.Outcome, stepped bool, stands Standing) FleetStatus {
	status := FleetStatus{Name: name, Phase: cmp.Or(stands.Phase, string(lifecycle.Running)), Leader: stands.Leader,
		Members: []MemberStatus{}, Trouble: troubleOf(stands, o)}
	if stepped {
		status.Ready, status.Observation, status.Decision, status.Sentence = o.Ready, o.Observation, o.Decision,
			o.Decision.Sentence()
		status.Policy, status.CostPerHour = o.Spec, o.PricePerHour*float64(o.Decision.Desired)
	}
	return status
}

// MembersOf describes the members of a fleet that exist at a time.
func MembersOf(o controller.Outcome, at time.Time) []MemberStatus {
	all := []MemberStatus{}
	for _, m := range o.Members(at) {
		all = append(all, memberStatus(m))
	}
	return all
}

func (a *api) status(w http.ResponseWriter, _ *http.Request) {
	var standing map[string]Standing
	if a.Standing != nil {
		standing = a.Standing()
	}
	s := NewStatus(a.Version, time.Now().UTC(), a.Fleets(), standing)
	if a.Faults != nil {
		s.Faults = a.Faults()
	}
	if a.Accepting != nil {
		if err := a.Accepting(); err != nil {
			s.Faults = append(s.Faults, err.Error())
		}
	}
	damaged, faults := a.damagedMessages()
	s.DamagedMessages, s.Faults = damaged, append(s.Faults, faults...)
	a.addIncidents(&s)
	answer(w, s)
}

// report processes a worker's report. The API token, the fleet's and the member's own token allow it.
func (a *api) report(w http.ResponseWriter, r *http.Request) {
	given := bearer(r)
	if given == "" {
		unauthorized(w)
		return
	}
	size := int64(maxBody)
	if r.ContentLength >= 0 {
		size = min(size, r.ContentLength)
	}
	if !a.reports.Take(size) {
		w.Header().Set("Retry-After", "1")
		w.Header().Set("Connection", "close") // do not wait for the rest of the body
		fail(w, http.StatusServiceUnavailable, "too many large reports arrive at the moment; send this one again")
		return
	}
	var rep protocol.Report
	err := readReport(r, &rep)
	a.reports.Give(size)
	// The body says whose token it must be. Without the right token, the caller does not learn what is wrong with the
	// body.
	if !a.Token.equal(given) && !a.Token.Member(rep.Fleet, rep.Member).equal(given) &&
		!a.Token.Fleet(rep.Fleet).equal(given) {
		unauthorized(w)
		return
	}
	accept.Trust(r.Context())
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
	if errors.Is(err, loop.ErrNotReady) {
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

// decisions answers with the newest decisions of a fleet. One that could not be encoded when it was recorded has only a
// note in the history, and is left out.
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
		if _, lost := controller.Unencodable(rec); lost {
			continue
		}
		var body controller.Decided
		if err := json.Unmarshal(rec.Body, &body); err != nil {
			fail(w, http.StatusInternalServerError, fmt.Sprintf("read decision %d: %v", rec.Position.Seq, err))
			return
		}
		list = append(list, DecisionRecord{Position: rec.Position, Observation: body.Observation,
			Decision: body.Decision, Sentence: body.Decision.Sentence()})
	}
	answer(w, map[string]any{"decisions": list})
}
