package server_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/server"
	"github.com/muster-scale/muster/worker/protocol"
)

func TestStatusAndMetricsSayWhatWentWrongAtWorkers(t *testing.T) {
	w := newWorld(t)
	at := t0.Add(3 * time.Second)
	report := controller.Reported{Report: protocol.Report{Fleet: "a", Member: "m1", Worker: "w1", Seq: 9, At: at,
		State: protocol.Receiving, Slots: 2,
		Incidents: []protocol.Incident{{Kind: protocol.LeaseLost, Count: 3, Text: "message 7"},
			{Kind: "new kind", Count: 2, Text: "later"}}}}
	settings, err := controller.NewSettings(controller.Settings{
		Fleet: "a", Queues: []string{"jobs"}, Spec: policy.Spec{Name: "exact"},
		Objective: muster.Objective{Latency: 30 * time.Second, Quantile: 0.99},
		Limits:    muster.Limits{Min: 1, Max: 5, LaunchesPerHour: 100},
	})
	if err != nil {
		t.Fatal(err)
	}
	o := settings.Step(w.steps[2].Next, at, []controller.Input{report})
	w.a.last = &o
	var s server.Status
	if err := json.Unmarshal(w.ask("GET", "/v1/status", "").Body.Bytes(), &s); err != nil {
		t.Fatal(err)
	}
	got := s.Fleets[0].Members[0].Incidents
	if len(got) != 2 || got[0].Worker != "w1" || got[0].Kind != protocol.LeaseLost || got[0].Count != 3 ||
		got[0].Text != "message 7" || !got[0].At.Equal(at) {
		t.Errorf("the status says %+v", got)
	}
	m := server.NewMetrics(w.fleets, nil)
	m.Count(o)
	w.serves = server.New(server.Options{Token: w.token, Fleets: w.fleets, Decisions: w.past, Metrics: m.Collect})
	wants(t, w.ask("GET", "/metrics", ""), http.StatusOK,
		`muster_worker_incidents_total{fleet="a",kind="lease_lost"} 3`,
		`muster_worker_incidents_total{fleet="a",kind="other"} 2`)
}
