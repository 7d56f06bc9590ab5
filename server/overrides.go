package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/controller/loop"
	"github.com/muster-scale/muster/guard"
	"github.com/muster-scale/muster/internal/exposition"
	"github.com/muster-scale/muster/override"
)

// This file has the routes for instructions of operators and for the deployment guard.

// Instructor is the ability of a [Fleet] to carry out requests of operators. With try, nothing changes, and the answer
// has a forecast. A fleet that does not run lacks it.
type Instructor interface {
	Instruct(ctx context.Context, q override.Request, try bool) (loop.Instruction, error)
}

// Dismisser is the ability of a [Fleet] to ask one of its members to finish its messages and go. With try, nothing
// changes, and the answer has a forecast. The error matches [override.ErrUnknown], [override.ErrRefused] or
// [loop.ErrNotReady].
type Dismisser interface {
	Dismiss(ctx context.Context, member, why string, try bool) (loop.Instruction, error)
}

// ReleaseRequest is the body of POST /v1/fleets/NAME/members/MEMBER/release, which may be empty.
type ReleaseRequest struct {
	Reason string `json:"reason,omitzero"`
	By     string `json:"by,omitzero"`
}

// ReleaseAnswer is the answer to such a request. Plan is set for ?plan=1, which changes nothing.
type ReleaseAnswer struct {
	Plan *audit.Forecast `json:"plan,omitzero"`
}

// why returns the reason as the history keeps it.
func (x ReleaseRequest) why() (string, error) {
	if err := override.CheckTexts(x.Reason, x.By); err != nil || x.By == "" {
		return x.Reason, err
	}
	return strings.TrimSpace(x.Reason + " (by " + x.By + ")"), nil
}

// OverrideRequest is the body of POST /v1/fleets/NAME/overrides.
type OverrideRequest struct {
	// ID makes a repeated request harmless: the second one gets the answer of the first. Empty gets an id.
	ID      string        `json:"id,omitzero"`
	Kind    override.Kind `json:"kind"`
	Workers int           `json:"workers,omitzero"`
	Min     *int          `json:"min,omitzero"`
	Max     *int          `json:"max,omitzero"`
	Reason  string        `json:"reason,omitzero"`
	By      string        `json:"by,omitzero"`
	// Begin is now if it is absent or in the past. Of End and ForSeconds, exactly one is given.
	Begin      time.Time `json:"begin,omitzero"`
	End        time.Time `json:"end,omitzero"`
	ForSeconds float64   `json:"for_s,omitzero"`
}

// OverrideStatus is one override in an answer.
type OverrideStatus struct {
	override.Override
	// Active is true between begin and end. Text says in words what the override does, until when and why.
	Active bool   `json:"active"`
	Text   string `json:"text"`
}

// Overrides is the answer of GET /v1/fleets/NAME/overrides.
type Overrides struct {
	Fleet     string           `json:"fleet"`
	At        time.Time        `json:"at"`
	Overrides []OverrideStatus `json:"overrides"`
}

// OverrideAnswer is the answer to a request that adds or cancels an override.
type OverrideAnswer struct {
	Override OverrideStatus `json:"override"`
	// Plan is what the request would change; it is set for ?plan=1, which changes nothing.
	Plan *audit.Forecast `json:"plan,omitzero"`
}

// request returns the override that is asked for at a time.
func (x OverrideRequest) request(now time.Time) (override.Request, error) {
	o := override.Override{ID: x.ID, Kind: x.Kind, Workers: x.Workers, Min: x.Min, Max: x.Max, Reason: x.Reason,
		By: x.By, Begin: x.Begin.UTC(), End: x.End.UTC()}
	if x.Begin.Before(now) { // so is an absent one
		o.Begin = now
	}
	if x.End.IsZero() == (x.ForSeconds == 0) {
		return override.Request{}, errors.New("read the override: give its end or for_s, its length in seconds, and " +
			"not both")
	}
	if longest := override.Longest.Seconds(); x.ForSeconds < 0 || x.ForSeconds > longest {
		return override.Request{}, fmt.Errorf("read the override: for_s: found %v, allowed is above 0 and at most %v",
			x.ForSeconds, longest)
	}
	if x.ForSeconds > 0 {
		o.End = o.Begin.Add(time.Duration(x.ForSeconds * float64(time.Second)))
	}
	return override.Request{Add: o}, nil
}

