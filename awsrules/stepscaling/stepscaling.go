// Package stepscaling is the published arithmetic of step scaling of EC2 Auto Scaling: which [Step] applies to a
// metric, and what its [Change] makes of a capacity.
//
//	step, k := stepscaling.Find(steps, metric-threshold)
//	if k >= 0 {
//		capacity = step.Change.Of(capacity)
//	}
//
// The package has no alarms, warm-ups, bounds of a group or clock. The policy step and the baseline aws-step decide
// by it. For the alarm that calls a policy use awsrules/alarm, for target tracking awsrules/tracking.
//
// Source: EC2 Auto Scaling user guide, "Step and simple scaling policies", and its API reference on StepAdjustment
// and PutScalingPolicy.
package stepscaling

import (
	"math"
	"slices"
)

// Step is a change that applies while a metric is in an interval. The bounds count from the threshold of the alarm;
// an open bound is infinite.
type Step struct {
	Lower, Upper float64
	Change       Change
}

// Contains tells whether the step applies when the metric exceeds the threshold by breach, which is negative below
// it. The bound nearer to the threshold is included, the other one is not.
func (s Step) Contains(breach float64) bool {
	if s.Upper <= 0 {
		return breach > s.Lower && breach <= s.Upper
	}
	return breach >= s.Lower && breach < s.Upper
}

// Find returns the first step that applies, and its index; -1 when none does and the capacity stays.
func Find(steps []Step, breach float64) (Step, int) {
	k := slices.IndexFunc(steps, func(s Step) bool { return s.Contains(breach) })
	if k < 0 {
		return Step{}, k
	}
	return steps[k], k
}

// Type is the unit of an adjustment, in the words of the API.
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
	// MinMagnitude is the least number of instances that a percentage other than 0 changes, even from a capacity of 0
	// (MinAdjustmentMagnitude). With 0 a percentage changes at least one instance, and a capacity of 0 stays.
	MinMagnitude int
}

const (
	// rounding is how far a product may be below a whole number and still count as that number: a fraction such as
	// 6.7 % has no exact form.
	rounding = 1e-9
	// mostCapacity bounds the result.
	mostCapacity = math.MaxInt32
)

// Of returns what the change makes of a capacity, never below 0. A percentage is rounded towards zero, but to at
// least one instance.
func (c Change) Of(capacity int) int {
	switch c.Type {
	case ExactCapacity:
		return bounded(c.Adjustment)
	case PercentChangeInCapacity:
		return bounded(float64(capacity) + c.percent(float64(capacity)))
	}
	return bounded(float64(capacity) + c.Adjustment)
}

// percent returns the signed number of instances that a percentage changes.
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

// bounded keeps a capacity between 0 and mostCapacity.
func bounded(v float64) int { return int(max(0, min(v, mostCapacity))) }
