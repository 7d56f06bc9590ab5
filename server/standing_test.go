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
	wants(t, w.ask("GET", "/readyz", ""), http.StatusOK,
		"starting: 1 of 2 fleets were not read yet; each is sized after its first reading")
	// One that stays unread is no new one.
	w.standing = map[string]server.Standing{"b": {Phase: "running", Since: time.Now().Add(-2 * time.Minute)}}
	wants(t, w.ask("GET", "/readyz", ""), http.StatusOK, "degraded: 1 of 2")
}

// A controller that takes over is neither degraded, which alarms people, nor ready, which would be untrue.
func TestReadinessFollowsATakeOver(t *testing.T) {
	at := func(phase, leader string) server.Standing {
		return server.Standing{Phase: phase, Leader: leader, Since: time.Now()}
	}
	w := newWorld(t)
	w.a.last = nil
	away := server.Standing{Phase: "standby", Failure: "the store of leases cannot be used: no route"}
	for _, row := range []struct {
		name string
		a, b server.Standing
		seen bool
		code int
		want string
	}{
		{"another leads", at("standby", "host-a"), at("standby", "host-a"), false, 200,
			"standby: other controllers lead"},
		{"the other is gone", at("standby", ""), at("standby", "host-a"), false, 200,
			"standby: no controller leads 1 of 2 fleets; one takes over within seconds"},
		{"it leads, and has begun nothing", at("starting", "host-b"), at("standby", "host-a"), false, 200,
			"starting: 1 of 1 fleets"},
		{"it runs, and has read nothing", at("running", "host-b"), at("standby", "host-a"), false, 200,
			"starting: 1 of 1 fleets"},
		{"it has read", at("running", "host-b"), at("standby", "host-a"), true, 200, "ready\n"},
		{"the store is away", away, away, true, 503, "degraded: no fleet is sized"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w.standing, w.a.last = map[string]server.Standing{"a": row.a, "b": row.b}, nil
			if row.seen {
				w.a.last = &w.steps[0]
			}
			wants(t, w.ask("GET", "/readyz", ""), row.code, row.want)
		})
	}
}

// A standby knows nothing of a fleet, so it must not answer that there is nothing.
func TestAStandbyNamesTheLeader(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.standing = map[string]server.Standing{"a": {Phase: "standby", Leader: "host-a"}, "b": {Phase: "standby"}}
	})
	w.a.last = nil
	const led = "fleet a is led by the controller host-a, and this one is a standby; ask host-a"
	for path, body := range map[string]string{
		"GET /v1/fleets/a/guard": "", "GET /v1/fleets/a/overrides": "",
		"POST /v1/fleets/a/overrides":            `{"kind":"pause","for_s":60}`,
		"DELETE /v1/fleets/a/overrides/x":        "",
		"POST /v1/fleets/a/members/m1/release":   "",
		"POST /v1/events":                        `{"fleet":"a","id":"1"}`,
		"POST /v1/fleets/a/overrides?plan=1":     `{"kind":"pause","for_s":60}`,
		"DELETE /v1/fleets/a/overrides/x?plan=1": "",
	} {
		method, at, _ := strings.Cut(path, " ")
		answer := w.ask(method, at, body)
		wants(t, answer, http.StatusServiceUnavailable, led)
		if answer.Header().Get("Retry-After") == "" {
			t.Errorf("%s: the answer does not say when to try again", path)
		}
	}
	wants(t, w.ask("GET", "/v1/fleets/b/guard", ""), http.StatusServiceUnavailable, "fleet b has no leader now")
	w.standing["b"] = server.Standing{Phase: "standby", Failure: "the store of leases cannot be used: no route"}
	wants(t, w.ask("GET", "/v1/fleets/b/guard", ""), http.StatusServiceUnavailable,
		"who leads fleet b is unknown, because the store of leases cannot be used: no route")
	// An event for all fleets wakes those that are led here, and names no other.
	w.standing["b"] = server.Standing{}
	wants(t, w.ask("POST", "/v1/events", `{"id":"2"}`), http.StatusAccepted, `{"fleets":["b"]`)
	if w.a.wakes != 0 || w.b.wakes != 1 {
		t.Errorf("woke a %d times and b %d times", w.a.wakes, w.b.wakes)
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
