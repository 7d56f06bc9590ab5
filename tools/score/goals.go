package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/muster-scale/muster/tools/score/report"
)

// The judge functions turn figures into goals. They play nothing, so tests can check them with made-up figures.
// Conditions are written as !(x <= y) and not as x > y: a figure that is not a number then misses its goal.

// The goals. Shares are of all messages, costs are multiples.
const (
	// mostBusy and mostSeldom bound the cost over the clairvoyant limit: with a load of busyWorkers or more, and below
	// seldomWorkers or for a single burst. mostGeometric bounds the geometric mean.
	mostBusy, mostSeldom, mostGeometric = 1.15, 1.25, 1.07
	seldomWorkers                       = 1
	// mostMeanPeer and mostWorstPeer bound the cost over the best tuned peer.
	mostMeanPeer, mostWorstPeer = 1.00, 1.10
	// mostBurst bounds the cost of a single burst over the causal optimum.
	mostBurst = 1.10
	// mostWarm bounds the cost over the limit with a warm pool.
	mostWarm = 1.50
	// mostDrop bounds what may be lost of the share in time.
	mostDrop = 0.005
)

// attempt is the result of the policy on one event, as it is judged.
type attempt struct {
	event string
	// workers is the load in busy workers; a single burst has none.
	workers float64
	burst   bool
	// least and mean are shares in time over the seeds, ratio is the mean cost over the limit.
	least, mean, ratio float64
	// ceiling is the largest share in time of any schedule without a worker before the first message; zero where it was
	// not computed.
	ceiling float64
	// beside says, after "too costly", what other autoscalers cost; it may be empty.
	beside string
}

// limitOf is the largest allowed cost over the limit; zero where only the geometric mean counts. A small load may cost
// more, because a single worker is the least that serves it.
func (x attempt) limitOf() float64 {
	switch {
	case x.burst || x.workers < seldomWorkers:
		return mostSeldom
	case x.workers >= report.BusyWorkers:
		return mostBusy
	}
	return 0
}

// judgeRescuable judges events in which a launch that follows a message still finishes it in time. Every event must be
// in time on its worst seed; costs are judged on the mean of the seeds.
func judgeRescuable(all []attempt) []report.Goal {
	if len(all) == 0 {
		return nil
	}
	// The worst figures of all events, which the page shows even when they are met.
	least, most, seldom := 1.0, 0.0, 0.0
	var late, costly, costlySeldom []string
	busyOnes, seldomOnes := 0, 0
	for _, x := range all {
		least = min(least, x.least)
		// The objective is 99 % in every event of these parts.
		if !(x.least >= report.ObjectiveShare) {
			late = append(late, fmt.Sprintf("%s has %s", x.event, report.Percent(x.least)))
		}
		// 0 leaves the cost of this event to the geometric mean.
		allowed := x.limitOf()
		over := allowed > 0 && !(x.ratio <= allowed)
		said := fmt.Sprintf("%s costs %s", x.event, report.Multiple3(x.ratio))
		switch allowed {
		case mostSeldom:
			seldomOnes++
			seldom = max(seldom, x.ratio)
			if over {
				costlySeldom = append(costlySeldom, said)
			}
		case mostBusy:
			busyOnes++
			most = max(most, x.ratio)
			if over {
				costly = append(costly, said)
			}
		}
	}
	goals := []report.Goal{report.Judged("in time, least of the seeds, on each",
		">= "+report.Percent(report.ObjectiveShare), report.Percent(least)+
			" at least", late)}
	if busyOnes > 0 {
		goals = append(goals, report.Judged("cost over the limit, mean, on each with a load of two workers or more",
			"<= "+report.Multiple(mostBusy), report.Multiple3(most)+" at most", costly))
	}
	if seldomOnes > 0 {
		goals = append(goals, report.Judged("the same below one worker, and for single bursts",
			"<= "+report.Multiple(mostSeldom),
			report.Multiple3(seldom)+" at most", costlySeldom))
	}
	return append(goals, judgeMean("cost over the limit, geometric mean", all))
}

