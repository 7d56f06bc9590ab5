package peer

import (
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy"
)

// Alarm says when a metric has stood above or below its thresholds for long enough: a pair of CloudWatch alarms as
// target tracking creates them. All of the newest High points must be above the target, or all of the newest Low ones
// below Below * target.
type Alarm struct {
	// Period is the time between two points, above zero.
	Period time.Duration
	// High and Low are at least 1.
	High, Low int
	// Below is above 0 and at most 1.
	Below float64
}

// FixedAlarm is the pair that target tracking created for everybody until the end of 2024: 3 of 3 one-minute points
// above, 15 of 15 below 0.9 of the target.
func FixedAlarm() Alarm { return Alarm{Period: time.Minute, High: 3, Low: 15, Below: 0.9} }

// FastAlarm is the same pair over points of ten seconds, the shortest period that target tracking takes. The service
// tunes its alarms itself there and publishes no figures.
func FastAlarm() Alarm { return Alarm{Period: 10 * time.Second, High: 3, Low: 15, Below: 0.9} }

// The names under which the alarms keep how many points in a row were above, below, and missing.
const (
	keptHigh    = "points_high"
	keptLow     = "points_low"
	keptMissing = "points_missing"
	// keptWarm is the instant until which instances warm up, keptPoint that of the next point.
	keptWarm  = "warm_until_s"
	keptPoint = "next_point_s"
)

// older is how many points before the newest ones CloudWatch looks at when some are missing.
const older = 2

// see counts a point and tells whether the alarms stand.
func (a Alarm) see(k *notes, above, below bool) (high, low bool) {
	count := func(name string, breach bool, enough int) bool {
		n := 0.0
		if breach {
			n = min(k.or(name, 0)+1, float64(enough))
		}
		k.set(name, n)
		return n >= float64(enough)
	}
	k.set(keptMissing, 0)
	return count(keptHigh, above, a.High), count(keptLow, below, a.Low)
}

// miss counts a point that is missing. A few are made up for by older points; after more the alarms know nothing.
func (a Alarm) miss(k *notes) {
	n := min(k.or(keptMissing, 0)+1, older+1)
	k.set(keptMissing, n)
	if n > older {
		k.set(keptHigh, 0)
		k.set(keptLow, 0)
	}
}

// warming notes how long instances warm up and tells whether any does: those on their way, and those that came into
// service less than a warm-up ago.
func warming(k *notes, o muster.Observation, warmup time.Duration) bool {
	if o.Pending() > 0 {
		k.set(keptWarm, seconds(o.At.Add(warmup)))
		return true
	}
	until, ok := k.get(keptWarm)
	return ok && seconds(o.At) < until-tick
}

// acceptable returns the acceptable backlog per instance for a mean processing duration, or 0 when that is not above
// zero.
func acceptable(o muster.Observation, mean time.Duration) float64 {
	if mean <= 0 {
		return 0
	}
	return policy.AcceptableBacklog(o.Objective.Latency, mean, slots(o))
}
