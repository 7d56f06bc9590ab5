package box

import (
	"fmt"
	"math"
	"slices"

	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/sim/worlds"
	"github.com/muster-scale/muster/tools/score/arena"
	"github.com/muster-scale/muster/tools/score/report"
)

// The judge functions turn the outcomes in all worlds into goals. A world in which the policy did not answer misses
// every goal that it counts for. A comparison of the form !(x <= y) makes a figure that is not a number miss its goal,
// too.

// The goals in worlds drawn at random.
const (
	// regretFree is the share of worlds in which no baseline's loss is a tenth smaller, and leastLoss the share of the
	// policy's loss below which no baseline's loss may be anywhere.
	regretFree, leastLoss = 0.97, 2.0 / 3
	// calmShare is the share of worlds with slack and without faults in which the messages are in time.
	calmShare = 0.99
	// mostCheap bounds the geometric mean of the cost over the lower bound in calm worlds with a load of busyWorkers or
	// more; cheapShare of them cost at most mostCheapWorld.
	mostCheap, mostCheapWorld, cheapShare = 1.10, 1.20, 0.9
	// mostBoots bounds the seconds of boots as a multiple of the oracle's launches; the boots of its peak come on top.
	mostBoots = 3
)

// drawn is a world with the outcomes of all contenders in it.
type drawn struct {
	number uint64
	// digest is that of the world with every message of its first draw; empty where nobody asked for it.
	digest string
	// text describes the world in words.
	text string
	// slack tells that a launch saves a message which is already there, failing that messages, launches or workers
	// fail, binding that the maximum is near or below what the load needs.
	slack, failing, binding bool
	// load is the mean number of busy workers, quantile the share of messages to be in time, boot the mean boot in
	// seconds.
	load, quantile, boot float64
	// ours is the policy's outcome, nil if its run was not answered. others are the outcomes of those baselines that
	// answered; unanswered names the rest.
	ours       *worlds.Outcome
	others     []worlds.Outcome
	unanswered []string
	// undone names baselines that leave messages undone which the policy finishes. They are not among others.
	undone []string
	// bound is the lower bound of the cost in worker-seconds, 0 where none is known; oracle is a schedule that knows
	// the future, nil where none was computed.
	bound  float64
	oracle *oracle
}

// oracle is what a schedule that knows the future needs: its launches, and its workers at the peak. They are means over
// the repetitions of a world. kept tells whether the schedule keeps the objective.
type oracle struct {
	launches, workers float64
	kept              bool
}

// meanOf returns the mean of a world's repetitions. A contender counts only where it answered in all of them, and so do
// the lower bound and the oracle. There is at least one repetition.
func meanOf(all []drawn) drawn {
	m := all[0]
	n := float64(len(all))
	m.others, m.unanswered, m.ours, m.oracle, m.bound = nil, nil, nil, &oracle{kept: true}, 0
	var ours []worlds.Outcome
	others := map[string][]worlds.Outcome{}
	unknown := false
	for _, d := range all {
		if d.ours != nil {
			ours = append(ours, *d.ours)
		}
		for _, o := range d.others {
			others[o.Policy] = append(others[o.Policy], o)
		}
		for _, name := range d.unanswered {
			if !slices.Contains(m.unanswered, name) {
				m.unanswered = append(m.unanswered, name)
			}
		}
		m.bound += d.bound / n
		unknown = unknown || !(d.bound > 0)
		if d.oracle == nil || m.oracle == nil {
			m.oracle = nil
			continue
		}
		m.oracle.launches += d.oracle.launches / n
		m.oracle.workers += d.oracle.workers / n
		m.oracle.kept = m.oracle.kept && d.oracle.kept
	}
	if unknown {
		m.bound = 0
	}
	if len(ours) == len(all) {
		mean := worlds.Mean(ours)
		m.ours = &mean
	}
	for _, o := range all[0].others { // in the order of the baselines
		if each := others[o.Policy]; len(each) == len(all) {
			m.others = append(m.others, worlds.Mean(each))
		}
	}
	return m
}

// mostUndone is the share of the messages that a baseline may leave undone beyond those that the policy leaves. A
// contender that launches no worker pays for late messages alone, which is little compared to work of hours.
const mostUndone = 0.01

// leavesUndone tells whether a baseline left much of the work undone, so that its loss cannot be compared.
func (d drawn) leavesUndone(o worlds.Outcome) bool {
	return d.ours != nil && float64(o.Unfinished-d.ours.Unfinished) > mostUndone*float64(o.Messages)
}

// leaveOutUndone moves the baselines that left much of the work undone, in the mean over the draws, to undone.
func (d *drawn) leaveOutUndone() {
	var rest []worlds.Outcome
	for _, o := range d.others {
		if d.leavesUndone(o) {
			d.undone = append(d.undone, o.Policy)
			continue
		}
		rest = append(rest, o)
	}
	d.others = rest
}

// name names the world on the page.
func (d drawn) name() string { return fmt.Sprintf("world %d", d.number) }

