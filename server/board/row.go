package board

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/override"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/policy/outlook"
	"github.com/muster-scale/muster/server"
)

// RowOf derives the row of a fleet from its status. It is a pure function; members are not needed.
func RowOf(f server.FleetStatus) Row {
	r := Row{Name: f.Name, Phase: f.Phase, Trouble: f.Trouble}
	if !f.Ready || !f.Sized() {
		r.State, r.Why = stateOf(f, r)
		return r
	}
	o := f.Observation
	r.ObjectiveSeconds, r.Quantile = Known(o.Objective.Latency.Seconds()), Known(o.Objective.Quantile)
	r.OldestSeconds = ofSample(o.Oldest())
	r.addWork(o)
	r.Min, r.Max, r.Desired = count(o.Limits.Min), count(o.Limits.Max), count(f.Decision.Desired)
	if f.Decision.Verdict == muster.Shadow {
		r.Desired = count(f.Decision.Previous) // nothing was set
	}
	r.addCapacity(o)
	r.AtMax = f.Decision.Wish > o.Limits.Max && f.Decision.Desired >= o.Limits.Max
	if e := outlook.ArrivingNow(o, f.Decision.Desired); e.Known {
		r.ExpectedSeconds, r.ExpectedInTime = Known(e.Seconds), Known(e.InTime)
	}
	r.addTargets(f)
	for _, x := range o.Overrides {
		r.Overrides += x.Text(o.At) + "\n"
	}
	r.Overrides = strings.TrimSuffix(r.Overrides, "\n")
	r.Decision = shortOf("", f.Decision)
	r.State, r.Why = stateOf(f, r)
	return r
}

// addWork fills in the counts of messages.
func (r *Row) addWork(o muster.Observation) {
	p := o.Progress.Value()
	r.InTime, r.Ended, r.Late = ofSample(p.InTime), knownIf(o.Progress != nil, p.Ended), ofSample(p.Late)
	if len(o.Queues) > 0 {
		r.Backlog, r.InFlight = ofSample(o.Backlog()), ofSample(o.InFlight())
		r.Delayed = ofSample(o.Total(func(q muster.QueueObservation) muster.Sample { return q.Delayed }))
	}
	r.Working, r.Retrying, r.DeadLetters = ofSample(p.Working), ofSample(p.Retrying), ofSample(p.DeadLetters)
	r.Arriving = knownIf(o.Arrivals.Known, o.Arrivals.Minute)
	r.Finished, r.Failed = knownIf(o.Progress != nil, p.Finished), knownIf(o.Progress != nil, p.Failed)
	r.P50Seconds = knownIf(o.Processing.Known, o.Processing.P50Seconds)
	r.P95Seconds = knownIf(o.Processing.Known, o.Processing.P95Seconds)
	if o.Processing.Known && o.Processing.Prior { // a stated mean says nothing of quantiles
		r.P50Seconds, r.P95Seconds = Known(o.Processing.MeanSeconds), Number{}
	}
}

// addCapacity fills in the counts of members, which are unknown while the fleet cannot be listed.
func (r *Row) addCapacity(o muster.Observation) {
	c := o.Capacity
	if !c.Known {
		return
	}
	r.InService, r.Busy, r.Idle = count(c.InService()), count(c.Busy), count(c.Idle)
	r.Pending, r.Draining, r.Lost = count(o.Pending()), count(c.Draining+c.Released), count(c.Lost)
	if n := c.InService(); n > 0 && r.Backlog.Known {
		r.PerWorker = Known(r.Backlog.Value / float64(n))
	}
	if c.Slots > 0 && r.Backlog.Known && r.InFlight.Known {
		r.Utilization = Known((r.Backlog.Value + r.InFlight.Value) / float64(c.Slots))
	}
}

// addTargets fills in what the policy keeps.
func (r *Row) addTargets(f server.FleetStatus) {
	o := f.Observation
	if mean := o.Processing.MeanSeconds; o.Processing.Known && mean > 0 {
		r.Acceptable = Known(o.Objective.Latency.Seconds() * o.Capacity.SlotsPerWorker / mean)
	}
	var spec policy.Spec
	if json.Unmarshal(f.Policy, &spec) != nil {
		return // a row without targets is of more use than none
	}
	if spec.Name == "worker-utilization" {
		r.UtilizationTarget = knownIf(spec.Target > 0, spec.Target)
	}
	r.CostPerHour = knownIf(spec.PricePerHour > 0, f.CostPerHour)
	r.PricePerHour = knownIf(spec.PricePerHour > 0, spec.PricePerHour)
	if spec.Acceptable > 0 {
		r.Acceptable = Known(spec.Acceptable)
	}
}

