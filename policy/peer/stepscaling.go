package peer

import (
	"math"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/awsrules/stepscaling"
	"github.com/muster-scale/muster/internal/render"
)

// StepScaling is a step scaling policy of EC2 Auto Scaling on the backlog per instance. The distance of the metric from
// the threshold of an alarm selects the percentage by which the group changes. Instances that warm up are not part of
// the size that the percentage applies to, but count towards the result. The group shrinks only while no instance warms
// up.
//
// Source: EC2 Auto Scaling user guide, "Step and simple scaling policies". AWS publishes no default steps; these are
// the user's.
type StepScaling struct {
	Name string
	// Share is the threshold of the high alarm as a part of the acceptable backlog per instance, above 0; the threshold
	// of the low alarm is Alarm.Below times that. Prior is the user's figure for the mean processing duration.
	Share float64
	Prior time.Duration
	Alarm Alarm
	// Out and In are tried in order; outside of them the size stays. Their bounds are relative to the alarm's
	// threshold, in multiples of the high one; those of In are below 0.
	Out, In []stepscaling.Step
	Warmup  time.Duration
}

// Decide implements [muster.Policy].
func (p StepScaling) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	t := begin(o, recent, p.Name, append(keptByAlarms(), keptWarm)...)
	if !p.Alarm.due(t) {
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
		p.Alarm.miss(t)
		return t.hold(reason, nil, "%s", why)
	}
	return p.adjust(t, o.Backlog().Value/float64(serving), threshold, warm)
}

// adjust adds a point of the metric and does what the alarms require.
func (p StepScaling) adjust(t *turn, metric, threshold float64, warm bool) muster.Decision {
	serving, previous := t.o.Capacity.InService(), t.d.Previous
	stands := p.Alarm.see(t, metric >= threshold, metric <= p.Alarm.Below*threshold)
	in := []muster.Value{num("metric", metric), num("threshold", threshold), num("in_service", float64(serving)),
		num("points_high", stands.highPoints), num("points_low", stands.lowPoints)}
	switch {
	case stands.high.acts:
		s, k := stepscaling.Find(p.Out, metric/threshold-1)
		if wanted := s.Change.Of(serving); k >= 0 && wanted > previous {
			t.keep.set(keptWarm, seconds(t.o.At.Add(p.Warmup)))
			return t.settle(wanted, in, "%s waiting per instance is past the threshold of %s: %+g %% of the %d in "+
				"service",
				render.Number(metric), render.Number(threshold), s.Change.Adjustment, serving)
		}
		return t.hold(muster.Steady, in, "the high alarm stands, and the instances on their way count")
	case stands.high.stands || stands.low.stands && !stands.low.acts:
		return t.hold(muster.Steady, in, "an alarm stands, and it acts once a minute")
	case stands.low.acts:
		s, k := stepscaling.Find(p.In, metric/threshold-p.Alarm.Below)
		wanted := s.Change.Of(previous)
		switch {
		case k >= 0 && wanted < previous && warm:
			return t.hold(muster.CoolingDown, in, "the low alarm stands, but instances are warming up")
		case k >= 0 && wanted < previous:
			return t.settle(wanted, in, "%s waiting per instance is below %s: %+g %%", render.Number(metric),
				render.Number(p.Alarm.Below*threshold), s.Change.Adjustment)
		}
	}
	return t.hold(muster.Steady, in, "%s waiting per instance, the threshold is %s", render.Number(metric),
		render.Number(threshold))
}
