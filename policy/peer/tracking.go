package peer

import (
	"math"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/awsrules/tracking"
	"github.com/muster-scale/muster/internal/render"
)

// TargetTracking is a target tracking policy of EC2 Auto Scaling with the mechanics of its alarms.
//
// The metric is measured once a period. While the high alarm is in state ALARM, it acts once a minute and sets
//
//	ceil(in service * metric / target)
//
// Instances that are ordered or warm up count towards that size, so that one alarm does not order them twice. While the
// low alarm is in state ALARM and no instance warms up, the group shrinks to the same formula. The rules are those of
// packages awsrules/alarm and awsrules/tracking. A missing point scales nothing: without an instance in service there
// is no backlog per instance.
//
// Sources: EC2 Auto Scaling user guide, "Scaling policy based on Amazon SQS" and "Target tracking scaling policies";
// AWS Compute Blog, "Scaling an ASG using target tracking with a dynamic SQS target" and "Enhancing auto scaling
// resilience by tracking worker utilization metrics".
type TargetTracking struct {
	Name string
	// Utilization is the target of total work over total slots, above 0. Zero selects backlog per instance as the
	// metric.
	Utilization float64
	// Share is the target as a part of the acceptable backlog per instance, above 0.
	Share float64
	// Prior is the user's figure for the mean processing duration. With Measured, the measured duration replaces it
	// once a minute.
	Prior    time.Duration
	Measured bool
	Alarm    Alarm
	// Warmup is how long an instance counts as warming up after it came into service.
	Warmup time.Duration
}

// Names kept by target tracking: the target in force, and the time of its next reading.
const (
	keptTarget = "target"
	keptRead   = "next_target_s"
)

// Decide implements [muster.Policy].
func (p TargetTracking) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	t := begin(o, recent, p.Name, append(keptByAlarms(), keptWarm, keptTarget, keptRead)...)
	if !p.Alarm.due(t) {
		return t.between()
	}
	warm := warming(&t.keep, o, p.Warmup)
	need := needBacklog | needCapacity
	if p.Utilization > 0 {
		need |= needInFlight
	}
	reason, why := t.missing(need)
	target, known := p.target(t)
	if reason == "" && !known {
		reason, why = muster.UnknownProcessing, "no processing duration was given or measured, so there is no target"
	}
	metric, exists := p.metric(o)
	if reason == "" && !exists {
		reason, why = muster.Steady, "no instance is in service, so there is no backlog per instance"
	}
	if reason != "" {
		p.Alarm.miss(t)
		return t.hold(reason, nil, "%s", why)
	}
	return p.track(t, metric, target, warm)
}

// track adds a point of the metric and does what the alarms require.
func (p TargetTracking) track(t *turn, metric, target float64, warm bool) muster.Decision {
	serving := t.o.Capacity.InService()
	stands := p.Alarm.see(t, metric > target, metric < p.Alarm.Below*target)
	wanted := tracking.Size(serving, metric, target)
	if serving == 0 {
		// The formula cannot leave zero, and the service's behaviour there is not published. One is the smallest
		// change.
		wanted = 1
	}
	in := []muster.Value{num("metric", metric), num("target", target), num("in_service", float64(serving)),
		num("points_high", stands.highPoints), num("points_low", stands.lowPoints)}
	previous := t.d.Previous
	switch {
	case stands.high.acts && wanted > previous:
		t.keep.set(keptWarm, seconds(t.o.At.Add(p.Warmup)))
		return t.settle(wanted, in, "%d points above the target: %d x %s / %s, so %s", p.Alarm.High, serving,
			render.Number(metric), render.Number(target), render.Plural(wanted, "worker"))
	case stands.high.stands && !stands.high.acts || !stands.high.stands && stands.low.stands && !stands.low.acts:
		return t.hold(muster.Steady, in, "an alarm stands, and it acts once a minute")
	case stands.high.stands:
		return t.hold(muster.Steady, in, "the high alarm stands, and the instances on their way count: %d wanted",
			wanted)
	case stands.low.acts && wanted < previous && warm:
		return t.hold(muster.CoolingDown, in, "the low alarm stands, but instances are warming up")
	case stands.low.acts && wanted < previous:
		return t.settle(wanted, in, "%d points below %s of the target: %d x %s / %s, so %s", p.Alarm.Low,
			render.Number(p.Alarm.Below), serving, render.Number(metric), render.Number(target), render.Plural(wanted,
				"worker"))
	}
	return t.hold(muster.Steady, in, "the metric is %s, the target %s, and no alarm asks for another size",
		render.Number(metric), render.Number(target))
}

// metric returns the metric, and whether it exists.
func (p TargetTracking) metric(o muster.Observation) (float64, bool) {
	serving, total := float64(o.Capacity.InService()), float64(o.Capacity.Slots)
	switch {
	case p.Utilization > 0 && total > 0:
		return work(o) / total, true
	case p.Utilization > 0:
		return min(1, work(o)), true // without slots any work saturates the fleet, so that it leaves zero
	case serving > 0:
		return o.Backlog().Value / serving, true
	}
	return 0, false
}

// target returns the target in force, and whether there is one. A measured one is read again once a minute.
func (p TargetTracking) target(t *turn) (float64, bool) {
	if p.Utilization > 0 {
		return p.Utilization, true
	}
	mean := p.Prior
	if p.Measured {
		_, read := t.keep.due(keptRead, t.o.At, time.Minute, 0)
		if kept, ok := t.keep.get(keptTarget); ok && !read {
			return kept, true
		}
		if e := t.o.Processing; e.Known && !e.Prior && e.MeanSeconds > 0 {
			mean = time.Duration(min(e.MeanSeconds*1e9, math.MaxInt64/2))
		}
	}
	target := p.Share * acceptable(t.o, mean)
	if !(target > 0) || math.IsInf(target, 0) {
		return 0, false
	}
	if p.Measured {
		if kept, ok := t.keep.get(keptTarget); ok && kept != target {
			p.Alarm.restart(t) // PutScalingPolicy replaces the alarms
		}
		t.keep.set(keptTarget, target)
	}
	return target, true
}
