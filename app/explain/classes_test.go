package explain

import (
	"bytes"
	"strings"
	"testing"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app/status"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/server"
)

func TestClassesAreShownWhereThereAreSome(t *testing.T) {
	o := muster.Observation{Classes: []muster.Class{
		{Name: "", Share: 0.125, Processing: muster.Estimate{Known: true, MeanSeconds: 0.5}},
		{Name: "video", Share: 0.875, Processing: muster.Estimate{Known: true, MeanSeconds: 95}},
	}}
	const want = "classes: (none) 12.5 % taking 500ms, video 87.5 % taking 1m35s\n"
	for name, print := range map[string]func(muster.Observation) string{
		"status": func(o muster.Observation) string {
			var out bytes.Buffer
			if err := status.Print(&out, server.Status{Fleets: []server.FleetStatus{{Name: "jobs", Observation: o}}},
				func(string) string { return "" }); err != nil {
				t.Fatal(err)
			}
			return out.String()
		},
		"explain": func(o muster.Observation) string {
			var out bytes.Buffer
			Print(&out, audit.Explanation{Observation: o})
			return out.String()
		},
	} {
		if got := print(o); !strings.Contains(got, want) {
			t.Errorf("%s says\n%s", name, got)
		}
		if got := print(muster.Observation{}); strings.Contains(got, "classes") {
			t.Errorf("%s of a fleet without classes says\n%s", name, got)
		}
	}
}
