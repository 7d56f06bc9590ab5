package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/worker/protocol"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestExplainShowsTheIncidentsAroundADecision(t *testing.T) {
	var past Incidents
	see := func(kind muster.RecordKind, at time.Time, body any) {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		if err := past.see(muster.Record{At: at, Kind: kind, Body: text}); err != nil {
			t.Fatal(err)
		}
	}
	see(muster.Changed, noon.Add(-2*time.Hour), controller.Changed{Member: "m1",
		Incident: &protocol.Incident{Kind: protocol.ReportFailed, Count: 1, Text: "long ago"}})
	see(muster.Changed, noon.Add(-time.Minute), controller.Changed{Member: "m1", What: roster.Joined})
	see(muster.Decided, noon, controller.Decided{})
	see(muster.Changed, noon.Add(-time.Second), controller.Changed{Member: "m2", Worker: "w",
		Incident: &protocol.Incident{Kind: protocol.LeaseLost, Count: 4, Text: "message 7"}})
	var out bytes.Buffer
	past.around(noon).print(&out)
	want := fmt.Sprintf("\nwhat went wrong at workers within the hour before\n  %s m2: lease_lost (4 so far): "+
		"message 7\n", noon.Add(-time.Second).Local().Format("15:04:05"))
	if out.String() != want {
		t.Errorf("found %q, want %q", out.String(), want)
	}
	if err := past.see(muster.Record{Kind: muster.Changed, Body: []byte("{")}); err == nil {
		t.Error("a record that cannot be read was passed over")
	}
	for range 100 {
		see(muster.Changed, noon, controller.Changed{Incident: &protocol.Incident{Kind: protocol.LeaseLost, Count: 1}})
	}
	if len(past) != maxIncidents {
		t.Errorf("%d are kept, want %d", len(past), maxIncidents)
	}
}
