package peer

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
)

func TestEveryPeerIsComplete(t *testing.T) {
	page, err := os.ReadFile("../../docs/peers.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, p := range All() {
		switch {
		case p.Name == "" || seen[p.Name] || p.What == "" || strings.Contains(p.What, "\n"):
			t.Errorf("%q: a name of its own and one line that says what it is are needed, found %q", p.Name, p.What)
		case len(p.Sweep) < 8 || len(p.Sweep) > 14 || !slices.IsSorted(p.Sweep) || !slices.Contains(p.Sweep, p.Default):
			t.Errorf("%s: the sweep %v has not 8 to 14 rising values with the default %v among them", p.Name, p.Sweep,
				p.Default)
		case p.Setting == "":
			t.Errorf("%s: the setting that is swept has no name", p.Name)
		case p.Idle(p.Default) < 0 || p.Memory < 0 || p.MinWorkers < 0:
			t.Errorf("%s: idle %s, memory %s, at least %d workers", p.Name, p.Idle(p.Default), p.Memory, p.MinWorkers)
		case !strings.Contains(string(page), "`"+p.Name+"`"):
			t.Errorf("%s: docs/peers.md does not name it", p.Name)
		}
		seen[p.Name] = true
		if found, ok := Find(p.Name); !ok || found.Name != p.Name {
			t.Errorf("%s: not found by its name", p.Name)
		}
	}
	if _, ok := Find("no such peer"); ok {
		t.Error("found a peer that does not exist")
	}
}

func TestASettingThatIsNoneIsTheDefault(t *testing.T) {
	for _, p := range All() {
		o := see{backlog: 77, inFlight: 5, age: 200, serving: 5, busy: 5, rate: 3, mpd: 20 * time.Second}.at(t0)
		want := encoded(t, p.Build(p.Default, time.Second).Decide(o, nil))
		for _, v := range []float64{0, -1, math.NaN(), math.Inf(1)} {
			if got := encoded(t, p.Build(v, time.Second).Decide(o, nil)); got != want {
				t.Errorf("%s with the setting %v decides\n%s\nwant\n%s", p.Name, v, got, want)
			}
			if p.Idle(v) != p.Idle(p.Default) {
				t.Errorf("%s with the setting %v stops after %s, want %s", p.Name, v, p.Idle(v), p.Idle(p.Default))
			}
		}
	}
}

// required says what a peer cannot lower the size without, by the beginning of its name.
func required(name string) (n need, age bool) {
	switch {
	case name == "fixed":
		return 0, false
	case name == "queue-time":
		return 0, true
	case strings.HasPrefix(name, "aws-utilization"):
		return needWork | needCapacity, false
	case strings.HasPrefix(name, "aws-"), name == "s3", name == "delayedoff", name == "keda-job-accurate",
		name == "keda-job-eager":
		return needBacklog | needCapacity, false
	}
	return needWork | needCapacity, false
}

// anything draws counts from nothing to absurd.
func anything() *rapid.Generator[float64] {
	return rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, 3), rapid.Float64Range(0, 2000),
		rapid.SampledFrom([]float64{1e9, 1e300, math.MaxFloat64}))
}

// sights draws observations from nothing to absurd, some of them unknown, some without any queue.
func sights(at time.Time, desired int) *rapid.Generator[muster.Observation] {
	return rapid.Custom(func(t *rapid.T) muster.Observation {
		count := func(what string) int {
			return rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 20), rapid.Just(1_000_000)).Draw(t, what)
		}
		s := see{
			backlog: anything().Draw(t, "backlog"), inFlight: anything().Draw(t, "in flight"),
			age: anything().Draw(t, "age"), rate: anything().Draw(t, "rate"),
			draining: count("draining"), min: rapid.IntRange(0, 3).Draw(t, "min"),
			noBacklog: rapid.Bool().Draw(t, "no backlog"), noInFlight: rapid.Bool().Draw(t, "no in flight"),
			noListing: rapid.Bool().Draw(t, "no listing"),
			noAge:     rapid.Bool().Draw(t, "no age"), noRate: rapid.Bool().Draw(t, "no rate"),
		}
		o := s.at(at)
		o.Limits.Max = s.min + count("span")
		o.Objective.Latency = rapid.SampledFrom([]time.Duration{0, time.Nanosecond, 30 * time.Second,
			math.MaxInt64}).Draw(t, "latency")
		o.Capacity.Desired, o.Capacity.Ordered, o.Capacity.Booting = desired, count("ordered"), count("booting")
		o.Capacity.Idle, o.Capacity.Busy = count("idle"), count("busy")
		o.Capacity.Slots, o.Capacity.BusySlots = count("slots"), count("busy slots")
		o.Capacity.SlotsPerWorker = rapid.SampledFrom([]float64{0, 1, 4, 1e300}).Draw(t, "slots per worker")
		o.Processing = muster.Estimate{Known: rapid.Bool().Draw(t, "measured"), Prior: rapid.Bool().Draw(t, "prior"),
			Count: 9, MeanSeconds: anything().Draw(t, "mean")}
		o.Boot = o.Processing
		if rapid.IntRange(0, 9).Draw(t, "queues") == 0 {
			o.Queues = nil
		}
		return o
	})
}

