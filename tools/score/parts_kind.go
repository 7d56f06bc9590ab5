package main

import (
	"fmt"
	"slices"

	"github.com/muster-scale/muster/sim/contest"
)

// rescuable is part a.
func (s *score) rescuable() (section, error) {
	kind, _, err := s.sorted("a")
	if err != nil {
		return section{}, err
	}
	found, err := s.attempts(kind, s.seeds)
	found.about = fmt.Sprintf("The scenarios of the suite whose slack ratio k = (L - s - b) / b is above 0, with the "+
		"true quantile s of the work, "+
		"the objective L and the boot time b; %s. The limit is what nobody can beat who knows the future "+
		"([limit.md](limit.md)); "+
		"between a load of one and two workers only the geometric mean counts.", seedWords(s.seeds))
	return found, err
}

// attempted is what the policy comes to on the scenarios of part a.
func (s *score) attempted() ([]attempt, error) {
	kind, _, err := s.sorted("a")
	if err != nil {
		return nil, err
	}
	figures, _, err := s.figures(pairs(kind), s.seeds, true)
	var all []attempt
	for i, f := range figures {
		all = append(all, kind[i].attempt(f))
	}
	return all, err
}

// toldNote says what the two kinds of runs in a table are.
const toldNote = "Told nothing is the policy as it is configured by default: neither the mean duration nor the boot " +
	"time is stated, and it learns both. The other figures, which are judged, are of the policy that is told " +
	"the true ones."

// attempts plays the policy on events and judges them as rescuable ones.
func (s *score) attempts(all []circumstances, seeds []uint64) (section, error) {
	var found section
	figures, runs, err := s.figures(pairs(all), seeds, true)
	if err != nil {
		return found, err
	}
	untold, err := s.toldNothing(all, seeds, runs)
	if err != nil {
		return found, err
	}
	t := table{head: []string{"event", "k", "load in workers", "told nothing: in time, least", "cost over limit, mean",
		"told: in time, least", "mean", "cost over limit, mean", "most", "p50", "p99", "most workers, mean"}}
	var attempts []attempt
	for i, c := range all {
		f, u := figures[i], untold[i]
		attempts = append(attempts, c.attempt(f))
		t.add(c.event.Name, number(c.slack), c.load(), percent(u.InTimeLeast), multiple(u.RatioMean),
			percent(f.InTimeLeast), percent(f.InTimeMean), multiple(f.RatioMean), multiple(f.RatioMost),
			span(f.P50), span(f.P99), number(f.PeakWorkers))
	}
	found.goals = judgeRescuable(attempts)
	found.goals = append(found.goals, brokenPromises(append(figures, untold...))...)
	found.tables, found.notes = append(found.tables, t), append(found.notes, toldNote)
	return found, nil
}

// brokenPromises adds a goal only where the simulator found one: then no figure means anything.
func brokenPromises(all []figure) []goal {
	for _, f := range all {
		if f.broken > 0 {
			return []goal{judged("promises that the simulator checks", "none broken",
				fmt.Sprintf("%d broken", f.broken), []string{f.Event + ": run it with `muster simulate` to see which"})}
		}
	}
	return nil
}

// peersInHindsight is part b.
func (s *score) peersInHindsight() (section, error) {
	found := section{about: fmt.Sprintf("Each peer of [peers.md](peers.md) has its main setting swept on seeds 1 to "+
		"5, and gets the one that costs least and keeps %s there. "+
		"The best peer is the cheapest of those so tuned that also keeps it on the seeds that are judged, %s. A peer "+
		"that is tuned so for each trace by "+
		"who has seen it is not what anybody runs; `deadline` has one configuration for all.", percent(objectiveShare),
		seedWords(s.seeds))}
	t := table{head: []string{"event", "best tuned peer", "its share in time", "deadline's, mean", "least",
		"cost over the peer's"}}
	var duels []duel
	for _, x := range s.scenarios["b"] {
		e := contest.Told(contest.Scenario(x))
		best, err := s.bestPeer(e)
		if err != nil {
			return found, err
		}
		figures, _, err := s.figures([]request{{event: e, contender: ours()}}, s.seeds, false)
		if err != nil {
			return found, err
		}
		f := figures[0]
		d := duel{event: e.Name, mean: f.InTimeMean}
		if best == nil {
			t.add(e.Name, "none keeps "+percent(objectiveShare), "-", percent(f.InTimeMean), percent(f.InTimeLeast),
				"-")
		} else {
			d.peer, d.ratio = best.contender.Name, f.WorkerSeconds*float64(f.Runs)/best.cost()
			t.add(e.Name, described(best.contender), percent(best.inTime()/float64(f.Runs)), percent(f.InTimeMean),
				percent(f.InTimeLeast), multiple3(d.ratio))
		}
		duels = append(duels, d)
	}
	found.goals, found.tables = judgePeers(duels), []table{t}
	return found, nil
}

