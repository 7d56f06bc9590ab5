package planning

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/durations"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// trees returns the decision d of [Exact] with what trees are expected to send: a slot for each message that is there
// when a worker that is launched now takes messages. Workers stay for messages that come before that.
func (x Exact) trees(d muster.Decision, o muster.Observation) muster.Decision {
	switch {
	case o.Expected.None():
		return d
	case x.Whole:
		return x.wholeTrees(d, o)
	}
	work, known := durations.Of(o)
	if !known || !o.Expected.Known {
		return untimed(d, o)
	}
	p := newPlan(o, work, 1)
	p.hold(o)
	in, words := treesIn(o)
	all := p.sendings(o, o.Expected.Levels)
	when, words := treesWhen(o, words, all)
	ready := p.boot + math.Max(cmp.Or(o.Poll, time.Second).Seconds(), 0)
	before := d.Desired
	out := max(before, rules.Ceil(p.present(o, all, ready)/p.slots))
	keep := min(d.Previous, rules.Ceil(p.most(o, all, ready)/p.slots))
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

// hold takes what is in hand from the queue's count, which was made at the same instant as that of the backlog.
func (p *plan) hold(o muster.Observation) {
	if f := o.InFlight(); f.Known {
		p.free = math.Max(0, p.up-f.Value)
	}
}

// present returns how many messages are there so many seconds from now, waiting or in work: those that are there now,
// and those that come by then, without those that the workers that are there and on their way have finished.
func (p plan) present(o muster.Observation, all []ahead, at float64) float64 {
	inHand := p.inHand(o)
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
	if first, last := p.ends(); at >= last {
		finished = inHand
	} else if at > first {
		finished = inHand * (at - first) / (last - first)
	}
	if begun := at - p.Mean; begun >= 0 {
		finished += math.Min(p.begun(begun), came(begun))
	}
	return math.Max(0, inHand+came(at)-finished)
}

// most returns the most messages that are there when some come, from now until so many seconds from now. Whether nodes
// have children of whose depth none is done is taken as for the depth above.
func (p plan) most(o muster.Observation, all []ahead, until float64) float64 {
	most := 0.0
	for _, a := range all {
		if a.at <= until {
			most = math.Max(most, p.present(o, all, a.at))
		}
	}
	if e := o.Expected; e.Perhaps > 0 && p.residual <= until {
		most = math.Max(most, p.present(o, all, p.residual)+e.Perhaps)
	}
	return most
}
