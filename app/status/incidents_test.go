package status

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/server"
	"github.com/muster-scale/muster/worker/protocol"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestStatusShowsTheIncidentsOfTheLastHour(t *testing.T) {
	f := server.FleetStatus{Name: "jobs", Members: []server.MemberStatus{{ID: "m1"}, {ID: "m2"}}}
	add := func(member int, ago time.Duration, text string) {
		m := &f.Members[member]
		m.Incidents = append(m.Incidents, server.IncidentStatus{Worker: m.ID, At: noon.Add(-ago),
			Incident: protocol.Incident{Kind: protocol.LeaseLost, Count: 3, Text: text}})
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
	if want := "  incident 5s ago on m2: lease_lost (3 so far): newest\n  incident 2m0s ago on m1: lease_lost (3 so " +
		"far): older\n"; print() != want {
		t.Errorf("found %q, want %q", print(), want)
	}
	for i := range 20 {
		add(0, time.Duration(i)*time.Second, "many")
	}
	if got := print(); strings.Count(got, "\n") != 11 || !strings.HasSuffix(got,
		"and 12 more incidents within the hour\n") {
		t.Errorf("found %q", got)
	}
}
