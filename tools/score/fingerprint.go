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

// printedByAll is the scenario that everybody plays for a fingerprint.
const printedByAll = "burst-25s"

// printed are those that the policy under test plays besides: bursts, children, bimodal work and work that cannot be
// saved. All of them take about a second.
func printed() []string {
	return []string{"burst-50s", "tree-6x3", "spikes-300", "bimodal-L5", "bimodal-L60"}
}

// fingerprint is a digest of what a few runs come to, to the last digit. Code that decides or simulates otherwise gets
// another one, whatever files it stands in; the same seed gives the same bytes, so code that decides alike gets the
// same wherever it runs. Pages of equal fingerprints may be put together.
func (s *score) fingerprint() (string, error) {
	wanted, err := s.prints(arena.Ours(), printed()...)
	if err != nil {
		return "", err
	}
	for _, r := range slices.Clone(wanted) { // what is decided with nothing stated is another question
		wanted = append(wanted, arena.Request{Event: untold(r.Event), Contender: r.Contender, Seed: r.Seed})
	}
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

// fingerprintOfPeers is that of code that simulates and decides for peers: what the policy under test does is not in
// it.
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

// fingerprintOfBaselines is that of code that simulates and decides for the baselines in drawn worlds, whatever fails
// there.
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

// troubled is a short event with every fault and delay that a drawn world may have.
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

// prints asks for a contender on scenarios, with the first of the design seeds.
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

// digest is one of what runs come to.
func (s *score) digest(wanted []arena.Request) (string, error) {
	found, err := s.All(wanted, false)
	if err != nil {
		return "", fmt.Errorf("play for the fingerprint: %w", err)
	}
	sum := sha256.New()
	for _, o := range found {
		text, err := json.Marshal(o.Result)
		if err != nil {
			return "", fmt.Errorf("write down a run for the fingerprint: %w", err)
		}
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}
