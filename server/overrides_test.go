package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/controller/loop"
	"github.com/muster-scale/muster/guard"
	"github.com/muster-scale/muster/override"
	"github.com/muster-scale/muster/server"
)

// instructed is a fleet that keeps the requests it gets.
type instructed struct {
	*fleet
	requests []override.Request
	tries    int
	err      error // of every answer
	stuck    bool
	waking   func() // called by Wake; may be nil
	// dismissed are the members that were asked to go.
	dismissed []string
}

func (f *instructed) Dismiss(_ context.Context, member, why string, try bool) (loop.Instruction, error) {
	if try {
		return loop.Instruction{Forecast: &audit.Forecast{From: 2, To: 1, Stop: 1, StopBusy: 1}}, f.err
	}
	f.dismissed = append(f.dismissed, strings.TrimSpace(member+" "+why))
	return loop.Instruction{}, f.err
}

func (f *instructed) Wake() {
	if f.waking != nil {
		f.waking()
	}
}

func (f *instructed) Instruct(_ context.Context, q override.Request, try bool) (loop.Instruction, error) {
	if f.stuck {
		return loop.Instruction{}, loop.ErrNotReady
	}
	f.requests = append(f.requests, q)
	done := loop.Instruction{Answer: override.Answer{Override: q.Add, Err: f.err}}
	if try {
		f.tries++
		done.Forecast = &audit.Forecast{From: 6, To: 0, Stop: 6, StopIdle: 6}
	}
	return done, nil
}

// instructible is the API with the fleet "a" that takes instructions, and "b" that does not run.
func instructible(t *testing.T, logs func(string) guard.Logs) (*world, *instructed) {
	w := newWorld(t)
	f := &instructed{fleet: w.a}
	fleets := func() map[string]server.Fleet { return map[string]server.Fleet{"a": f, "b": w.b} }
	w.serves = server.New(server.Options{Token: w.token, Fleets: fleets, Decisions: w.past, Logs: logs})
	return w, f
}

func TestAnOverrideIsPassedToItsFleet(t *testing.T) {
	w, f := instructible(t, nil)
	at := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	body := fmt.Sprintf(`{"kind":"reserve","workers":40,"begin":%q,"for_s":1800,"reason":"r","by":"b","id":"x"}`,
		at.Format(time.RFC3339))
	wants(t, w.ask("POST", "/v1/fleets/a/overrides", body), http.StatusOK, `"id":"x"`, `"active":false`,
		`"text":"reserved: 0 of 40 workers from `)
	want := override.Override{ID: "x", Kind: override.Reserve, Workers: 40, Reason: "r", By: "b", Begin: at,
		End: at.Add(30 * time.Minute)}
	if len(f.requests) != 1 || f.requests[0].Add != want || f.tries != 0 {
		t.Errorf("found %+v, want %+v", f.requests, want)
	}
	wants(t, w.ask("POST", "/v1/fleets/a/overrides?plan=1", `{"kind":"pause","for_s":60}`), http.StatusOK,
		`"plan":{"from":6,"to":0`, `"stop_idle":6,"stop_busy":0`)
	wants(t, w.ask("DELETE", "/v1/fleets/a/overrides/x?plan=1", ""), http.StatusOK, `"plan"`)
	if f.tries != 2 || f.requests[2].Cancel != "x" {
		t.Errorf("found %+v with %d plans", f.requests, f.tries)
	}
}

