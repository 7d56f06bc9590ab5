// Package tracking is the published arithmetic of target tracking, of EC2 Auto Scaling and of Application Auto
// Scaling.
//
// A policy keeps a metric at a target. [Fixed] is the pair of alarms that it gets. When an alarm fires, [Size]
// computes the capacity that brings the metric to the target:
//
//	capacity * metric / target, rounded up
//
// [Out] and [In] combine the policies of a group or service: one policy is enough to scale out, and all must agree to
// scale in. [Warmup] and [Cooldowns] say what a change waits for; groups wait for warm-ups, services for cooldowns.
//
// The package has no groups, services or clock. Package sim/cloud/scaling has those and decides by it, and so do the
// baselines of policy/peer. For the states of the alarms use awsrules/alarm, for step scaling awsrules/stepscaling.
//
// Sources: EC2 Auto Scaling user guide, "Target tracking scaling policies" and "Scaling policy based on Amazon SQS";
// Application Auto Scaling user guide, "Target tracking scaling policies" and "Cooldown periods".
package tracking

import (
	"math"
	"time"

	"github.com/muster-scale/muster/awsrules/alarm"
)

// Pair describes the two alarms of a policy.
type Pair struct {
	// High and Low are how many data points in a row must be above the target, and below the low alarm's threshold.
	High, Low int
	// Below is the threshold of the low alarm, as a share of the target.
	Below float64
}

// Fixed returns the pair of every policy until the end of 2024, which Application Auto Scaling still has: 3 of 3 data
// points above the target, 15 of 15 below 0.9 of it. EC2 Auto Scaling has tuned its alarms since and does not publish
// how.
func Fixed() Pair { return Pair{High: 3, Low: 15, Below: 0.9} }

// HighAlarm returns the rule of the alarm that scales out.
func (p Pair) HighAlarm(target float64) alarm.Rule {
	return alarm.Rule{Comparison: alarm.Above, Threshold: target, Periods: p.High, Datapoints: p.High,
		Missing: alarm.Missing}
}

// LowAlarm returns the rule of the alarm that scales in.
func (p Pair) LowAlarm(target float64) alarm.Rule {
	return alarm.Rule{Comparison: alarm.Below, Threshold: target * p.Below, Periods: p.Low, Datapoints: p.Low,
		Missing: alarm.Missing}
}

// rounding is how far a quotient may exceed a whole number and still count as that number.
const rounding = 1e-9

// mostCapacity bounds the result, for metrics that are far above their target.
const mostCapacity = math.MaxInt32

// Size returns capacity x metric / target, rounded up: a scale-out adds no less than needed, and a scale-in removes
// no more. The target must be above 0.
func Size(capacity int, metric, target float64) int {
	wanted := float64(capacity) * (metric / target)
	if !(wanted > 0) {
		return 0
	}
	return int(min(math.Ceil(wanted-rounding), mostCapacity))
}

// Reading is the state of one policy: its target, its metric and its alarms.
type Reading struct {
	// Target is above 0.
	Target float64
	// Metric is the newest value; nil when there is none, and then the policy changes nothing.
	Metric *float64
	// High and Low are the states of its alarms.
	High, Low alarm.State
	// DisableScaleIn leaves the policy out of scale-in decisions.
	DisableScaleIn bool
}

// Out returns the size that a policy wants when its high alarm fires, and whether it is above the desired one. From
// no capacity it is fromZero, which AWS does not publish.
func Out(r Reading, capacity, desired, most, fromZero int) (int, bool) {
	if r.Metric == nil {
		return desired, false
	}
	wanted := fromZero
	if capacity > 0 {
		wanted = Size(capacity, *r.Metric, r.Target)
	}
	wanted = min(wanted, most)
	return wanted, wanted > desired
}

// In returns the size to which all policies of a group or service agree to scale in, and whether it is below the
// desired one. Policies without scale-in have no vote, but no policy may want to scale out.
func In(all []Reading, capacity, desired, least int) (int, bool) {
	wanted, asked := least, false
	for _, r := range all {
		switch {
		case r.High == alarm.Alarm:
			return desired, false
		case r.DisableScaleIn:
		case r.Low != alarm.Alarm || r.Metric == nil:
			return desired, false
		default:
			asked = true
			wanted = max(wanted, Size(capacity, *r.Metric, r.Target))
		}
	}
	return wanted, asked && wanted < desired
}

// Warmup returns how long an instance of a group counts as warming up: the value of the policy, else the group's
// default warm-up, else the group's cooldown. Nothing scales in meanwhile.
func Warmup(policy, group *time.Duration, cooldown time.Duration) time.Duration {
	switch {
	case policy != nil:
		return *policy
	case group != nil:
		return *group
	}
	return cooldown
}

// Cooldowns remembers when Application Auto Scaling changed a target. The zero value has no changes.
type Cooldowns struct {
	// outAt is the scale-out whose cooldown runs, outFrom the count before it; changedAt is the last change of any
	// kind.
	outAt, changedAt time.Time
	outFrom          int
}

// Capacity returns the count that the metric is applied to: the desired count or, during the cooldown of a scale-out,
// the count before it. So only a larger scale-out adds anything during the cooldown.
func (c Cooldowns) Capacity(now time.Time, desired int, cooldown time.Duration) int {
	if c.cooling(now, cooldown) {
		return c.outFrom
	}
	return desired
}

// cooling tells whether the cooldown of the last scale-out runs.
func (c Cooldowns) cooling(now time.Time, cooldown time.Duration) bool {
	return !c.outAt.IsZero() && now.Before(c.outAt.Add(cooldown))
}

// ScaledOut records a scale-out from a desired count. During the cooldown of an earlier one it does not prolong that.
func (c *Cooldowns) ScaledOut(now time.Time, from int, cooldown time.Duration) {
	if !c.cooling(now, cooldown) {
		c.outAt, c.outFrom = now, from
	}
	c.changedAt = now
}

// ScaledIn records a scale-in.
func (c *Cooldowns) ScaledIn(now time.Time) { c.changedAt = now }

// MayScaleIn tells whether the cooldown since the last change is over.
func (c Cooldowns) MayScaleIn(now time.Time, cooldown time.Duration) bool {
	return !now.Before(c.changedAt.Add(cooldown))
}
