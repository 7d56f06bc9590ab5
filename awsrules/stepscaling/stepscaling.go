// Package stepscaling is the published arithmetic of step scaling of EC2 Auto Scaling: which [Step] a metric is in, and
// what its [Change] makes of a capacity.
//
// The package knows no alarms, no warm-up and no clock. The policy step, and the baseline aws-step, decide by it.
//
// Source: EC2 Auto Scaling user guide, "Step and simple scaling policies", and its API reference on StepAdjustment and
// PutScalingPolicy.
package stepscaling

import (
	"math"
	"slices"
)

// Step is what changes while a metric is in an interval. The bounds count from the threshold of the alarm; an open
// bound is infinite.
type Step struct {
	Lower, Upper float64
	Change       Change
}

// Contains tells whether the step counts for a metric that is so far above the threshold, or below it when breach is
// below 0. The bound that is nearer to the threshold is included, the other one is not.
func (s Step) Contains(breach float64) bool {
	if s.Upper <= 0 {
		return breach > s.Lower && breach <= s.Upper
	}
	return breach >= s.Lower && breach < s.Upper
}

// Find returns the first step that counts for a metric, and its place; -1 when the capacity stays.
func Find(steps []Step, breach float64) (Step, int) {
	k := slices.IndexFunc(steps, func(s Step) bool { return s.Contains(breach) })
	if k < 0 {
		return Step{}, k
	}
	return steps[k], k
}

// Type is what an adjustment is counted in, in the words of the API.
type Type string

// The types of adjustments.
const (
	ChangeInCapacity        Type = "ChangeInCapacity"
	ExactCapacity           Type = "ExactCapacity"
	PercentChangeInCapacity Type = "PercentChangeInCapacity"
)

// Change is one adjustment.
type Change struct {
	Type Type
	// Adjustment is a number of instances or a percentage, by Type. The API takes whole numbers.
	Adjustment float64
	// MinMagnitude is the least number of instances that a percentage other than 0 changes, also of a capacity of 0
	// (MinAdjustmentMagnitude). With 0 a percentage changes one instance at least, and a capacity of 0 stays.
	MinMagnitude int
}

const (
	// rounding is how far a product may be below a whole number and still count as that: fractions such as 6.7 % have
	// no exact form.
	rounding = 1e-9
	// mostCapacity bounds a capacity.
	mostCapacity = math.MaxInt32
)

// Of returns what the change makes of a capacity. Percentages are rounded towards zero, and away from it where that
// would leave nothing to change.
func (c Change) Of(capacity int) int {
	switch c.Type {
	case ExactCapacity:
		return bounded(c.Adjustment)
	case PercentChangeInCapacity:
		return bounded(float64(capacity) + c.percent(float64(capacity)))
	}
	return bounded(float64(capacity) + c.Adjustment)
}

func (c Change) percent(capacity float64) float64 {
	magnitude := math.Abs(capacity * c.Adjustment / 100)
	least := float64(c.MinMagnitude)
	if magnitude > 0 {
		least = max(1, least)
	}
	if c.Adjustment == 0 {
		return 0
	}
	return math.Copysign(max(least, math.Floor(magnitude+rounding)), c.Adjustment)
}

func bounded(v float64) int { return int(max(0, min(v, mostCapacity))) }
