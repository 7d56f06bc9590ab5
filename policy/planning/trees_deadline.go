package planning

import (
	"fmt"
	"math"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// decideWithTrees returns d, the decision for waiting messages, with what trees are expected to send. Those messages
// count like waiting ones, from the time at which they are expected: workers are launched at the last moment at which
// they are in service in time. Present workers stay for messages that arrive sooner than a worker could be launched
// again.
func (p *plan) decideWithTrees(d muster.Decision, o muster.Observation) muster.Decision {
	if !o.Expected.Known {
		return holdWithoutTrees(d, o)
	}
	in, words := treeValues(o)
	all := p.treeSendings(o, o.Expected.Levels)
	when, words := describeSendings(o, words, all)
	before, active := d.Desired, o.Capacity.Active()
	keep := min(active, rules.Ceil(p.keptForSendings(o, all)))
	launch := 0
	if next := p.withSendings(o, all); len(next.waiting) > len(p.waiting) {
		need := next.needAfter(0)
		if later := next.needAfter(next.step); rules.Ceil(later.workers) > rules.Ceil(need.workers) ||
			next.mustLaunchNow(need) || need.cause == forLate {
			launch = rules.Ceil(need.workers)
		}
	}
	out := max(before, active+launch, keep)
	if launch == 0 {
		out = max(before, keep)
	}
	switch {
	case out == before:
	case launch > 0 && out == active+launch:
		words += fmt.Sprintf("; %s to be in service for it", rules.Launches(launch))
	default:
		words += fmt.Sprintf("; %s for it", workersStay(out))
	}
	if d.Floor = max(d.Floor, keep); keep >= active {
		d.IdleStop = 0
	}
	in = append(append(in, when...), rules.Value("launch", float64(launch)), rules.Value("keep", float64(keep)),
		rules.Value("without", float64(before)))
	return d.With(muster.Term{Rule: treesRule, In: in, Out: out, Why: words})
}

// workersStay returns "1 worker stays" or "3 workers stay".
func workersStay(n int) string {
	if n == 1 {
		return "1 worker stays"
	}
	return fmt.Sprintf("%d workers stay", n)
}

// treeHorizon returns up to which time, in seconds from now, expected messages count. Later ones can be served by a
// later launch. If the objective leaves no time to launch, only the messages that arrive during a boot need a launch
// now.
func (p *plan) treeHorizon() float64 {
	if p.slack() <= 0 || p.agesUnknown {
		return p.boot + p.step
	}
	return p.boot + p.step + p.latency
}

// withSendings returns the plan with the expected messages as waiting groups whose age is negative.
func (p *plan) withSendings(o muster.Observation, all []sending) plan {
	later, messages := *p, 0.0
	if o.Backlog().Value == 0 {
		later.waiting, later.begunBy = nil, nil
	}
	for _, g := range later.waiting {
		messages += g.Messages
	}
	earlier, last := messages, 0.0 // the messages present when the next part arrives; the time of the last part
	waiting, begunBy := append([]muster.Waiting(nil), later.waiting...), append([]float64(nil), later.begunBy...)
	for _, a := range all {
		if a.at > p.treeHorizon() || a.messages <= 0 {
			break
		}
		g := muster.Waiting{AgeSeconds: -a.at, Messages: a.messages}
		if a.at > last {
			earlier, last = messages, a.at
		}
		// Before this part arrives, only earlier messages can begin.
		latest := p.lastMoment(g)
		waiting = append(waiting, g)
		begunBy = append(begunBy, math.Min(p.begun(latest),
			math.Min(earlier, p.begun(a.at))+p.startsBetween(a.at, latest)))
		messages += a.messages
	}
	later.waiting, later.begunBy = waiting, begunBy
	return later
}

// startsBetween returns how many messages the existing workers, in service and on their way, can begin between two
// times.
func (p *plan) startsBetween(from, until float64) float64 {
	if until < from {
		return 0
	}
	n := p.inService * p.starts(until-from, p.varied)
	for _, a := range p.pending {
		if until >= a.at {
			n += a.slots * p.starts(until-math.Max(from, a.at), p.varied)
		}
	}
	return n
}

// keptForSendings returns how many workers the messages need that arrive before a worker launched now could be in
// service. It is a fraction. Expected.Perhaps counts too, because it justifies keeping workers.
func (p *plan) keptForSendings(o muster.Observation, all []sending) float64 {
	if o.Expected.Perhaps > 0 {
		all = append([]sending{{p.residual, o.Expected.Perhaps}}, all...)
	}
	slots, messages := 0.0, 0.0
	spare := math.Max(0, p.latency-p.Tail)
	for _, a := range all {
		if a.at > p.boot+p.step {
			break
		}
		messages += a.messages
		slots = math.Max(slots, messages/p.starts(math.Max(0, a.at-all[0].at)+spare, p.varied))
	}
	return slots / p.slots
}