// named returns the fleet of a route and its name. It answers the request itself if there is none.
func (a *api) named(w http.ResponseWriter, r *http.Request) (name string, f Fleet, ok bool) {
	name = r.PathValue("fleet")
	if f, ok = a.Fleets()[name]; !ok {
		a.noFleet(w, name)
	}
	return name, f, ok
}

// addOverride adds an override.
func (a *api) addOverride(w http.ResponseWriter, r *http.Request) {
	var x OverrideRequest
	if err := read(r, &x); err != nil {
		unreadable(w, err)
		return
	}
	q, err := x.request(time.Now().UTC().Truncate(time.Millisecond))
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	a.instruct(w, r, q)
}

// cancelOverride ends an override.
func (a *api) cancelOverride(w http.ResponseWriter, r *http.Request) {
	a.instruct(w, r, override.Request{Cancel: r.PathValue("id")})
}

// dismiss asks one member of a fleet to finish its messages and go.
func (a *api) dismiss(w http.ResponseWriter, r *http.Request) {
	name, f, ok := a.named(w, r)
	if !ok {
		return
	}
	var x ReleaseRequest
	if err := read(r, &x); err != nil && !errors.Is(err, io.EOF) {
		unreadable(w, err)
		return
	}
	why, err := x.why()
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	try, ok := planned(w, r)
	if !ok {
		return
	}
	d, ok := f.(Dismisser)
	if !ok {
		a.notRunning(w, name)
		return
	}
	ctx, stop := context.WithTimeout(r.Context(), instructTimeout)
	defer stop()
	done, err := d.Dismiss(ctx, r.PathValue("member"), why, try)
	switch {
	case err != nil:
		refuseRequest(w, name, err)
	case try:
		answer(w, ReleaseAnswer{Plan: done.Forecast})
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// notRunning answers a request to a fleet that cannot take it. Another controller may be able to.
func (a *api) notRunning(w http.ResponseWriter, fleet string) {
	w.Header().Set("Retry-After", "1")
	text := fmt.Sprintf("fleet %s does not run; muster status says why", fleet)
	if s := a.standing(fleet); s.Phase == Standby {
		text = s.Elsewhere(fleet)
	}
	fail(w, http.StatusServiceUnavailable, text)
}

// refuseRequest answers a request that failed.
func refuseRequest(w http.ResponseWriter, fleet string, err error) {
	switch {
	case errors.Is(err, loop.ErrNotReady):
		w.Header().Set("Retry-After", "1")
		fail(w, http.StatusServiceUnavailable, fmt.Sprintf("fleet %s cannot record the request now; see its "+
			"state, and send it again with the same id", fleet))
	case errors.Is(err, override.ErrUnknown):
		fail(w, http.StatusNotFound, err.Error())
	case errors.Is(err, override.ErrInvalid):
		fail(w, http.StatusBadRequest, err.Error())
	default:
		fail(w, http.StatusConflict, err.Error())
	}
}

// instructTimeout bounds the wait for the step that carries out a request.
const instructTimeout = 10 * time.Second

// instruct passes a request to its fleet, or tries it with ?plan=1.
func (a *api) instruct(w http.ResponseWriter, r *http.Request, q override.Request) {
	name, f, ok := a.named(w, r)
	if !ok {
		return
	}
	try, ok := planned(w, r)
	if !ok {
		return
	}
	i, ok := f.(Instructor)
	if !ok {
		a.notRunning(w, name)
		return
	}
	ctx, stop := context.WithTimeout(r.Context(), instructTimeout)
	defer stop()
	done, err := i.Instruct(ctx, q, try)
	if err = cmp.Or(err, done.Err); err != nil {
		refuseRequest(w, name, err)
		return
	}
	answer(w, OverrideAnswer{Override: overrideStatus(done.Override, time.Now()), Plan: done.Forecast})
}

// planned tells whether a request asks for a plan alone. It answers the request itself if that is not clear.
func planned(w http.ResponseWriter, r *http.Request) (try, ok bool) {
	switch plan := r.URL.Query().Get("plan"); plan {
	case "", "0":
		return false, true
	case "1":
		return true, true
	default:
		fail(w, http.StatusBadRequest, fmt.Sprintf("plan: found %.20q, allowed are 0 and 1", plan))
		return false, false
	}
}

// overrideStatus describes an override at a time.
func overrideStatus(o override.Override, at time.Time) OverrideStatus {
	return OverrideStatus{Override: o, Active: o.ActiveAt(at), Text: o.Text(at)}
}

// listOverrides answers with the overrides of a fleet.
func (a *api) listOverrides(w http.ResponseWriter, r *http.Request) {
	name, f, ok := a.named(w, r)
	if !ok {
		return
	}
	o, seen := f.Last()
	if !seen { // what is not known here is not the same as none
		a.notRunning(w, name)
		return
	}
	all := Overrides{Fleet: name, At: time.Now().UTC(), Overrides: []OverrideStatus{}}
	for _, x := range o.Observation.Overrides {
		all.Overrides = append(all.Overrides, overrideStatus(x, all.At))
	}
	answer(w, all)
}

// freshWithin bounds the wait for a step with fresh readings, and freshEvery is the time between two looks for it.
const (
	freshWithin = 3 * time.Second
	freshEvery  = 50 * time.Millisecond
)

// freshOutcome wakes a fleet and returns the outcome of the first step whose measurements came after that, or of the
// newest step if none comes in time. Sources that poll rarely would otherwise show a queue as it was a minute ago.
func freshOutcome(ctx context.Context, f Fleet) (controller.Outcome, bool) {
	asked := time.Now().Round(0)
	f.Wake()
	tick, over := time.NewTicker(freshEvery), time.NewTimer(freshWithin)
	defer tick.Stop()
	defer over.Stop()
	for {
		o, seen := f.Last()
		old := func(q muster.QueueObservation) bool { return q.Backlog.At.Before(asked) }
		if seen && o.Ready && o.Observation.At.After(asked) && !slices.ContainsFunc(o.Observation.Queues, old) {
			return o, true
		}
		select {
		case <-tick.C:
		case <-over.C:
			return o, seen
		case <-ctx.Done():
			return o, seen
		}
	}
}

// judge answers whether a fleet is quiet enough for a deployment.
func (a *api) judge(w http.ResponseWriter, r *http.Request) {
	name, f, ok := a.named(w, r)
	if !ok {
		return
	}
	standing := a.standing(name)
	if standing.Phase == Standby {
		a.notRunning(w, name)
		return
	}
	o, seen := freshOutcome(r.Context(), f)
	facts := guard.Facts{Fleet: name, At: time.Now().UTC(), Trouble: troubleOf(standing, o),
		Observation: o.Observation, Decision: o.Decision}
	facts.Sized = seen && o.Ready && !standing.stopping()
	if a.Logs != nil {
		facts.Logs = a.Logs(name)
	}
	answer(w, guard.Judge(facts))
}

// collectOverrides exports how many overrides of each kind act now, and the reserved workers.
func collectOverrides(o muster.Observation, gauge func(exposition.Family, float64, ...string)) {
	for _, k := range override.Kinds() {
		gauge(desc("muster_overrides", "Time-limited instructions of operators that act now, by kind.", "fleet",
			"kind"), float64(len(o.Overrides.Active(o.At, k))), string(k))
	}
	reserved := 0
	for _, r := range o.Overrides {
		reserved += r.Granted()
	}
	gauge(desc("muster_reserved_workers", "Workers that reservations hold, also those that have not begun.", "fleet"),
		float64(reserved))
}
