package server_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/muster-scale/muster/incident"
	"github.com/muster-scale/muster/internal/exposition"
	"github.com/muster-scale/muster/notice"
	"github.com/muster-scale/muster/server"
)

// withIncidents is an API with one open incident, one that has ended, and a channel that failed.
func withIncidents(t *testing.T) (http.Handler, server.Incidents, string) {
	token, err := server.LoadOrCreateToken(t.TempDir() + "/token")
	if err != nil {
		t.Fatal(err)
	}
	one := incident.Incident{ID: "x", BeganAt: t0, OpenedAt: t0, Condition: incident.Condition{Kind: incident.CrashLoop,
		Fleet: "a", Sentence: "5 launches failed", Command: "muster explain a"}}
	all := server.Incidents{Open: []incident.Incident{one}, Recent: []incident.Incident{one}, Channels: []notice.Status{
		{Channel: "slack", Sent: 3}, {Channel: "pager", Failed: 4, Lost: 1, Dropped: 2, Waiting: 5, LastError: "down"}}}
	return server.New(server.Options{Token: token, Fleets: func() map[string]server.Fleet { return nil },
		Incidents: func() server.Incidents { return all }}), all, token.Reveal()
}

// got asks the API for a path with a token.
func got(api http.Handler, path, token string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil)
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r)
	return w
}

func TestIncidentsNeedTheToken(t *testing.T) {
	api, all, token := withIncidents(t)
	if w := got(api, "/v1/incidents", "other"); w.Code != http.StatusUnauthorized ||
		strings.Contains(w.Body.String(), "launches") {
		t.Errorf("without the token: %d %s", w.Code, w.Body)
	}
	var found server.Incidents
	w := got(api, "/v1/incidents", token)
	if err := json.Unmarshal(w.Body.Bytes(), &found); err != nil || len(found.Open) != 1 ||
		found.Open[0].Sentence != all.Open[0].Sentence || len(found.Recent) != 1 ||
		found.Channels[1] != all.Channels[1] {
		t.Errorf("found %s, %v", w.Body, err)
	}
}

func TestTheStatusTellsOfIncidentsAndOfChannelsThatFail(t *testing.T) {
	api, _, token := withIncidents(t)
	var s server.Status
	w := got(api, "/v1/status", token)
	if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil || s.OpenIncidents != 1 || len(s.Notices) != 1 ||
		s.Notices[0].Channel != "pager" {
		t.Errorf("found %s, %v", w.Body, err)
	}
}

func TestNoticesAreCounted(t *testing.T) {
	_, all, _ := withIncidents(t)
	var p exposition.Page
	server.CollectIncidents(&p, all)
	for _, want := range []string{
		`muster_incidents_open{fleet="a",kind="crash_loop"} 1`,
		`muster_notices_sent_total{channel="slack",result="sent"} 3`,
		`muster_notices_sent_total{channel="slack",result="dropped"} 0`,
		`muster_notices_sent_total{channel="pager",result="failed"} 4`,
		`muster_notices_sent_total{channel="pager",result="lost"} 1`,
		`muster_notices_sent_total{channel="pager",result="dropped"} 2`,
		`muster_notices_waiting{channel="pager"} 5`,
	} {
		if !strings.Contains(string(p.Bytes()), "\n"+want+"\n") {
			t.Errorf("found no line %s in\n%s", want, p.Bytes())
		}
	}
}
