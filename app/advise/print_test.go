package advise

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/advice"
)

func TestAValueIsFoundByItsLineOrByWhatIsAroundIt(t *testing.T) {
	p := placesOf([]byte(`version: 1
queues:
  - name: jobs
    retention: 2h
fleets:
  - {name: a, queue: jobs, max: 3}
  - name: b
    queue: other
    policy: deadline
    objective:
      latency: 1m
    workers: {command: [x], slots: 4}
`))
	for _, row := range []struct {
		path   string
		line   int
		stated bool
	}{
		{"queues[0].retention", 4, true},
		{"queues", 3, true},
		{"fleets[0].max", 6, true},
		{"fleets[0].workers.slots", 6, false},
		{"fleets[1].workers.slots", 12, true},
		{"fleets[1].workers.boot", 12, false},
		{"fleets[1].objective.latency", 11, true},
		{"fleets[1].policy.processing", 9, false},
		{"fleets[1].min", 7, false},
		{"fleets[7].min", 1, false},
	} {
		if line, stated := p.line(row.path); line != row.line || stated != row.stated {
			t.Errorf("%s: found line %d, %t; want %d, %t", row.path, line, stated, row.line, row.stated)
		}
	}
	if line, stated := placesOf(nil).line("fleets[0].max"); line != 0 || stated {
		t.Errorf("without a text: found line %d", line)
	}
	if line, _ := placesOf([]byte("a: [")).line("a"); line != 0 {
		t.Errorf("of a broken text: found line %d", line)
	}
}

func TestWhatWasFoundIsPrinted(t *testing.T) {
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	effect := &Change{advice.Effect{InTime: 0.99, WorkerHours: 10}, advice.Effect{InTime: 0.5, WorkerHours: 0.05}}
	f := Found{Fleet: "jobs", From: noon, To: noon.Add(time.Hour),
		Advice: []Advised{
			{Advice: advice.Advice{Key: advice.Max, Old: "3", New: "9", Why: "w1", Samples: 1, Confidence: advice.Low},
				File: "m.yaml", Path: "fleets[0].max", Line: 7, Stated: true, NotSimulated: "n1"},
			{Advice: advice.Advice{Old: "2 cores", New: "1 core", Why: "w2", Samples: 2, Confidence: advice.High},
				NotSimulated: "n2"}},
		Declined: []Advised{{Advice: advice.Advice{Key: advice.Boot, Old: "1s", New: "9s", Why: "w3"}, File: "m.yaml",
			Path: "fleets[0].workers.boot", Line: 5, Effect: effect}},
		Unjudged: []advice.Unjudged{{Rule: "price", Why: "w4", Needed: "n4"}}, Fits: []string{"memory"}}
	var b bytes.Buffer
	if err := f.Print(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"jobs, 2026-03-02 12:00Z to 2026-03-02 13:00Z: 0 messages, 0.0 % of the time recorded\n",
		"nothing was recorded in this window",
		"worth changing\n  m.yaml:7 fleets[0].max: 3 -> 9\n    w1\n    confidence: low, 1 sample\n    effect " +
			"unknown: n1\n",
		"  members: 2 cores -> 1 core\n    w2\n    confidence: high, 2 samples\n    effect unknown: n2\n",
		"not worth changing, by the simulation\n  m.yaml:5 fleets[0].workers.boot (not stated): 1s -> 9s\n",
		"effect, simulated: in time 99.0 % -> 50.0 %, worker-hours 10.0 -> 0.0500\n",
		"fits: memory\n", "could not be judged\n  price: w4\n    needed: n4\n", "Nothing was changed.\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the text does not contain %q:\n%s", want, b.String())
		}
	}
}

func TestAnAdviceAgainstWhichTheReplaySpeaksIsDeclined(t *testing.T) {
	all := []Advised{
		{Effect: &Change{advice.Effect{InTime: 1, WorkerHours: 5}, advice.Effect{InTime: 0.5, WorkerHours: 1}}},
		{Effect: &Change{advice.Effect{InTime: 1, WorkerHours: 5}, advice.Effect{InTime: 1, WorkerHours: 1}}},
		{NotSimulated: "no"},
	}
	var f Found
	f.sort(all, 0.99)
	if len(f.Advice) != 2 || len(f.Declined) != 1 || f.Declined[0].Effect.After.InTime != 0.5 {
		t.Errorf("found %+v", f)
	}
}
