package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-scale/muster/tools/score/report"
)

func verdicts(goals []report.Goal) string {
	var all []string
	for _, g := range goals {
		all = append(all, g.String())
	}
	return strings.Join(all, " | ")
}

func TestRescuableGoals(t *testing.T) {
	busy := func(least, ratio float64) attempt {
		return attempt{event: "busy", workers: 2, least: least, mean: 1, ratio: ratio}
	}
	for _, x := range []struct {
		name string
		all  []attempt
		want string
	}{
		{"no events", nil, ""},
		{"just met", []attempt{busy(0.99, 1.07)}, "99 % at least | 1.070 x at most | 1.070 x"},
		{"a hair late", []attempt{busy(0.98999, 1.07)}, "98.999 % at least NOT busy has 98.999 % | 1.070 x at most | " +
			"1.070 x"},
		{"costly", []attempt{busy(1, 1.151), {event: "cheap", workers: 9, least: 1, ratio: 1}},
			"100 % at least | 1.151 x at most NOT busy costs 1.151 x | 1.073 x " +
				"NOT the most: busy 1.15 x, cheap 1.00 x"},
		{"below one worker", []attempt{{event: "seldom", workers: 0.9, least: 1, ratio: 1.2},
			{event: "cheap", workers: 3, least: 1, ratio: 0.9}},
			"100 % at least | 0.900 x at most | 1.200 x at most | 1.039 x"},
		{"a burst that costs too much", []attempt{{event: "burst", burst: true, workers: 0, least: 1, ratio: 1.26}},
			"100 % at least | 1.260 x at most NOT burst costs 1.260 x | 1.260 x NOT the most: burst 1.26 x"},
		{"between one and two workers only the mean counts",
			[]attempt{{event: "middle", workers: 1.5, least: 1, ratio: 1.3},
				{event: "cheap", workers: 3, least: 1, ratio: 0.8}},
			"100 % at least | 0.800 x at most | 1.020 x"},
	} {
		if got := verdicts(judgeRescuable(x.all)); got != x.want {
			t.Errorf("%s:\nfound %s\nwant  %s", x.name, got, x.want)
		}
	}
}

func TestPeerGoals(t *testing.T) {
	for _, x := range []struct {
		name string
		all  []duel
		want string
	}{
		{"no peer keeps it", []duel{{event: "hard", mean: 0.9}}, ""},
		{"cheaper in the mean, and one at the bound", []duel{{"a", "keda*", 0.99, 1.10}, {"b", "kpa*", 1, 0.90}},
			"1.000 x | 1.100 x | 2 of 2"},
		{"dearer, late, and one without a peer", []duel{{"a", "keda*", 0.98, 1.2}, {"b", "", 0.5, 0}},
			"1.200 x NOT the peers are cheaper in the mean; see the table | 1.200 x NOT a costs 1.200 x keda* | 0 of " +
				"1 NOT a: 98 %, and keda* keeps it"},
	} {
		if got := verdicts(judgePeers(x.all)); got != x.want {
			t.Errorf("%s:\nfound %s\nwant  %s", x.name, got, x.want)
		}
	}
}

func TestBurstGoals(t *testing.T) {
	got := verdicts(judgeBursts([]burst{{"b", 1, 1, 1.10, "1.000 x"}, {"b", 1, 0.98, 1.101, "1.000 x"},
		{"b", 2, 1, 1.3, "1.191 x"}}))
	want := "100 %, 1.100 x | 98 %, 1.101 x NOT only 98 % in time, costs 1.101 x | 100 %, 1.300 x NOT costs 1.300 x, " +
		"the stated duration is 2 times the true one, and the lower bound is 1.191 x"
	if got != want {
		t.Errorf("found %s\nwant  %s", got, want)
	}
}

func TestRivalGoals(t *testing.T) {
	peer := func(inTime, cost float64) rival {
		return rival{event: "e", peer: "p", inTime: inTime, cost: cost, oursInTime: 0.95, oursCost: 100}
	}
	for _, x := range []struct {
		name string
		all  []rival
		want string
	}{
		{"nobody", nil, "none"},
		{"better and as dear", []rival{peer(0.96, 100)}, "none"},
		{"cheaper and as good", []rival{peer(0.95, 90)}, "none"},
		{"both, named once", []rival{peer(0.96, 90), peer(0.96, 90)}, "1 NOT p (96 % at 0.90 x of our cost)"},
		{"on another event", []rival{{event: "other", peer: "p", inTime: 1, cost: 1, oursInTime: 0.9, oursCost: 2}},
			"none"},
	} {
		if got := verdicts(judgeRivals([]string{"e"}, x.all)); got != x.want {
			t.Errorf("%s: found %s, want %s", x.name, got, x.want)
		}
	}
}

func TestWarmGoals(t *testing.T) {
	got := verdicts(judgeWarm([]attempt{{event: "a", mean: 0.99, ratio: 1.5},
		{event: "b", mean: 0.989, ratio: 1.501, ceiling: 0.999}, {event: "c", mean: 0.98, ratio: 1.5, ceiling: 0.983}}))
	want := "99 %, 1.500 x | 98.9 %, 1.501 x NOT too few in time, too costly | 98 %, 1.500 x NOT too few in time " +
		"(without a worker before the first message, 98.3 % is the most)"
	if got != want {
		t.Errorf("found %s\nwant  %s", got, want)
	}
}

func TestDropGoals(t *testing.T) {
	for _, x := range []struct {
		name string
		all  []drop
		want string
	}{
		{"half a point", []drop{{"e", 6, 0.5, 0.495}}, "0.50 points"},
		{"better than before", []drop{{"e", 6, 0.9, 1}}, "-10.00 points"},
		{"the worst run counts", []drop{{"e", 6, 1, 1}, {"e", 7, 1, 0.99}}, "1.00 points NOT e, seed 7: 1.00 points"},
	} {
		if got := fmt.Sprint(judgeDrops("x", x.all)); got != x.want {
			t.Errorf("%s: found %s, want %s", x.name, got, x.want)
		}
	}
	many := make([]drop, 8)
	for i := range many {
		many[i] = drop{"e", uint64(i), 1, 0}
	}
	if g := judgeDrops("x", many); !strings.HasSuffix(g.Why, "and 2 more") {
		t.Errorf("found %s, want six runs and how many more", g.Why)
	}
}

// A figure that is not a number must not count as met.
func TestNoFigureIsNotMet(t *testing.T) {
	zero := 0.0
	none := zero / zero
	for _, goals := range [][]report.Goal{
		judgeRescuable([]attempt{{event: "e", workers: 3, least: none, ratio: none}}),
		judgePeers([]duel{{"e", "p", none, none}}), judgeBursts([]burst{{"e", 1, none, none, "-"}}),
		judgeWarm([]attempt{{event: "e", mean: none, ratio: none}}),
		{judgeDrops("x", []drop{{"e", 6, none, 1}})},
	} {
		for _, g := range goals {
			if g.Met {
				t.Errorf("%s: found met with %s", g.What, g.Found)
			}
		}
	}
}
