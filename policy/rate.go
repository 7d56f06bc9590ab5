package policy

import (
	"fmt"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// Rate bounds how far the size moves within any period, for rises and falls separately:
//
//	step = max(MaxWorkers, ceil(base MaxPercent / 100), 1)
//
// base is the smallest size of the period for a rise, the largest for a fall. At least one worker may always change, so
// that a percentage of a small fleet does not block it.
type Rate struct {
	Of muster.Policy
	// Out limits rises, In falls. Without a period there is no limit.
	Out, In Shape
}

// Decide implements [muster.Policy].
func (p Rate) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	d := p.Of.Decide(o, recent)
	up := d.Desired > d.Previous
	shape := p.In
	if up {
		shape = p.Out
	}
	if p.In.Disabled { // no worker may leave by itself either
		d.Floor = max(d.Floor, min(d.Previous, d.Desired))
	}
	if p.In.Disabled || p.In.Period > 0 {
		d.IdleStop = 0
	}
	if shape.Disabled && d.Desired != d.Previous && d.Verdict != muster.Hold {
		way := "fall"
		if up {
			way = "rise"
		}
		d = d.Held(muster.RateLimited, muster.Term{Rule: "rate", Why: "the configuration disables every " + way})
		if p.In.Disabled {
			d.Floor = d.Previous
		}
		return d
	}
	if shape.Period == 0 || d.Desired == d.Previous || d.Verdict == muster.Hold {
		return d
	}
	// The change counts from the extreme of the period, so that no window of that length has a larger one.
	base := d.Previous
	for _, e := range recent.Since(d.At.Add(-shape.Period)) {
		if up {
			base = min(base, e.Desired)
		} else {
			base = max(base, e.Desired)
		}
	}
	step := max(shape.MaxWorkers, rules.Ceil(float64(base)*shape.MaxPercent/100), 1)
	bound := base - step
	if up {
		bound = base + step
	}
	if (up && d.Desired <= bound) || (!up && d.Desired >= bound) {
		return d
	}
	t := muster.Term{
		Rule: "rate", In: []muster.Value{rules.Value("from", float64(base)), rules.Value("step", float64(step)),
			rules.Value("period_s", shape.Period.Seconds())},
		Out: bound, Why: fmt.Sprintf("at most %s within %s", render.Plural(step, "worker"),
			render.Seconds(shape.Period.Seconds())),
	}
	if (up && bound <= d.Previous) || (!up && bound >= d.Previous) {
		return d.Held(muster.RateLimited, t)
	}
	return d.With(t)
}
