package planning

import (
	"fmt"
	"math"
	"slices"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/arrivals"
	"github.com/muster-scale/muster/policy/internal/congestion"
	"github.com/muster-scale/muster/policy/internal/durations"
	"github.com/muster-scale/muster/policy/internal/lateness"
	"github.com/muster-scale/muster/policy/internal/quiet"
	"github.com/muster-scale/muster/policy/internal/rules"
	"github.com/muster-scale/muster/policy/internal/scarcity"
	"github.com/muster-scale/muster/policy/internal/silent"
	"github.com/muster-scale/muster/policy/internal/start"
)

// Deadline keeps the latency objective with as few workers as it can.
//
// Each waiting message has a latest start: the last moment at which its work can begin and still end in time. While a
// later launch still meets all latest starts with as many workers, Deadline launches nothing, because one worker may
// then serve the messages that arrive in the meantime too. Workers stop when nothing waits and the arrivals do not keep
// them busy.
//
// Some objectives leave no time to launch a worker for a message that has arrived. Deadline then keeps headroom: the
// workers that the busiest times of the past hours would have needed. A forecast, if the fleet has one, replaces these
// times by what it expects for the end of the next boot.
//
// Messages that running trees are expected to send count from the time at which they are expected: see
// [muster.Expected].
type Deadline struct {
	// Scale is the dial from cheap (1) to fast: the share of the objective that the plan uses, above 0 and at most 1.
	// 0 stands for 1, or for the share that Prompt implies.
	Scale float64
	// Prompt is for workers that cost almost nothing. While a message waits, at least one worker is there, and it stays
	// while a message a minute arrives. Without a Scale, the plan then uses half of the objective, or twice the time of
	// a boot and a message if that is more.
	Prompt bool
	// Seasonal makes the policy read the observation's forecast. The forecast changes the size only if the objective
	// leaves no time to launch, and only while it is used: see [muster.Forecast].
	Seasonal bool
}

const (
	// reservedShare and reservedPolls are the part of the objective that the plan leaves for polls, reports and
	// rounding: 3 % of it, or ten polls if that is less.
	reservedShare, reservedPolls = 0.03, 10
	// deadlineRule is the rule that the terms of Deadline name.
	deadlineRule = "deadline"
	// deadlineRevision changes whenever the same observation may give another decision.
	deadlineRevision = "deadline/28"
)

// Decide implements [muster.Policy].
func (p Deadline) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	o.Boot = durations.BootSoFar(o)
	if silent.Fleet(o) {
		return decideUntimed(p.decideSilent(o, recent), o)
	}
	if o.Sharing != nil {
		return p.decideShared(o, recent)
	}
	return p.decide(o, recent)
}

// decideSilent returns the decision for a fleet of which only the counts of the queue are known.
func (p Deadline) decideSilent(o muster.Observation, recent muster.Recent) muster.Decision {
	d, size := rules.Begin(o, deadlineRevision), silent.Of(o, recent)
	d.Kept = size.Kept
	if o.Backlog().Value == 0 {
		return d.With(idleTerm(o, kept{workers: size.Workers, because: "so many were busy lately"}))
	}
	return d.With(muster.Term{Rule: deadlineRule, In: size.In, Out: size.Workers, Why: size.Why})
}

// decide returns the decision for durations that do not depend on the number of busy slots. Members on one shared
// machine come here too, by way of decideShared.
func (p Deadline) decide(o muster.Observation, recent muster.Recent) muster.Decision {
	d := rules.Begin(o, deadlineRevision)
	standby, quiets, extra := quiet.HeadroomOf(recent), quiet.TimesOf(recent), lateness.ExtraOf(recent)
	cold, trend := quiet.ColdStartsOf(recent), congestion.TrendOf(recent)
	// also through holds
	d.Kept = slices.Concat(standby.Kept(), quiets.Kept(), extra.Kept(), cold.Kept(), trend.Kept())
	backlog := o.Backlog()
	switch {
	case !o.Capacity.Known:
		return d.Held(muster.UnknownCapacity, muster.Term{Rule: deadlineRule, Why: "the fleet could not be listed: " +
			o.Capacity.Reason})
	case !backlog.Known:
		return rules.Unknown(d, muster.UnknownBacklog, deadlineRule, "backlog", backlog)
	}
	work, known := durations.Of(o)
	if !known {
		return decideUntimed(p.learn(d, o, backlog.Value), o)
	}
	plan := newPlan(o, work, p.dial(o, work))
	plan.standby, plan.quiets, plan.cold = standby, quiets, cold.Next(o, plan.bootMean, plan.Mean)
	plan.quiets = plan.nextQuiets(o)
	plan.extra, plan.trend = extra.Next(o, plan.price), trend
	if plan.farSlack() > 0 {
		plan.trend = trend.Next(o, plan.Mean)
	}
	d.Kept = slices.Concat(plan.nextStandby(o).Kept(), plan.quiets.Kept(), plan.extra.Kept(),
		plan.cold.Kept(), plan.trend.Kept())
	sized := p.sizeByPlan(d, o, plan)
	if p.Seasonal {
		without := sized
		plan.forecast, plan.sureKnown = o.Forecast, false
		sized = plan.applyForecast(without, p.sizeByPlan(d, o, plan), o)
	}
	if o.Expected.None() {
		return sized
	}
	return plan.decideWithTrees(sized, o)
}

