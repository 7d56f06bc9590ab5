package planning

import (
	"fmt"
	"math"
	"slices"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// treesRule is what the terms of what trees are expected to send are called.
const treesRule = "trees"

// ahead is messages that trees are expected to send, so many seconds from now.
type sending struct{ at, messages float64 }

// levelParts is into how many groups a level is parted that comes little by little.
const levelParts = 4

// sendings returns when which of the expected messages of the given levels come, soonest first. A node's children come
// when its work ends. Nodes in hand end first; those that wait begin as slots come free. What is sent is worked on in
// its turn, and is followed by its own children.
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

// ends returns when the first and the last of the messages in hand end, as far as they are known to be at different
// points of their work: on average they need the residual time.
func (p plan) progressEnds() (first, last float64) {
	return p.residual * (1 - p.mixed), p.residual * (1 + p.mixed)
}

// inHand is how many messages are in work.
func (p plan) inProgress(o muster.Observation) float64 {
	if f := o.InFlight(); f.Known {
		return math.Min(f.Value, p.inService) // counted at the same instant as the backlog
	}
	return p.inService - p.free
}

// treesIn are the numbers that every term about trees begins with, and what they say in words.
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

func nodeCount(n float64) string {
	if n == 1 {
		return "1 node"
	}
	return render.Number(n) + " nodes"
}

// withoutTrees is the decision while the trees cannot be read: a rise for what waits stays, nobody goes.
func holdWithoutTrees(d muster.Decision, o muster.Observation) muster.Decision {
	t := muster.Term{Rule: treesRule, Out: d.Desired, Why: "the trees cannot be read, so nobody knows what is to " +
		"come and nobody goes: " + o.Expected.Reason}
	if d.Desired < d.Previous {
		d = d.Held(muster.UnknownTrees, t)
	} else {
		d = d.With(t)
	}
	d.Floor = d.Desired
	return d
}

// treesWhen says in words what is to come, and when.
func describeSendings(o muster.Observation, words string, all []sending) ([]muster.Value, string) {
	e := o.Expected
	if len(all) == 0 {
		if e.Perhaps > 0 {
			return nil, fmt.Sprintf("%s; whether they have children is not known yet", words)
		}
		return nil, words + " and no further ones to come"
	}
	words += fmt.Sprintf("; the next level has about %s more, expected from %s on",
		render.Number(math.Round(e.Next()*10)/10), rules.Clock(o, all[0].at))
	return []muster.Value{rules.Value("in_s", rules.Round3(all[0].at))}, words
}

// untimed is the decision d while it is not known how long the work takes: then nobody knows when the next level comes.
// Those who are there stay for it.
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
		words += fmt.Sprintf("; the next level has about %s more, and when it comes is not known until one is done",
			render.Number(math.Round(o.Expected.Next()*10)/10))
	}
	floor := d.Floor
	d = d.With(muster.Term{Rule: treesRule, In: in, Out: out, Why: words})
	d.Floor = min(floor, d.Desired)
	return d
}
