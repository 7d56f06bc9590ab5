package policy

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// Delegation leaves the size of a fleet to a cloud's target tracking.
type Delegation struct {
	// ChangePercent is by how many per cent the target must move before it is set again: 1 to 100. Every is how long a
	// target stays at least. A new target makes the cloud start its measurement again, which costs minutes.
	ChangePercent float64       `json:"change_percent,omitzero"`
	Every         time.Duration `json:"every_ns,omitzero"`
}

// The defaults of [Delegation].
const (
	DefaultChangePercent = 20
	DefaultEvery         = 5 * time.Minute
)

// The names of what a delegated decision keeps: the target that the cloud is to track, and the instant from which it
// counts, in seconds since 1970.
const (
	KeptTarget   = "target"
	KeptTargetAt = "target_at_s"
)

// Delegated decides only the target that a cloud tracks: the acceptable backlog per worker of the policy in Spec, or
// its utilization. The target stays until it has moved by more than ChangePercent, and for at least Every.
type Delegated struct {
	Of   muster.Policy
	Spec Spec
}

// Decide implements [muster.Policy]. The verdict is delegate; Wish is what the wrapped policy would have set.
func (p Delegated) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	const rule = "delegate"
	d := rules.Begin(o, p.Spec.Name+"+delegate/1")
	d.Verdict = muster.Delegate
	if own := p.Of.Decide(o, recent); own.Verdict == muster.Apply {
		d.Wish = own.Wish
	}
	target, in, why := p.target(o)
	was, at, set := p.kept(recent)
	age := time.Duration((rules.Seconds(d.At) - at) * float64(time.Second))
	switch {
	case !(target > 0) || math.IsInf(target, 0):
		if !set {
			return d.With(muster.Term{Rule: rule, In: in, Out: d.Previous, Why: "the cloud has no target yet: " + why})
		}
		target, why = was, "the target stays at "+render.Number(was)+": "+why
	case !set:
		at, why = rules.Seconds(d.At), "the cloud tracks a target of "+render.Number(target)+": "+why
	case math.Abs(target-was) <= was*p.Spec.Delegate.ChangePercent/100:
		target, why = was, fmt.Sprintf("the target stays at %s, which is within %s %% of %s: %s", render.Number(was),
			render.Number(p.Spec.Delegate.ChangePercent), render.Number(target), why)
	case age >= 0 && age < p.Spec.Delegate.Every:
		target, why = was, fmt.Sprintf("the target stays at %s for %s at least, and then becomes %s: %s",
			render.Number(was), render.Seconds(p.Spec.Delegate.Every.Seconds()), render.Number(target), why)
	default:
		at, why = rules.Seconds(d.At), fmt.Sprintf("the target moves from %s to %s: %s", render.Number(was),
			render.Number(target), why)
	}
	d = d.With(muster.Term{Rule: rule, In: append(in, rules.Value("target", target)), Out: d.Previous, Why: why})
	d.Kept = []muster.Value{rules.Value(KeptTarget, target), rules.Value(KeptTargetAt, at)}
	return d
}

// kept returns the target that the newest decision keeps and the instant from which it counts, in seconds since 1970;
// false if there is none.
func (p Delegated) kept(recent muster.Recent) (target, at float64, ok bool) {
	if len(recent) == 0 {
		return 0, 0, false
	}
	for _, v := range recent[len(recent)-1].Kept {
		switch v.Name {
		case KeptTarget:
			target = v.Value
		case KeptTargetAt:
			at = v.Value
		}
	}
	return target, at, target > 0
}

