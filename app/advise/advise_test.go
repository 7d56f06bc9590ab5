package advise_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app/advise"
	"github.com/muster-scale/muster/app/simulation"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller/learning"
	"github.com/muster-scale/muster/history"
	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/sim"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/worker/protocol"
)

var update = flag.Bool("update", false, "write the golden files anew")

var monday = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// page is the configuration of the worked example in docs/advise.md.
const page = `version: 1
fleets:
  - name: photos
    queue: https://sqs.eu-west-1.amazonaws.com/123456789012/photos
    asg: {group: photos}
    objective: {latency: 1m, quantile: 0.99}
    max: 400
    price: 0.1
    policy: {name: deadline, processing: 5s}
    workers:
      slots: 2
      boot: 20s
`

func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Parse("muster.yaml", []byte(text), func(string) (string, bool) { return "", false },
		kinds.Table().Config())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// lived is the history of a fleet that has run for a while on simulated work, with the usage of measured calls.
func lived(t *testing.T, c *config.Config, work string, boot time.Duration, usage protocol.Usage) *history.Memory {
	t.Helper()
	load, err := trace.Load(work, trace.Options{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	e, who, _, err := simulation.OfFleet(c.Fleets[0], load, simulation.Circumstances{Start: monday, Boot: boot})
	if err != nil {
		t.Fatal(err)
	}
	p, err := contest.Prepare(e, 1)
	if err != nil {
		t.Fatal(err)
	}
	p.Recorded = true
	h, ctx := history.NewMemory(), context.Background()
	at, err := h.Begin(ctx, "photos")
	if err != nil {
		t.Fatal(err)
	}
	var records []muster.Record
	_, err = p.Run(ctx, who, func(v sim.View) {
		for _, r := range v.Outcome.Records {
			var l learning.Learned
			if r.Kind == muster.Learned && usage.Calls > 0 && json.Unmarshal(r.Body, &l) == nil &&
				l.Processing.Count > 0 {
				n := float64(l.Processing.Count)
				l.Usage = usage
				l.Usage.Calls, l.Usage.WallSeconds = l.Processing.Count, l.Processing.SumSeconds
				l.Usage.CPUSeconds = usage.CPUSeconds * n
				if r.Body, err = json.Marshal(l); err != nil {
					t.Error(err)
				}
			}
			records = append(records, r)
		}
	}, nil)
	for some := range slices.Chunk(records, 10_000) {
		if err == nil {
			at, err = h.Append(ctx, "photos", at, some...)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// waiting is work that waits for a database: 1.5 s of processor time a message, on members of 2 cores.
func waiting() protocol.Usage {
	return protocol.Usage{Calls: 1, CPUSeconds: 1.5, PeakBytes: 120 << 20, Cores: 2, MemoryBytes: 4 << 30}
}

const day = "workday:rate=0.02,to=0.8,duration=25h,service=12s,cv=0.6"

func request(c *config.Config) advise.Request {
	return advise.Request{Config: c, File: "muster.yaml", Text: []byte(page), From: monday,
		To: monday.Add(25 * time.Hour)}
}

func TestTheWorkedExampleIsThatOfThePage(t *testing.T) {
	c := parse(t, page)
	found, err := advise.Make(context.Background(), lived(t, c, day, 90*time.Second, waiting()), request(c))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := found.Print(&text); err != nil {
		t.Fatal(err)
	}
	golden(t, "photos.txt", text.Bytes())
	again, err := json.MarshalIndent(found, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "photos.json", append(again, '\n'))
	document, err := os.ReadFile("../../docs/advise.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{page, text.String()} {
		if !strings.Contains(string(document), strings.TrimRight(part, "\n")) {
			t.Errorf("docs/advise.md does not contain\n%s", part)
		}
	}
}

// golden compares with a file, or writes it anew with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := "testdata/" + name
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != string(got) {
		t.Errorf("%s, %v: found\n%s", path, err, got)
	}
}