// junk draws what another policy, or an older one, may have kept under the names of these.
func junk(at time.Time) *rapid.Generator[[]muster.Value] {
	names := []string{everyClock, keptPoint, keptPoints, keptHigh, keptHighActed, keptWarm, keptTarget,
		keptRead, keptSync, keptAt, keptProposal,
		keptFirst, keptPoll, keptActive,
		keptTick, keptScrape, keptLoad, keptFed, keptStable, keptPanicked, keptMost, keptNothing, keptLooked,
		keptBacklog, keptDone, "something else"}
	return rapid.Custom(func(t *rapid.T) []muster.Value {
		var kept []muster.Value
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, muster.MaxKept, rapid.ID).Draw(t,
			"names") {
			kept = append(kept, muster.Value{Name: name,
				Value: rapid.SampledFrom([]float64{0, -1, 3, 1e300, -math.MaxFloat64, seconds(at), seconds(at) - 20,
					seconds(at) + 20}).Draw(t, name)})
		}
		return kept
	})
}

func encoded(t interface{ Fatal(...any) }, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestWhateverAPeerSees(t *testing.T) {
	for _, p := range All() {
		t.Run(p.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				setting := rapid.SampledFrom(p.Sweep).Draw(t, "setting")
				prior := rapid.SampledFrom([]time.Duration{0, time.Millisecond, time.Minute}).Draw(t, "prior")
				of, again := p.Build(setting, prior), p.Build(setting, prior)
				at, desired := t0, rapid.IntRange(0, 30).Draw(t, "desired")
				var recent muster.Recent
				if kept := junk(at).Draw(t, "kept"); len(kept) > 0 {
					recent = muster.Recent{ago(time.Second, desired, desired, kept...)}
				}
				for range 12 {
					o := sights(at, desired).Draw(t, "see")
					d := of.Decide(o, recent)
					sound(t, p, o, d)
					var o2 muster.Observation
					var recent2 muster.Recent
					if err := json.Unmarshal([]byte(encoded(t, o)), &o2); err != nil {
						t.Fatal(err)
					}
					if err := json.Unmarshal([]byte(encoded(t, recent)), &recent2); err != nil {
						t.Fatal(err)
					}
					if a, b := encoded(t, d), encoded(t, again.Decide(o2, recent2)); a != b {
						t.Fatalf("first  %s\nsecond %s", a, b)
					}
					recent = recent.With(d, p.Memory)
					desired = min(d.Desired, 5000)
					at = at.Add(rapid.SampledFrom([]time.Duration{100 * time.Millisecond, time.Second, 10 * time.Second,
						time.Minute, time.Hour}).Draw(t, "later"))
				}
			})
		})
	}
}

// sound checks one decision of a peer.
func sound(t *rapid.T, p Peer, o muster.Observation, d muster.Decision) {
	need, age := required(p.Name)
	unknown := need&needBacklog != 0 && !o.Backlog().Known || need&needInFlight != 0 && !o.InFlight().Known ||
		need&needCapacity != 0 && !o.Capacity.Known || age && !o.OldestAge().Known
	switch {
	case unknown && d.Desired < d.Previous:
		t.Fatalf("fell from %d to %d while a signal it needs is unknown: %s", d.Previous, d.Desired, d.Sentence())
	case unknown && d.Floor < d.Previous:
		t.Fatalf("lets workers leave, down to %d of %d, while a signal is unknown: %s", d.Floor, d.Previous,
			d.Sentence())
	case d.Previous != o.Capacity.Desired || d.Desired < 0 || d.Floor < 0 || d.Floor > d.Desired:
		t.Fatalf("from %d to %d with floor %d", d.Previous, d.Desired, d.Floor)
	case d.Verdict == muster.Hold && d.Desired != d.Previous, (d.Verdict == muster.Hold) != (d.Reason != ""):
		t.Fatalf("%s for %q from %d to %d", d.Verdict, d.Reason, d.Previous, d.Desired)
	case len(d.Trail) == 0 || d.Trail[0].Why == "":
		t.Fatal("a decision that says nothing")
	case len(d.Kept) > muster.MaxKept:
		t.Fatalf("%d numbers kept, at most %d are allowed", len(d.Kept), muster.MaxKept)
	}
	seen := map[string]bool{}
	for _, v := range d.Kept {
		if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) || seen[v.Name] {
			t.Fatalf("kept %q as %v, twice: %v", v.Name, v.Value, seen[v.Name])
		}
		seen[v.Name] = true
	}
}

func TestNoPeerKeepsTheFleetBusyWithNothing(t *testing.T) {
	// An hour of nothing: but for the fixed one, whoever falls at all is at its minimum, and nobody moves any more.
	for _, p := range All() {
		if p.Name == "fixed" {
			continue
		}
		w := newWorld(p.Build(p.Default, time.Second), p.Memory, 0, max(1, p.MinWorkers))
		w.run(3600, always(see{min: p.MinWorkers}))
		if p.Idle(p.Default) == 0 && len(w.ordered) > p.MinWorkers {
			t.Errorf("%s still has %d workers after an hour without work", p.Name, len(w.ordered))
		}
		if got := w.run(600, always(see{min: p.MinWorkers})); len(got) > 0 {
			t.Errorf("%s still changes its size: %v", p.Name, got)
		}
	}
}

func TestEveryPeerServesABacklogInTheEnd(t *testing.T) {
	// From its minimum, a lasting backlog of a hundred: within half an hour everybody has grown.
	for _, p := range All() {
		if p.Name == "fixed" {
			continue
		}
		w := newWorld(p.Build(p.Default, 10*time.Second), p.Memory, 30*time.Second, p.MinWorkers)
		w.run(1800, always(see{backlog: 100, age: 250, min: p.MinWorkers, max: 50, mpd: 10 * time.Second}))
		if len(w.ordered) <= max(1, p.MinWorkers) {
			t.Errorf("%s has %d workers for a backlog of 100", p.Name, len(w.ordered))
		}
	}
}