// judgeMean judges the geometric mean of the costs over the limit. A mean of ratios is geometric, so that twice and
// half cancel out.
func judgeMean(what string, all []attempt) report.Goal {
	logs := 0.0
	for _, x := range all {
		logs += math.Log(x.ratio)
	}
	mean := math.Exp(logs / float64(len(all)))
	var missed []string
	if !(mean <= mostGeometric) {
		missed = []string{"the most: " + costliest(all)}
	}
	return report.Judged(what, "<= "+report.Multiple(mostGeometric), report.Multiple3(mean), missed)
}

// costliest names the three events with the highest cost, for a goal that is missed.
func costliest(all []attempt) string {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(x, y attempt) int {
		switch {
		case x.ratio > y.ratio:
			return -1
		case x.ratio < y.ratio:
			return 1
		}
		return 0
	})
	var names []string
	for _, x := range all[:min(3, len(all))] {
		names = append(names, fmt.Sprintf("%s %s", x.event, report.Multiple(x.ratio)))
	}
	return strings.Join(names, ", ")
}

// duel compares the policy with the best of the tuned peers on one event. peer is empty when no peer keeps the share.
type duel struct {
	event, peer string
	// mean is the policy's share in time, ratio its worker-seconds over the peer's.
	mean, ratio float64
}

// judgePeers judges duels. An event in which no peer keeps the share counts in none of the goals.
func judgePeers(all []duel) []report.Goal {
	sum, worst, n := 0.0, 0.0, 0
	var costly, late []string
	for _, d := range all {
		if d.peer == "" {
			continue
		}
		n++
		sum += d.ratio
		worst = max(worst, d.ratio)
		if !(d.ratio <= mostWorstPeer) {
			costly = append(costly, fmt.Sprintf("%s costs %s %s", d.event, report.Multiple3(d.ratio), d.peer))
		}
		if !(d.mean >= report.ObjectiveShare) {
			said := fmt.Sprintf("%s: %s, and %s keeps it", d.event, report.Percent(d.mean), d.peer)
			// A fixed number of workers has paid all day for being ready.
			if strings.HasPrefix(d.peer, "fixed") {
				said += ", which is there before the first message"
			}
			late = append(late, said)
		}
	}
	if n == 0 {
		return nil
	}
	mean := sum / float64(n)
	var missed []string
	if !(mean <= mostMeanPeer) {
		missed = []string{"the peers are cheaper in the mean; see the table"}
	}
	return []report.Goal{
		report.Judged("worker-seconds over the best tuned peer, mean of the scenarios",
			"<= "+report.Multiple(mostMeanPeer),
			report.Multiple3(mean), missed),
		report.Judged("the same, worst scenario", "<= "+report.Multiple(mostWorstPeer), report.Multiple3(worst),
			costly),
		report.Judged("in time, mean of the seeds, where such a peer keeps "+report.Percent(report.ObjectiveShare),
			">= "+report.Percent(report.ObjectiveShare), fmt.Sprintf("%d of %d", n-len(late), n), late),
	}
}

// burst is the policy on one burst of which a mean duration was stated beforehand.
type burst struct {
	event string
	// prior is the stated duration over the true one.
	prior        float64
	least, ratio float64
	// bound is the lower bound of any plan, as text.
	bound string
}

// judgeBursts judges single bursts against the causal optimum, by how far the stated duration is off. A wrong statement
// may make the goal impossible; then the row says what the best possible plan costs.
func judgeBursts(all []burst) []report.Goal {
	var goals []report.Goal
	// Each row of the table is a goal of its own.
	for _, b := range all {
		var missed []string
		if !(b.least >= 1) {
			missed = append(missed, "only "+report.Percent(b.least)+" in time")
		}
		if !(b.ratio <= mostBurst) {
			missed = append(missed, "costs "+report.Multiple3(b.ratio))
		}
		if len(missed) > 0 && b.prior != 1 {
			missed = append(missed, fmt.Sprintf("the stated duration is %g times the true one, and the lower bound "+
				"is %s", b.prior, b.bound))
		}
		goals = append(goals,
			report.Judged(fmt.Sprintf("%s, stated duration x %g: in time, and cost over the causal optimum",
				b.event, b.prior), "100 %, <= "+report.Multiple(mostBurst),
				report.Percent(b.least)+", "+report.Multiple3(b.ratio), missed))
	}
	return goals
}

