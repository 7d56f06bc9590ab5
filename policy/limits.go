package policy

import (
	"cmp"
	"fmt"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// LaunchLimits holds rises while launches fail, and bounds the launches of an hour. Failed launches count: the
// costliest incidents are members that never start and are launched again and again.
//
// Its terms also tell when max leaves no room for a launch. Members that are draining, released or lost still exist, so
// they count against max.
type LaunchLimits struct {
	Of muster.Policy
}

// Decide implements [muster.Policy].
func (p LaunchLimits) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	d := p.Of.Decide(o, recent)
	missing := d.Desired - o.Capacity.Active()
	if missing <= 0 {
		return d
	}
	if c := o.Capacity; missing > o.Room() && c.Draining+c.Released+c.Lost > 0 {
		d = d.With(muster.Term{Rule: "room",
			In:  []muster.Value{rules.Value("live", float64(c.Live())), rules.Value("max", float64(o.Limits.Max))},
			Out: d.Desired,
			Why: fmt.Sprintf("%d draining, %d released and %d lost count against the maximum of %d", c.Draining,
				c.Released, c.Lost, o.Limits.Max)})
		d.Reason = muster.NoRoom
	}
	l := o.Launches
	if l.RetryAt.After(o.At) {
		t := muster.Term{Rule: "launches", In: []muster.Value{rules.Value("failed_in_a_row", float64(l.Failed))},
			Why: fmt.Sprintf("%s in a row ended before they were of use (%s); the next try is in %s",
				rules.Launches(l.Failed), l.LastError, render.Seconds(l.RetryAt.Sub(o.At).Seconds()))}
		if d.Desired > d.Previous {
			return d.Held(muster.LaunchesFailing, t)
		}
		t.Out = d.Desired
		d = d.With(t)
		d.Reason = muster.LaunchesFailing
		return d
	}
	room := max(0, o.Limits.LaunchesPerHour-l.LastHour)
	if missing <= room {
		return d
	}
	t := muster.Term{
		Rule: "launches_per_hour", In: []muster.Value{rules.Value("last_hour", float64(l.LastHour)),
			rules.Value("allowed", float64(o.Limits.LaunchesPerHour))},
		Out: max(d.Previous, o.Capacity.Active()+room),
		Why: fmt.Sprintf("%s in the past hour, %d are allowed", rules.Launches(l.LastHour), o.Limits.LaunchesPerHour),
	}
	if t.Out >= d.Desired || t.Out == d.Previous {
		return d.Held(muster.LaunchBudget, t)
	}
	return d.With(t)
}

// Bounds keeps the size between the fleet's minimum and maximum. A recommendation above the maximum is cut to it and
// acted on. Bounds is the last combinator and settles the verdict: apply if the size changes, else hold.
type Bounds struct {
	Of muster.Policy
}

// Decide implements [muster.Policy].
func (p Bounds) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	d := p.Of.Decide(o, recent)
	if o.Drift.Contested() {
		return contested(o, d)
	}
	switch {
	case d.Desired > o.Limits.Max:
		d = d.With(muster.Term{Rule: "max", In: []muster.Value{rules.Value("max", float64(o.Limits.Max))},
			Out: o.Limits.Max,
			Why: fmt.Sprintf("the maximum is %d", o.Limits.Max)})
	case d.Desired < o.Limits.Min:
		d = d.With(muster.Term{Rule: "min", In: []muster.Value{rules.Value("min", float64(o.Limits.Min))},
			Out: o.Limits.Min,
			Why: fmt.Sprintf("the minimum is %d", o.Limits.Min)})
	}
	if d.Floor = min(max(d.Floor, o.Limits.Min), d.Desired); o.Capacity.Active() <= o.Limits.Min {
		d.IdleStop = 0
	}
	if d.Desired != d.Previous {
		d.Verdict, d.Reason = muster.Apply, ""
		return d
	}
	d.Verdict, d.Reason = muster.Hold, cmp.Or(d.Reason, muster.Steady)
	return d
}

