package operate

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/override"
	"github.com/muster-scale/muster/server"
)

// api is a running muster up that answers with the given status and bodies, the last of them again and again, and keeps
// the requests.
type api struct {
	config   *config.Config
	status   int
	bodies   []string
	requests []string
	text     string // the body of the last request
}

func newAPI(t *testing.T, status int, bodies ...string) *api {
	t.Helper()
	a := &api{status: status, bodies: bodies}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		a.requests, a.text = append(a.requests, r.Method+" "+r.URL.RequestURI()), string(text)
		w.WriteHeader(a.status)
		io.WriteString(w, a.bodies[0])
		if len(a.bodies) > 1 {
			a.bodies = a.bodies[1:]
		}
	}))
	t.Cleanup(s.Close)
	dir := t.TempDir()
	if _, err := server.LoadOrCreateToken(filepath.Join(dir, app.TokenFile)); err != nil {
		t.Fatal(err)
	}
	a.config = &config.Config{Data: dir, Listen: config.Listen{API: strings.TrimPrefix(s.URL, "http://")}}
	return a
}

func TestATimeOfDayIsTheNextOne(t *testing.T) {
	zone := time.FixedZone("CET", 3600)
	now := time.Date(2026, 11, 23, 14, 0, 0, 0, zone)
	for text, want := range map[string]time.Time{
		"":                     {},
		"14:01":                time.Date(2026, 11, 23, 14, 1, 0, 0, zone),
		"14:00":                time.Date(2026, 11, 24, 14, 0, 0, 0, zone),
		"09:30:15":             time.Date(2026, 11, 24, 9, 30, 15, 0, zone),
		"2026-12-01T00:00:00Z": time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC),
	} {
		if got, err := ParseAt(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: found %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"noon", "25:00", "2026-12-01"} {
		if _, err := ParseAt(text, now); !misuse.Is(err) {
			t.Errorf("%q: found %v", text, err)
		}
	}
}

func TestARequestIsSentAsTheAPIReadsIt(t *testing.T) {
	a := newAPI(t, 200, `{"override":{"id":"limits-1","kind":"limits","text":"max 20"}}`)
	now := time.Now()
	got, err := Add(context.Background(), a.config, Request{Fleet: "a b", Kind: override.Limits, Min: -1, Max: 20,
		For: time.Hour, Reason: "r", Plan: true}, now)
	var sent server.OverrideRequest
	json.Unmarshal([]byte(a.text), &sent)
	if err != nil || got.Override.ID != "limits-1" || a.requests[0] != "POST /v1/fleets/a%20b/overrides?plan=1" ||
		sent.Min != nil || sent.Max == nil || *sent.Max != 20 || sent.ForSeconds != 3600 || !sent.Begin.IsZero() ||
		sent.Kind != override.Limits || sent.Reason != "r" {
		t.Errorf("found %+v, %v, sent %q %s", got, err, a.requests, a.text)
	}
	if _, err := Add(context.Background(), a.config, Request{Fleet: "a"}, now); !misuse.Is(err) {
		t.Errorf("without a length: found %v", err)
	}
}

func TestARefusedRequestSaysWhoseFaultItIs(t *testing.T) {
	for status, wrong := range map[int]bool{400: true, 404: true, 409: false, 503: false} {
		a := newAPI(t, status, `{"error":"the reason"}`)
		_, err := Cancel(context.Background(), a.config, "a", "x", false)
		if err == nil || misuse.Is(err) != wrong || !strings.Contains(err.Error(), "the reason") {
			t.Errorf("%d: found %v, about the request: %v", status, err, misuse.Is(err))
		}
	}
}

func TestResumeEndsPausesAndHoldsAlone(t *testing.T) {
	a := newAPI(t, 200, `{"fleet":"a","overrides":[{"id":"p","kind":"pause"},{"id":"r","kind":"reserve"},
		{"id":"h","kind":"hold-scale-in"}]}`, `{"override":{"id":"p"}}`, `{"override":{"id":"h"}}`)
	ended, err := Resume(context.Background(), a.config, "a", false)
	want := "GET /v1/fleets/a/overrides DELETE /v1/fleets/a/overrides/p DELETE /v1/fleets/a/overrides/h"
	if err != nil || len(ended) != 2 || strings.Join(a.requests, " ") != want {
		t.Errorf("found %+v, %v after %q", ended, err, a.requests)
	}
}