// shortOf shortens a decision. id may be empty.
func shortOf(id string, d muster.Decision) Short {
	return Short{ID: id, At: d.At, Fleet: d.Fleet, Policy: d.Policy, Previous: d.Previous, Wish: d.Wish,
		Desired: d.Desired, Verdict: d.Verdict, Reason: d.Reason, Sentence: d.Sentence()}
}

// riskyShare is the share of the objective beyond which an age puts messages at risk.
const riskyShare = 0.75

// stateOf says how a fleet does. The first row that applies counts: what hides other problems comes first.
func stateOf(f server.FleetStatus, r Row) (State, string) {
	o, p := f.Observation, f.Observation.Progress.Value()
	missed := r.InTime.Known && r.InTime.Value < o.Objective.Quantile && p.Ended > 0
	paused := ""
	for _, x := range o.Overrides {
		if x.Kind == override.Pause && x.ActiveAt(o.At) {
			paused = x.Text(o.At)
		}
	}
	atMost := ""
	if r.AtMax {
		atMost = fmt.Sprintf("; the policy recommends %d workers, and the maximum is %d", f.Decision.Wish, o.Limits.Max)
	}
	switch objective := render.Seconds(o.Objective.Latency.Seconds()); {
	case f.Trouble != "":
		return NotSized, f.Trouble
	case !f.Sized():
		return NotSized, "the fleet is " + f.Phase
	case !f.Ready:
		return Blind, "the queue and the members were not read yet"
	case !o.Capacity.Known:
		return Blind, "the members are unknown: " + o.Capacity.Reason
	case blind(f.Decision.Reason):
		return Blind, "a signal is unknown, so no decrease is decided: " + unknownSignals(o)
	case p.Failed > 0 && p.Failed >= p.Finished:
		return Failing, fmt.Sprintf("%s failed in the last five minutes, and %s finished%s",
			render.Plural(int(p.Failed), "attempt"), render.Plural(int(p.Finished), "message"), because(p.LastError))
	case o.Launches.Failed >= 2:
		return Failing, fmt.Sprintf("the last %d launches failed%s", o.Launches.Failed, because(o.Launches.LastError))
	case r.OldestSeconds.Known && r.OldestSeconds.Value > o.Objective.Latency.Seconds():
		return Missing, fmt.Sprintf("the oldest message has waited for %s, the objective is %s%s",
			render.Seconds(r.OldestSeconds.Value), objective, atMost)
	case r.Late.Value > 0:
		return Missing, fmt.Sprintf("%s late for the objective of %s%s", are(int(r.Late.Value)), objective, atMost)
	case missed:
		return Missing, fmt.Sprintf("%s %% of the last hour's messages were in time, the objective is %s %% within %s",
			percent(r.InTime.Value), render.Number(100*o.Objective.Quantile), objective)
	case paused != "":
		return Paused, paused
	case r.AtMax:
		return AtRisk, strings.TrimPrefix(atMost, "; ")
	case r.OldestSeconds.Value > riskyShare*o.Objective.Latency.Seconds():
		return AtRisk, fmt.Sprintf("the oldest message has waited for %s of the objective of %s",
			render.Seconds(r.OldestSeconds.Value), objective)
	case r.InTime.Known:
		return Meeting, fmt.Sprintf("%s %% of the last hour's messages were in time", percent(r.InTime.Value))
	}
	return Meeting, "no message is late"
}

// blind tells whether a decision holds because it lacks a signal.
func blind(r muster.Reason) bool { return strings.HasPrefix(string(r), "unknown_") }

// unknownSignals names the unknown counts of the queues with their reasons.
func unknownSignals(o muster.Observation) string {
	for _, q := range o.Queues {
		switch {
		case !q.Backlog.Known:
			return fmt.Sprintf("the backlog of %s: %s", q.Queue, q.Backlog.Reason)
		case !q.InFlight.Known:
			return fmt.Sprintf("the messages in flight of %s: %s", q.Queue, q.InFlight.Reason)
		}
	}
	if !o.Processing.Known {
		return "the processing duration was not measured yet"
	}
	return "see the decision"
}

// because adds an error to a sentence.
func because(text string) string {
	if text == "" {
		return ""
	}
	return "; last error: " + text
}

// are counts messages with their verb.
func are(n int) string {
	if n == 1 {
		return "1 message is"
	}
	return render.Plural(n, "message") + " are"
}

// percent renders a share in per cent, rounded down to tenths: 99.96 must not read as 100. The pages do the same.
func percent(share float64) string { return render.Number(math.Floor(1000*share+1e-9) / 10) }
