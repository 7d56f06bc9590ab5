package muster

import (
	"fmt"
	"math"
	"time"

	"github.com/muster-scale/muster/internal/render"
)

// Sample is one measured number with its own instant, or the knowledge that the number is unknown.
//
// The zero Sample is unknown, because a number nobody measured must never read as zero. Make samples with [Measured]
// and [Unknown].
type Sample struct {
	// At is when the value was received. It is zero only in a sample that never was measured.
	At time.Time `json:"at,omitzero"`
	// Value is finite and not negative when Known, and 0 otherwise.
	Value float64 `json:"value"`
	// Known tells whether Value means anything.
	Known bool `json:"known"`
	// Reason says why the value is unknown, in words for a person; it is empty when Known.
	Reason string `json:"reason,omitzero"`
	// Doubted is true for a value that was measured and is not believed yet. It is unknown like any other, and what was
	// known before is not known any more either.
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

// Unknown returns a sample that was looked for at the instant at and could not be had; reason says why.
func Unknown(at time.Time, reason string) Sample {
	return Sample{At: at, Reason: reason}
}

// Doubt returns the sample of something that was measured at the instant at and is not believed yet; reason says why.
func Doubt(at time.Time, reason string) Sample {
	return Sample{At: at, Reason: reason, Doubted: true}
}

// Fresh returns s, or an unknown sample in its place when s is older than maxAge at now or comes from more than maxAge
// in the future.
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

// Count returns the value rounded to a whole number, and whether it is known.
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

// Estimate summarises what was learned about a duration: processing time of a message, or boot time of a worker.
// All durations are in seconds.
type Estimate struct {
	// Known is false while there is neither a measurement nor a prior.
	Known bool `json:"known"`
	// Prior is true while the numbers are the configured ones and nothing was measured yet.
	Prior bool `json:"prior,omitzero"`
	// Count is how many measurements stand behind the numbers.
	Count int64 `json:"count"`
	// MeanSeconds is the mean; for processing durations it is the MPD.
	MeanSeconds float64 `json:"mean_s"`
	// P50Seconds, P95Seconds and P99Seconds are quantiles, within the sketch's relative error of 2 %.
	P50Seconds float64 `json:"p50_s,omitzero"`
	P95Seconds float64 `json:"p95_s,omitzero"`
	P99Seconds float64 `json:"p99_s,omitzero"`
}
