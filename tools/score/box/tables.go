package box

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/worlds"
	"github.com/muster-scale/muster/tools/score/arena"
	"github.com/muster-scale/muster/tools/score/report"
)

// The tables and notes of the part. They show more than is judged: how figures spread, which worlds are worst, and what
// was left out.

// worstShown is how many of the worst worlds are shown.
const worstShown = 10

// listWords joins the limits that a world misses.
func listWords(all []string) string { return strings.Join(all, "; ") }

// distributions shows how the figures of the policy spread over the worlds, from good to bad.
func distributions(all []drawn) report.Table {
	t := report.Table{Head: []string{"figure", "worlds", "p10", "p50", "p90", "p99", "worst"}}
	var regret, cost, settled, calm []float64
	for _, d := range all {
		if x, ok := d.duel(); ok {
			regret = append(regret, x.Ratio())
		}
		if ratio, ok := d.overBound(); ok && d.slack {
			cost = append(cost, ratio)
		}
		if d.ours == nil {
			continue
		}
		settled = append(settled, d.ours.Settled)
		if d.calm() {
			calm = append(calm, d.ours.Settled)
		}
	}
	for _, x := range []struct {
		what     string
		values   []float64
		downward bool // a smaller value is worse
		words    func(float64) string
	}{
		{"loss over the best baseline's", regret, false, report.Multiple3},
		{"cost over the lower bound, worlds with slack", cost, false, report.Multiple3},
		{"in time after the start", settled, true, report.Percent},
		{"in time after the start, worlds with slack, without faults and with room below the maximum", calm, true,
			report.Percent},
	} {
		slices.Sort(x.values)
		// So that the quantiles go from good to bad in every row.
		if x.downward {
			slices.Reverse(x.values)
		}
		row := []string{x.what, fmt.Sprint(len(x.values))}
		for _, q := range []float64{0.1, 0.5, 0.9, 0.99, 1} {
			row = append(row, at(x.values, q, x.words))
		}
		t.Add(row...)
	}
	return t
}

// at returns the quantile of sorted values: the share of them is no larger or, in falling order, no smaller. words
// renders it.
func at(sorted []float64, share float64, words func(float64) string) string {
	if len(sorted) == 0 {
		return "-"
	}
	// The smallest value that has the share at or before it.
	i := int(math.Ceil(share*float64(len(sorted)))) - 1
	return words(sorted[max(0, i)])
}

// baselineTable shows each baseline and the policy: in how many worlds it answered, in how many it has the least loss,
// and its loss relative to the policy's.
func baselineTable(all []drawn, baselines []contest.Contender) report.Table {
	t := report.Table{
		Head: []string{"policy", "worlds answered", "least loss of all in", "loss over deadline's, geometric mean"},
	}
	names := []string{policy.Default}
	for _, c := range baselines {
		names = append(names, c.Name)
	}
	for _, name := range names {
		answered, best := 0, 0
		var ratios []float64
		for _, d := range all {
			o := d.other(name)
			if name == policy.Default {
				o = d.ours
			}
			if o == nil {
				continue
			}
			answered++
			// Equal losses count for both.
			if o.Loss <= d.leastLoss() {
				best++
			}
			if d.ours != nil {
				ratios = append(ratios, o.Loss/d.ours.Loss)
			}
		}
		t.Add(
			name,
			fmt.Sprint(answered),
			report.Percent(float64(best)/float64(max(1, answered))), report.Multiple3(worlds.GeometricMean(ratios)),
		)
	}
	return t
}

// leastLoss is the least loss of all contenders that answered.
func (d drawn) leastLoss() float64 {
	least := math.Inf(1)
	if d.ours != nil {
		least = d.ours.Loss
	}
	for _, o := range d.others {
		least = math.Min(least, o.Loss)
	}
	return least
}