// sizeByPlan returns d with the size that the plan needs: the active workers and those to launch now, but at least the
// workers that are kept.
//
// A launch is postponed by default. It happens now in these cases:
//
//   - one decision later it would take more workers, rounded up, or miss a latest start;
//   - the objective leaves no time to postpone anything (mustLaunchNow), or messages are late already;
//   - the ages of the messages are unknown, or the duration is only a stated one: by the time the plan could be
//     corrected, the messages would be late;
//   - all permitted workers are needed.
//
// Fewer are launched where these suffice for the quantile: see fewest. More are launched where to wait saves nothing
// or makes the work longer, and where the maximum may be too small later: see sooner.
//
// Nothing is launched for messages that idle workers disprove, or that were finished since they were counted: see
// countsAreOutdated and mayTakeCounts. While no worker is in service, more may be launched: see race.
func (p Deadline) sizeByPlan(d muster.Decision, o muster.Observation, plan plan) muster.Decision {
	active := o.Capacity.Active()
	keep := plan.keptWorkers(o)
	stay, because := rules.Staying(o, active, p.Prompt)
	switch {
	case stay > keep:
	case keep > 0 && keep == plan.saturated:
		because = plan.whySaturated()
	case plan.quietHeadroom(o) > 0:
		because = plan.whyQuiet(o)
	default:
		because = "the arrivals keep them busy" + plan.whyLate(o)
	}
	keep = max(keep, stay)
	if keep < active {
		d.IdleStop = plan.idleStop(o)
	}
	waiting := o.Backlog().Value
	if waiting == 0 {
		drain := !p.Prompt && o.Expected.None() && plan.mayDrain(o.Arrivals)
		return d.With(idleTerm(o, kept{keep, because, plan.mayConsolidate(), drain, plan.reasons(d, o)}))
	}
	need := plan.needAfter(0)
	launch := 0
	if later := plan.needAfter(plan.step); rules.Ceil(later.workers) > rules.Ceil(need.workers) ||
		plan.mustLaunchNow(need) || need.cause == forLate || plan.agesUnknown || o.Processing.Prior {
		launch = rules.Ceil(need.workers)
	}
	switch all := rules.Ceil(need.workers); {
	case active == 0 && plan.oldestIsLate():
		launch = max(launch, all, 1) // no worker will reach the late message otherwise
	case float64(active)+need.workers > float64(o.Limits.Max):
		launch = all // all permitted workers are needed: a later launch saves nothing
	case need.cause == forWaiting:
		few := plan.fewest(launch, o)
		plan.spared, launch = launch-few, few
	}
	if plan.Mean > plan.FinishedMean && launch > 0 {
		// Only messages in progress suggest that the work takes longer, and they may just be stuck for a moment. So no
		// more are launched than the others need if they take as long as those in progress surely have so far.
		sure := plan.withMean(math.Max(plan.FinishedMean, durations.SurelyHeld(o.Capacity)))
		most := max(rules.Ceil(sure.needAfter(0).workers), 1-active)
		plan.probing = launch > most
		launch = min(launch, most)
	}
	launch = plan.sooner(o, launch)
	plan.outdated = plan.countsAreOutdated(o)
	plan.done = waiting <= o.FinishedSince && plan.mayTakeCounts(o.Arrivals)
	if plan.outdated || plan.done {
		launch, plan.whySooner = 0, ""
	}
	plan.promptLaunch = active == 0 && p.Prompt && launch == 0
	if plan.promptLaunch {
		launch = 1
	}
	out := max(active+launch, keep)
	if race := active + plan.race(o); race > out {
		plan.racers, out = race-out, race
	}
	d.Floor = keep
	return d.With(muster.Term{
		Rule: deadlineRule, Out: out,
		In: plan.termValues([]muster.Value{rules.Value("waiting", waiting), rules.Value("oldest_s", plan.oldest()),
			rules.Value("mpd_s", plan.Mean), rules.Value("service_s", plan.Tail),
			rules.Value("boot_s", plan.boot), rules.Value("workers", float64(active)),
			rules.Value("more_needed", rules.Round3(need.workers)),
			rules.Value("keep", float64(keep))}, plan.reasons(d, o)),
		Why: plan.why(o, need, out-active) + rules.Failing(o),
	})
}

