package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/server"
)

func TestOneFleetThatFailsMakesTheWholeDegradedAndNotUnready(t *testing.T) {
	failed := server.Standing{
		Phase:   "failed",
		Since:   t0,
		Failure: "open its history: the disk is full",
		RetryAt: t0.Add(time.Minute),
	}
	for _, row := range []struct {
		name   string
		a, b   server.Standing
		seen   bool // b was seen once
		code   int
		answer string
	}{
		{"all run", server.Standing{}, server.Standing{}, true, http.StatusOK, "ready\n"},
		{"one was not seen yet", server.Standing{}, server.Standing{Phase: "running", Since: time.Now()}, false,
			http.StatusServiceUnavailable, "not every fleet was read yet"},
		{"one was not seen for long", server.Standing{},
			server.Standing{Phase: "running", Since: time.Now().Add(-2 * time.Minute)}, false, http.StatusOK,
			"degraded: 1 of 2 fleets are not sized as configured; muster status says why\n"},
		{"one failed", server.Standing{}, failed, false, http.StatusOK, "degraded: 1 of 2 fleets are not sized as " +
			"configured"},
		{"one failed after it was seen", server.Standing{}, failed, true, http.StatusOK, "degraded: 1 of 2"},
		{"one could not be changed", server.Standing{}, server.Standing{Phase: "running", Failure: "no such program"},
			true, http.StatusOK, "degraded: 1 of 2"},
		{"one waits for the end of another", server.Standing{}, server.Standing{Phase: "waiting"}, false, http.StatusOK,
			"degraded: 1 of 2"},
		{"one ends", server.Standing{}, server.Standing{Phase: "stopping"}, false, http.StatusOK, "ready\n"},
		{"all failed", failed, failed, false, http.StatusServiceUnavailable, "degraded: no fleet is sized; muster " +
			"status says why"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, func(w *world) { w.standing = map[string]server.Standing{"a": row.a, "b": row.b} })
			if row.seen {
				w.b.last = &w.steps[0]
			}
			answer := w.ask("GET", "/readyz", "", header("Authorization", ""))
			if answer.Code != row.code || !strings.Contains(answer.Body.String(), row.answer) {
				t.Errorf("readyz: found %d %q, want %d %q", answer.Code, answer.Body, row.code, row.answer)
			}
			if strings.Contains(answer.Body.String(), "disk") {
				t.Errorf("readyz tells anybody what is wrong: %q", answer.Body)
			}
		})
	}
}

func TestAContestedFleetIsDegraded(t *testing.T) {
	w := newWorld(t)
	o := w.steps[len(w.steps)-1]
	o.Decision.Reason, o.Observation.Drift = muster.Contested, (*muster.Drift)(
		nil,
	).With(muster.DriftChange{At: t0, From: 2, To: 7})
	w.a.last, w.b.last = &o, &w.steps[0]
	wants(t, w.ask("GET", "/readyz", ""), http.StatusOK, "degraded: 1 of 2")
	wants(
		t,
		w.ask("GET", "/v1/status", ""),
		http.StatusOK,
		"the fleet is not sized: something else has set the size once within 30m0s, at 12:00:00 from 2 to 7",
	)
}

// A fleet that a changed configuration adds starts while the others work.
func TestAFleetThatIsAddedDoesNotMakeTheWholeUnready(t *testing.T) {
	w := newWorld(t)
	w.b.last = &w.steps[0]
	if answer := w.ask("GET", "/readyz", ""); answer.Code != http.StatusOK {
		t.Fatalf("readyz: found %d %q", answer.Code, answer.Body)
	}
	w.b.last = nil
	if answer := w.ask(
		"GET",
		"/readyz",
		"",
	); answer.Code != http.StatusOK ||
		!strings.HasPrefix(answer.Body.String(), "degraded") {
		t.Errorf("readyz while a fleet is new: found %d %q, want degraded", answer.Code, answer.Body)
	}
}

func TestStatusAndMetricsSayWhatAFleetThatFailedIsWaitingFor(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.standing = map[string]server.Standing{
			"a": {Phase: "failed", Since: t0, Failure: "the disk is full"},
			"b": {Phase: "failed", Since: t0, Failure: "the disk is full", RetryAt: t0.Add(time.Minute)},
		}
		w.faults = []string{"the configuration was not taken over"}
	})
	wants(
		t,
		w.ask("GET", "/v1/status", ""),
		http.StatusOK,
		`"phase":"failed"`,
		`"faults":["the configuration was not taken over"]`,
		"the fleet is not sized since 2026-03-01T12:00:00Z: the disk is full; it is not retried automatically: "+
			"change the configuration of the fleet, or send muster up a hang-up signal",
		"the fleet is not sized since 2026-03-01T12:00:00Z: the disk is full; next try at 2026-03-01T12:01:00Z",
	)
	answer := w.ask("GET", "/metrics", "")
	wants(t, answer, http.StatusOK, `muster_fleet_sized{fleet="a"} 0`, `muster_fleet_sized{fleet="b"} 0`)
	if strings.Contains(answer.Body.String(), "muster_queue_backlog") {
		t.Errorf("the metrics tell as known what was seen before the fleet failed:\n%s", answer.Body)
	}
}