// worstTable shows the ten worlds in which the policy's loss is largest relative to the best baseline's.
func worstTable(all []drawn) report.Table {
	t := report.Table{
		Head: []string{
			"world",
			"loss over the best baseline's",
			"deadline: loss",
			"in time",
			"worker-seconds",
			"launches",
			"best baseline",
			"loss",
			"in time",
			"worker-seconds",
			"launches",
			"the world",
			"why",
		},
	}
	var duels []worlds.Duel
	texts := map[uint64]string{}
	for _, d := range all {
		texts[d.number] = d.text
		if x, ok := d.duel(); ok {
			duels = append(duels, x)
		}
	}
	figures := func(o worlds.Outcome) []string {
		return []string{report.Number(o.Loss), report.Percent(o.InTime), report.Number(o.WorkerSeconds),
			fmt.Sprint(o.Launches)}
	}
	for _, x := range worlds.Worst(duels, worstShown) {
		// The explanation is written by hand, by the number of the world.
		n := x.Mine.World
		cells := append([]string{fmt.Sprint(n), report.Multiple3(x.Ratio())}, figures(x.Mine)...)
		cells = append(append(cells, x.Best.Policy), figures(x.Best)...)
		t.Add(append(cells, texts[n], whyWorst[n])...)
	}
	return t
}

// namedTable shows the policy in the named worlds, untold and told.
func namedTable(all []namedRun) report.Table {
	t := report.Table{
		Head: []string{
			"named world",
			"told nothing: in time",
			"cost over the lower bound",
			"launches an hour",
			"peak",
			"told the mean: in time",
			"cost over the lower bound",
			"launches an hour",
			"peak",
			"limits",
			"found before",
		},
	}
	figures := func(o arena.Outcome) []string {
		return []string{
			report.Percent(o.InTimeRatio), report.Multiple3(o.Ratio), report.Number(o.LaunchesPerHour),
			fmt.Sprint(o.PeakWorkers),
		}
	}
	for _, x := range all {
		cells := append([]string{x.world.Name}, figures(x.untold)...)
		cells = append(cells, figures(x.told)...)
		t.Add(append(cells, limitWords(x.world), x.world.Found)...)
	}
	return t
}

// limitWords renders the limits of a named world.
func limitWords(n worlds.Named) string {
	var all []string
	for _, x := range []struct {
		is   bool
		text string
	}{
		{n.Least > 0, ">= " + report.Percent(n.Least)}, {n.MostRatio > 0, "<= " + report.Multiple(n.MostRatio)},
		{n.MostLaunches > 0, fmt.Sprintf("<= %g launches an hour", n.MostLaunches)},
		{n.MostPeak > 0, fmt.Sprintf("peak <= %d", n.MostPeak)},
	} {
		if x.is {
			all = append(all, x.text)
		}
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

// boxNotes explain the tables, and name what was left out of them and why.
func boxNotes(all []drawn) []string {
	notes := []string{
		"Of the distributions p90 is the value that nine worlds in ten reach or better, and worst is " +
			"that of the worst world. A baseline has the least loss in a world where no other policy has a smaller " +
			"one. The oracle is the cheapest schedule found that knows the future and keeps the objective; it is " +
			"computed for worlds with slack and without trees.",
	}
	without, unkept := 0, 0
	var late, undone []string
	for _, d := range all {
		for _, name := range d.undone {
			undone = append(undone, fmt.Sprintf("%s in world %d", name, d.number))
		}
		switch {
		case d.slack && d.oracle == nil:
			without++
		case d.slack && !d.oracle.kept:
			unkept++
		}
		for _, name := range d.unanswered {
			late = append(late, fmt.Sprintf("%s in world %d", name, d.number))
		}
	}
	if without > 0 {
		notes = append(
			notes,
			fmt.Sprintf(
				"Boots are not judged in %s with slack that have trees or more than %d messages.",
				render.Plural(without, "world"), mostForOracle,
			),
		)
	}
	if unkept > 0 {
		notes = append(
			notes,
			fmt.Sprintf(
				"Boots are not judged in %s with slack in which no schedule was found that keeps the objective.",
				render.Plural(unkept, "world"),
			),
		)
	}
	if len(undone) > 0 {
		notes = append(
			notes,
			fmt.Sprintf(
				"Left out of the comparison, because they leave more than %s of the messages undone that `deadline` "+
					"finishes: %s.",
				report.Percent(mostUndone), strings.Join(undone, ", "),
			),
		)
	}
	if len(late) > 0 {
		notes = append(
			notes,
			fmt.Sprintf(
				"Not answered within %s, and left out of the comparison: %s.",
				mostPerBaseline,
				strings.Join(late, ", "),
			),
		)
	}
	return notes
}
