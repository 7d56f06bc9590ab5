package tracking

import (
	"math"
	"time"

	"github.com/muster-scale/muster/awsrules/alarm"
)

// Policy is a scaling policy as [Tracker] follows it.
type Policy struct {
	// Pair are its two alarms. Period is the time between two datapoints, above 0.
	Pair   Pair
	Period time.Duration
	// Service is true for Application Auto Scaling: the metric applies to the desired count, and the cooldowns hold
	// back changes. It is false for EC2 Auto Scaling: the metric applies to the members in service, and nothing scales
	// in while members warm up.
	Service           bool
	ScaleOut, ScaleIn time.Duration // the cooldowns of a service
	Warmup            time.Duration // of a member of a group, once it is in service
	// DisableScaleIn makes the policy only scale out.
	DisableScaleIn bool
}

// DefaultCooldown is AWS's own figure where nothing else is set: the default cooldown of a group, which is also how
// long its instances warm up, and the cooldowns of a service.
const DefaultCooldown = 5 * time.Minute

// Capacity is what a policy sizes, at one instant.
type Capacity struct {
	InService, Desired, Min, Max int
	// Pending is true while members boot.
	Pending bool
}

// Tracker is the only scaling policy of a group or service, at work. The zero value has seen nothing. It reads no
// clock: [Tracker.Point] is called once a period.
type Tracker struct {
	target    float64
	points    []float64 // the newest last; a missing one is NaN
	high, low alarm.Status
	cooldowns Cooldowns
	warmUntil time.Time
}

// Target returns the target in force; 0 where none was set.
func (t *Tracker) Target() float64 { return t.target }

// SetTarget puts the policy anew. With another target its alarms begin in INSUFFICIENT_DATA; the datapoints stay.
func (t *Tracker) SetTarget(target float64) {
	if target == t.target {
		return
	}
	t.target = target
	t.high, t.low = alarm.Status{State: alarm.InsufficientData}, alarm.Status{State: alarm.InsufficientData}
}

// Point takes in the datapoint of a period, nil when it is missing, and returns the desired count that follows. Without
// a target the count stays.
func (t *Tracker) Point(p Policy, now time.Time, metric *float64, c Capacity) int {
	v := math.NaN()
	if metric != nil {
		v = *metric
	}
	t.points = append(t.points, v)
	if most := max(p.Pair.High, p.Pair.Low) + alarm.Reserve; len(t.points) > most {
		t.points = t.points[len(t.points)-most:]
	}
	if c.Pending {
		t.warmUntil = now.Add(p.Warmup)
	}
	if !(t.target > 0) {
		return c.Desired
	}
	high, low := p.Pair.HighAlarm(t.target), p.Pair.LowAlarm(t.target)
	t.high.Evaluate(high, t.datapoints(high))
	t.low.Evaluate(low, t.datapoints(low))
	r := Reading{Target: t.target, Metric: metric, High: t.high.State, Low: t.low.State,
		DisableScaleIn: p.DisableScaleIn}
	if t.high.Act(now) {
		return t.out(p, now, r, c)
	}
	if t.low.Act(now) {
		return t.in(p, now, r, c)
	}
	return c.Desired
}

// fromZero is the count that a policy asks for while none is in service. AWS does not publish it; one is the least.
const fromZero = 1

func (t *Tracker) out(p Policy, now time.Time, r Reading, c Capacity) int {
	capacity := c.InService
	if p.Service {
		capacity = t.cooldowns.Capacity(now, c.Desired, p.ScaleOut)
	}
	wanted, out := Out(r, capacity, c.Desired, c.Max, fromZero)
	if !out {
		return c.Desired
	}
	t.cooldowns.ScaledOut(now, c.Desired, p.ScaleOut)
	t.warmUntil = now.Add(p.Warmup)
	return wanted
}

func (t *Tracker) in(p Policy, now time.Time, r Reading, c Capacity) int {
	capacity := c.InService
	if p.Service {
		capacity = c.Desired
	}
	if p.Service && !t.cooldowns.MayScaleIn(now, p.ScaleIn) || !p.Service && now.Before(t.warmUntil) {
		return c.Desired
	}
	wanted, in := In([]Reading{r}, capacity, c.Desired, c.Min)
	if !in {
		return c.Desired
	}
	t.cooldowns.ScaledIn(now)
	return wanted
}

// datapoints returns what the newest points are for an alarm.
func (t *Tracker) datapoints(r alarm.Rule) []alarm.Datapoint {
	points := t.points[max(0, len(t.points)-r.Range()):]
	seen := make([]alarm.Datapoint, len(points))
	for i, v := range points {
		if !math.IsNaN(v) {
			seen[i] = r.Datapoint(v)
		}
	}
	return seen
}
