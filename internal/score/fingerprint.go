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
	wanted, err := s.prints(ours(), printed()...)
	if err != nil {
		return "", err
	}
	for _, c := range contest.All() {
		one, err := s.prints(c, printedByAll)
		if err != nil {
			return "", err
		}
		wanted = append(wanted, one...)
	}
	return s.digest(wanted)
}

// fingerprintOfPeers is that of code that simulates and decides for peers: what the policy under test does is not in it.
func (s *score) fingerprintOfPeers() (string, error) {
	var wanted []request
	for _, c := range s.peers {
		some, err := s.prints(c, append(printed(), printedByAll)...)
		if err != nil {
			return "", err
		}
		wanted = append(wanted, some...)
	}
	return s.digest(wanted)
}

// prints asks for a contender on scenarios, with the first of the design seeds.
func (s *score) prints(c contest.Contender, scenarios ...string) ([]request, error) {
	var wanted []request
	for _, name := range scenarios {
		x, ok := trace.FindScenario(name)
		if !ok {
			return nil, fmt.Errorf("the scenario %s is gone", name)
		}
		wanted = append(wanted, request{contest.Scenario(x), c, s.design[0]})
	}
	return wanted, nil
}

// digest is one of what runs come to.
func (s *score) digest(wanted []request) (string, error) {
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
