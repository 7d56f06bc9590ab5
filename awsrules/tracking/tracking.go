// Package tracking is the published arithmetic of target tracking, of EC2 Auto Scaling and of Application Auto Scaling.
//
// [Fixed] is the pair of alarms that a policy gets, [Size] the capacity that a metric asks for. [Out] and [In] say what
// the policies of a group or service do together: out when any wants out, in when all agree. [Warmup] and [Cooldowns]
// say what a change waits for.
//
// The package knows no groups and no clock. Package sim/cloud has both, and the baselines of policy/peer decide by it.
//
// Sources: EC2 Auto Scaling user guide, "Target tracking scaling policies" and "Scaling policy based on Amazon SQS";
// Application Auto Scaling user guide, "Target tracking scaling policies" and "Cooldown periods".
package tracking

import (
	"math"
	"time"

	"github.com/muster-scale/muster/awsrules/alarm"
)

// Pair says which two alarms a policy has.
type Pair struct {
	// High and Low are how many datapoints in a row must be above the target, and below the low alarm's threshold.
	High, Low int
	// Below is the low alarm's threshold as a share of the target.
	Below float64
}

// Fixed is the pair of every policy until the end of 2024, and of Application Auto Scaling since: 3 of 3 datapoints
// above the target, 15 of 15 below 0.9 of it. EC2 Auto Scaling tunes its alarms since, and does not publish how.
func Fixed() Pair { return Pair{High: 3, Low: 15, Below: 0.9} }

// HighAlarm is the alarm that scales out.
func (p Pair) HighAlarm(target float64) alarm.Rule {
	return alarm.Rule{Comparison: alarm.Above, Threshold: target, Periods: p.High, Datapoints: p.High,
		Missing: alarm.Missing}
}

// LowAlarm is the alarm that scales in.
func (p Pair) LowAlarm(target float64) alarm.Rule {
	return alarm.Rule{Comparison: alarm.Below, Threshold: target * p.Below, Periods: p.Low, Datapoints: p.Low,
		Missing: alarm.Missing}
}

// rounding is how far a quotient may be above a whole number and still count as that.
const rounding = 1e-9

// mostCapacity bounds what a metric can ask for.
const mostCapacity = math.MaxInt32

// Size returns capacity x metric / target, rounded up: a scale-out adds no less than needed, a scale-in removes no
// more. The target is above 0.
func Size(capacity int, metric, target float64) int {
	wanted := float64(capacity) * (metric / target)
	if !(wanted > 0) {
		return 0
	}
	return int(min(math.Ceil(wanted-rounding), mostCapacity))
}

// Reading is what one policy knows of its metric.
type Reading struct {
	// Target is above 0.
	Target float64
	// Metric is the newest value; nil when there is none, and then the policy scales nothing.
	Metric *float64
	// High and Low are the states of its alarms.
	High, Low alarm.State
	// DisableScaleIn takes the policy out of what is asked before a scale-in.
	DisableScaleIn bool
}

// Out returns the size that a policy whose high alarm acts asks for, and whether that is above the desired one. From no
// capacity it asks for fromZero, which AWS does not publish.
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

// In returns the size to which all policies of a group or service agree to scale in, and whether that is below the
// desired one. Policies without scale-in are not asked, but no policy may want out.
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

// Warmup returns how long an instance of a group counts as warming up, which nothing scales in meanwhile: the figure of
// the policy, else the group's default for instances, else the group's cooldown.
func Warmup(policy, group *time.Duration, cooldown time.Duration) time.Duration {
	switch {
	case policy != nil:
		return *policy
	case group != nil:
		return *group
	}
	return cooldown
}

// Cooldowns is what Application Auto Scaling remembers of its changes of one target. The zero value has none.
type Cooldowns struct {
	outAt, changedAt time.Time
	outFrom          int
}

// Capacity returns what the metric is applied to at an instant: the desired count or, within the cooldown of a
// scale-out, the count from before it. So within the cooldown only a larger scale-out adds anything.
func (c Cooldowns) Capacity(now time.Time, desired int, cooldown time.Duration) int {
	if c.cooling(now, cooldown) {
		return c.outFrom
	}
	return desired
}

func (c Cooldowns) cooling(now time.Time, cooldown time.Duration) bool {
	return !c.outAt.IsZero() && now.Before(c.outAt.Add(cooldown))
}

// ScaledOut notes a scale-out from a desired count. One within the cooldown of an earlier one does not prolong it.
func (c *Cooldowns) ScaledOut(now time.Time, from int, cooldown time.Duration) {
	if !c.cooling(now, cooldown) {
		c.outAt, c.outFrom = now, from
	}
	c.changedAt = now
}

// ScaledIn notes a scale-in.
func (c *Cooldowns) ScaledIn(now time.Time) { c.changedAt = now }

// MayScaleIn tells whether the cooldown since the last change is over.
func (c Cooldowns) MayScaleIn(now time.Time, cooldown time.Duration) bool {
	return !now.Before(c.changedAt.Add(cooldown))
}