func TestEachFailureOfAnOverrideHasItsStatus(t *testing.T) {
	const pause = `{"kind":"pause","for_s":60}`
	for _, x := range []struct {
		name, method, path, body string
		change                   func(*instructed)
		status                   int
		text                     string
	}{
		{"an unknown fleet", "POST", "/v1/fleets/none/overrides", pause, nil, 404, "there is no fleet"},
		{"a name like another", "POST", "/v1/fleets/aa/overrides", pause, nil, 404, `did you mean \"a\"?`},
		{"a fleet that does not run", "POST", "/v1/fleets/b/overrides", pause, nil, 503, "does not run"},
		{"no JSON", "POST", "/v1/fleets/a/overrides", "{", nil, 400, "read the request"},
		{"an unknown field", "POST", "/v1/fleets/a/overrides", `{"kind":"pause","for":60}`, nil, 400, "unknown field"},
		{"no end", "POST", "/v1/fleets/a/overrides", `{"kind":"pause"}`, nil, 400, "give its end or for_s"},
		{"two ends", "POST", "/v1/fleets/a/overrides", `{"kind":"pause","for_s":1,"end":"2030-01-01T00:00:00Z"}`, nil,
			400, "give its end or for_s"},
		{"a long one", "POST", "/v1/fleets/a/overrides", `{"kind":"pause","for_s":1e300}`, nil, 400, "for_s: found"},
		{"a negative one", "POST", "/v1/fleets/a/overrides", `{"kind":"pause","for_s":-1}`, nil, 400, "for_s: found"},
		{"an invalid plan", "POST", "/v1/fleets/a/overrides?plan=yes", pause, nil, 400, "plan: found"},
		{"an invalid one", "POST", "/v1/fleets/a/overrides", pause,
			func(f *instructed) { f.err = fmt.Errorf("%w: x", override.ErrInvalid) }, 400, "the override is invalid"},
		{"a refused one", "POST", "/v1/fleets/a/overrides", pause,
			func(f *instructed) { f.err = fmt.Errorf("%w: x", override.ErrRefused) }, 409, "the override is refused"},
		{"an unknown one", "DELETE", "/v1/fleets/a/overrides/x", "",
			func(f *instructed) { f.err = fmt.Errorf("%w: x", override.ErrUnknown) }, 404, "not found: x"},
		{"any other error", "DELETE", "/v1/fleets/a/overrides/x", "",
			func(f *instructed) { f.err = errors.New("broken") }, 409, "broken"},
		{"a stuck history", "POST", "/v1/fleets/a/overrides", pause, func(f *instructed) { f.stuck = true }, 503,
			"the same id"},
	} {
		t.Run(x.name, func(t *testing.T) {
			w, f := instructible(t, nil)
			if x.change != nil {
				x.change(f)
			}
			wants(t, w.ask(x.method, x.path, x.body), x.status, x.text)
		})
	}
}

func TestARequestToAStandbyNamesTheController(t *testing.T) {
	w := newWorld(t)
	w.serves = server.New(server.Options{Token: w.token, Fleets: w.fleets, Standing: w.stands})
	for leader, want := range map[string]string{"host-a": "is led by the controller host-a", "": "has no leader now"} {
		w.standing = map[string]server.Standing{"b": {Phase: server.Standby, Leader: leader}}
		wants(t, w.ask("POST", "/v1/fleets/b/members/m/release", ""), http.StatusServiceUnavailable, want)
	}
}

func TestAMemberIsAskedToFinishAndGo(t *testing.T) {
	w, f := instructible(t, nil)
	wants(t, w.ask("POST", "/v1/fleets/a/members/a.1.2/release", ""), http.StatusAccepted)
	if len(f.dismissed) != 1 || f.dismissed[0] != "a.1.2" {
		t.Errorf("found %q", f.dismissed)
	}
	const path = "/v1/fleets/a/members/a.1.2/release"
	wants(t, w.ask("POST", path+"?plan=1", `{"reason":"slow"}`), http.StatusOK, `"stop_busy":1`)
	wants(t, w.ask("POST", path+"?plan=x", ""), http.StatusBadRequest, "allowed are 0 and 1")
	wants(t, w.ask("POST", path, `{"reason":"a\u001bb"}`), http.StatusBadRequest, "reason")
	wants(t, w.ask("POST", path, `{"why":"x"}`), http.StatusBadRequest, "why")
	if len(f.dismissed) != 1 {
		t.Errorf("a plan or an invalid request released a member: %q", f.dismissed)
	}
	wants(t, w.ask("POST", path, `{"reason":"full disk","by":"ada"}`), http.StatusAccepted)
	if f.dismissed[1] != "a.1.2 full disk (by ada)" {
		t.Errorf("found %q", f.dismissed)
	}
	wants(t, w.ask("POST", "/v1/fleets/none/members/m/release", ""), http.StatusNotFound, "there is no fleet")
	wants(t, w.ask("POST", "/v1/fleets/b/members/m/release", ""), http.StatusServiceUnavailable, "does not run")
	for status, err := range map[int]error{404: override.ErrUnknown, 409: override.ErrRefused, 503: loop.ErrNotReady} {
		f.err = fmt.Errorf("%w: m", err)
		wants(t, w.ask("POST", "/v1/fleets/a/members/m/release", ""), status)
	}
}

