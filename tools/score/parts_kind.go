package main

import (
	"fmt"
	"slices"

	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/tools/score/arena"
	"github.com/muster-scale/muster/tools/score/report"
)

// Parts a, b and d. Scenarios are divided by their slack ratio k: above 0, a worker that is launched for a message
// still finishes it in time, so the goal is to be in time and cheap (a). At 0 or below, only idle workers help, and the
// goal is that no peer is both cheaper and better (d). Part b compares with tuned peers on all of them.

// rescuable is part a: scenarios in which a launch still saves a message.
func (s *score) rescuable() (report.Section, error) {
	kind, _, err := s.sorted("a")
	if err != nil {
		return report.Section{}, err
	}
	found, err := s.attempts(kind, s.seeds)
	found.About = fmt.Sprintf("The scenarios of the suite whose slack ratio k = (L - s - b) / b "+
		"is above 0. Here s is the true quantile of the work, L the objective, and b the boot time; %s. The "+
		"limit is the lower bound of any schedule, even of one that knows the future ([limit.md](limit.md)). "+
		"Between a load of one and two workers only the geometric mean counts.", seedWords(s.seeds))
	return found, err
}

// attempted is the result of the policy on the scenarios of part a. Part g needs it for a mean over both; the arena
// makes no run twice.
func (s *score) attempted() ([]attempt, error) {
	kind, _, err := s.sorted("a")
	if err != nil {
		return nil, err
	}
	figures, _, err := s.Figures(pairs(kind), s.seeds, true)
	var all []attempt
	for i, f := range figures {
		all = append(all, kind[i].attempt(f))
	}
	return all, err
}

// toldNote says what the two kinds of runs in a table are.
const toldNote = "Told nothing is the policy with its default configuration: neither the mean " +
	"duration nor the boot time is stated, and it learns both. The other figures, which are judged, are of a " +
	"configuration that states both truly."

// attempts plays the policy on events, told and untold, and judges the told runs as in part a.
func (s *score) attempts(all []circumstances, seeds []uint64) (report.Section, error) {
	var found report.Section
	figures, runs, err := s.Figures(pairs(all), seeds, true)
	if err != nil {
		return found, err
	}
	// After the told runs, whose limits it takes.
	untold, err := s.toldNothing(all, seeds, runs)
	if err != nil {
		return found, err
	}
	t := report.Table{Head: []string{"event", "k", "load in workers", "told nothing: in time, least",
		"cost over limit, mean",
		"told: in time, least", "mean", "cost over limit, mean", "most", "p50", "p99", "most workers, mean"}}
	var attempts []attempt
	for i, c := range all {
		f, u := figures[i], untold[i]
		attempts = append(attempts, c.attempt(f))
		t.Add(c.event.Name, report.Number(c.slack), c.load(), report.Percent(u.InTimeLeast),
			report.Multiple(u.RatioMean),
			report.Percent(f.InTimeLeast), report.Percent(f.InTimeMean), report.Multiple(f.RatioMean),
			report.Multiple(f.RatioMost), report.Span(f.P50), report.Span(f.P99), report.Number(f.PeakWorkers))
	}
	found.Goals = judgeRescuable(attempts)
	found.Goals = append(found.Goals, arena.BrokenPromises(append(figures, untold...))...)
	found.Tables, found.Notes = append(found.Tables, t), append(found.Notes, toldNote)
	return found, nil
}

// peersInHindsight is part b: the policy next to the best of the other autoscalers, each tuned on the trace itself.
func (s *score) peersInHindsight() (report.Section, error) {
	found := report.Section{About: fmt.Sprintf("Each peer of [peers.md](peers.md) has its main "+
		"setting swept on seeds 1 to 5, and gets the cheapest value that keeps %s there. The best peer is the "+
		"cheapest of these that also keeps it on the judged seeds, %s. No user tunes a peer for each trace in "+
		"hindsight; `deadline` has one configuration for all.",
		report.Percent(report.ObjectiveShare), seedWords(s.seeds))}
	t := report.Table{Head: []string{"event", "best tuned peer", "its share in time", "deadline's, mean", "least",
		"cost over the peer's"}}
	var duels []duel
	for _, x := range s.scenarios["b"] {
		// Peers have no use for a stated duration, except those whose rule has a place for it.
		e := contest.Told(contest.Scenario(x))
		best, err := s.bestPeer(e)
		if err != nil {
			return found, err
		}
		figures, _, err := s.Figures([]arena.Request{{Event: e, Contender: arena.Ours()}}, s.seeds, false)
		if err != nil {
			return found, err
		}
		f := figures[0]
		d := duel{event: e.Name, mean: f.InTimeMean}
		// No peer keeps the share: the event counts in no goal, but has a row.
		if best == nil {
			t.Add(e.Name, "none keeps "+report.Percent(report.ObjectiveShare), "-", report.Percent(f.InTimeMean),
				report.Percent(f.InTimeLeast), "-")
		} else {
			// Figures are means over the runs, an entrant has sums.
			d.peer, d.ratio = best.Contender.Name, f.WorkerSeconds*float64(f.Runs)/best.Cost()
			t.Add(e.Name, arena.Described(best.Contender), report.Percent(best.InTime()/float64(f.Runs)),
				report.Percent(f.InTimeMean), report.Percent(f.InTimeLeast), report.Multiple3(d.ratio))
		}
		duels = append(duels, d)
	}
	found.Goals, found.Tables = judgePeers(duels), []report.Table{t}
	return found, nil
}