// sooner returns how many workers are launched now, launch or more, and sets whySooner if they are more.
func (p *plan) sooner(o muster.Observation, launch int) int {
	if n := p.keepsUp(o); n > launch {
		launch, p.whySooner = n, "the arrivals keep so many busy, and to launch them later would hardly save a boot"
	}
	if n := p.growsToMax(o); n > launch {
		launch, p.whySooner = n, fmt.Sprintf("more and more arrive, and most of the %d permitted workers are needed "+
			"for what waits once they are ready", o.Limits.Max)
	}
	each := p.trend.WaitingEach(p.LongTermMean, p.bootMean, p.slots)
	if n := min(int(o.Backlog().Value/each)-o.Capacity.Active(), p.filled(o)); n > launch && p.slack() > 0 {
		launch, p.whySooner = n, fmt.Sprintf("work takes longer the more messages wait, so only %.0f wait for each "+
			"worker", each)
	}
	return launch
}

// keepsUp returns how many workers are launched now because the arrivals keep them busy, although the messages could
// wait for longer. Work takes the same worker-seconds whenever it is done. So with one slot, as workers in service say,
// to wait saves boots alone, hardly anything with b <= m / 10; b is the mean boot time, m the mean duration. Workers
// that are surely never idle then come at once, and less is late if more arrives later or the work grows.
func (p *plan) keepsUp(o muster.Observation) int {
	const hardly = 0.1
	if p.slots > 1 || o.Capacity.InService() == 0 || p.slack() <= 0 || !o.Arrivals.Known ||
		p.bootMean > hardly*p.FinishedMean {
		return 0
	}
	return max(0, min(int(arrivals.SteadyLoad(o.Arrivals, p.FinishedMean))-o.Capacity.Active(), p.filled(o)))
}

// growsToMax returns how many workers are launched now because the arrivals surely grow and most of the permitted
// workers are needed for what waits once they are ready: see [scarcity.Workers]. It is 0 where a launch comes too late
// for messages that wait, and never more than these fill. The oldest counts as one that can wait for a quarter of its
// time at least: if it is late, the workers are for those behind it.
func (p *plan) growsToMax(o muster.Observation) int {
	if _, rise := arrivals.Growth(p.arrivals, p.seenRate()); rise <= 0 || p.farSlack() <= 0 {
		return 0
	}
	wait := p.farLatency - p.LongTermMean
	most := scarcity.Workers(scarcity.Queue{
		Waiting: o.Backlog().Value * p.attempts, Begun: p.begun(p.boot), Load: p.load, Mean: p.LongTermMean,
		Boot: p.boot, Left: math.Max(wait/4, wait-p.lag-p.boot-p.oldest()),
	}, p.slots, o.Limits.Max)
	return max(0, min(most-o.Capacity.Active(), p.filled(o)))
}

// filled returns how many more workers the waiting messages fill, or the last of them in part.
func (p *plan) filled(o muster.Observation) int {
	return rules.Ceil((o.Backlog().Value - p.unusedSlots()) / p.slots)
}

// promptShare is the share of the objective that the plan of a prompt fleet uses, if that leaves enough time. Half is a
// choice: the other half covers what no plan knows.
const promptShare = 0.5

// dial returns the share of the objective that the plan uses, 0 for all of it.
//
// The workers of a prompt fleet cost almost nothing, so it saves nothing by launching at the last moment. It keeps the
// rest of the objective for what the plan does not know, such as other programs on a shared machine. Its share is never
// so small that a launch would be too late because of it: it covers twice the time of a boot and a message, as far as
// the objective allows.
func (p Deadline) dial(o muster.Observation, w durations.Work) float64 {
	if p.Scale > 0 || !p.Prompt {
		return p.Scale
	}
	twice := 2 * (w.Tail + durations.BootWithMargin(o.Boot) + o.LateSeconds())
	return math.Min(1, math.Max(promptShare, twice/o.Objective.Latency.Seconds()))
}

