package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/trace"
)

// printedByAll is the scenario that everybody plays for a fingerprint.
const printedByAll = "burst-25s"

// printed are those that the policy under test plays besides: bursts, children, bimodal work and work that cannot be saved. All
// of them take about a second.
func printed() []string {
	return []string{"burst-50s", "tree-6x3", "spikes-300", "bimodal-L5", "bimodal-L60"}
}

// fingerprint is a digest of what a few runs come to, to the last digit. Code that decides or simulates otherwise gets
// another one, whatever files it stands in; the same seed gives the same bytes, so code that decides alike gets the same
// wherever it runs. Pages of equal fingerprints may be put together.
func (s *score) fingerprint() (string, error) {
	seed := s.design[0]
	var wanted []request
	for _, name := range printed() {
		x, ok := trace.FindScenario(name)
		if !ok {
			return "", fmt.Errorf("the scenario %s is gone", name)
		}
		wanted = append(wanted, request{contest.Scenario(x), ours(), seed})
	}
	x, ok := trace.FindScenario(printedByAll)
	if !ok {
		return "", fmt.Errorf("the scenario %s is gone", printedByAll)
	}
	for _, c := range contest.All() {
		wanted = append(wanted, request{contest.Scenario(x), c, seed})
	}
	found, err := s.all(wanted, false)
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
