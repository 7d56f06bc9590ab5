package policy

import (
	"cmp"
	"fmt"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// LaunchLimits holds rises while launches fail, and keeps them within the launches allowed in an hour. Failed launches
// count: the costliest incidents are members that never start and are launched again for ever.
type LaunchLimits struct {
	Of muster.Policy
}

// Decide implements [muster.Policy].
func (p LaunchLimits) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	d := p.Of.Decide(o, recent)
	missing := d.Desired - o.Capacity.Active()
	if missing <= 0 {
		return d
	}
	if c := o.Capacity; missing > o.Room() && c.Draining+c.Released+c.Lost > 0 {
		d = d.With(muster.Term{Rule: "room",
			In:  []muster.Value{rules.Value("live", float64(c.Live())), rules.Value("max", float64(o.Limits.Max))},
			Out: d.Desired,
			Why: fmt.Sprintf("%d draining, %d released and %d silent count against the maximum of %d", c.Draining,
				c.Released, c.Lost, o.Limits.Max)})
		d.Reason = muster.NoRoom
	}
	l := o.Launches
	if l.RetryAt.After(o.At) {
		t := muster.Term{Rule: "launches", In: []muster.Value{rules.Value("failed_in_a_row", float64(l.Failed))},
			Why: fmt.Sprintf("%s in a row ended before they were of use (%s); the next try is in %s",
				rules.Launches(l.Failed), l.LastError, render.Seconds(l.RetryAt.Sub(o.At).Seconds()))}
		if d.Desired > d.Previous {
			return d.Held(muster.LaunchesFailing, t)
		}
		t.Out = d.Desired
		d = d.With(t)
		d.Reason = muster.LaunchesFailing
		return d
	}
	room := max(0, o.Limits.LaunchesPerHour-l.LastHour)
	if missing <= room {
		return d
	}
	t := muster.Term{
		Rule: "launches_per_hour", In: []muster.Value{rules.Value("last_hour", float64(l.LastHour)),
			rules.Value("allowed", float64(o.Limits.LaunchesPerHour))},
		Out: max(d.Previous, o.Capacity.Active()+room),
		Why: fmt.Sprintf("%s in the past hour, %d are allowed", rules.Launches(l.LastHour), o.Limits.LaunchesPerHour),
	}
	if t.Out >= d.Desired || t.Out == d.Previous {
		return d.Held(muster.LaunchBudget, t)
	}
	return d.With(t)
}

// Bounds keeps the size within the fleet's minimum and maximum. A wish above the maximum is cut and acted on. It comes
// last and settles the verdict.
type Bounds struct {
	Of muster.Policy
}

// Decide implements [muster.Policy].
func (p Bounds) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	d := p.Of.Decide(o, recent)
	if o.Drift.Contested() {
		return contested(o, d)
	}
	switch {
	case d.Desired > o.Limits.Max:
		d = d.With(muster.Term{Rule: "max", In: []muster.Value{rules.Value("max", float64(o.Limits.Max))},
			Out: o.Limits.Max,
			Why: fmt.Sprintf("the maximum is %d", o.Limits.Max)})
	case d.Desired < o.Limits.Min:
		d = d.With(muster.Term{Rule: "min", In: []muster.Value{rules.Value("min", float64(o.Limits.Min))},
			Out: o.Limits.Min,
			Why: fmt.Sprintf("the minimum is %d", o.Limits.Min)})
	}
	d.Floor = min(max(d.Floor, o.Limits.Min), d.Desired)
	if d.Desired != d.Previous {
		d.Verdict, d.Reason = muster.Apply, ""
		return d
	}
	d.Verdict, d.Reason = muster.Hold, cmp.Or(d.Reason, muster.Steady)
	return d
}

// contested holds while another controller sizes the fleet too: two that set one number undo each other, and the
// members are launched and ended for nothing.
func contested(o muster.Observation, d muster.Decision) muster.Decision {
	last := o.Drift.Last()
	d = d.Held(muster.Contested, muster.Term{
		Rule: "contested", In: []muster.Value{rules.Value("set_by_others", float64(len(o.Drift.Changes))),
			rules.Value("last", float64(last.To))},
		Why: fmt.Sprintf("%s; Muster leaves it alone while there are %d or more: end the other controller, or state "+
			"shadow: true", o.Drift, muster.ContestedBy),
	})
	d.Floor = d.Desired
	return d
}