// rival is one peer and the policy on the same event with the same share as objective.
type rival struct {
	event, peer string
	share       float64
	// inTime and cost are the peer's, oursInTime and oursCost the policy's; costs are worker-seconds.
	inTime, cost, oursInTime, oursCost float64
}

// dominates tells whether the peer is both cheaper and better. Equal cost or equal share is no domination.
func (r rival) dominates() bool { return r.cost < r.oursCost && r.inTime > r.oursInTime }

// judgeRivals judges whether any peer is both cheaper and better. A peer may appear at several shares; it is named
// once.
func judgeRivals(events []string, all []rival) []report.Goal {
	var goals []report.Goal
	for _, e := range events {
		var missed []string
		for _, r := range all {
			// Rivals of all events are in one list.
			if r.event != e {
				continue
			}
			if said := fmt.Sprintf("%s (%s at %s of our cost)", r.peer, report.Percent(r.inTime),
				report.Multiple(r.cost/r.oursCost)); r.dominates() && !slices.Contains(missed, said) {
				missed = append(missed, said)
			}
		}
		found := "none"
		if len(missed) > 0 {
			found = fmt.Sprint(len(missed))
		}
		goals = append(goals, report.Judged(e+": peers both cheaper and better", "none", found, missed))
	}
	return goals
}

// judgeWarm judges events with a warm pool. A goal that no schedule can reach is still missed, and the row says so.
func judgeWarm(all []attempt) []report.Goal {
	var goals []report.Goal
	for _, x := range all {
		var missed []string
		if !(x.mean >= report.ObjectiveShare) {
			missed = append(missed, "too few in time")
			if x.ceiling > 0 && x.ceiling < report.ObjectiveShare {
				missed[0] += fmt.Sprintf(" (without a worker before the first message, %s is the most)",
					report.Percent(x.ceiling))
			}
		}
		if !(x.ratio <= mostWarm) {
			missed = append(missed, "too costly"+x.beside)
		}
		goals = append(goals, report.Judged(x.event+" with a warm pool: in time, and cost over the limit",
			fmt.Sprintf(">= %s, <= %s", report.Percent(report.ObjectiveShare), report.Multiple(mostWarm)),
			report.Percent(x.mean)+", "+report.Multiple3(x.ratio), missed))
	}
	return goals
}

// drop is what one fault took from a run: the shares in time of the same event and seed, without and with it.
type drop struct {
	event         string
	seed          uint64
	without, with float64
}

// lost is the share in time that the fault took; below 0 when the run with it was better.
func (d drop) lost() float64 { return d.without - d.with }

// judgeDrops judges what a fault takes from each run. The worst run counts, because a mean would hide a seed that
// fails.
func judgeDrops(what string, all []drop) report.Goal {
	// A drop may be negative: the run with the fault was better.
	worst := math.Inf(-1)
	var missed []string
	for _, d := range all {
		worst = max(worst, d.lost())
		if !(d.lost() <= mostDrop+1e-12) { // differences of shares are not exact
			missed = append(missed, fmt.Sprintf("%s, seed %d: %s", d.event, d.seed, report.Points(d.lost())))
		}
	}
	const most = 6
	if n := len(missed); n > most {
		missed = append(missed[:most], fmt.Sprintf("and %d more", n-most))
	}
	return report.Judged(what+": in time lost, worst run", "<= "+report.Points(mostDrop), report.Points(worst), missed)
}
