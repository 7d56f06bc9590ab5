package rules

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
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

// NothingWaits says that no message can be received now, and how many wait for their retry, so that a fleet whose work
// fails does not read as one that has none.
func NothingWaits(o muster.Observation) string {
	retrying := o.Progress.Value().Retrying
	switch {
	case !retrying.Known || retrying.Value == 0:
		return "nothing waits"
	case retrying.Value == 1:
		return "no message can be received now, 1 waits for its retry"
	}
	return fmt.Sprintf("no message can be received now, %s wait for their retry", render.Number(retrying.Value))
}

// Retries says how many messages wait for their retry, behind a sentence about others; empty where none does or that is
// not known.
func Retries(o muster.Observation) string {
	retrying := o.Progress.Value().Retrying
	n := math.Round(retrying.Value)
	switch {
	case !retrying.Known || n < 1:
		return ""
	case n == 1:
		return "; 1 message waits for its retry"
	}
	return fmt.Sprintf("; %s messages wait for their retry", render.Number(n))
}

// WithoutRetries returns the observation with the messages in flight that workers hold alone, as far as the queues
// themselves count them. What waits for its retry is in flight too, but it takes no slot, and no worker can receive it
// yet.
func WithoutRetries(o muster.Observation) muster.Observation {
	o.Queues = slices.Clone(o.Queues)
	for i := range o.Queues {
		if q := &o.Queues[i]; q.Retrying.Known {
			q.InFlight.Value = math.Max(0, q.InFlight.Value-q.Retrying.Value)
		}
	}
	return o
}

// Failing says how many attempts failed in the last minutes, of how many; empty when none did. What is said of the
// future holds if the work succeeds.
func Failing(o muster.Observation) string {
	w := o.Progress.Value()
	failed := math.Round(w.Failed)
	if failed < 1 {
		return ""
	}
	all := math.Max(failed, math.Round(w.Failed+w.Finished))
	minutes := int(muster.FailedOver.Minutes())
	return fmt.Sprintf("; %s of %s attempts failed in the last %d minutes", render.Number(failed), render.Number(all),
		minutes)
}
