package peer

import (
	"math"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
)

// StepScaling is a step scaling policy of EC2 Auto Scaling on the backlog per instance: how far the metric is past the
// threshold of an alarm says by what percentage the group changes. Instances that warm up are no part of the size that
// the percentage is of, and count towards the result. The group shrinks only while nothing warms up.
//
// Source: EC2 Auto Scaling user guide, "Step and simple scaling policies". AWS publishes no steps: those are the
// user's.
type StepScaling struct {
	Name string
	// Share is the part of the acceptable backlog per instance that is the threshold of the high alarm, above 0; the
	// low alarm's is Alarm.Below times that. Prior is the user's figure for the mean processing duration.
	Share float64
	Prior time.Duration
	Alarm Alarm
	// Out and In are tried in order; outside of them the size stays.
	Out, In []Adjustment
	Warmup  time.Duration
}

// Adjustment is one step: while the metric is From to To times the threshold away from that threshold (From included,
// To not), the size changes by Percent. To is infinite when it is zero.
type Adjustment struct {
	From, To float64
	Percent  float64
}

// Of returns the size that a group of size n is changed to. Percentages are rounded as AWS does: towards zero, and to
// one instance where that would be none.
func (a Adjustment) Of(n int) int {
	by := float64(n) * a.Percent / 100
	whole := math.Trunc(by)
	if whole == 0 && by != 0 {
		whole = math.Copysign(1, by)
	}
	return int(max(0, min(float64(n)+whole, math.MaxInt32)))
}

// step finds the adjustment for a metric that is so many thresholds past the threshold.
func step(steps []Adjustment, past float64) (Adjustment, bool) {
	for _, a := range steps {
		if past >= a.From && (a.To == 0 || past < a.To) {
			return a, true
		}
	}
	return Adjustment{}, false
}

// Decide implements [muster.Policy].
func (p StepScaling) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	t := begin(o, recent, p.Name, keptPoint, keptHigh, keptLow, keptMissing, keptWarm)
	if _, due := t.keep.due(keptPoint, o.At, p.Alarm.Period, p.Alarm.Period); !due {
		return t.between()
	}
	warm := warming(&t.keep, o, p.Warmup)
	serving := o.Capacity.InService()
	threshold := p.Share * acceptable(o, p.Prior)
	reason, why := t.missing(needBacklog | needCapacity)
	switch {
	case reason != "":
	case !(threshold > 0) || math.IsInf(threshold, 0):
		reason, why = muster.UnknownProcessing, "no processing duration was given, so there is no threshold"
	case serving == 0:
		reason, why = muster.Steady, "no instance is in service, so there is no backlog per instance"
	}
	if reason != "" {
		p.Alarm.miss(&t.keep)
		return t.hold(reason, nil, "%s", why)
	}
	return p.adjust(t, o.Backlog().Value/float64(serving), threshold, warm)
}

func (p StepScaling) adjust(t *turn, metric, threshold float64, warm bool) muster.Decision {
	serving, previous := t.o.Capacity.InService(), t.d.Previous
	high, low := p.Alarm.see(&t.keep, metric >= threshold, metric <= p.Alarm.Below*threshold)
	in := []muster.Value{num("metric", metric), num("threshold", threshold), num("in_service", float64(serving)),
		num(keptHigh, t.keep.or(keptHigh, 0)), num(keptLow, t.keep.or(keptLow, 0))}
	if high {
		a, ok := step(p.Out, metric/threshold-1)
		if wanted := a.Of(serving); ok && wanted > previous {
			t.keep.set(keptWarm, seconds(t.o.At.Add(p.Warmup)))
			return t.settle(wanted, in, "%s waiting per instance is past the threshold of %s: %+g %% of the %d in "+
				"service",
				render.Number(metric), render.Number(threshold), a.Percent, serving)
		}
		return t.hold(muster.Steady, in, "the high alarm stands, and the instances on their way count")
	}
	if low {
		a, ok := step(p.In, p.Alarm.Below-metric/threshold)
		wanted := a.Of(previous)
		switch {
		case ok && wanted < previous && warm:
			return t.hold(muster.CoolingDown, in, "the low alarm stands, but instances are warming up")
		case ok && wanted < previous:
			return t.settle(wanted, in, "%s waiting per instance is below %s: %+g %%", render.Number(metric),
				render.Number(p.Alarm.Below*threshold), a.Percent)
		}
	}
	return t.hold(muster.Steady, in, "%s waiting per instance, the threshold is %s", render.Number(metric),
		render.Number(threshold))
}
