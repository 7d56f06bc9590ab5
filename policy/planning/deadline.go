package planning

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/durations"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// Deadline keeps the latency objective with as few workers as it can. Every waiting message has a latest moment at
// which its work must begin. While a worker that is launched later would still be in time for all of them, nothing is
// launched: what comes meanwhile may well be served by the same worker. Workers are launched at the last moment at
// which no more of them are needed than now; they are let go when nothing waits and the arrivals do not keep them busy.
//
// Where the objective leaves no time to launch a worker for a message that is already there, it keeps headroom instead:
// the workers that the busiest times of the past hours would have needed. With a forecast that is put in proportion to
// what is expected for when a worker that is launched now takes messages.
//
// What running trees are expected to send is planned for from when it comes: see [muster.Expected].
type Deadline struct {
	// Scale is the dial from cheap (1) to fast: the share of the objective that is planned with, above 0 and at most 1;
	// 0 means 1, or what Prompt says.
	Scale float64
	// Prompt is for workers that cost next to nothing: while anything waits there is one at least, and it stays while a
	// message a minute comes. Where no Scale is given, others are launched when half of the objective is left, unless a
	// boot and a message need more than half of that.
	Prompt bool
	// Seasonal is for fleets whose observations carry a forecast. It counts where the objective leaves no time to
	// launch, and only while it is used: see [muster.Forecast].
	Seasonal bool
}

const (
	// reservedShare and reservedPolls say what is left of the objective for polls, reports and rounding: that share of
	// it, or so many polls where that is less.
	reservedShare, reservedPolls = 0.03, 10
	// cautiousBoot is the boot time assumed while nothing is known of it.
	cautiousBoot = 2 * time.Minute
	// deadlineRule is what the terms of deadline are called.
	deadlineRule = "deadline"
	// deadlineRevision changes whenever the same observation may give another decision.
	deadlineRevision = "deadline/8"
)

// Decide implements [muster.Policy].
func (p Deadline) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	if silent(o) {
		return p.grow(o, recent)
	}
	if o.Sharing != nil {
		return p.decideShared(o)
	}
	return p.decide(o)
}

// decide decides for members that do not share a machine.
func (p Deadline) decide(o muster.Observation) muster.Decision {
	d := rules.Begin(o, deadlineRevision)
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
	sized := p.sizeByPlan(d, o, plan)
	if p.Seasonal {
		without := sized
		plan.forecast = o.Forecast
		sized = plan.applyForecast(without, p.sizeByPlan(d, o, plan), o)
	}
	if o.Expected.None() {
		return sized
	}
	return plan.decideWithTrees(sized, o)
}

// size makes d the size that the plan asks for.
func (p Deadline) sizeByPlan(d muster.Decision, o muster.Observation, plan plan) muster.Decision {
	active := o.Capacity.Active()
	keep := plan.keptWorkers(o)
	stay, because := p.keptOutsidePlan(o, active)
	if stay <= keep {
		because = "the arrivals keep them busy"
	}
	keep = max(keep, stay)
	waiting := o.Backlog().Value
	if waiting == 0 {
		return d.With(idleTerm(o, kept{keep, because, plan.mayConsolidate()}))
	}
	need := plan.needAfter(0)
	launch := 0
	if later := plan.needAfter(plan.step); rules.Ceil(later.workers) > rules.Ceil(need.workers) ||
		plan.mustLaunchNow(need) || need.cause == forLate || plan.agesUnknown || o.Processing.Prior {
		launch = rules.Ceil(need.workers)
	}
	if float64(active)+need.workers > float64(o.Limits.Max) {
		launch = rules.Ceil(need.workers) // all that may be there are needed: nothing is saved by launching them later
	}
	if active == 0 && plan.oldestIsLate() {
		launch = max(launch, rules.Ceil(need.workers), 1) // what is late waits for nobody else
	}
	if plan.Mean > plan.FinishedMean && launch > 0 {
		// Only what is in hand says so, and that may be a moment's standstill: as many again as are busy find out.
		usual := plan.withMean(plan.FinishedMean)
		most := max(rules.Ceil(usual.needAfter(0).workers), 2*o.Capacity.Busy-active, 1)
		plan.probing = launch > most
		launch = min(launch, most)
	}
	plan.promptLaunch = active == 0 && p.Prompt && launch == 0
	if plan.promptLaunch {
		launch = 1
	}
	out := max(active+launch, keep)
	d.Floor = keep
	return d.With(muster.Term{
		Rule: deadlineRule, Out: out,
		In: plan.termValues([]muster.Value{rules.Value("waiting", waiting), rules.Value("oldest_s", plan.oldest()),
			rules.Value("mpd_s", plan.Mean), rules.Value("service_s", plan.Tail),
			rules.Value("boot_s", plan.boot), rules.Value("workers", float64(active)),
			rules.Value("more_needed", rules.Round3(need.workers)),
			rules.Value("keep", float64(keep))}),
		Why: plan.why(o, need, out-active) + rules.Failing(o),
	})
}

// promptShare is the share of the objective that a prompt fleet plans with, where that leaves time enough.
const promptShare = 0.5

// dial is the share of the objective that is planned with. A prompt fleet has nothing to save by launching at the last
// moment: the rest of the objective is for what the plan does not know, such as other work on the machine that its
// workers share. It still has twice the time that a boot and a message take, as far as the objective goes, so that a
// launch is not too late because of it.
func (p Deadline) dial(o muster.Observation, w durations.Work) float64 {
	if p.Scale > 0 || !p.Prompt {
		return p.Scale
	}
	twice := 2 * (w.Tail + bootWithMargin(o.Boot) + o.LateSeconds())
	return math.Min(1, math.Max(promptShare, twice/o.Objective.Latency.Seconds()))
}