// target returns the target for the present observation, with the values and the text that explain it; zero while it is
// unknown.
func (p Delegated) target(o muster.Observation) (target float64, in []muster.Value, why string) {
	s := p.Spec
	latency, slots := o.Objective.Latency, o.Capacity.SlotsPerWorker
	switch {
	case s.Name == "worker-utilization":
		return cmp.Or(s.Target, DefaultTarget), nil, "the utilization in the configuration"
	case s.Name == "backlog-per-worker" && s.Acceptable > 0:
		return s.Acceptable, nil, "the acceptable backlog per worker in the configuration"
	case s.Name == "backlog-per-worker":
		return AcceptableBacklog(latency, s.Processing, slots), nil, "the acceptable backlog per worker for a " +
			"processing duration in the configuration"
	case o.Processing.Known && o.Processing.MeanSeconds > 0 && !(o.Processing.Prior && s.Acceptable > 0):
		in = []muster.Value{rules.Value("latency_s", latency.Seconds()), rules.Value("mpd_s", o.Processing.MeanSeconds),
			rules.Value("slots_per_worker", slots)}
		return latency.Seconds() * slots / o.Processing.MeanSeconds, in,
			fmt.Sprintf("%s / %s mean processing is an acceptable backlog per worker",
				render.Seconds(latency.Seconds()), render.Seconds(o.Processing.MeanSeconds))
	case s.Acceptable > 0:
		return s.Acceptable, nil, "the initial acceptable backlog per worker, nothing was measured yet"
	}
	return 0, nil, "no processing duration was measured yet"
}

// TrackedBacklog returns the backlog per worker, in messages, that a cloud tracks; false while the backlog or the
// capacity is unknown. With no worker in service and messages waiting there is no quotient: the value is then above
// the target, so that the fleet rises from none.
func TrackedBacklog(h muster.Handover) (float64, bool) {
	if !h.Backlog.Known || !h.Capacity.Known {
		return 0, false
	}
	serving := float64(h.Capacity.InService())
	switch {
	case serving > 0:
		return h.Backlog.Value / serving, true
	case h.Backlog.Value > 0:
		return h.Backlog.Value + math.Max(0, h.Target), true
	}
	return 0, true
}

// TrackedUtilization returns the worker utilization that a cloud tracks, in messages per slot: those in flight, and
// unless inFlightAlone those that wait. It is false while a count is unknown.
func TrackedUtilization(h muster.Handover, inFlightAlone bool) (float64, bool) {
	if !h.Backlog.Known || !h.InFlight.Known || !h.Capacity.Known {
		return 0, false
	}
	work := h.InFlight.Value
	if !inFlightAlone {
		work += h.Backlog.Value
	}
	return Utilization(work, float64(h.Capacity.Slots)), true
}

// Tracked returns the metric that a cloud tracks for the policy; false while it is unknown.
func (s Spec) Tracked(h muster.Handover) (float64, bool) {
	if s.BySlots() {
		return TrackedUtilization(h, s.Signal == SignalInFlight)
	}
	return TrackedBacklog(h)
}

// Initial tells whether the target of a handover is only a start value, because no processing duration was measured
// lately. It must not replace a target that was measured before.
func (s Spec) Initial(h muster.Handover) bool {
	return s.Name == "dynamic-backlog" && (!h.Processing.Known || h.Processing.Prior)
}

// TargetOf returns the target that a delegated decision keeps; zero if it keeps none.
func TargetOf(d muster.Decision) float64 {
	for _, v := range d.Kept {
		if v.Name == KeptTarget && d.Verdict == muster.Delegate {
			return v.Value
		}
	}
	return 0
}

// checkDelegate returns the faults of a delegation. A cloud tracks one number, so only policies with one target can be
// delegated.
func (s Spec) checkDelegate() []error {
	d := s.Delegate
	if d == nil {
		return nil
	}
	var faults []error
	switch s.Name {
	case "backlog-per-worker", "dynamic-backlog":
	case "worker-utilization":
		if s.Signal == SignalReports {
			faults = append(faults, &Fault{"policy.signal", "reports with delegate", "total or in-flight: a cloud " +
				"tracks a metric of the queue"})
		}
	default:
		faults = append(faults, &Fault{"policy", fmt.Sprintf("%q with delegate", s.Name),
			"backlog-per-worker, dynamic-backlog or worker-utilization: a cloud tracks one number"})
	}
	if s.Shadow {
		faults = append(faults, &Fault{"delegate", "delegate with shadow", "one of them: a shadow leaves target " +
			"tracking as it is"})
	}
	if !(d.ChangePercent >= 1 && d.ChangePercent <= 100) {
		faults = append(faults, &Fault{"delegate.change", render.Number(d.ChangePercent), "a percentage from 1 to 100"})
	}
	if d.Every < 0 || d.Every > maxMemory {
		faults = append(faults, &Fault{"delegate.every", d.Every.String(), "0s to " + maxMemory.String()})
	}
	return faults
}
