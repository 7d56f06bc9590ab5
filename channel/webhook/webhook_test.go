package webhook_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/channel/webhook"
	"github.com/muster-scale/muster/incident"
	"github.com/muster-scale/muster/notice"
)

// told is the notice of the tests.
func told(e incident.Event) incident.Notice {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	i := incident.Incident{ID: "at_maximum/thumbs/20260301T120000.000Z", BeganAt: at, OpenedAt: at,
		Condition: incident.Condition{Kind: incident.AtMaximum, Fleet: "thumbs", Sentence: "a < b & c",
			Command: "muster explain thumbs"}}
	if e == incident.Ended {
		i.EndedAt = at.Add(time.Minute)
	}
	return incident.Notice{ID: i.ID + "/" + string(e), Event: e, At: at, Incident: i}.From("web-1")
}

// receiver is a real server that answers with a status, and keeps what it got.
type receiver struct {
	*httptest.Server
	status int
	body   []byte
	header http.Header
}

func receive(t *testing.T, status int) *receiver {
	r := &receiver{status: status}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.body, _ = io.ReadAll(q.Body)
		r.header = q.Header
		if status == http.StatusFound {
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
		}
		w.WriteHeader(r.status)
		io.WriteString(w, "said\nsomething")
	}))
	t.Cleanup(r.Close)
	return r
}

func TestTheNoticeArrivesAsJSON(t *testing.T) {
	r := receive(t, 200)
	c := webhook.Config{URL: r.URL + "/hook", Headers: []string{"Authorization: Bearer t0k3n"}, Format: webhook.JSON}
	answer, err := c.Open(nil, "").Send(t.Context(), told(incident.Opened))
	if err != nil || answer != "200 OK: said something" {
		t.Fatalf("answer %q, %v", answer, err)
	}
	var got incident.Notice
	if err := json.Unmarshal(r.body, &got); err != nil || got.Text != told(incident.Opened).Text ||
		got.Incident.Kind != incident.AtMaximum {
		t.Errorf("found %s, %v", r.body, err)
	}
	if r.header.Get("Authorization") != "Bearer t0k3n" || r.header.Get("Content-Type") != "application/json" {
		t.Errorf("headers %v", r.header)
	}
}

func TestSlackGetsATextWithoutMarkupOfOthers(t *testing.T) {
	r := receive(t, 200)
	c := webhook.Config{URL: r.URL, Format: webhook.Slack}
	if _, err := c.Open(nil, "").Send(t.Context(), told(incident.Opened)); err != nil {
		t.Fatal(err)
	}
	want := `{"text":"*opened* on web-1: a \u0026lt; b \u0026amp; c\n` + "`muster explain thumbs`" + `"}`
	if string(r.body) != want {
		t.Errorf("found %s, want %s", r.body, want)
	}
}

func TestPagerDutyIsTriggeredAndResolvedByTheSameKey(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte("r0ut1ng\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := receive(t, 202)
	c := webhook.Config{URL: r.URL, Format: webhook.PagerDuty, KeyFile: "key"}
	send := c.Open(nil, dir)
	var events []map[string]any
	for _, e := range []incident.Event{incident.Opened, incident.Ended} {
		if _, err := send.Send(t.Context(), told(e)); err != nil {
			t.Fatal(err)
		}
		var event map[string]any
		if err := json.Unmarshal(r.body, &event); err != nil {
			t.Fatal(err)
		}
		events = append(events, event)
	}
	opened, ended := events[0], events[1]
	if opened["event_action"] != "trigger" || ended["event_action"] != "resolve" ||
		opened["dedup_key"] != ended["dedup_key"] || opened["routing_key"] != "r0ut1ng" {
		t.Errorf("found %v and %v", opened, ended)
	}
	payload, _ := opened["payload"].(map[string]any)
	if payload["source"] != "web-1" || payload["severity"] != "error" || payload["component"] != "thumbs" ||
		payload["class"] != "at_maximum" || !strings.Contains(payload["summary"].(string), "a < b") {
		t.Errorf("payload %v", payload)
	}
}

func TestAnAnswerIsADeliveryARetryOrFinal(t *testing.T) {
	for status, want := range map[int]string{200: "", 204: "", 302: "final", 400: "final", 401: "final", 404: "final",
		408: "retry", 429: "retry", 500: "retry", 503: "retry"} {
		r := receive(t, status)
		c := webhook.Config{URL: r.URL, Format: webhook.JSON}
		_, err := c.Open(nil, "").Send(t.Context(), told(incident.Opened))
		got := "retry"
		switch {
		case err == nil:
			got = ""
		case errors.Is(err, notice.ErrRefused):
			got = "final"
		}
		if got != want {
			t.Errorf("%d: found %q (%v), want %q", status, got, err, want)
		}
	}
}

func TestNoErrorHasASecret(t *testing.T) {
	r := receive(t, 403)
	for _, url := range []string{r.URL + "/T0K3N", "http://127.0.0.1:1/T0K3N", "http://127.0.0.1:1/%zzT0K3N",
		"http://127.0.0.1:1/T0K3N\x7f", "ftp://example.com/T0K3N"} {
		c := webhook.Config{URL: url, Format: webhook.JSON, Headers: []string{"X-Key: T0K3N\x01"}}
		_, err := c.Open(nil, "").Send(t.Context(), told(incident.Opened))
		if err == nil || strings.Contains(err.Error(), "T0K3N") {
			t.Errorf("%s: found %v", url, err)
		}
	}
}