// learn is the decision for a fleet of which it is not known how long its work takes. One worker finds out. While no
// message has ended, all that is known is that those in progress take longer than they have so far: as soon as that
// would make the others late, more workers are launched, as many again as there are busy ones, because what is in
// progress may hang.
func (p Deadline) learn(d muster.Decision, o muster.Observation, backlog float64) muster.Decision {
	c := o.Capacity
	active := c.Active()
	if backlog == 0 && o.Progress.Value().Failing.Known {
		// Every attempt failed so far: how long the work takes stays unknown, and nobody need wait for it.
		stay, because := p.keptOutsidePlan(o, active)
		return d.With(idleTerm(o, kept{workers: stay, because: because}))
	}
	if backlog == 0 {
		why := rules.NothingWaits(o) + ", and how long the work takes is not known yet" + rules.Failing(o)
		return d.With(muster.Term{Rule: deadlineRule, Out: o.Capacity.Desired, Why: why})
	}
	in := []muster.Value{rules.Value("waiting", backlog)}
	if c.BusySlots == 0 || c.HeldMeanSeconds <= 0 {
		first := p.first(o, backlog)
		return d.With(muster.Term{Rule: deadlineRule, In: in, Out: max(active, first), Why: fmt.Sprintf(
			"how long the work takes is not known yet: %s (state the processing duration to begin with as many as it "+
				"takes)", workersFindOut(first)) + rules.Failing(o)})
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

// first is how many workers begin with messages of which it is not known how long they take: a newsvendor's answer
// under a prior, damped. Let the logarithm of the number that is needed be as likely anywhere within a range of e^15,
// as it is where work takes anything from 5 ms to 4 h, and let the objective leave no time for a second launch once the
// first has told. With n workers the next one is the one that makes it enough with the probability 1 / (15 n), and then
// saves what waits and what comes while it boots, A messages of a price c; it costs a boot b. So n = A c / (15 b) pays.
// The square root of that begins: half as many digits, because too many is paid at once and too few is mended a boot
// later.
func (p Deadline) first(o muster.Observation, backlog float64) int {
	const digits = 15
	boot, latency := bootOf(o.Boot), o.Objective.Latency.Seconds()
	stake := backlog
	switch again := secondLaunchReady(o, boot) - latency; {
	case boot > latency && o.Arrivals.Known:
		stake = math.Max(stake, o.Arrivals.Minute*boot)
	case boot > latency:
	case again <= 0 || !o.Boot.Known || !o.Arrivals.Known:
		return 1 // it finds out, and those that are launched then are in time for most
	default:
		stake = o.Arrivals.Minute * math.Min(boot, again) // those that a launch is too late for once the first has told
	}
	n := math.Sqrt(stake * o.Objective.PriceOfLate(boot, 0) / (digits * boot))
	return max(1, min(rules.Ceil(n), rules.Ceil(backlog/math.Max(1, o.Capacity.SlotsPerWorker))))
}

// toldAgain is in how many seconds workers are ready that are launched once the first one has told how long the work
// takes, if that is no time at all. Four polls pass beside the two boots: until the first worker is seen to be ready,
// until it receives, until what it finished is seen, and until the others receive.
func secondLaunchReady(o muster.Observation, boot float64) float64 {
	first := boot
	for _, g := range o.Coming {
		first = math.Min(first, math.Max(0, boot-g.AgeSeconds))
	}
	return first + boot + 4*cmp.Or(o.Poll, time.Second).Seconds()
}

func workersFindOut(workers int) string {
	if workers == 1 {
		return "one worker finds out"
	}
	return fmt.Sprintf("%d workers find out", workers)
}

// kept is how many workers stay that nothing waits for, and why.
type kept struct {
	workers int
	because string
	// gather lets workers go that hold something, where fewer of them hold all of it.
	consolidate bool
}

// idleTerm is the term while nothing waits: workers without a message go, except those that are kept.
func idleTerm(o muster.Observation, keep kept) muster.Term {
	c := o.Capacity
	active := c.Active()
	// What is in flight may have been received since the workers reported, unless it has waited for a retry for longer.
	held := math.Max(float64(c.BusySlots), o.InFlight().Value-o.Retrying)
	busy := max(c.Busy, min(rules.Ceil(held/c.SlotsPerWorker), c.InService()))
	if keep.consolidate {
		// Each holds a little, and none would ever be idle: as many as hold all of it are enough. Those that go finish
		// first.
		busy = rules.Ceil(held / c.SlotsPerWorker)
	}
	working := busy
	if o.Progress != nil {
		working = min(busy, c.InService()) // what waits for a retry is no worker
	}
	why := rules.NothingWaits(o) + "; " + countIs(working, "worker") + " busy"
	if busy < c.Busy {
		why = fmt.Sprintf("%s; %s busy, and %d can hold all that is in hand", rules.NothingWaits(o),
			countIs(c.Busy, "worker"),
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
		In: []muster.Value{
			rules.Value("busy", float64(working)), rules.Value("keep", float64(keep.workers)),
			rules.Value("workers", float64(active)),
		}}
}

func countIs(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " is"
	}
	return fmt.Sprintf("%d %ss are", n, noun)
}
