package planning

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/durations"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// Exact gives every message a slot of its own:
//
//	desired = previous + ceil(max(0, backlog - pending - free) / slots)
//
// pending are the slots of ordered and booting workers, free the slots in service without a message, slots those of one
// worker. Exact never stops a worker: the size falls because idle workers leave by themselves, down to what the work
// occupies. Of all policies it finishes messages earliest, and pays most for it. Its source is the event-driven scaling
// of ECS services.
//
// Messages that running trees are expected to send count once a worker launched now would be in service no sooner than
// they arrive: see [muster.Expected].
type Exact struct {
	// Whole sizes for a tree as a whole instead of for each of its nodes.
	Whole bool
	// First is how many slots a tree gets of which only the root is known. It counts with Whole alone and is at least
	// 0.
	First int
}

// Decide implements [muster.Policy].
func (x Exact) Decide(o muster.Observation, _ muster.Recent) muster.Decision {
	const rule = "exact"
	d := rules.Begin(o, "exact/2")
	o = rules.WithoutRetries(o)
	backlog, inFlight := o.Backlog(), o.InFlight()
	if !o.Capacity.Known {
		return d.Held(muster.UnknownCapacity, muster.Term{Rule: rule, Why: "the fleet could not be listed: " +
			o.Capacity.Reason})
	}
	if !backlog.Known {
		return rules.Unknown(d, muster.UnknownBacklog, rule, "backlog", backlog)
	}
	slots := o.Capacity.SlotsPerWorker
	pending := float64(o.Pending()) * slots
	// Backlog and messages in flight were counted at one instant. Worker reports come at others: a message received in
	// between would count twice, as waiting and as busy slot, or not at all.
	free := float64(max(0, o.Capacity.Slots-o.Capacity.BusySlots))
	if inFlight.Known {
		free = max(0, float64(o.Capacity.Slots)-inFlight.Value)
	}
	add := rules.Ceil(max(0, backlog.Value-pending-free) / slots)
	d.Floor = d.Previous + add
	if inFlight.Known {
		d.Floor = min(d.Floor, rules.Ceil((backlog.Value+inFlight.Value)/slots))
	}
	d = d.With(muster.Term{
		Rule: rule,
		In: []muster.Value{rules.Value("queued", backlog.Value), rules.Value("pending_slots", pending),
			rules.Value("free_slots", free),
			rules.Value("slots_per_worker", slots), rules.Value("desired", float64(d.Previous))},
		Out: d.Previous + add,
		Why: exactWhy(o, backlog.Value, pending, free, add),
	})
	return x.trees(d, o)
}

// exactWhy says why Exact adds add workers; queued, pending and free are those of the formula.
func exactWhy(o muster.Observation, queued, pending, free float64, add int) string {
	if queued == 0 {
		return rules.NothingWaits(o) + ", and workers that stay idle leave by themselves"
	}
	var there []string
	if free > 0 {
		there = append(there, render.Plural(int(free), "slot")+" free")
	}
	if pending > 0 {
		there = append(there, render.Plural(int(pending), "slot")+" coming")
	}
	switch soon := strings.Join(there, " and "); {
	case add == 0:
		return fmt.Sprintf("%s waiting, %s: enough", render.Number(queued), soon) + rules.Retries(o)
	case soon == "":
		return fmt.Sprintf("%s waiting and no slot free or coming, so %s", render.Number(queued),
			render.Plural(add, "more worker")) + rules.Retries(o)
	default:
		return fmt.Sprintf("%s waiting, only %s, so %s", render.Number(queued), soon,
			render.Plural(add, "more worker")) + rules.Retries(o)
	}
}

// trees returns d with what trees are expected to send: a slot for each message that is present when a worker launched
// now takes messages. Workers stay for messages that are present before that.
func (x Exact) trees(d muster.Decision, o muster.Observation) muster.Decision {
	switch {
	case o.Expected.None():
		return d
	case x.Whole:
		return x.wholeTrees(d, o)
	}
	work, known := durations.Of(o)
	if !known || !o.Expected.Known {
		return decideUntimed(d, o)
	}
	p := newPlan(o, work, 1)
	p.countInFlight(o)
	in, words := treeValues(o)
	all := p.treeSendings(o, o.Expected.Levels)
	when, words := describeSendings(o, words, all)
	ready := p.boot + math.Max(cmp.Or(o.Poll, time.Second).Seconds(), 0)
	before := d.Desired
	out := max(before, rules.Ceil(p.presentAt(o, all, ready)/p.slots))
	keep := min(d.Previous, rules.Ceil(p.peakPresent(o, all, ready)/p.slots))
	if out > before {
		words += fmt.Sprintf("; %s to be in service for it", rules.Launches(out-before))
	}
	floor := max(min(d.Floor, out), keep)
	if out > before {
		floor = out
	}
	in = append(append(in, when...), rules.Value("launch", float64(out-before)), rules.Value("keep", float64(keep)),
		rules.Value("without", float64(before)))
	d = d.With(muster.Term{Rule: treesRule, In: in, Out: out, Why: words})
	d.Floor = min(floor, out)
	return d
}

// countInFlight sets the free slots by the queue's own number of messages in flight. It was counted at the same instant
// as the backlog; worker reports come at other times, so a message between the two would count twice or not at all.
func (p *plan) countInFlight(o muster.Observation) {
	if f := o.InFlight(); f.Known {
		p.free = math.Max(0, p.inService-f.Value)
	}
}

// presentAt returns how many messages are waiting or in progress at a time in seconds from now: the present ones and
// those of all that arrive by then, less what the existing workers have finished.
func (p plan) presentAt(o muster.Observation, all []sending, at float64) float64 {
	inHand := p.inProgress(o)
	came := func(by float64) float64 {
		n := o.Backlog().Value
		for _, a := range all {
			if a.at <= by {
				n += a.messages
			}
		}
		return n
	}
	finished := 0.0
	if first, last := p.progressEnds(); at >= last {
		finished = inHand
	} else if at > first {
		finished = inHand * (at - first) / (last - first)
	}
	if begun := at - p.Mean; begun >= 0 {
		finished += math.Min(p.begun(begun), came(begun))
	}
	return math.Max(0, inHand+came(at)-finished)
}

// peakPresent returns the largest number of messages present at any arrival until a time in seconds from now.
// Expected.Perhaps counts too: this number keeps workers and launches none.
func (p plan) peakPresent(o muster.Observation, all []sending, until float64) float64 {
	most := 0.0
	for _, a := range all {
		if a.at <= until {
			most = math.Max(most, p.presentAt(o, all, a.at))
		}
	}
	if e := o.Expected; e.Perhaps > 0 && p.residual <= until {
		most = math.Max(most, p.presentAt(o, all, p.residual)+e.Perhaps)
	}
	return most
}
