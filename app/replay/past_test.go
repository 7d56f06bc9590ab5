package replay_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app/replay"
	"github.com/muster-scale/muster/app/simulation"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/history"
	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/sim"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/trace"
)

// lived is the history of a fleet that really ran on simulated work from monday on, and what it came to.
func lived(t *testing.T, f config.Fleet, work string, boot, length time.Duration) (*history.Memory, scoring.Result) {
	t.Helper()
	load, err := trace.Load(work, trace.Options{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	e, who, _, err := simulation.OfFleet(f, load, simulation.Circumstances{Start: monday, Boot: boot})
	if err != nil {
		t.Fatal(err)
	}
	e.World.Length, e.World.Tail = length, time.Nanosecond
	p, err := contest.Prepare(e, 1)
	if err != nil {
		t.Fatal(err)
	}
	p.Recorded = true
	h := history.NewMemory()
	at, err := h.Begin(t.Context(), f.Name)
	if err != nil {
		t.Fatal(err)
	}
	var records []muster.Record
	r, err := p.Run(t.Context(), who, func(v sim.View) { records = append(records, v.Outcome.Records...) }, nil)
	for some := range slices.Chunk(records, 10_000) {
		if err == nil {
			at, err = h.Append(t.Context(), f.Name, at, some...)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return h, r
}

// thumbs is the configuration of the tests with its fleet thumbs changed.
func thumbs(t *testing.T, old, new string) (*config.Config, config.Fleet) {
	t.Helper()
	c, err := kinds.Parse("muster.yaml", []byte(strings.Replace(text, old, new, 1)))
	if err != nil {
		t.Fatal(err)
	}
	return c, c.Fleets[0]
}

func near(a *float64, b float64) bool { return a != nil && math.Abs(*a-b) <= 0.05*b+0.02 }

// A fleet with a minimum runs for two hours, of which the second has no message, and a day is asked for.
func TestTheFirstRowIsWhatReallyHappened(t *testing.T) {
	c, f := thumbs(t, "max: 40", "min: 2\n    max: 40")
	h, was := lived(t, f, "steady:rate=1,duration=1h,service=4s", 45*time.Second, 2*time.Hour)
	r := replay.Request{Fleet: "thumbs", From: monday.Add(-10 * time.Hour), To: monday.Add(14 * time.Hour),
		Others: []string{"aws-dynamic"}}
	found, err := replay.Make(t.Context(), h, c, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	row, present, other := found.Runs[0], found.Runs[1], found.Runs[2]
	hours := was.WorkerSeconds / 3600
	if row.Kind != "recorded" || !near(row.WorkerHours, hours) || !near(row.Cost, hours/2) ||
		!near(row.InTime, was.InTimeRatio) || *row.PeakWorkers != was.PeakWorkers ||
		*row.ScaleEvents != was.ScaleEvents {
		t.Errorf("the run came to %v h, %v in time, a peak of %d and %d changes; its row is %s", hours,
			was.InTimeRatio, was.PeakWorkers, was.ScaleEvents, encoded(t, row))
	}
	if text := string(encoded(t, row)); !strings.Contains(text, `"p95_s":null`) ||
		!strings.Contains(text, `"launches":null`) || !strings.Contains(text, `"curves":null`) {
		t.Errorf("what the history lacks must be null: %s", text)
	}
	// The hours without any record cost nothing, and the quiet hour costs the minimum.
	if !near(present.WorkerHours, hours) || *other.WorkerHours > 2*hours {
		t.Errorf("the run came to %v h, its replay to %v h and another autoscaler to %v h", hours,
			*present.WorkerHours, *other.WorkerHours)
	}
	if span := found.To.Sub(found.From); span < 119*time.Minute || span > 125*time.Minute {
		t.Errorf("replayed is a window of %s, want the two recorded hours", span)
	}
	notes := strings.Join(found.Notes, "\n")
	for _, want := range []string{"is incomplete: there are records from ", "workers boot in 45s, as was measured"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note says %q:\n%s", want, notes)
		}
	}
}

func TestWhatIsUnknownOfThePastIsSaid(t *testing.T) {
	c, f := thumbs(t, "latency: 1m", "latency: 1m")
	h, _ := lived(t, f, "steady:rate=1,duration=1h,service=4s", 10*time.Second, time.Hour)
	r := hours(1)
	first := func(c *config.Config, h replay.History) (replay.Run, string) {
		found, err := replay.Make(t.Context(), h, c, r, nil)
		if err != nil {
			t.Fatal(err)
		}
		return found.Runs[0], strings.Join(found.Notes, "\n")
	}
	if row, notes := first(c, h); row.InTime == nil || row.WorkerHours == nil || strings.Contains(notes, "unknown") {
		t.Errorf("all is known, and the row is %s:\n%s", encoded(t, row), notes)
	}
	other, _ := thumbs(t, "latency: 1m", "latency: 2m")
	if row, notes := first(other, h); row.InTime != nil || row.WorkerHours == nil ||
		!strings.Contains(notes, "another objective held") {
		t.Errorf("another objective: the row is %s:\n%s", encoded(t, row), notes)
	}
	// Without decisions nothing says how many members there were.
	if row, notes := first(c, past(t, time.Hour, 30, 4*time.Second)); row.InTime != nil || row.WorkerHours != nil ||
		row.PeakWorkers != nil || !strings.Contains(notes, "sizes were recorded in 0s of 1h0m0s") ||
		!strings.Contains(notes, "no worker reported it") {
		t.Errorf("no decision: the row is %s:\n%s", encoded(t, row), notes)
	}
}

// A changed boot time asks what it would come to, so there the measured one does not count.
func TestAChangedBootTimeIsSimulated(t *testing.T) {
	c, f := thumbs(t, "boot: 10s", "boot: 10s")
	h, _ := lived(t, f, "steady:rate=1,duration=30m,service=4s", 2*time.Second, 30*time.Minute)
	r := hours(1)
	r.Set = []string{"workers.boot=5m"}
	found, err := replay.Make(t.Context(), h, c, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	present, changed := found.Runs[1], found.Runs[2]
	if *present.P99 > 60 || *changed.P99 < 120 {
		t.Errorf("a measured boot comes to a p99 of %v s, one of 5 minutes to %v s", *present.P99, *changed.P99)
	}
}
