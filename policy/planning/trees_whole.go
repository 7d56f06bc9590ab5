package planning

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/durations"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// firstFor is for which part of a boot those slots stay while nothing more becomes known. Later fewer do, in proportion
// to the time that has passed: a root that takes long leads to no sooner, and a worker that is idle costs.
const firstSlotsShare = 0.25

// wholeTrees returns the decision d of [Exact] sized for the trees as a whole. A node that waits gets no worker of its
// own when the slots that are there and on their way are through with it before that worker could take messages. What
// is expected to come counts, and one guess: that the next level has as many nodes as there are now, as far as that is
// likely at all. So a guess keeps a tree as large as it is, and never makes it grow.
//
// Messages that are no nodes get a slot each, as ever. So do nodes that have waited for longer than a boot: then the
// slots that were to be through with them are not.
func (x Exact) wholeTrees(d muster.Decision, o muster.Observation) muster.Decision {
	work, known := durations.Of(o)
	if !known || !o.Expected.Known {
		return x.firstSlots(decideUntimed(d, o), o)
	}
	p := newPlan(o, work, 1)
	p.countInFlight(o)
	in, words := treeValues(o)
	all := p.treeSendings(o, p.guessedLevels(o))
	when, words := describeSendings(o, words, p.treeSendings(o, o.Expected.Levels)) // of the guess nothing is said
	ready := p.boot + math.Max(cmp.Or(o.Poll, time.Second).Seconds(), 0)
	before := d.Desired
	out := max(p.slotEach(o, ready), d.Previous, rules.Ceil(p.presentAt(o, all, ready)/p.slots))
	keep := min(d.Previous, rules.Ceil(p.peakPresent(o, all, ready)/p.slots))
	switch {
	case out > before:
		words += fmt.Sprintf("; %s to be in service for it", rules.Launches(out-before))
	case out < before:
		words += fmt.Sprintf("; %s fewer than one for each that waits, because there are slots for those before",
			rules.Launches(before-out))
	}
	floor := max(min(d.Floor, out), keep)
	if out > d.Previous {
		floor = out
	}
	in = append(append(in, when...), rules.Value("launch", float64(out-d.Previous)), rules.Value("keep", float64(keep)),
		rules.Value("without", float64(before)))
	d = d.With(muster.Term{Rule: treesRule, In: in, Out: out, Why: words})
	d.Floor = min(floor, out)
	return x.firstSlots(d, o)
}

// followed returns the levels that are expected, of which the first has at least as many messages as are in the queue
// or in work, but on a guess none beyond what is likely.
func (p plan) guessedLevels(o muster.Observation) []muster.ExpectedLevel {
	levels := slices.Clone(o.Expected.Levels)
	if o.Expected.Perhaps <= 0 {
		return levels
	}
	if len(levels) == 0 {
		levels = make([]muster.ExpectedLevel, 1)
	}
	sure := levels[0].Messages
	levels[0].Messages = math.Max(sure, math.Min(sure+o.Expected.Perhaps, o.Backlog().Value+p.inProgress(o)))
	return levels
}

// slotEach returns the size at which those that wait have a slot each that are no nodes of trees, or have waited for
// longer than so many seconds.
func (p plan) slotEach(o muster.Observation, seconds float64) int {
	e, backlog := o.Expected, o.Backlog().Value
	each := math.Min(backlog, backlog+p.inProgress(o)-(e.Open-e.Held))
	overdue := 0.0
	for _, g := range p.waiting {
		if g.AgeSeconds > seconds && !p.agesUnknown {
			overdue += g.Messages
		}
	}
	each = math.Max(each, math.Min(overdue, backlog))
	return o.Capacity.Desired + rules.Ceil(math.Max(0, each-p.free-float64(o.Pending())*p.slots)/p.slots)
}

// firstSlots returns the decision d with slots for trees of which only the root is known, while its work is young.
func (x Exact) firstSlots(d muster.Decision, o muster.Observation) muster.Decision {
	// A root whose message was lost leads to nothing.
	young := math.Min(float64(o.Expected.Young), o.Backlog().Value+o.InFlight().Value)
	held, stays := 0.0, firstSlotsShare*bootOf(o.Boot)
	if o.InFlight().Value > 0 {
		held = o.Capacity.HeldMeanSeconds
	}
	slots := float64(x.First) * young * math.Min(1, stays/math.Max(stays, held))
	if slots < 1 {
		return d
	}
	want := rules.Ceil(slots / math.Max(1, o.Capacity.SlotsPerWorker))
	floor := max(d.Floor, want)
	d = d.With(muster.Term{
		Rule: treesRule, In: []muster.Value{rules.Value("young", young), rules.Value("first", float64(x.First)),
			rules.Value("held_s", rules.Round3(held))},
		Out: max(d.Desired, want),
		Why: fmt.Sprintf("of %s nothing is known but the root: %s until more is", render.Plural(int(young), "tree"),
			render.Plural(want, "worker")),
	})
	d.Floor = min(floor, d.Desired)
	return d
}