// calm tells whether only the policy can make messages late: a launch is in time, nothing fails, and the maximum leaves
// room.
func (d drawn) calm() bool { return d.slack && !d.failing && !d.binding }

// duel compares the policy with the baseline that has the least loss; false if either is missing.
func (d drawn) duel() (worlds.Duel, bool) {
	if d.ours == nil || len(d.others) == 0 {
		return worlds.Duel{}, false
	}
	// Equal losses: the first in the order of the baselines.
	best := d.others[0]
	for _, o := range d.others {
		if o.Loss < best.Loss {
			best = o
		}
	}
	return worlds.Duel{Mine: *d.ours, Best: best}, true
}

// overBound is the cost over the lower bound; false where one of them is missing.
func (d drawn) overBound() (float64, bool) {
	if d.ours == nil || !(d.bound > 0) {
		return 0, false
	}
	return d.ours.WorkerSeconds / d.bound, true
}

// other returns the outcome of a baseline, nil where there is none.
func (d drawn) other(name string) *worlds.Outcome {
	i := slices.IndexFunc(d.others, func(o worlds.Outcome) bool { return o.Policy == name })
	if i < 0 {
		return nil
	}
	return &d.others[i]
}

// unansweredHere is the text for a world in which the policy did not answer.
func unansweredHere(d drawn) string { return d.name() + " was not answered" }

// few shortens a list of missed worlds to six; the tables show the worst of them.
func few(all []string) []string {
	const most = 6
	if n := len(all); n > most {
		all = append(slices.Clone(all[:most]), fmt.Sprintf("and %d more", n-most))
	}
	return all
}

// shareOf renders a share of worlds, as in "97 % of 300".
func shareOf(kept, of int) string {
	if of == 0 {
		return "no world"
	}
	return fmt.Sprintf("%s of %d", report.Percent(float64(kept)/float64(of)), of)
}

// judgeShare judges whether at least a share of the worlds meets a condition. of is their number, missed names those
// that do not. Without any world the goal is missed: it would prove nothing.
func judgeShare(what string, share float64, of int, missed []string) report.Goal {
	kept := of - len(missed)
	target := ">= " + report.Percent(share)
	if share == 1 {
		target = "all"
	}
	if of > 0 && float64(kept) >= share*float64(of) {
		return report.Judged(what, target, shareOf(kept, of), nil)
	}
	if of == 0 {
		missed = []string{"there is no such world"}
	}
	return report.Judged(what, target, shareOf(kept, of), few(missed))
}

// judgeRegret judges the policy's loss in each world against that of the best baseline: in few worlds a tenth larger,
// and in none by half.
func judgeRegret(all []drawn) []report.Goal {
	of := 0
	var regretted, far []string
	for _, d := range all {
		x, ok := d.duel()
		said := fmt.Sprintf("%s: %s has %s of the loss", d.name(), x.Best.Policy, report.Multiple(1/x.Ratio()))
		switch {
		// Not to answer is the worst result.
		case !ok && d.ours == nil:
			of++
			regretted, far = append(regretted, unansweredHere(d)), append(far, unansweredHere(d))
			continue
		case !ok:
			continue
		case x.Regret():
			regretted = append(regretted, said)
		}
		of++
		// A world may count in both goals.
		if !(x.Best.Loss >= leastLoss*x.Mine.Loss) {
			far = append(far, said)
		}
	}
	found := "none"
	if len(far) > 0 {
		found = fmt.Sprint(len(far))
	}
	return []report.Goal{
		judgeShare("no regret: worlds in which no baseline's loss is a tenth smaller", regretFree, of, regretted),
		report.Judged("worlds in which a baseline's loss is less than two thirds", "none", found, few(far)),
	}
}

// judgeSettled judges the share in time in calm worlds, after the start: while nothing is measured, a policy that is
// told nothing cannot know the duration.
func judgeSettled(all []drawn) report.Goal {
	of := 0
	var missed []string
	for _, d := range all {
		// Elsewhere being late may be no fault of the policy.
		if !d.calm() {
			continue
		}
		of++
		if d.ours == nil {
			missed = append(missed, unansweredHere(d))
		} else if !(d.ours.Settled >= math.Min(report.ObjectiveShare, d.quantile)) {
			missed = append(missed, fmt.Sprintf("%s has %s", d.name(), report.Percent(d.ours.Settled)))
		}
	}
	return judgeShare(
		"in time: worlds with slack, without faults and with room below the maximum that have their share of the "+
			"objective, 99 % at most, in time after the start",
		calmShare,
		of,
		missed,
	)
}

