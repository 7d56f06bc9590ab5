package planning

import (
	"fmt"
	"math"
	"slices"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// treesRule is the rule that the terms about running trees name.
const treesRule = "trees"

// sending is a number of messages that trees are expected to send at a time, in seconds from now.
type sending struct{ at, messages float64 }

// levelParts is into how many parts a level is split, because its messages arrive little by little.
const levelParts = 4

// treeSendings returns when the messages of the given levels are expected, soonest first.
//
// A node's children are sent when its work ends. Nodes in progress end first. Waiting nodes begin as slots become free.
// The messages of a level wait behind all earlier ones, and their own children, the next level, follow one mean
// duration later.
func (p plan) treeSendings(o muster.Observation, levels []muster.ExpectedLevel) []sending {
	var all []sending
	waiting := o.Backlog().Value
	first, last := p.progressEnds()
	if p.inProgress(o) == 0 {
		first, last = p.soonestBoot()+p.Mean, p.soonestBoot()+p.Mean
		if at, ok := p.finished(1); ok {
			first = at
		}
	}
	before := waiting
	for i, level := range levels {
		if i > 0 {
			first, last = first+p.Mean, last+p.Mean
		}
		if at, ok := p.finished(before); ok && before > 0 {
			last = max(last, at)
		}
		last = max(first, last)
		for part := range levelParts {
			at := first + (last-first)*(float64(part)+0.5)/levelParts
			all = append(all, sending{at, level.Messages / levelParts})
		}
		before += level.Messages
	}
	slices.SortStableFunc(all, func(a, b sending) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	return all
}

// progressEnds returns when the first and the last of the messages in progress end, in seconds from now. They need the
// residual time on average, and spread around it as far as slots are at different points of their work.
func (p plan) progressEnds() (first, last float64) {
	return p.residual * (1 - p.mixed), p.residual * (1 + p.mixed)
}

// inProgress returns how many messages workers have in progress.
func (p plan) inProgress(o muster.Observation) float64 {
	if f := o.InFlight(); f.Known {
		return math.Min(f.Value, p.inService) // counted at the same instant as the backlog
	}
	return p.inService - p.free
}

// treeValues returns the values that every term about trees begins with, and the first clause of its sentence.
// o.Expected is known.
func treeValues(o muster.Observation) ([]muster.Value, string) {
	e := o.Expected
	in := []muster.Value{rules.Value("trees", float64(e.Trees)), rules.Value("open", e.Open),
		rules.Value("running", o.InFlight().Value)}
	words := fmt.Sprintf("%s of trees open", nodeCount(e.Open))
	if e.Held > 0 {
		in, words = append(in, rules.Value("held", e.Held)), fmt.Sprintf("%s, %s of them held back", words,
			render.Number(e.Held))
	}
	in = append(in, rules.Value("branching", rules.Round3(e.Branching())),
		rules.Value("expected", rules.Round3(e.Next())))
	return in, words
}

// nodeCount returns "1 node" or "5 nodes".
func nodeCount(n float64) string {
	if n == 1 {
		return "1 node"
	}
	return render.Number(n) + " nodes"
}

// holdWithoutTrees returns d while the trees cannot be read: a rise for waiting messages stays, and no worker stops.
func holdWithoutTrees(d muster.Decision, o muster.Observation) muster.Decision {
	t := muster.Term{Rule: treesRule, Out: d.Desired, Why: "the trees cannot be read, so what they will send is " +
		"unknown and no worker is stopped: " + o.Expected.Reason}
	if d.Desired < d.Previous {
		d = d.Held(muster.UnknownTrees, t)
	} else {
		d = d.With(t)
	}
	d.Floor, d.IdleStop = d.Desired, 0
	return d
}

// describeSendings adds to words what is expected and when, and returns the values for it.
func describeSendings(o muster.Observation, words string, all []sending) ([]muster.Value, string) {
	e := o.Expected
	if len(all) == 0 {
		if e.Perhaps > 0 {
			return nil, fmt.Sprintf("%s; whether they have children is not known yet", words)
		}
		return nil, words + ", and no more are expected"
	}
	words += fmt.Sprintf("; the next level has about %s more, expected from %s on",
		render.Number(math.Round(e.Next()*10)/10), rules.Clock(o, all[0].at))
	return []muster.Value{rules.Value("in_s", rules.Round3(all[0].at))}, words
}

// decideUntimed returns d while the processing duration is unknown, and with it the time of the next level. The present
// workers stay for it.
func decideUntimed(d muster.Decision, o muster.Observation) muster.Decision {
	switch {
	case o.Expected.None():
		return d
	case !o.Expected.Known:
		return holdWithoutTrees(d, o)
	}
	in, words := treeValues(o)
	out := d.Desired
	if o.Expected.Next()+o.Expected.Perhaps > 0 {
		out = max(out, d.Previous)
		d.Floor = out
		words += fmt.Sprintf("; the next level has about %s more, at a time that is unknown until a node is done",
			render.Number(math.Round(o.Expected.Next()*10)/10))
	}
	floor := d.Floor
	d = d.With(muster.Term{Rule: treesRule, In: in, Out: out, Why: words})
	d.Floor = min(floor, d.Desired)
	return d
}
