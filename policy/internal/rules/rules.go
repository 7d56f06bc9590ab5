package rules

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
)

// Begin returns the decision to keep the size of o's fleet. policy is the name and revision of the deciding policy, as
// in "exact/2".
func Begin(o muster.Observation, policy string) muster.Decision {
	desired := o.Capacity.Desired
	return muster.Decision{
		Fleet: o.Fleet, At: o.At, Policy: policy,
		Previous: desired, Wish: desired, Desired: desired, Floor: desired,
		Verdict: muster.Apply,
	}
}

// Unknown returns d as a hold because the signal s is unknown. what names the signal in the sentence.
func Unknown(d muster.Decision, reason muster.Reason, rule, what string, s muster.Sample) muster.Decision {
	return d.Held(reason, muster.Term{Rule: rule, Why: "the " + what + " is " + s.String()})
}

// Ceil rounds up. A result up to 1e-9 above a whole number counts as that number: a quotient that should be whole often
// is not, in binary. NaN gives 0.
func Ceil(v float64) int {
	if math.IsNaN(v) {
		return 0
	}
	return int(min(math.Ceil(v-1e-9), math.MaxInt32))
}

// Value returns a named number of a term.
func Value(name string, v float64) muster.Value { return muster.Value{Name: name, Value: v} }

// Kept returns a number that the newest decision kept; 0 if it kept none of that name.
func Kept(recent muster.Recent, name string) float64 {
	if len(recent) == 0 {
		return 0
	}
	v, _ := recent[len(recent)-1].Find(name)
	return v
}

// Seconds returns an instant in seconds since 1970, to the millisecond.
func Seconds(at time.Time) float64 { return float64(at.UnixMilli()) / 1e3 }

// Because returns ": " and the reason, or "" without a reason.
func Because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// Clock returns the time of day so many seconds after the instant of o.
func Clock(o muster.Observation, seconds float64) string {
	return o.At.Add(time.Duration(seconds * float64(time.Second))).Format("15:04:05")
}

// Round3 rounds to three decimals, the precision of the values of terms.
func Round3(v float64) float64 { return math.Round(v*1000) / 1000 }

// Launches returns "1 launch" or "3 launches".
func Launches(n int) string {
	if n == 1 {
		return "1 launch"
	}
	return fmt.Sprintf("%d launches", n)
}

// NothingWaits says that no message can be received now. It also says how many wait for retry, so that a fleet whose
// work fails does not look like one without work.
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

// Retries says how many messages wait for retry, as a clause after a sentence about others; "" if none does or their
// number is unknown.
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

// WithoutRetries returns the observation without the messages in flight that wait for retry, as far as the queues count
// those themselves. They take no slot, and no worker can receive them yet.
func WithoutRetries(o muster.Observation) muster.Observation {
	o.Queues = slices.Clone(o.Queues)
	for i := range o.Queues {
		if q := &o.Queues[i]; q.Retrying.Known {
			q.InFlight.Value = math.Max(0, q.InFlight.Value-q.Retrying.Value)
		}
	}
	return o
}

// Failing says how many attempts failed in the last minutes, as a clause after a sentence; "" if none did. Statements
// about the future hold only if the work succeeds.
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

// SpareLaunches returns how many launches are left in this hour for other purposes than messages that wait for one: the
// last quarter of the launches that are allowed is for those. Without a limit it is the largest int.
func SpareLaunches(o muster.Observation) int {
	l := o.Limits.LaunchesPerHour
	if l <= 0 {
		return math.MaxInt
	}
	return max(0, (3*l+3)/4-o.Launches.LastHour)
}

// Staying returns how many of the active workers stay whatever the policy finds, and the reason as a clause. All stay
// while launches are scarce: a worker that stops may not be replaced within the hour. With one, one worker stays while
// a message a minute arrives, because the next message would launch it at once.
func Staying(o muster.Observation, active int, one bool) (workers int, because string) {
	// Failed launches do not count here: they are repeated again and again, and would keep all workers for hours after
	// the cause is repaired.
	if SpareLaunches(o) == 0 && o.Launches.Failed == 0 {
		return active, fmt.Sprintf("%s in the past hour, %d are allowed", Launches(o.Launches.LastHour),
			o.Limits.LaunchesPerHour)
	}
	// 0.5 in the mean of a minute: one message counts for so much until 42 s later.
	if one && o.Arrivals.Known && o.Arrivals.Minute*60 >= 0.5 {
		return min(active, 1), "a message came within the past minute"
	}
	return 0, ""
}

// CountIs returns "1 worker is" or "3 workers are".
func CountIs(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " is"
	}
	return fmt.Sprintf("%d %ss are", n, noun)
}

// SizeChange says how a size changed.
func SizeChange(before, after int) string {
	if before == after {
		return fmt.Sprintf("the size stays %d", after)
	}
	return fmt.Sprintf("the size becomes %d instead of %d", after, before)
}