// judgeCheap judges the cost over the lower bound in calm worlds with a load of two busy workers or more.
func judgeCheap(all []drawn) []report.Goal {
	of := 0
	var ratios []float64
	var missed []string
	for _, d := range all {
		if !d.calm() || d.load < report.BusyWorkers {
			continue
		}
		// Without a bound the world counts in neither goal of cost.
		ratio, ok := d.overBound()
		switch {
		case d.ours == nil:
			of++
			missed = append(missed, unansweredHere(d))
		case ok:
			of++
			ratios = append(ratios, ratio)
			if !(ratio <= mostCheapWorld) {
				missed = append(missed, fmt.Sprintf("%s costs %s", d.name(), report.Multiple(ratio)))
			}
		}
	}
	mean := worlds.GeometricMean(ratios)
	var dear []string
	switch {
	case len(ratios) == 0:
		dear = []string{"there is no such world"}
	// The table of worlds shows which ones cost most.
	case !(mean <= mostCheap):
		dear = []string{"see the table"}
	}
	return []report.Goal{
		report.Judged(
			fmt.Sprintf(
				"cheap: cost over the lower bound in those of them with a load of %d workers or more, geometric mean",
				report.BusyWorkers,
			),
			"<= "+report.Multiple(mostCheap),
			report.Multiple3(mean), dear,
		),
		judgeShare(
			fmt.Sprintf("the same: worlds that cost at most %s", report.Multiple(mostCheapWorld)),
			cheapShare,
			of,
			missed,
		),
	}
}

// bootsAllowed is the largest allowed sum of boot times in a world with an oracle, in seconds.
func (d drawn) bootsAllowed() float64 {
	return (mostBoots*d.oracle.launches + d.oracle.workers) * d.boot
}

// judgeBoots judges the sum of boot times in each world against that of the oracle: a policy that launches and stops
// workers all the time pays boots for nothing.
func judgeBoots(all []drawn) report.Goal {
	of := 0
	var missed []string
	for _, d := range all {
		// Without a schedule that keeps the objective there is nothing to compare with.
		if d.oracle == nil || !d.oracle.kept {
			continue
		}
		of++
		if d.ours == nil {
			missed = append(missed, unansweredHere(d))
		} else if allowed := d.bootsAllowed(); !(d.ours.BootSeconds <= allowed) {
			missed = append(missed, fmt.Sprintf("%s: %s s of boots in %d launches, allowed are %s", d.name(),
				report.Number(d.ours.BootSeconds), d.ours.Launches, report.Number(allowed)))
		}
	}
	return judgeShare(
		fmt.Sprintf(
			"boots: worlds with slack whose seconds of boots are at most %d times those of the oracle and the "+
				"boots of its peak",
			mostBoots,
		),
		1,
		of,
		missed,
	)
}

// beside is one setting of a baseline, and in each world the policy's loss divided by its loss.
type beside struct {
	what   string
	ratios []float64
}

// judgeMeans judges whether the policy has the smaller loss in the mean.
func judgeMeans(all []beside) []report.Goal {
	var goals []report.Goal
	for _, x := range all {
		mean := worlds.GeometricMean(x.ratios)
		var missed []string
		switch {
		case len(x.ratios) == 0:
			missed = []string{"there is no such world"}
		case !(mean < 1):
			missed = []string{"it is cheaper in the mean"}
		}
		goals = append(
			goals,
			report.Judged(
				fmt.Sprintf(
					"cheaper in the mean: loss over that of %s, geometric mean of %d worlds",
					x.what,
					len(x.ratios),
				),
				"< "+report.Multiple(1),
				report.Multiple3(mean), missed,
			),
		)
	}
	return goals
}

// namedRun is the policy in a named world, told nothing and told the mean.
type namedRun struct {
	world        worlds.Named
	untold, told arena.Outcome
}

// judgeNamed judges whether the untold policy keeps the limits of each named world.
func judgeNamed(all []namedRun) report.Goal {
	var missed []string
	for _, x := range all {
		if faults := x.world.Missed(x.untold.Result); len(faults) > 0 {
			missed = append(missed, fmt.Sprintf("%s: %s", x.world.Name, listWords(faults)))
		}
	}
	return report.Judged(
		"named worlds: told nothing, within their limits",
		"all",
		fmt.Sprintf("%d of %d", len(all)-len(missed), len(all)),
		missed,
	)
}

// judgeAnswers judges whether each run of the policy was answered in time, and whether each kept the promises that the
// simulator checks, such as that no message is lost.
func judgeAnswers(all []drawn) []report.Goal {
	var late, broken []string
	for _, d := range all {
		if d.ours == nil {
			late = append(late, d.name()+": "+d.text)
		} else if len(d.ours.Faults) > 0 {
			broken = append(broken, fmt.Sprintf("%s: %s", d.name(), d.ours.Faults[0]))
		}
	}
	goals := []report.Goal{
		report.Judged(
			fmt.Sprintf("worlds that are simulated within %s", mostPerRun),
			"all",
			fmt.Sprintf("%d of %d", len(all)-len(late), len(all)),
			few(late),
		),
	}
	if len(broken) > 0 {
		goals = append(
			goals,
			report.Judged(
				"promises that the simulator checks",
				"none broken",
				"broken in "+render.Plural(len(broken), "world"),
				few(broken),
			),
		)
	}
	return goals
}
