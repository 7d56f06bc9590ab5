package planning

import (
	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// Exact gives every message a slot of its own: desired + max(0, queued - pending), where slots that are free count as
// pending too. It never asks a worker to go: the size falls because workers that stay idle leave by themselves, down to
// what the work in the queue occupies. Its source is the event-driven scaling of ECS services; it finishes earliest of
// all policies and pays for it.
//
// What running trees are expected to send counts as soon as a worker that is launched now would be in service no sooner
// than it comes: see [muster.Expected].
type Exact struct {
	// Whole sizes for trees as a whole and not for each of their nodes.
	Whole bool
	// First is how many slots a tree gets of which only the root is known: with Whole alone, at least 0.
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
	// Backlog and messages in flight were counted at one instant. What workers report comes at others: between the two
	// a message would count twice, as waiting and as held, or not at all.
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
