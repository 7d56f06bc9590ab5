package plan

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/policy/outlook"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/policy"
)

var update = flag.Bool("update", false, "write the golden files anew")

// busyFleet is a fleet of three busy workers with messages that wait, as a plan may see it.
func busyFleet() muster.Observation {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return muster.Observation{
		Fleet: "thumbnails", At: at, Objective: muster.Objective{Latency: 300 * time.Second, Quantile: 0.99},
		Limits: muster.Limits{Max: 20, LaunchesPerHour: 200},
		Queues: []muster.QueueObservation{{Queue: "thumbnails", Backlog: muster.Measured(at, 30),
			InFlight: muster.Measured(at, 3), OldestAge: muster.Measured(at, 81)}},
		Capacity: muster.Capacity{Known: true, Desired: 3, Busy: 3, Slots: 3, BusySlots: 3, SlotsPerWorker: 1},
		Waiting:  []muster.Waiting{{AgeSeconds: 81, Messages: 20}, {AgeSeconds: 12, Messages: 10}},
		Boot: muster.Estimate{Known: true, Count: 3, MeanSeconds: 90, P50Seconds: 90, P95Seconds: 92,
			P99Seconds: 92},
		Arrivals: muster.Arrivals{Known: true, Minute: 0.1, FiveMinutes: 0.13, Hour: 0.1},
		Processing: muster.Estimate{Known: true, Count: 90, MeanSeconds: 25, P50Seconds: 22, P95Seconds: 42,
			P99Seconds: 55},
	}
}

func TestAPlanShowsWhatAWorkerFewerAndOneMoreWouldMake(t *testing.T) {
	unknown := busyFleet()
	unknown.Processing, unknown.Capacity = muster.Estimate{}, muster.Capacity{Known: true, SlotsPerWorker: 1}
	for _, row := range []struct {
		name string
		o    muster.Observation
		spec policy.Spec
	}{
		// The calendar decides, so that the sizes do not change with the arithmetic of another policy.
		{"busy", busyFleet(), policy.Spec{Name: "schedule", PricePerHour: 0.096,
			Intervals: []policy.Interval{{From: "00:00", To: "24:00", Workers: 4}}}},
		{"nothing-known", unknown, policy.Spec{Name: "schedule", Intervals: []policy.Interval{{From: "00:00",
			To: "01:00", Workers: 4}}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, err := policy.New(row.spec)
			if err != nil {
				t.Fatal(err)
			}
			plan := fleetOf("thumbnails", row.spec, audit.ExplainDecision(p, row.o, nil, p.Decide(row.o, nil)))
			var text bytes.Buffer
			if err := PrintOutlook(&text, plan.Outlook); err != nil {
				t.Fatal(err)
			}
			golden(t, row.name+".txt", text.Bytes())
			lines, err := json.MarshalIndent(plan.Outlook, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, row.name+".json", append(lines, '\n'))
		})
	}
}

// TestThePageOfPoliciesHasEachOfThem keeps docs/policies.md complete, and its table the one that plan prints.
func TestThePageOfPoliciesHasEachOfThem(t *testing.T) {
	page := read(t, "../../docs/policies.md")
	for _, name := range policy.Names() {
		if !strings.Contains(page, "\n## "+name+"\n") || !strings.Contains(page, "(#"+name+")") {
			t.Errorf("docs/policies.md has no chapter on %s", name)
		}
	}
	if table := strings.TrimSpace(read(t, "testdata/busy.txt")); !strings.Contains(page, table) {
		t.Errorf("docs/policies.md does not show what plan prints:\n%s", table)
	}
}

// golden compares text to a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(read(t, path), string(got)); diff != "" {
		t.Errorf("%s (-want +got); if that is meant, run go test ./app/plan -update:\n%s", path, diff)
	}
}

func TestAShareIsOnlySaidToBeAllWhenItIs(t *testing.T) {
	for inTime, want := range map[float64]string{1: "100.0%", 0.99995: "100.0%", 0.9996: "99.9%", 0.99: "99.0%",
		0: "0.0%"} {
		if got := share(outlook.Expectation{Known: true, InTime: inTime}); got != want {
			t.Errorf("%v reads %s, want %s", inTime, got, want)
		}
	}
}

// read reads a file.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
