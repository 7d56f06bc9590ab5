package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/server"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestStatusShowsTheIncidentsOfTheLastHour(t *testing.T) {
	f := server.FleetStatus{Name: "jobs", Members: []server.MemberStatus{{ID: "m1"}, {ID: "m2"}}}
	add := func(member int, ago time.Duration, text string) {
		m := &f.Members[member]
		m.Incidents = append(m.Incidents, server.IncidentStatus{Worker: m.ID, At: noon.Add(-ago), Incident: muster.Incident{Kind: muster.LeaseLost, Count: 3, Text: text}})
	}
	print := func() string {
		var out bytes.Buffer
		printIncidents(&out, f, noon)
		return out.String()
	}
	if got := print(); got != "" {
		t.Errorf("found %q where nothing went wrong", got)
	}
	add(0, 2*time.Minute, "older")
	add(1, 5*time.Second, "newest")
	add(0, 61*time.Minute, "forgotten")
	if want := "  incident 5s ago on m2: lease_lost (3 so far): newest\n  incident 2m0s ago on m1: lease_lost (3 so far): older\n"; print() != want {
		t.Errorf("found %q, want %q", print(), want)
	}
	for i := range 20 {
		add(0, time.Duration(i)*time.Second, "many")
	}
	if got := print(); strings.Count(got, "\n") != 11 || !strings.HasSuffix(got, "and 12 more incidents within the hour\n") {
		t.Errorf("found %q", got)
	}
}

func TestExplainShowsTheIncidentsAroundADecision(t *testing.T) {
	var past pastIncidents
	see := func(kind muster.RecordKind, at time.Time, body any) {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		if err := past.see(muster.Record{At: at, Kind: kind, Body: text}); err != nil {
			t.Fatal(err)
		}
	}
	see(muster.Changed, noon.Add(-2*time.Hour), controller.Changed{Member: "m1", Incident: &muster.Incident{Kind: muster.ReportFailed, Count: 1, Text: "long ago"}})
	see(muster.Changed, noon.Add(-time.Minute), controller.Changed{Member: "m1", What: roster.Joined})
	see(muster.Decided, noon, controller.Decided{})
	see(muster.Changed, noon.Add(-time.Second), controller.Changed{Member: "m2", Worker: "w", Incident: &muster.Incident{Kind: muster.LeaseLost, Count: 4, Text: "message 7"}})
	var out bytes.Buffer
	past.around(noon).print(&out)
	want := fmt.Sprintf("\nwhat went wrong at workers within the hour before\n  %s m2: lease_lost (4 so far): message 7\n", noon.Add(-time.Second).Local().Format("15:04:05"))
	if out.String() != want {
		t.Errorf("found %q, want %q", out.String(), want)
	}
	if err := past.see(muster.Record{Kind: muster.Changed, Body: []byte("{")}); err == nil {
		t.Error("a record that cannot be read was passed over")
	}
	for range 100 {
		see(muster.Changed, noon, controller.Changed{Incident: &muster.Incident{Kind: muster.LeaseLost, Count: 1}})
	}
	if len(past) != maxIncidents {
		t.Errorf("%d are kept, want %d", len(past), maxIncidents)
	}
}