// bestPeer returns the cheapest tuned peer that keeps the share on the judged seeds, or nil. Peers that did not keep it
// on the seeds they were tuned on are left out.
func (s *score) bestPeer(e contest.Event) (*arena.Entrant, error) {
	all, err := s.Tune(e, s.peers, s.design, []float64{report.ObjectiveShare})
	if err != nil {
		return nil, err
	}
	var field []contest.Contender
	for _, t := range all {
		if t.Kept {
			field = append(field, t.Peer)
		}
	}
	if len(field) == 0 {
		return nil, nil
	}
	winners, err := s.Race(e, field, s.seeds, []float64{report.ObjectiveShare})
	if err != nil || !arena.Keeps(winners[0], report.ObjectiveShare) {
		return nil, err
	}
	return winners[0], nil
}

// shares are the shares in time at which part d compares.
func shares() []float64 { return []float64{0.95, 0.98, 0.99, 0.995} }

// unrescuable is part d: scenarios in which no launch saves a message. Only workers that are there already help, so
// being in time costs idle workers, and a policy is judged by whether another one is better at both.
func (s *score) unrescuable() (report.Section, error) {
	_, kind, err := s.sorted("d")
	found := report.Section{About: fmt.Sprintf("The scenarios with k of 0 or below: only workers that run "+
		"already save a message; %s. For each objective of 95, 98, 99 and 99.5 %% every peer has its default "+
		"setting and the setting that is best in hindsight for this share (seeds 1 to 5). Worker-seconds and "+
		"shares are means over the seeds. No peer may be both cheaper and better.", seedWords(s.seeds))}
	if err != nil {
		return found, err
	}
	t := report.Table{Head: []string{"event", "objective", "deadline in time, mean", "least", "cost over limit, mean",
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
		t.Rows = append(t.Rows, rows...)
	}
	found.Goals, found.Tables = judgeRivals(events, all), []report.Table{t}
	err = s.warmPool(kind, &found)
	return found, err
}

// rivals plays every peer, at its default and tuned for each share, and the policy with that share as its objective. It
// returns the comparisons and the rows of the table.
func (s *score) rivals(e contest.Event) ([]rival, [][]string, error) {
	choices, err := s.Tune(e, s.peers, s.design, shares())
	if err != nil {
		return nil, nil, err
	}
	var all []rival
	var rows [][]string
	for _, share := range shares() {
		// The policy gets the share as its objective.
		asked := e
		asked.Objective.Quantile = share
		if share != e.Objective.Quantile {
			asked.Name = fmt.Sprintf("%s at %s", e.Name, report.Percent(share))
		}
		own, _, err := s.Figures([]arena.Request{{Event: asked, Contender: arena.Ours()}}, s.seeds, true)
		if err != nil {
			return nil, nil, err
		}
		// Peers have no objective, so their runs are the same for every share.
		var field []arena.Request
		for _, p := range s.peers {
			field = append(field, arena.Request{Event: e, Contender: p})
		}
		// The tuned peers of this share, unless tuning chose the default.
		for _, t := range choices {
			if t.Share == share && !slices.ContainsFunc(field,
				func(r arena.Request) bool { return arena.Described(r.Contender) == arena.Described(t.Peer) }) {
				field = append(field, arena.Request{Event: e, Contender: t.Peer})
			}
		}
		theirs, _, err := s.Figures(field, s.seeds, false)
		if err != nil {
			return nil, nil, err
		}
		row := []string{e.Name, report.Percent(share), report.Percent(own[0].InTimeMean),
			report.Percent(own[0].InTimeLeast), report.Multiple(own[0].RatioMean), ""}
		for i, f := range theirs {
			r := rival{event: e.Name, peer: arena.Described(field[i].Contender), share: share, inTime: f.InTimeMean,
				cost:       f.WorkerSeconds,
				oursInTime: own[0].InTimeMean, oursCost: own[0].WorkerSeconds}
			if all = append(all, r); r.dominates() {
				row[5] += fmt.Sprintf("%s (%s); ", r.peer, report.Percent(r.inTime))
			}
		}
		rows = append(rows, row)
	}
	return all, rows, nil
}
