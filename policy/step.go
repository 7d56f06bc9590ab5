package policy

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/awsrules/stepscaling"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// Step changes the size by an amount that depends on a metric: step scaling. It suits users who know their thresholds.
// It knows neither processing durations nor an objective. Its rounding is that of awsrules/stepscaling.
type Step struct {
	// Metric is one of the Metric constants.
	Metric string
	// Steps do not overlap. Outside of all of them the size stays.
	Steps []StepChange
	// Cooldown is how long after a change of the size the next one waits.
	Cooldown time.Duration
}

// The metrics that a step policy may read.
const (
	// MetricBacklog is the number of waiting messages.
	MetricBacklog = "backlog"
	// MetricTotalWork is the number of messages that wait and that are in flight.
	MetricTotalWork = "total-work"
	// MetricBacklogPerWorker is the backlog over the workers in service, or the backlog itself while there are none.
	MetricBacklogPerWorker = "backlog-per-worker"
	// MetricOldestAge is the age in seconds of the oldest waiting message.
	MetricOldestAge = "oldest-age"
	// MetricUtilization is total work over total slots, 1 while there is work and no slot.
	MetricUtilization = "utilization"
)

// StepChange is what happens while From <= metric < To. Exactly one of Add, Percent and Set counts.
type StepChange struct {
	From float64 `json:"from"`
	// To is infinite when it is zero.
	To float64 `json:"to,omitzero"`
	// Add is added to the size; it may be negative.
	Add int `json:"add,omitzero"`
	// Percent of the size is added, at least one worker; it may be negative.
	Percent float64 `json:"percent,omitzero"`
	// Set is the size itself.
	Set *int `json:"set,omitzero"`
}

// Decide implements [muster.Policy].
func (p Step) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	const rule = "step"
	d := rules.Begin(o, "step/2")
	metric, reason := p.metric(o)
	if !metric.Known {
		return rules.Unknown(d, reason, rule, p.Metric, metric)
	}
	i := slices.IndexFunc(p.Steps, func(s StepChange) bool { return s.step().Contains(metric.Value) })
	in := []muster.Value{rules.Value(p.Metric, metric.Value), rules.Value("desired", float64(d.Previous))}
	if i < 0 {
		return d.With(muster.Term{Rule: rule, In: in, Out: d.Previous,
			Why: fmt.Sprintf("the %s of %s is in no step", p.Metric, render.Number(metric.Value)) + rules.Retries(o)})
	}
	n, change := p.Steps[i].apply(d.Previous)
	d.Floor = n
	d = d.With(muster.Term{Rule: rule, In: in, Out: n, Why: fmt.Sprintf("the %s of %s is at %s or more: %s", p.Metric,
		render.Number(metric.Value), render.Number(p.Steps[i].From), change) + rules.Retries(o)})
	if at, ok := lastChange(recent); ok && n != d.Previous && o.At.Sub(at) < p.Cooldown {
		return d.Held(muster.CoolingDown,
			muster.Term{Rule: "cooldown", In: []muster.Value{rules.Value("cooldown_s", p.Cooldown.Seconds())},
				Why: fmt.Sprintf("the last change was %s ago", render.Seconds(o.At.Sub(at).Seconds()))})
	}
	return d
}

// step returns the change as a step of AWS step scaling, whose bounds and rounding apply.
func (s StepChange) step() stepscaling.Step {
	change := stepscaling.Change{Type: stepscaling.ChangeInCapacity, Adjustment: float64(s.Add)}
	switch {
	case s.Set != nil:
		change = stepscaling.Change{Type: stepscaling.ExactCapacity, Adjustment: float64(*s.Set)}
	case s.Percent != 0:
		change = stepscaling.Change{Type: stepscaling.PercentChangeInCapacity, Adjustment: s.Percent, MinMagnitude: 1}
	}
	return stepscaling.Step{Lower: s.From, Upper: upper(s), Change: change}
}