// bestPeer returns the cheapest tuned peer that keeps the share, or nil.
func (s *score) bestPeer(e contest.Event) (*entrant, error) {
	all, err := s.tune(e, []float64{objectiveShare})
	if err != nil {
		return nil, err
	}
	var field []contest.Contender
	for _, t := range all {
		if t.kept {
			field = append(field, t.peer)
		}
	}
	if len(field) == 0 {
		return nil, nil
	}
	winners, err := s.race(e, field, s.seeds, []float64{objectiveShare})
	if err != nil || !keeps(winners[0], objectiveShare) {
		return nil, err
	}
	return winners[0], nil
}

// described names a peer with its setting.
func described(c contest.Contender) string {
	if c.Setting == "" {
		return c.Name
	}
	return fmt.Sprintf("%s, %s %g", c.With(c.Value).Name, c.Setting, c.Value)
}

// shares are the shares in time at which a peer may be better.
func shares() []float64 { return []float64{0.95, 0.98, 0.99, 0.995} }

// unrescuable is part d.
func (s *score) unrescuable() (section, error) {
	_, kind, err := s.sorted("d")
	found := section{about: fmt.Sprintf("The scenarios with k of 0 or below: only workers that are there already "+
		"save a message; %s. At each share of 95, 98, 99 and 99.5 %% as "+
		"objective, every peer stands at its default and at the setting that is best in hindsight for this share "+
		"(seeds 1 to 5); worker-seconds and shares are "+
		"means over the seeds. No peer may be both cheaper and better.", seedWords(s.seeds))}
	if err != nil {
		return found, err
	}
	t := table{head: []string{"event", "objective", "deadline in time, mean", "least", "cost over limit, mean",
		"peers both cheaper and better"}}
	var all []rival
	var events []string
	for _, c := range kind {
		events = append(events, c.event.Name)
		mine, rows, err := s.rivals(c.event)
		if err != nil {
			return found, err
		}
		all = append(all, mine...)
		t.rows = append(t.rows, rows...)
	}
	found.goals, found.tables = judgeRivals(events, all), []table{t}
	err = s.warmPool(kind, &found)
	return found, err
}

// rivals plays every peer, at its default and tuned for each share, beside the policy with that share as its objective.
func (s *score) rivals(e contest.Event) ([]rival, [][]string, error) {
	choices, err := s.tune(e, shares())
	if err != nil {
		return nil, nil, err
	}
	var all []rival
	var rows [][]string
	for _, share := range shares() {
		asked := e
		asked.Objective.Quantile = share
		if share != e.Objective.Quantile {
			asked.Name = fmt.Sprintf("%s at %s", e.Name, percent(share))
		}
		own, _, err := s.figures([]request{{event: asked, contender: ours()}}, s.seeds, true)
		if err != nil {
			return nil, nil, err
		}
		// The peers know no share: what they do is the same for each.
		var field []request
		for _, p := range s.peers {
			field = append(field, request{event: e, contender: p})
		}
		for _, t := range choices {
			if t.share == share && !slices.ContainsFunc(field,
				func(r request) bool { return described(r.contender) == described(t.peer) }) {
				field = append(field, request{event: e, contender: t.peer})
			}
		}
		theirs, _, err := s.figures(field, s.seeds, false)
		if err != nil {
			return nil, nil, err
		}
		row := []string{e.Name, percent(share), percent(own[0].InTimeMean), percent(own[0].InTimeLeast),
			multiple(own[0].RatioMean), ""}
		for i, f := range theirs {
			r := rival{event: e.Name, peer: described(field[i].contender), share: share, inTime: f.InTimeMean,
				cost:       f.WorkerSeconds,
				oursInTime: own[0].InTimeMean, oursCost: own[0].WorkerSeconds}
			if all = append(all, r); r.dominates() {
				row[5] += fmt.Sprintf("%s (%s); ", r.peer, percent(r.inTime))
			}
		}
		rows = append(rows, row)
	}
	return all, rows, nil
}
