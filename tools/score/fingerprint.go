package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
	"github.com/muster-scale/muster/tools/score/arena"
	"github.com/muster-scale/muster/tools/score/report"
)

// Fingerprints tell whether code decides and simulates alike. They are made of results and not of source files: a
// renamed variable changes nothing, and a changed constant changes every digit. Three of them cover different code: all
// of it, that of peers, and that of baselines in drawn worlds.

// printedByAll is the scenario that every contender plays for a fingerprint.
const printedByAll = "burst-25s"

// printed are the scenarios that the policy under test plays besides: bursts, children, bimodal work, and work that
// cannot be saved. They are short: all take about a second.
func printed() []string {
	return []string{"burst-50s", "tree-6x3", "spikes-300", "bimodal-L5", "bimodal-L60"}
}

// fingerprint is a digest of the results of some runs, to the last digit. The same seed gives the same bytes, so code
// that decides and simulates alike has the same fingerprint, whatever its files look like, and any other code has
// another. Pages with equal fingerprints may be joined.
func (s *score) fingerprint() (string, error) {
	wanted, err := s.prints(arena.Ours(), printed()...)
	if err != nil {
		return "", err
	}
	for _, r := range slices.Clone(wanted) { // an untold policy learns, which is other code
		wanted = append(wanted, arena.Request{Event: untold(r.Event), Contender: r.Contender, Seed: r.Seed})
	}
	// Faults run code that no scenario does.
	wanted = append(wanted, arena.Request{Event: troubled(), Contender: arena.Ours(), Seed: s.design[0]})
	for _, c := range contest.All() {
		one, err := s.prints(c, printedByAll)
		if err != nil {
			return "", err
		}
		wanted = append(wanted, one...)
	}
	return s.digest(wanted)
}

// fingerprintOfPeers is the fingerprint of the code that simulates and decides for peers. A change of the policy under
// test leaves it alone, so the cached runs of peers stay valid.
func (s *score) fingerprintOfPeers() (string, error) {
	var wanted []arena.Request
	for _, c := range s.peers {
		some, err := s.prints(c, append(printed(), printedByAll)...)
		if err != nil {
			return "", err
		}
		wanted = append(wanted, some...)
	}
	return s.digest(wanted)
}

// fingerprintOfBaselines is the fingerprint of the code that simulates and decides for the baselines in drawn worlds.
// It includes a run with every fault, because drawn worlds have them.
func (s *score) fingerprintOfBaselines() (string, error) {
	baselines, err := s.drawn.Baselines()
	if err != nil {
		return "", err
	}
	var wanted []arena.Request
	for _, c := range baselines {
		some, err := s.prints(c, append(printed(), printedByAll)...)
		if err != nil {
			return "", err
		}
		wanted = append(append(wanted, some...), arena.Request{Event: troubled(), Contender: c, Seed: s.design[0]})
	}
	return s.digest(wanted)
}

// troubled is a short event with every kind of fault and delay that a drawn world may have.
func troubled() contest.Event {
	const s = time.Second
	return contest.Event{
		Name: "every fault", Objective: muster.Objective{Latency: 2 * time.Minute, Quantile: report.ObjectiveShare},
		Poll:   5 * s,
		Limits: muster.Limits{Max: 30, LaunchesPerHour: contest.LaunchesPerHour},
		World: world.World{
			Slots: 2, Boot: world.Draw{Mean: 20 * s, CV: 0.3}, Classes: true, Poison: 0.05, RetryBase: 5 * s,
			MaxReceives: 3, Visibility: 30 * s,
			Report: world.Draw{Mean: s, CV: 0.5}, ReportEvery: 2 * s, Wakes: true, Wake: s / 10, Stale: 15 * s,
			CountsOnly: true, Approximate: 0.2, LaunchFails: 0.1,
			Spot: world.Spot{Share: 1, Interruptions: 1, Notice: 2 * time.Minute}, Crashes: 1, Random: true,
			Congestion: 0.5,
		},
		Trace: func(seed uint64) (trace.Trace, error) {
			return trace.Generate("bimodal:rate=0.5,duration=20m,service=2s,to=20s,share=0.3", seed)
		},
	}
}

// prints returns the runs of a contender on scenarios for a fingerprint, with the first design seed.
func (s *score) prints(c contest.Contender, scenarios ...string) ([]arena.Request, error) {
	var wanted []arena.Request
	for _, name := range scenarios {
		x, ok := trace.FindScenario(name)
		if !ok {
			return nil, fmt.Errorf("the scenario %s is gone", name)
		}
		wanted = append(wanted, arena.Request{Event: contest.Told(contest.Scenario(x)), Contender: c,
			Seed: s.design[0]})
	}
	return wanted, nil
}

// digest makes the runs and returns a hash of their results.
func (s *score) digest(wanted []arena.Request) (string, error) {
	found, err := s.All(wanted, false)
	if err != nil {
		return "", fmt.Errorf("play for the fingerprint: %w", err)
	}
	// Eight bytes are enough to tell versions apart.
	sum := sha256.New()
	// The requests have a fixed order, so the digest has, too.
	for _, o := range found {
		text, err := json.Marshal(o.Result)
		if err != nil {
			return "", fmt.Errorf("write down a run for the fingerprint: %w", err)
		}
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}
