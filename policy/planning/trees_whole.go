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

// firstSlotsShare is the part of a boot for which the first slots of a tree stay while only its root is known. After
// that their number falls in proportion to the time: a root that takes long leads to its children no sooner, and idle
// workers cost.
const firstSlotsShare = 0.25

// wholeTrees returns d, the decision of [Exact], sized for each tree as a whole. A waiting node gets no worker of its
// own if the existing slots finish the nodes before it sooner than that worker could take messages. Expected messages
// count.
//
// One guess counts too: the next level has as many nodes as there are now, up to what Expected.Perhaps allows. So the
// guess keeps a tree's size and never makes it grow.
//
// Messages that are not nodes get a slot each, as in Exact without trees. So do nodes that have waited for longer than
// a boot: the slots that were to reach them did not.
func (x Exact) wholeTrees(d muster.Decision, o muster.Observation) muster.Decision {
	work, known := durations.Of(o)
	if !known || !o.Expected.Known {
		return x.firstSlots(decideUntimed(d, o), o)
	}
	p := newPlan(o, work, 1)
	p.countInFlight(o)
	in, words := treeValues(o)
	all := p.treeSendings(o, p.guessedLevels(o))
	when, words := describeSendings(o, words, p.treeSendings(o, o.Expected.Levels)) // without the guess
	ready := p.boot + math.Max(cmp.Or(o.Poll, time.Second).Seconds(), 0)
	before := d.Desired
	out := max(p.slotEach(o, ready), d.Previous, rules.Ceil(p.presentAt(o, all, ready)/p.slots))
	keep := min(d.Previous, rules.Ceil(p.peakPresent(o, all, ready)/p.slots))
	switch {
	case out > before:
		words += fmt.Sprintf("; %s to be in service for it", rules.Launches(out-before))
	case out < before:
		words += fmt.Sprintf("; %s fewer than one for each waiting node, because present slots are free for it sooner",
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

// guessedLevels returns the expected levels. Its first level has at least as many messages as are waiting or in
// progress now, as far as Expected.Perhaps allows that guess.
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

// slotEach returns the size at which each waiting message has a slot that is not a node of a tree, or that has waited
// for longer than so many seconds.
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

// firstSlots returns d with slots for trees of which only the root is known. Each such tree gets First slots, while its
// root has been in progress for less than firstSlotsShare of a boot, and fewer after that.
func (x Exact) firstSlots(d muster.Decision, o muster.Observation) muster.Decision {
	// A root whose message was lost sends nothing: no more roots count than messages exist.
	young := math.Min(float64(o.Expected.Young), o.Backlog().Value+o.InFlight().Value)
	held, stays := 0.0, firstSlotsShare*durations.Boot(o.Boot)
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
		Why: fmt.Sprintf("only the root of %s is known: %s until more is", render.Plural(int(young), "tree"),
			render.Plural(want, "worker")),
	})
	d.Floor = min(floor, d.Desired)
	return d
}
