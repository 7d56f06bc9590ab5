package muster

import (
	"fmt"
	"math"
	"time"

	"github.com/muster-scale/muster/internal/render"
)

// Sample is one measured number with its own instant, or the knowledge that the number is unknown.
//
// The zero Sample is unknown, because a number that was not measured must never read as zero. Make samples with
// [Measured], [Unknown] and [Doubt].
type Sample struct {
	// At is the time at which the value was received. It is zero only in a sample that was never measured.
	At time.Time `json:"at,omitzero"`
	// Value is finite and not negative when Known, and 0 otherwise.
	Value float64 `json:"value"`
	// Known tells whether Value means anything.
	Known bool `json:"known"`
	// Reason says why the value is unknown, in words for a person; it is empty when Known.
	Reason string `json:"reason,omitzero"`
	// Doubted is true for a measured value that is not trusted yet, such as a first reading of zero from SQS. A doubted
	// sample is unknown, and so is the value before it.
	Doubted bool `json:"doubted,omitzero"`
}

// Measured returns the sample of value at the instant at. Counts, ages and durations are never negative here, so a
// value that is negative, NaN or infinite gives an unknown sample that says what was found.
func Measured(at time.Time, value float64) Sample {
	if math.IsNaN(value) || math.IsInf(value, 0) || value < 0 {
		return Unknown(at, fmt.Sprintf("found %v, a finite number of at least 0 is allowed", value))
	}
	return Sample{At: at, Value: value, Known: true}
}

// Unknown returns an unknown sample for a reading at the instant at; reason says why there is no value.
func Unknown(at time.Time, reason string) Sample {
	return Sample{At: at, Reason: reason}
}

// Doubt returns an unknown sample for a value that was measured at the instant at and is not trusted yet; reason says
// why.
func Doubt(at time.Time, reason string) Sample {
	return Sample{At: at, Reason: reason, Doubted: true}
}

// Fresh returns s, or an unknown sample in its place when s was measured more than maxAge before or after now.
func (s Sample) Fresh(now time.Time, maxAge time.Duration) Sample {
	if !s.Known {
		return s
	}
	age := now.Sub(s.At)
	switch {
	case age > maxAge:
		return Unknown(s.At, fmt.Sprintf(
			"the newest sample is %s old, at most %s is allowed", render.Rounded(age), render.Rounded(maxAge)))
	case age < -maxAge:
		return Unknown(s.At, fmt.Sprintf("the sample comes from %s in the future", render.Rounded(-age)))
	}
	return s
}

// Count returns the value rounded to a whole number, at most [math.MaxInt32], and whether it is known.
func (s Sample) Count() (int, bool) {
	return int(math.Round(min(s.Value, math.MaxInt32))), s.Known
}

// String renders the value, or "unknown" and why.
func (s Sample) String() string {
	if !s.Known {
		if s.Reason == "" {
			return "unknown"
		}
		return "unknown (" + s.Reason + ")"
	}
	return render.Number(s.Value)
}

// Estimate summarises the measurements of one duration: the processing duration of a message, or the boot time of a
// worker. All durations are in seconds.
type Estimate struct {
	// Known is false while there is neither a measurement nor a prior.
	Known bool `json:"known"`
	// Prior is true while the numbers are the configured ones, because there is no measurement yet.
	Prior bool `json:"prior,omitzero"`
	// Count is the number of measurements.
	Count int64 `json:"count"`
	// MeanSeconds is the mean; for processing durations it is the MPD.
	MeanSeconds float64 `json:"mean_s"`
	// P50Seconds, P95Seconds and P99Seconds are quantiles, within the sketch's relative error of 2 %.
	P50Seconds float64 `json:"p50_s,omitzero"`
	P95Seconds float64 `json:"p95_s,omitzero"`
	P99Seconds float64 `json:"p99_s,omitzero"`
}
