package policy

import (
	"math"

	"github.com/muster-scale/muster"
)

// begin returns the decision to leave o's fleet as it is, for the policy of the given name and revision.
func begin(o muster.Observation, policy string) muster.Decision {
	desired := o.Capacity.Desired
	return muster.Decision{
		Fleet: o.Fleet, At: o.At, Policy: policy,
		Previous: desired, Wish: desired, Desired: desired, Floor: desired,
		Verdict: muster.Apply,
	}
}

// unknown returns d as a hold because the signal called what is unknown.
func unknown(d muster.Decision, reason muster.Reason, rule, what string, s muster.Sample) muster.Decision {
	return d.Held(reason, muster.Term{Rule: rule, Why: "the " + what + " is " + s.String()})
}

// ceil rounds up, forgiving the rounding error of a division that should have been whole. What is no number is 0.
func ceil(v float64) int {
	if math.IsNaN(v) {
		return 0
	}
	return int(min(math.Ceil(v-1e-9), math.MaxInt32))
}

func value(name string, v float64) muster.Value { return muster.Value{Name: name, Value: v} }