// contested holds the size while another controller sets it too. Two controllers of one number undo each other's
// changes, and members are launched and ended for nothing.
func contested(o muster.Observation, d muster.Decision) muster.Decision {
	last := o.Drift.Last()
	d = d.Held(muster.Contested, muster.Term{
		Rule: "contested", In: []muster.Value{rules.Value("set_by_others", float64(len(o.Drift.Changes))),
			rules.Value("last", float64(last.To))},
		Why: fmt.Sprintf("%s; Muster leaves it alone while there are %d or more: end the other controller, or state "+
			"shadow: true", o.Drift, muster.ContestedBy),
	})
	d.Floor, d.IdleStop = d.Desired, 0
	return d
}

// Cautious turns a fall into a hold while a signal is unknown that could speak against it: the capacity, or the backlog
// or the messages in flight of any queue. Unknown is not zero.
type Cautious struct {
	Of muster.Policy
}

// Decide implements [muster.Policy].
func (p Cautious) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	d := p.Of.Decide(o, recent)
	reason, why := unknownSignal(o)
	if reason == "" {
		return d
	}
	if d.Desired >= d.Previous {
		d.Floor, d.IdleStop = d.Desired, 0
		return d
	}
	d = d.Held(reason, muster.Term{Rule: "caution", Why: "no decrease while " + why})
	d.Floor, d.IdleStop = d.Desired, 0
	return d
}

// unknownSignal returns the reason to hold and its text, or "" if all signals are known. A fleet without a queue knows
// its work from reports alone, so lost workers make it unknown.
func unknownSignal(o muster.Observation) (muster.Reason, string) {
	if !o.Capacity.Known {
		return muster.UnknownCapacity, "the fleet cannot be listed: " + o.Capacity.Reason
	}
	if len(o.Queues) == 0 {
		if o.Capacity.Lost > 0 {
			return muster.UnknownInFlight, fmt.Sprintf("%d workers are lost, and only worker reports show the work",
				o.Capacity.Lost)
		}
		return "", ""
	}
	if s := o.Backlog(); !s.Known {
		return muster.UnknownBacklog, "the backlog is " + s.String()
	}
	if s := o.InFlight(); !s.Known {
		return muster.UnknownInFlight, "the number of messages in flight is " + s.String()
	}
	return "", ""
}

// Stabilised acts on a recommendation only once it has lasted: a rise goes to the smallest recommendation of the time
// Out, a fall to the largest of the time In. A time without recorded recommendations counts as one for the present
// size, so a new controller waits too.
//
// It also records the recommendation in the decision (Wish), from where the following steps read it.
type Stabilised struct {
	Of muster.Policy
	// Out and In are at least 0; zero acts at once.
	Out, In time.Duration
}

// Decide implements [muster.Policy].
func (p Stabilised) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	d := p.Of.Decide(o, recent)
	d.Wish = d.Desired
	if p.In > 0 {
		d.IdleStop = 0 // a fall must have been right for a while; a worker that stops by itself would not wait
	}
	window, extreme := p.In, func(a, b int) int { return max(a, b) }
	if d.Desired > d.Previous {
		window, extreme = p.Out, func(a, b int) int { return min(a, b) }
	}
	if window == 0 || d.Desired == d.Previous || d.Verdict == muster.Hold {
		return d
	}
	start := d.At.Add(-window)
	past := recent.Since(start)
	lasting := d.Wish
	if len(past) == 0 || past[0].At.After(start) {
		lasting = extreme(lasting, d.Previous)
	}
	for _, e := range past {
		lasting = extreme(lasting, e.Wish)
	}
	if d.Desired > d.Previous {
		lasting = max(lasting, d.Previous)
	} else {
		lasting = min(lasting, d.Previous)
	}
	if lasting == d.Desired {
		return d
	}
	t := muster.Term{
		Rule: "stabilization", In: []muster.Value{rules.Value("wish", float64(d.Wish)),
			rules.Value("window_s", window.Seconds()),
			rules.Value("lasting", float64(lasting))},
		Out: lasting, Why: fmt.Sprintf("the recommendation that lasted for the past %s is %d",
			render.Seconds(window.Seconds()), lasting),
	}
	if lasting == d.Previous {
		return d.Held(muster.Stabilising, t)
	}
	return d.With(t)
}