// learn returns the decision while the processing duration is unknown: one worker, or a few, measure it.
//
// Until a message has ended, the time that the messages in progress have taken so far is a lower bound of the duration.
// As soon as that bound would make waiting messages late, learn launches more workers. It at most doubles the busy
// ones, because a message in progress may simply hang.
func (p Deadline) learn(d muster.Decision, o muster.Observation, backlog float64) muster.Decision {
	c := o.Capacity
	active := c.Active()
	if backlog == 0 && o.Progress.Value().Failing.Known {
		// Every attempt has failed so far. The duration stays unknown, so there is no reason to keep workers for it,
		// except for the one that the next message launches to find out, also in a fleet that is not prompt.
		stay, because := rules.Staying(o, active, true)
		return d.With(idleTerm(o, kept{workers: stay, because: because}))
	}
	if backlog == 0 {
		why := rules.NothingWaits(o) + ", and how long the work takes is not known yet" + rules.Failing(o)
		return d.With(muster.Term{Rule: deadlineRule, Out: o.Capacity.Desired, Why: why})
	}
	in := []muster.Value{rules.Value("waiting", backlog)}
	if c.BusySlots == 0 || c.HeldMeanSeconds <= 0 {
		first := start.Workers(o)
		return d.With(muster.Term{Rule: deadlineRule, In: in, Out: max(active, first), Why: fmt.Sprintf(
			"how long the work takes is not known yet: %s (state the processing duration to begin with as many as it "+
				"takes)", start.Said(first)) + rules.Failing(o)})
	}
	h := c.HeldMeanSeconds
	plan := newPlan(o, durations.Work{Mean: h, Tail: h, LongTermTail: h, LongTermMean: h, FinishedMean: h,
		Variation: 1}, p.Scale)
	need := plan.needAfter(0)
	out := max(active, 1)
	why := fmt.Sprintf("no message has ended yet, those in progress have taken %s so far; the others can still wait",
		render.Seconds(math.Round(h)))
	if more := min(rules.Ceil(need.workers), max(1, 2*c.Busy-active)); need.workers > 0 && active < 2*c.Busy {
		out = active + more
		why = fmt.Sprintf("no message has ended yet, and those in progress have taken %s so far: if the others take "+
			"as long, they are late; launching %d to find out",
			render.Seconds(math.Round(h)), more)
	}
	return d.With(muster.Term{Rule: deadlineRule,
		In: append(in, rules.Value("held_s", h), rules.Value("boot_s", plan.boot),
			rules.Value("workers", float64(active)), rules.Value("more_needed", rules.Round3(need.workers))),
		Out: out, Why: why + rules.Failing(o)})
}

// kept describes the workers that stay although nothing waits.
type kept struct {
	// workers is their number, because the reason for it as a clause.
	workers int
	because string
	// consolidate lets the fleet shrink to the workers that could hold all messages in progress between them, drain to
	// those that are kept.
	consolidate, drain bool
	// reasons are further values of the term.
	reasons []muster.Value
}

// idleTerm returns the term while nothing waits: idle workers stop, except those that are kept.
func idleTerm(o muster.Observation, keep kept) muster.Term {
	c := o.Capacity
	active := c.Active()
	// Messages in flight beyond the reported ones were received since the last reports, unless they wait for a retry.
	held := math.Max(float64(c.BusySlots), o.InFlight().Value-o.Retrying)
	busy := max(c.Busy, min(rules.Ceil(held/c.SlotsPerWorker), c.InService()))
	if keep.consolidate {
		// When each worker holds a little, none is ever idle. A worker that stops finishes its messages first, so the
		// fleet may shrink to as many workers as all messages in progress fill.
		busy = rules.Ceil(held / c.SlotsPerWorker)
	}
	working := busy
	if o.Progress != nil {
		working = min(busy, c.InService()) // messages that wait for a retry may outnumber the workers
	}
	why := rules.NothingWaits(o) + "; " + rules.CountIs(working, "worker") + " busy"
	if drain := working - keep.workers; keep.drain && drain > 0 {
		busy = keep.workers
		take := "take"
		if drain == 1 {
			take = "takes"
		}
		why += fmt.Sprintf(", and %d %s no more messages: the next ones can wait for workers that they fill",
			drain, take)
	} else if busy < c.Busy {
		why = fmt.Sprintf("%s; %s busy, and %d can hold all messages in progress", rules.NothingWaits(o),
			rules.CountIs(c.Busy, "worker"),
			busy)
	}
	if keep.workers > busy {
		verb := "stay"
		if keep.workers == 1 {
			verb = "stays"
		}
		why += fmt.Sprintf(", %d %s because %s", keep.workers, verb, keep.because)
	}
	return muster.Term{Rule: deadlineRule, Out: max(keep.workers, min(active, busy)), Why: why + rules.Failing(o),
		In: append([]muster.Value{
			rules.Value("busy", float64(working)), rules.Value("keep", float64(keep.workers)),
			rules.Value("workers", float64(active)),
		}, keep.reasons...)}
}
