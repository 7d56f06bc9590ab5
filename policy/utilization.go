package policy

import (
	"fmt"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// DefaultTarget is the default utilization: it keeps three in ten slots free for messages to come.
const DefaultTarget = 0.7

// The numbers that worker-utilization may count as work.
const (
	// SignalTotal counts backlog plus in flight.
	SignalTotal = "total"
	// SignalInFlight counts messages in flight, for work that is assigned and never waits.
	SignalInFlight = "in-flight"
	// SignalReports counts the busy slots that workers report, for a fleet without a queue.
	SignalReports = "reports"
)

// WorkerUtilization keeps total work / total slots at a target. The ratio needs no processing duration, so it stays
// right when durations change; it does not know a latency objective.
type WorkerUtilization struct {
	// Target is above 0 and at most 1.
	Target float64
	// Signal is one of the Signal constants.
	Signal string
}

// Decide implements [muster.Policy].
func (p WorkerUtilization) Decide(o muster.Observation, _ muster.Recent) muster.Decision {
	const rule = "worker-utilization"
	d := rules.Begin(o, rule+"/2")
	if !o.Capacity.Known {
		return d.Held(muster.UnknownCapacity, muster.Term{Rule: rule, Why: "the fleet could not be listed: " +
			o.Capacity.Reason})
	}
	work, reason, what := p.work(o)
	if !work.Known {
		return rules.Unknown(d, reason, rule, what, work)
	}
	u := Utilization(work.Value, float64(o.Capacity.Slots))
	n := rules.Ceil(work.Value / (p.Target * o.Capacity.SlotsPerWorker))
	why := fmt.Sprintf("%s of work on %s is a utilization of %s, the target is %s, so %s", render.Number(work.Value),
		render.Plural(o.Capacity.Slots, "slot"), render.Number(u), render.Number(p.Target), render.Plural(n, "worker"))
	if o.Capacity.Slots == 0 {
		// Without slots the formula says no more than "saturated": at least one worker, and no fall while ordered ones
		// boot.
		n = 0
		why = "no work and no slots"
		if work.Value > 0 {
			n = max(1, d.Previous)
			why = fmt.Sprintf("%s of work and no slots yet, so at least 1 worker", render.Number(work.Value))
		}
	}
	d.Floor = n
	if p.Signal != SignalReports {
		why += rules.Retries(o)
	}
	return d.With(muster.Term{
		Rule: rule,
		In: []muster.Value{rules.Value("work", work.Value), rules.Value("slots", float64(o.Capacity.Slots)),
			rules.Value("utilization", u),
			rules.Value("target", p.Target), rules.Value("slots_per_worker", o.Capacity.SlotsPerWorker)},
		Out: n, Why: why,
	})
}

// Utilization returns work / slots. Without slots it is 1 if there is work, else 0: the formula IF(slots > 0, work /
// slots, IF(work > 0, 1, 0)) of AWS's published example.
func Utilization(work, slots float64) float64 {
	switch {
	case slots > 0:
		return work / slots
	case work > 0:
		return 1
	}
	return 0
}

// work returns the work that Signal names, the reason for a hold while it is unknown, and its name for the sentence.
func (p WorkerUtilization) work(o muster.Observation) (work muster.Sample, reason muster.Reason, what string) {
	inFlight := o.InFlight()
	switch p.Signal {
	case SignalReports:
		if o.Capacity.Lost > 0 {
			return muster.Unknown(o.At, fmt.Sprintf("%d workers are lost", o.Capacity.Lost)), muster.UnknownInFlight,
				"number of busy slots"
		}
		return muster.Measured(o.At, float64(o.Capacity.BusySlots)), muster.UnknownInFlight, "number of busy slots"
	case SignalInFlight:
		return inFlight, muster.UnknownInFlight, "number of messages in flight"
	}
	backlog := o.Backlog()
	switch {
	case !backlog.Known:
		return backlog, muster.UnknownBacklog, "backlog"
	case !inFlight.Known:
		return inFlight, muster.UnknownInFlight, "number of messages in flight"
	}
	return muster.Measured(o.At, backlog.Value+inFlight.Value), "", "work"
}

// checkUtilization returns the faults of Target and Signal.
func checkUtilization(s Spec) []error {
	var faults []error
	if s.Target != 0 && !(s.Target > 0 && s.Target <= 1) {
		faults = append(faults, &Fault{"policy.target", render.Number(s.Target), "a number above 0 and at most 1, as " +
			"in 0.7"})
	}
	switch s.Signal {
	case "", SignalTotal, SignalInFlight, SignalReports:
	default:
		faults = append(faults, &Fault{"policy.signal", fmt.Sprintf("%q", s.Signal), "total, in-flight or reports"})
	}
	return faults
}
