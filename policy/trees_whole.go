package policy

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
)

// The choices of [Spec.Trees].
const (
	// TreesEach has a slot for each node of a tree that waits, as for any message.
	TreesEach = "each"
	// TreesWhole has the slots that the tree can use once a worker that is launched now is there.
	TreesWhole = "whole"
)

// DefaultFirst is how many slots a tree of which only the root is known gets with [TreesWhole].
const DefaultFirst = 12

// firstFor is for which part of a boot those slots stay while nothing more becomes known. Later fewer do, in proportion
// to the time that has passed: a root that takes long leads to no sooner, and a worker that is idle costs.
const firstFor = 0.25

// wholeTrees returns the decision d of [Exact] sized for the trees as a whole. A node that waits gets no worker of its
// own when the slots that are there and on their way are through with it before that worker could take messages. What
// is expected to come counts, and one guess: that the next level has as many nodes as there are now, as far as that is
// likely at all. So a guess keeps a tree as large as it is, and never makes it grow.
//
// Messages that are no nodes get a slot each, as ever. So do nodes that have waited for longer than a boot: then the
// slots that were to be through with them are not.
func (x Exact) wholeTrees(d muster.Decision, o muster.Observation) muster.Decision {
	work, known := workOf(o)
	if !known || !o.Expected.Known {
		return x.firstSlots(untimed(d, o), o)
	}
	p := newPlan(o, work, 1)
	p.hold(o)
	in, words := treesIn(o)
	all := p.sendings(o, p.followed(o))
	when, words := treesWhen(o, words, p.sendings(o, o.Expected.Levels)) // of the guess nothing is said
	ready := p.boot + math.Max(orDefault(o.Poll, time.Second).Seconds(), 0)
	before := d.Desired
	out := max(p.slotEach(o, ready), d.Previous, ceil(p.present(o, all, ready)/p.slots))
	keep := min(d.Previous, ceil(p.most(o, all, ready)/p.slots))
	switch {
	case out > before:
		words += fmt.Sprintf("; %s to be in service for it", launches(out-before))
	case out < before:
		words += fmt.Sprintf("; %s fewer than one for each that waits, because there are slots for those before",
			launches(before-out))
	}
	floor := max(min(d.Floor, out), keep)
	if out > d.Previous {
		floor = out
	}
	in = append(append(in, when...), value("launch", float64(out-d.Previous)), value("keep", float64(keep)),
		value("without", float64(before)))
	d = d.With(muster.Term{Rule: treesRule, In: in, Out: out, Why: words})
	d.Floor = min(floor, out)
	return x.firstSlots(d, o)
}

// followed returns the levels that are expected, of which the first has at least as many messages as are in the queue
// or in work, but on a guess none beyond what is likely.
func (p plan) followed(o muster.Observation) []muster.ExpectedLevel {
	levels := slices.Clone(o.Expected.Levels)
	if o.Expected.Perhaps <= 0 {
		return levels
	}
	if len(levels) == 0 {
		levels = make([]muster.ExpectedLevel, 1)
	}
	sure := levels[0].Messages
	levels[0].Messages = math.Max(sure, math.Min(sure+o.Expected.Perhaps, o.Backlog().Value+p.inHand(o)))
	return levels
}

// slotEach returns the size at which those that wait have a slot each that are no nodes of trees, or have waited for
// longer than so many seconds.
func (p plan) slotEach(o muster.Observation, seconds float64) int {
	e, backlog := o.Expected, o.Backlog().Value
	each := math.Min(backlog, backlog+p.inHand(o)-(e.Open-e.Held))
	overdue := 0.0
	for _, g := range p.waiting {
		if g.AgeSeconds > seconds && !p.blind {
			overdue += g.Messages
		}
	}
	each = math.Max(each, math.Min(overdue, backlog))
	return o.Capacity.Desired + ceil(math.Max(0, each-p.free-float64(o.Pending())*p.slots)/p.slots)
}

// firstSlots returns the decision d with slots for trees of which only the root is known, while its work is young.
func (x Exact) firstSlots(d muster.Decision, o muster.Observation) muster.Decision {
	// A root whose message was lost leads to nothing.
	young := math.Min(float64(o.Expected.Young), o.Backlog().Value+o.InFlight().Value)
	held, stays := 0.0, firstFor*bootOf(o.Boot)
	if o.InFlight().Value > 0 {
		held = o.Capacity.HeldMeanSeconds
	}
	slots := float64(x.First) * young * math.Min(1, stays/math.Max(stays, held))
	if slots < 1 {
		return d
	}
	want := ceil(slots / math.Max(1, o.Capacity.SlotsPerWorker))
	floor := max(d.Floor, want)
	d = d.With(muster.Term{
		Rule: treesRule, In: []muster.Value{value("young", young), value("first", float64(x.First)),
			value("held_s", round3(held))},
		Out: max(d.Desired, want),
		Why: fmt.Sprintf("of %s nothing is known but the root: %s until more is", render.Plural(int(young), "tree"),
			render.Plural(want, "worker")),
	})
	d.Floor = min(floor, d.Desired)
	return d
}

func (s Spec) checkTrees() []error {
	var faults []error
	switch {
	case !slices.Contains([]string{"", TreesEach, TreesWhole}, s.Trees):
		faults = append(faults, &Fault{"policy.trees", strconv.Quote(s.Trees), TreesEach + ", " + TreesWhole})
	case s.Trees == TreesWhole && s.Name != "exact":
		faults = append(faults, &Fault{"policy.trees", TreesWhole + " with " + s.Name, TreesWhole + " with exact"})
	}
	switch {
	case s.First < 0 || s.First > maxFirst:
		faults = append(faults, &Fault{"policy.first", fmt.Sprint(s.First), fmt.Sprintf("1 to %d slots", maxFirst)})
	case s.First > 0 && s.Trees != TreesWhole:
		faults = append(faults, &Fault{"policy.first", fmt.Sprint(s.First) + " without trees: " + TreesWhole,
			"a number of slots with trees: " + TreesWhole})
	}
	return faults
}

// maxFirst is the most slots that a tree may get of which only the root is known.
const maxFirst = 10_000

func buildExact(s Spec) muster.Policy {
	if s.Trees != TreesWhole {
		return Exact{}
	}
	return Exact{Whole: true, First: orDefault(s.First, DefaultFirst)}
}