func TestInstructionsAndTheGuardNeedTheToken(t *testing.T) {
	w, f := instructible(t, nil)
	for _, x := range [][2]string{{"POST", "/v1/fleets/a/overrides"}, {"GET", "/v1/fleets/a/overrides"},
		{"DELETE", "/v1/fleets/a/overrides/x"}, {"GET", "/v1/fleets/a/guard"},
		{"POST", "/v1/fleets/a/members/m/release"}} {
		for _, token := range []string{"", strings.Repeat("ab", 32), w.token.Fleet("a").Reveal()} {
			wants(t, w.ask(x[0], x[1], `{"kind":"pause","for_s":60}`, header("Authorization", "Bearer "+token)),
				http.StatusUnauthorized, "the token")
		}
	}
	if len(f.requests) > 0 {
		t.Errorf("a request without the token came through: %+v", f.requests)
	}
}

func TestTheOverridesOfAFleetAreListedAndCounted(t *testing.T) {
	w, f := instructible(t, nil)
	o := *w.a.last
	now := time.Now().UTC()
	o.Observation.At = now
	o.Observation.Overrides = override.List{
		{ID: "p", Kind: override.Pause, Begin: now.Add(-time.Minute), End: now.Add(time.Hour), Reason: "a test"},
		{ID: "r", Kind: override.Reserve, Workers: 5, Grant: &override.Grant{Workers: 4},
			Begin: now.Add(time.Hour), End: now.Add(2 * time.Hour)}}
	f.last = &o
	wants(t, w.ask("GET", "/v1/fleets/a/overrides", ""), http.StatusOK, `"fleet":"a"`, `"active":true`,
		`(a test)`, `"grant":{"workers":4`)
	// What a fleet that does not run was told is unknown, which is not the same as nothing.
	wants(t, w.ask("GET", "/v1/fleets/b/overrides", ""), http.StatusServiceUnavailable, "fleet b does not run")
	wants(t, w.ask("GET", "/v1/fleets/none/overrides", ""), http.StatusNotFound, "there is no fleet")
	m := server.NewMetrics(w.fleets, nil)
	w.serves = server.New(server.Options{Token: w.token, Fleets: w.fleets, Decisions: w.past, Metrics: m.Collect})
	wants(t, w.ask("GET", "/metrics", ""), http.StatusOK, `muster_overrides{fleet="a",kind="pause"} 1`,
		`muster_overrides{fleet="a",kind="reserve"} 0`, `muster_reserved_workers{fleet="a"} 4`)
}

// TestTheGuardJudgesAFreshStep has a fleet that steps only when it is woken, and one that never does.
func TestTheGuardJudgesAFreshStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := instructible(t, func(fleet string) guard.Logs {
			return guard.Logs{Kept: true, Failure: fleet + " failed"}
		})
		judge := func(name string) (j guard.Judgement) {
			if err := json.Unmarshal(w.ask("GET", "/v1/fleets/"+name+"/guard", "").Body.Bytes(), &j); err != nil {
				t.Fatal(err)
			}
			return j
		}
		if j := judge("b"); j.Quiet || !j.Checks[0].Unknown {
			t.Errorf("a fleet that was not read: %+v", j)
		}
		old := *w.a.last
		old.Observation.At = time.Now().UTC()
		f.last = &old
		if j := judge("a"); j.Quiet || !j.Checks[3].Unknown || !strings.Contains(j.Checks[3].Evidence, "sample") {
			t.Errorf("with old counts: %+v", j)
		}
		f.waking = func() {
			now := time.Now().UTC().Add(time.Millisecond)
			o := old
			o.Observation.At, o.Observation.Queues = now, []muster.QueueObservation{{Queue: "jobs",
				Backlog: muster.Measured(now, 0), InFlight: muster.Measured(now, 0)}}
			f.last = &o
		}
		began := time.Now()
		j := judge("a")
		if len(j.Checks) != 5 || j.Checks[0].Busy || j.Checks[3].Busy ||
			!strings.Contains(j.Checks[4].Evidence, "a failed") || time.Since(began) > time.Second {
			t.Errorf("with fresh counts, after %s: %+v", time.Since(began), j)
		}
		wants(t, w.ask("GET", "/v1/fleets/none/guard", ""), http.StatusNotFound, "there is no fleet")
	})
}