func TestAnAnswerIsPrintedWithItsGrantOrItsPlan(t *testing.T) {
	at := time.Date(2026, 11, 23, 13, 0, 0, 0, time.UTC)
	o := override.Override{ID: "reserve-1", Kind: override.Reserve, Workers: 40, Begin: at.Add(time.Hour),
		End: at.Add(2 * time.Hour), Grant: &override.Grant{Workers: 30, AtBegin: 20, LaunchAt: at.Add(50 * time.Minute),
			InServiceAt: at.Add(90 * time.Minute), Why: []string{"the maximum is 30"}}}
	reserved := server.OverrideStatus{Override: o, Text: o.Text(at)}
	for _, x := range []struct {
		answer    server.OverrideAnswer
		cancelled bool
		want      string
	}{
		{server.OverrideAnswer{Override: reserved}, false,
			"reserve-1: reserved: 30 of 40 workers from 14:00 UTC until 15:00 UTC\n" +
				"  granted: 30 of 40 workers, 20 in service at 14:00 UTC, all at 14:30 UTC; launching begins at " +
				"13:50 UTC\n  because the maximum is 30\n"},
		{server.OverrideAnswer{Override: reserved}, true,
			"reserve-1: cancelled reserved: 30 of 40 workers from 14:00 UTC until 15:00 UTC\n"},
		{server.OverrideAnswer{Plan: &audit.Forecast{From: 10, To: 4, Stop: 6, StopIdle: 6, Sentence: "s"}}, false,
			"f: from 10 workers to 4; would stop 6 idle workers, 0 busy\ns\n"},
		{server.OverrideAnswer{Plan: &audit.Forecast{From: 1, To: 1, Sentence: "s"}}, false,
			"f: from 1 worker to 1; would launch and stop no worker\ns\n"},
		{server.OverrideAnswer{Plan: &audit.Forecast{From: 1, To: 3, Launch: 2, Sentence: "s"}}, false,
			"f: from 1 worker to 3; would launch 2 workers\ns\n"},
		{server.OverrideAnswer{Plan: &audit.Forecast{From: 3, To: 1, Stop: 2, Sentence: "s"}}, false,
			"f: from 3 workers to 1; would stop 2 workers\ns\n"},
	} {
		var out strings.Builder
		PrintAnswer(&out, "f", x.answer, x.cancelled, at)
		if out.String() != x.want {
			t.Errorf("found %q\nwant  %q", out.String(), x.want)
		}
	}
}

func TestTheGuardWaitsUntilTheFleetIsQuietOrTheTimeIsUp(t *testing.T) {
	const busy = `{"fleet":"a","quiet":false,"checks":[{"name":"workers","busy":true,"evidence":"1 worker is busy"}]}`
	const quiet = `{"fleet":"a","quiet":true,"checks":[{"name":"workers","evidence":"no worker is busy"}]}`
	ctx := context.Background()
	a := newAPI(t, 200, busy, quiet)
	var progress, out strings.Builder
	j, err := guardEvery(ctx, a.config, "a", time.Minute, time.Millisecond, &progress)
	if err != nil || !j.Quiet || len(a.requests) != 2 || !strings.HasPrefix(progress.String(),
		"a is busy: 1 worker is busy; waiting for ") {
		t.Errorf("found %+v, %v after %q: %s", j, err, a.requests, progress.String())
	}
	if j, err := Guard(ctx, newAPI(t, 200, busy).config, "a", 0, &progress); err != nil || j.Quiet {
		t.Errorf("without waiting: found %+v, %v", j, err)
	} else if PrintJudgement(&out, j); out.String() != "a is busy\n  workers  BUSY  1 worker is busy\n" {
		t.Errorf("printed %q", out.String())
	}
	// Ages change with every question, and a log of a pipeline shows each reason once.
	const later = `{"fleet":"a","quiet":false,"checks":[` +
		`{"name":"workers","busy":true,"evidence":"2 workers are busy"}]}`
	progress.Reset()
	guardEvery(ctx, newAPI(t, 200, busy, later, later, quiet).config, "a", time.Minute, time.Millisecond, &progress)
	if lines := strings.Count(progress.String(), "\n"); lines != 1 {
		t.Errorf("found %d lines: %s", lines, progress.String())
	}
	none := newAPI(t, 404, `{"error":"no fleet"}`)
	if _, err := Guard(ctx, none.config, "a", time.Minute, &progress); !misuse.Is(err) {
		t.Errorf("an unknown fleet: found %v, want an error at once", err)
	}
	ended, stop := context.WithCancel(ctx)
	stop()
	if _, err := Guard(ended, newAPI(t, 200, busy).config, "a", time.Minute, &progress); err == nil {
		t.Error("an interrupted wait is no success")
	}
}
