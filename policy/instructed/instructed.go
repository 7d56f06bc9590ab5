package instructed

import (
	"strings"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/override"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// fewBoots is how many measured boots show how much the boot time varies. Until then a boot may take unsure times as
// long as measured or stated: a reservation of 40 workers waits for the slowest of 40 boots.
const (
	fewBoots = 20
	unsure   = 2
)

// Lead returns how long before its begin a reservation launches its workers: the boot time that 99 of 100 launches do
// not exceed, and two polls, because a decision is made at a poll and its result is seen at one. While few boots were
// measured, the boot time counts twice.
func Lead(o muster.Observation) time.Duration {
	poll := o.Poll
	if poll <= 0 {
		poll = time.Second
	}
	boot := max(o.Boot.P99Seconds, o.Boot.P95Seconds, o.Boot.MeanSeconds)
	if o.Boot.Prior || o.Boot.Count < fewBoots {
		boot *= unsure
	}
	return time.Duration(boot*float64(time.Second)) + 2*poll
}

// Reserved raises the size to the workers that operators have reserved, from one boot time before the begin of a
// reservation until its end. The recommendation of the policy stays what it was, so that demand alone sizes the fleet
// as soon as the reservation ends. See package override.
type Reserved struct {
	Of muster.Policy
}

// Decide implements [muster.Policy].
func (p Reserved) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	d := p.Of.Decide(o, recent)
	if len(o.Overrides) == 0 {
		return d
	}
	workers, by := o.Overrides.Reserved(o.At)
	if workers == 0 {
		return d
	}
	why := make([]string, 0, len(by))
	for _, r := range by {
		why = append(why, r.Text(o.At))
	}
	floor := max(d.Floor, workers)
	d = d.With(muster.Term{Rule: "reserve", In: []muster.Value{rules.Value("reserved", float64(workers))},
		Out: max(d.Desired, workers), Why: strings.Join(why, ", ")})
	if d.Floor = min(floor, d.Desired); workers >= o.Capacity.Active() {
		d.IdleStop = 0
	}
	return d
}

// Instructed carries out the other instructions of operators: a pause holds the size, a hold of scale-in holds a fall,
// and limits bound the size. Limits come last, because a size outside of them was not asked for by any operator. The
// observation's Limits are narrowed already; the terms say by which instruction. Members that operators have asked to
// go are only named, so that the decision says why the next one is about a smaller fleet.
type Instructed struct {
	Of muster.Policy
}

// Decide implements [muster.Policy].
func (p Instructed) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	d := p.Of.Decide(o, recent)
	for _, member := range o.Dismissed {
		d = d.With(muster.Term{Rule: "release", Out: d.Desired, Why: "an operator asked a worker to finish and go: " +
			member})
	}
	if len(o.Overrides) == 0 {
		return d
	}
	for _, h := range o.Overrides.Active(o.At, override.HoldScaleIn) {
		t := muster.Term{Rule: "hold_scale_in", Out: d.Desired, Why: h.Text(o.At)}
		if d.Desired < d.Previous {
			d = d.Held(muster.ScaleInHeld, t)
		} else {
			d = d.With(t)
		}
		d.Floor, d.IdleStop = d.Desired, 0
	}
	for _, h := range o.Overrides.Active(o.At, override.Pause) {
		without := min(max(d.Desired, o.Limits.Min), o.Limits.Max)
		t := muster.Term{Rule: "pause", In: []muster.Value{rules.Value("without", float64(without))}, Why: h.Text(o.At)}
		if without != d.Previous {
			t.Why += ": it would be " + render.Plural(without, "worker")
		}
		d = d.Held(muster.Paused, t)
		d.Floor, d.IdleStop = d.Desired, 0
	}
	for _, l := range o.Overrides.Active(o.At, override.Limits) {
		var in []muster.Value
		if l.Min != nil {
			in = append(in, rules.Value("min", float64(*l.Min)))
		}
		if l.Max != nil {
			in = append(in, rules.Value("max", float64(*l.Max)))
		}
		d = d.With(muster.Term{Rule: "limits", In: in, Out: min(max(d.Desired, o.Limits.Min), o.Limits.Max),
			Why: l.Text(o.At)})
	}
	return d
}