// apply returns the size after the change, and the change as text.
func (s StepChange) apply(size int) (n int, change string) {
	switch {
	case s.Set != nil:
		change = fmt.Sprintf("set %d", *s.Set)
	case s.Percent != 0:
		change = fmt.Sprintf("%+g %%", s.Percent)
	default:
		change = fmt.Sprintf("%+d", s.Add)
	}
	return s.step().Change.Of(size), change
}

// lastChange returns when desired last changed among the recent decisions.
func lastChange(recent muster.Recent) (time.Time, bool) {
	for i := len(recent) - 1; i >= 0; i-- {
		if recent[i].Desired != recent[i].Previous {
			return recent[i].At, true
		}
	}
	return time.Time{}, false
}

// metric returns the metric, and the reason for a hold while it is unknown.
func (p Step) metric(o muster.Observation) (muster.Sample, muster.Reason) {
	backlog := o.Backlog()
	switch p.Metric {
	case MetricOldestAge:
		return o.OldestAge(), muster.UnknownBacklog
	case MetricTotalWork:
		work, reason, _ := WorkerUtilization{Signal: SignalTotal}.work(o)
		return work, reason
	case MetricUtilization:
		if !o.Capacity.Known {
			return muster.Unknown(o.At, o.Capacity.Reason), muster.UnknownCapacity
		}
		work, reason, _ := WorkerUtilization{Signal: SignalTotal}.work(o)
		if work.Known {
			work.Value = Utilization(work.Value, float64(o.Capacity.Slots))
		}
		return work, reason
	case MetricBacklogPerWorker:
		if !o.Capacity.Known {
			return muster.Unknown(o.At, o.Capacity.Reason), muster.UnknownCapacity
		}
		backlog.Value /= float64(max(1, o.Capacity.InService()))
	}
	return backlog, muster.UnknownBacklog
}

// checkStep returns the faults of the parameters of step. Overlapping steps would make the result depend on their
// order.
func checkStep(s Spec) []error {
	var faults []error
	if !slices.Contains([]string{"", MetricBacklog, MetricTotalWork, MetricBacklogPerWorker, MetricOldestAge,
		MetricUtilization}, s.Metric) {
		faults = append(faults, &Fault{"policy.metric", fmt.Sprintf("%q", s.Metric),
			"backlog, total-work, backlog-per-worker, oldest-age or utilization"})
	}
	if len(s.Steps) < 1 || len(s.Steps) > 20 {
		faults = append(faults, &Fault{"policy.steps", fmt.Sprintf("%d of them", len(s.Steps)), "1 to 20 steps"})
	}
	if s.Cooldown < 0 || s.Cooldown > maxMemory {
		faults = append(faults, &Fault{"policy.cooldown", s.Cooldown.String(), "0s to " + maxMemory.String()})
	}
	for i, a := range s.Steps {
		kinds := 0
		for _, is := range []bool{a.Add != 0, a.Percent != 0, a.Set != nil} {
			if is {
				kinds++
			}
		}
		switch {
		case kinds != 1:
			faults = append(faults, &Fault{"policy.steps",
				fmt.Sprintf("%d changes in the step from %s", kinds,
					render.Number(a.From)), "one of add, percent and set"})
		case a.From < 0 || a.To < 0 || a.To != 0 && a.To <= a.From || a.Set != nil && *a.Set < 0:
			faults = append(faults, &Fault{"policy.steps", fmt.Sprintf("a step from %s to %s", render.Number(a.From),
				render.Number(a.To)), "0 <= from < to, and sizes of at least 0"})
		}
		for _, b := range s.Steps[:i] {
			if a.From < upper(b) && b.From < upper(a) {
				faults = append(faults, &Fault{"policy.steps",
					fmt.Sprintf("steps from %s and from %s that overlap", render.Number(b.From),
						render.Number(a.From)), "steps apart from each other"})
			}
		}
	}
	return faults
}

// upper returns the end of the range of s, infinite for a zero To.
func upper(s StepChange) float64 {
	if s.To == 0 {
		return math.Inf(1)
	}
	return s.To
}
