package rules

import (
	"fmt"
	"math"
	"time"

	"github.com/muster-scale/muster"
)

// Begin returns the decision to leave o's fleet as it is, for the policy of the given name and revision.
func Begin(o muster.Observation, policy string) muster.Decision {
	desired := o.Capacity.Desired
	return muster.Decision{
		Fleet: o.Fleet, At: o.At, Policy: policy,
		Previous: desired, Wish: desired, Desired: desired, Floor: desired,
		Verdict: muster.Apply,
	}
}

// Unknown returns d as a hold because the signal called what is unknown.
func Unknown(d muster.Decision, reason muster.Reason, rule, what string, s muster.Sample) muster.Decision {
	return d.Held(reason, muster.Term{Rule: rule, Why: "the " + what + " is " + s.String()})
}

// Ceil rounds up, forgiving the rounding error of a division that should have been whole. What is no number is 0.
func Ceil(v float64) int {
	if math.IsNaN(v) {
		return 0
	}
	return int(min(math.Ceil(v-1e-9), math.MaxInt32))
}

// Value is a named number of a term.
func Value(name string, v float64) muster.Value { return muster.Value{Name: name, Value: v} }

// Seconds is an instant in seconds since 1970, to the millisecond.
func Seconds(at time.Time) float64 { return float64(at.UnixMilli()) / 1e3 }

// Because is a reason behind a sentence; empty for none.
func Because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// Clock is the time of day so many seconds after the instant of o.
func Clock(o muster.Observation, seconds float64) string {
	return o.At.Add(time.Duration(seconds * float64(time.Second))).Format("15:04:05")
}

// Round3 rounds to three decimals, as terms show their values.
func Round3(v float64) float64 { return math.Round(v*1000) / 1000 }

// Launches counts launches in words.
func Launches(n int) string {
	if n == 1 {
		return "1 launch"
	}
	return fmt.Sprintf("%d launches", n)
}
