package policy

import (
	"fmt"
	"math"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/durations"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// AcceptableBacklog returns how many messages may wait for each worker so that the last of them still ends within
// latency:
//
//	acceptable = latency slots / mpd
//
// mpd, the mean processing duration, is above zero.
func AcceptableBacklog(latency, mpd time.Duration, slots float64) float64 {
	return latency.Seconds() * slots / mpd.Seconds()
}

// DrainTime returns how long a worker needs for a backlog of so many messages:
//
//	drain = backlog mpd / slots
func DrainTime(backlogPerWorker float64, mpd time.Duration, slots float64) time.Duration {
	return time.Duration(backlogPerWorker * float64(mpd) / slots)
}

// BacklogPerWorker keeps the backlog per worker in service at a number that the user fixed: target tracking on the
// backlog per instance. It ignores measured durations, so the latency that it gives changes with them.
type BacklogPerWorker struct {
	// Acceptable is the acceptable backlog per worker, above zero; zero computes it from Processing and the objective.
	Acceptable float64
	// Processing is the user's figure for the mean processing duration, used when Acceptable is zero.
	Processing time.Duration
}

// Decide implements [muster.Policy].
func (p BacklogPerWorker) Decide(o muster.Observation, _ muster.Recent) muster.Decision {
	acceptable := p.Acceptable
	if acceptable == 0 {
		acceptable = AcceptableBacklog(o.Objective.Latency, p.Processing, o.Capacity.SlotsPerWorker)
	}
	d := trackBacklog(o, "backlog-per-worker", "/2", acceptable, "fixed in the configuration")
	if late, ok := p.drift(o, acceptable); ok && d.Verdict == muster.Apply {
		d.Trail[len(d.Trail)-1].Why += late
	}
	return d
}

// drift returns a remark if the measured durations have outgrown the fixed number: a full backlog then takes more than
// a tenth longer than the objective.
func (p BacklogPerWorker) drift(o muster.Observation, acceptable float64) (string, bool) {
	if !o.Processing.Known || o.Processing.Prior || o.Objective.Latency <= 0 {
		return "", false
	}
	mpd := time.Duration(o.Processing.MeanSeconds * float64(time.Second))
	takes := DrainTime(acceptable, mpd, o.Capacity.SlotsPerWorker)
	if takes <= o.Objective.Latency*11/10 {
		return "", false
	}
	return fmt.Sprintf(" (a full backlog now takes %s, the objective is %s)", render.Seconds(takes.Seconds()),
		render.Seconds(o.Objective.Latency.Seconds())), true
}

// DynamicBacklog keeps the backlog per worker at latency objective * slots / MPD, with the measured MPD: target
// tracking whose target follows the work.
type DynamicBacklog struct {
	// Prior is the acceptable backlog per worker until a processing duration was measured; zero for none.
	Prior float64
}

// Decide implements [muster.Policy].
func (p DynamicBacklog) Decide(o muster.Observation, _ muster.Recent) muster.Decision {
	const rule = "dynamic-backlog"
	mpd := o.Processing
	switch {
	case mpd.Known && mpd.MeanSeconds > 0 && !(mpd.Prior && p.Prior > 0):
		if d, ok := decideByProgress(o, rule); ok && allSlotsOverdue(o) {
			return d
		}
		acceptable := o.Objective.Latency.Seconds() * o.Capacity.SlotsPerWorker / mpd.MeanSeconds
		from := fmt.Sprintf("%s / %s mean processing", render.Seconds(o.Objective.Latency.Seconds()),
			render.Seconds(mpd.MeanSeconds))
		return trackBacklog(o, rule, dynamicRevision, acceptable, from)
	case p.Prior > 0:
		return trackBacklog(o, rule, dynamicRevision, p.Prior, "the initial value, nothing was measured yet")
	}
	if d, ok := decideByProgress(o, rule); ok {
		return d
	}
	backlog := o.Backlog()
	d := rules.Begin(o, rule+dynamicRevision)
	if !backlog.Known {
		return rules.Unknown(d, muster.UnknownBacklog, rule, "backlog", backlog)
	}
	if backlog.Value > 0 && d.Previous == 0 {
		return d.With(muster.Term{Rule: rule, In: []muster.Value{rules.Value("backlog", backlog.Value)}, Out: 1,
			Why: "messages wait and no processing duration was measured yet: one worker to measure it" +
				rules.Retries(o)})
	}
	return d.Held(muster.UnknownProcessing, muster.Term{Rule: rule, Why: "no processing duration was measured yet" +
		rules.Retries(o)})
}

// dynamicRevision is the revision of DynamicBacklog in recorded decisions.
const dynamicRevision = "/3"

// decideByProgress returns the decision if only the messages in progress tell how long the work takes. The work takes
// at least as long as they have so far, so the workers computed from that are needed at least. The fleet at most
// doubles its busy workers, because messages in progress may hang. It returns false if the present workers are enough,
// or if more are on their way already.
func decideByProgress(o muster.Observation, rule string) (muster.Decision, bool) {
	c, backlog := o.Capacity, o.Backlog()
	held, active := durations.SurelyHeld(c), c.Active()
	if !c.Known || !backlog.Known || backlog.Value == 0 || c.Busy == 0 || held <= 0 || active >= 2*c.Busy {
		return muster.Decision{}, false
	}
	acceptable := o.Objective.Latency.Seconds() * c.SlotsPerWorker / held
	n := min(rules.Ceil(backlog.Value/acceptable), 2*c.Busy)
	if n <= active {
		return muster.Decision{}, false
	}
	d := rules.Begin(o, rule+dynamicRevision)
	d.Floor = n
	return d.With(muster.Term{
		Rule: rule, Out: n,
		In: []muster.Value{
			rules.Value("backlog", backlog.Value), rules.Value("held_s", held), rules.Value("workers", float64(active)),
			rules.Value("acceptable_backlog_per_worker", acceptable),
		},
		Why: fmt.Sprintf("%s waiting, and the messages in progress have taken %s so far: if the others take as long, "+
			"%s acceptable "+
			"per worker; launching %d to find out", render.Number(backlog.Value), render.Seconds(math.Round(held)),
			render.Number(acceptable), n-active) + rules.Retries(o),
	}), true
}

// allSlotsOverdue tells whether every slot has held its message for longer than nearly all measured messages took.
func allSlotsOverdue(o muster.Observation) bool {
	c, e := o.Capacity, o.Processing
	return c.BusySlots > 0 && c.BusySlots >= c.Slots &&
		durations.SurelyHeld(c) > math.Max(e.P99Seconds, 2*e.MeanSeconds)
}

// trackBacklog returns the decision of target tracking on the backlog per worker:
//
//	desired = ceil(in service (backlog / in service) / acceptable) = ceil(backlog / acceptable)
//
// from says in the sentence where acceptable comes from.
func trackBacklog(o muster.Observation, rule, revision string, acceptable float64, from string) muster.Decision {
	d := rules.Begin(o, rule+revision)
	backlog := o.Backlog()
	if !backlog.Known {
		return rules.Unknown(d, muster.UnknownBacklog, rule, "backlog", backlog)
	}
	if !(acceptable > 0) || math.IsInf(acceptable, 0) {
		return d.Held(muster.UnknownProcessing, muster.Term{Rule: rule,
			Why: fmt.Sprintf("the acceptable backlog per worker came out as %v, a number above 0 is needed",
				acceptable)})
	}
	n := rules.Ceil(backlog.Value / acceptable)
	d.Floor = n
	in := []muster.Value{rules.Value("backlog", backlog.Value),
		rules.Value("in_service", float64(o.Capacity.InService()))}
	if serving := o.Capacity.InService(); serving > 0 {
		in = append(in, rules.Value("backlog_per_worker", backlog.Value/float64(serving)))
	}
	return d.With(muster.Term{
		Rule: rule, In: append(in, rules.Value("acceptable_backlog_per_worker", acceptable)), Out: n,
		Why: fmt.Sprintf("%s waiting, %s acceptable per worker (%s), so %s", render.Number(backlog.Value),
			render.Number(acceptable), from, render.Plural(n, "worker")) + rules.Retries(o),
	})
}

// checkBacklog returns the faults of the parameters of backlog-per-worker.
func checkBacklog(s Spec) []error {
	switch {
	case s.Acceptable < 0 || s.Processing < 0:
		return []error{&Fault{"policy.acceptable", "a negative number", "a number above 0"}}
	case s.Acceptable == 0 && s.Processing == 0:
		return []error{&Fault{"policy.acceptable", "nothing",
			"the acceptable backlog per worker (latency objective x slots / mean processing duration), or processing"}}
	}
	return nil
}
