package planning

import (
	"cmp"
	"math"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/arrivals"
	"github.com/muster-scale/muster/policy/internal/congestion"
	"github.com/muster-scale/muster/policy/internal/durations"
	"github.com/muster-scale/muster/policy/internal/lateness"
	"github.com/muster-scale/muster/policy/internal/quiet"
	"github.com/muster-scale/muster/policy/internal/renewal"
	"github.com/muster-scale/muster/policy/internal/scarcity"
)

// plan is one observation prepared for the question that Deadline asks: how many workers must be launched, and when?
//
// newPlan makes one. It is then only read, except that promptLaunch, probing, outdated, done, spared, racers, stream,
// saturated, whySooner and forLate note why a number was chosen, for the sentence. All times are in seconds; instants
// count from the observation. Counts of slots and messages are means, so they need not be whole.
type plan struct {
	// Work is the estimate of the processing duration.
	durations.Work
	// waiting are the waiting messages in groups by age, oldest first. It has one group if only the oldest age, or no
	// age at all, is known.
	waiting []muster.Waiting
	// begunBy has, for each group of waiting, how many messages the workers that exist begin by the group's last
	// moment, whichever messages these are. No launch changes it, so it is computed once for all delays.
	begunBy []float64
	// slots is how many messages a worker handles at once, at least 1. inService counts the slots in service, free
	// those of them without a message.
	slots, inService, free float64
	// pending are the slots of ordered and booting workers.
	pending []pendingSlots
	// residual is the mean time until a slot that is busy now becomes free.
	residual float64
	// varied tells how much durations differ, mixed how much the busy slots are at different points of their work. Both
	// run from 0, not at all, to 1, so much that only means count.
	varied, mixed float64
	// latency is the part of the objective that the plan uses. boot is the boot time of a worker launched now from
	// cold. step is the longest time until the next decision. lag is how old the counts may be: messages may be so much
	// older than observed, and messages that arrived within the lag may be missing.
	latency, boot, step, lag float64
	// farLatency is what latency is while the maximum is far, load how many slots the arrivals keep busy: see nearMax.
	farLatency, load float64
	// bootMean is the mean boot time, which is what a boot costs, bootSpread its standard deviation. boot is the time
	// that nearly all keep.
	bootMean, bootSpread float64
	// tooLateShare is the share of launches, 0 to 1, that come too late for a message that waits when they are ordered:
	// see launchesTooLate.
	tooLateShare float64
	// quantile is the share of the messages that the objective demands in time, price the cost of one late message in
	// worker-seconds.
	quantile, price float64
	// pool is the warm pool. Launches use it first.
	pool pool
	// agesUnknown is true while neither ages nor arrivals are known. Then no launch is postponed.
	agesUnknown bool
	// promptLaunch is true if one worker is launched only because the fleet is prompt and has none.
	promptLaunch bool
	// share is the share of the objective that the dial leaves to the plan, above 0 and at most 1.
	share float64
	// probing is true if fewer workers are launched than the estimate needs, because only messages in progress support
	// that estimate.
	probing bool
	// pace is the rate at which messages ended lately, in messages a second: see [muster.Pace.Over].
	pace float64
	// guessed is true if Tail is longer than all measured durations, because they are few.
	guessed bool
	// outdated is true if idle workers disprove the counted messages, done if messages that were finished since explain
	// them. Then no worker is launched for them.
	outdated, done bool
	// unearned is how many messages the workers in service would have begun within the lag and did not. earned is how
	// many they did: those finished, and the share begun of those in progress; infinite where nobody reports.
	unearned, earned float64
	// received is how many of the counted messages workers have received since, if the counts are as old as they may
	// be: see views. attempts is how long a message keeps slots busy, over its own work: see [durations.Attempts].
	received, attempts float64
	// whySooner says why workers are launched that could still be launched later; empty if there are none.
	whySooner string
	// spared is how many launches fewest leaves out.
	spared int
	// racers is how many workers are launched beyond those that the messages need, because the first of them all is
	// ready sooner. stream is the rate at which messages come meanwhile, as far as one worker could take them.
	racers int
	stream float64
	// saturated is how many workers are wanted because those in service are full and old counts do not say why.
	saturated int
	// arrivals are the rates and the busiest times. They count if the objective leaves no time to launch a worker for
	// a message that waits already.
	arrivals muster.Arrivals
	// forecast is the seasonal forecast; zero if the policy uses none.
	forecast muster.Forecast
	// standby is the headroom of the last busy time, as the decision before kept it.
	standby quiet.Headroom
	// quiets are the quiet times so far.
	quiets quiet.Times
	// extra are the workers that late messages pay for beside the headroom, forLate how many of them are kept.
	extra   lateness.Extra
	forLate float64
	// cold are the past starts without a worker.
	cold quiet.ColdStarts
	// trend tells whether work takes longer the more messages wait.
	trend congestion.Trend
	// sure is the headroom that sureHeadroom returns, once it was computed.
	sure      float64
	sureKnown bool
}

// pendingSlots are slots of workers that take messages from the time at on, with near certainty. age is the time since
// their launch from cold, negative for workers from the pool.
type pendingSlots struct{ at, slots, age float64 }

// newPlan returns the plan for an observation with work w. scale is the share of the objective to use; 0 stands for 1.
//
//	P    = z L - min(0.03 z L, 10 p)
//	step = 2 p
//
// P is the plan's latency, z the scale, L the latency objective and p the poll interval. step allows two polls for the
// next decision.
func newPlan(o muster.Observation, w durations.Work, scale float64) plan {
	if scale <= 0 {
		scale = 1
	}
	c := o.Capacity
	p := plan{
		Work: w, attempts: durations.Attempts(o), waiting: o.ByAge(),
		slots: math.Max(1, c.SlotsPerWorker), inService: float64(c.Slots),
		free: float64(max(0, c.Slots-c.BusySlots)),
		boot: durations.BootWithMargin(o.Boot), lag: o.LateSeconds(), quantile: o.Objective.Quantile,
		arrivals: o.Arrivals, pace: o.Pace.Finished / o.Pace.Over().Seconds(),
	}
	p.bootMean = p.boot
	if o.Boot.Known && o.Boot.MeanSeconds > 0 {
		p.bootMean = math.Min(p.boot, o.Boot.MeanSeconds)
	}
	p.bootSpread = (p.boot - p.bootMean) / deviationsToP95
	poll, whole := cmp.Or(o.Poll, time.Second).Seconds(), o.Objective.Latency.Seconds()*scale
	p.latency = whole - math.Min(reservedShare*whole, reservedPolls*poll)
	p.share = scale
	p.price = o.Objective.PriceOfLate(p.bootMean, w.LongTermMean)
	p.pool = poolOf(o, p.boot)
	p.step = 2 * poll
	if p.slack() <= 0 && durations.Behind(o) {
		p.Work = p.Times(p.attempts)
	}
	p.nearMax(o)
	p.tooLateShare = p.launchesTooLate(o)
	p.estimateProgress(c)
	if !o.OldestAge().Known && !o.Arrivals.Known {
		// Without any age, the best guess is that half of the time they can wait is over.
		p.agesUnknown = true
		age := math.Max(0, p.latency-p.Tail-p.boot) / 2
		p.waiting = []muster.Waiting{{AgeSeconds: age, Messages: o.Backlog().Value}}
	}
	for _, g := range o.Coming {
		if g.Warm > 0 {
			p.pending = append(p.pending, pendingSlots{math.Max(math.Min(1, p.pool.boot), p.pool.boot-g.AgeSeconds),
				float64(g.Warm) * p.slots, -1})
		}
		if cold := g.Members - g.Warm; cold > 0 {
			p.pending = append(p.pending, pendingSlots{math.Max(1, p.boot-g.AgeSeconds), float64(cold) * p.slots,
				g.AgeSeconds})
		}
	}
	if p.slack() > 0 {
		p.Tail, p.guessed = w.TailOf(o.Backlog().Value, p.slots, p.bootMean, p.latency)
	}
	if most := (p.Mean + p.latency - p.lag) / 2; p.slack() <= 0 && p.Tail > most {
		// Messages that take the whole tail are late in any case. A smaller tail leaves the others half of the time
		// that a message of mean duration can wait.
		p.Tail = math.Max(p.Mean, most)
	}
	if p.slack() <= 0 && !p.keepsHeadroom() {
		// A launch is in time for most messages. With this tail it is so for those that have just come.
		p.Tail = math.Min(p.Tail, math.Max(p.Mean, p.latency-p.lag-p.boot-p.step))
	}
	p.earned = math.Inf(1)
	if p.lag > 0 && o.Pace.Finished > 0 {
		began := float64(c.BusySlots) * math.Max(0, 1-c.HeldMeanSeconds/p.lag)
		p.earned = o.FinishedSince + began
		if held := o.InFlight(); held.Known {
			within := o.FinishedSince * p.lag / (p.lag + countedBefore)
			p.received = math.Max(0, within+began-math.Max(0, held.Value-o.Retrying))
		}
	}
	p.begin()
	return p
}

// withMean returns the plan for another mean duration. Deviation and tail change in proportion, and the messages in
// progress are taken to be of that work.
func (p *plan) withMean(mean float64) plan {
	q := *p
	scale := mean / p.Mean
	q.Mean, q.Deviation, q.Tail, q.Longest = mean, scale*p.Deviation, scale*p.Tail, scale*p.Longest
	q.residual = math.Min(p.residual, mean)
	q.begin()
	return q
}

// begin sets what the present workers begin: begunBy and unearned.
func (p *plan) begin() {
	p.begunBy = make([]float64, len(p.waiting))
	for i, g := range p.waiting {
		p.begunBy[i] = p.begunTogether(p.lastMoment(g))
	}
	p.unearned = math.Max(0, p.begunInService(p.lag)-p.begunInService(0)-p.earned)
}

// lastMoment returns the time by which the oldest message of a group must begin; negative once that has passed:
//
//	t = P - d - lag - A
//
// P is the plan's latency, d the tail of the durations, A the age of the group.
func (p *plan) lastMoment(g muster.Waiting) float64 {
	return p.latency - p.Tail - p.lag - g.AgeSeconds
}

// estimateProgress sets residual, varied and mixed from the messages in progress:
//
//	residual = v^2 m + (1 - v^2) max(0, m - j)
//
// v is the variation of the durations, m their mean, j the mean time that messages have been in progress. Equal
// durations (v = 0) leave m - j. Exponential ones (v = 1) leave m, whatever j is. The formula interpolates between
// them.
//
// From a variation of 0.3 on, slots count as independent of each other.
func (p *plan) estimateProgress(c muster.Capacity) {
	memory := p.Variation * p.Variation
	p.residual = memory*p.Mean + (1-memory)*math.Max(0, p.Mean-c.HeldMeanSeconds)
	if p.Hanging > 0 {
		p.residual = p.Mean // the others: their own time is unknown
	} else if sure := durations.SurelyHeld(c); sure > math.Max(p.Tail, p.Longest) {
		p.residual = sure // longer than nearly all measured durations: it may last as long again
	}
	p.varied = math.Min(1, p.Variation/0.3)
	// Slots that are spread evenly over their work have a deviation of m / sqrt(12).
	p.mixed = math.Max(p.varied, math.Min(1, c.HeldDeviationSeconds*math.Sqrt(12)/p.Mean))
}

// launchesTooLate returns the share of launches, 0 to 1, that come too late for a message that waits when they are
// ordered: the share of those whose work is late only because it begins once they were seen and a worker has booted.
//
//	u = (over(b) + 4 over(e) + over(2 e - b)) / 6 - lost
//
// over(x) is the share that is late after a boot of x that is ordered half a poll after the message came. Nearly all
// boots keep b, their mean is e: three lengths with these weights have the mean and the deviation of all. lost is the
// share that is late whatever is ready for it.
func (p *plan) launchesTooLate(o muster.Observation) float64 {
	e, usual := o.Processing, p.LongTermMean/p.Mean
	e.P50Seconds = math.Max(e.P50Seconds, 1e-3*p.LongTermMean)
	over := func(after float64) float64 { return durations.ShareLonger(e, (p.latency-after)*usual) }
	seen, lost := p.step/4+p.lag, over(0)
	late := (over(seen+p.boot) + 4*over(seen+p.bootMean) + over(seen+2*p.bootMean-p.boot)) / 6
	if p.Classes > 0 && p.slack() <= 0 {
		late = math.Max(late, lost+(1-lost)*durations.RareShare(o)) // the tail is that of a rare class
	}
	return late - lost
}

// nearMax lowers latency as the load comes near the maximum: see [scarcity.Latency]. The load is that over P / 4, or
// over the slack if that is less: a burst that is over by then is worked off in time. P is the latency before.
func (p *plan) nearMax(o muster.Observation) {
	p.farLatency = p.latency
	if !o.Arrivals.Known || o.Limits.Max <= 0 {
		return
	}
	p.load = p.attempts * arrivals.LoadOver(o.Arrivals, p.LongTermMean, math.Min(p.latency/4, p.slack()))
	p.latency = scarcity.Latency(p.latency, p.LongTermTail+p.boot+p.step, p.load/p.slots/float64(o.Limits.Max))
}

// slack returns how long a message can wait before a worker must be launched for it:
//
//	S = P - D - b - step - lag
//
// P is the plan's latency, D the long-term tail, b the boot time. At or below zero a launch comes too late for every
// message that has arrived, and the policy keeps headroom instead. D is long-term, because some slow minutes are no
// reason to change between the two.
func (p *plan) slack() float64 { return p.latency - p.LongTermTail - p.boot - p.step - p.lag }

// farSlack is [plan.slack] with farLatency.
func (p *plan) farSlack() float64 { return p.slack() + p.farLatency - p.latency }

// oldest returns the age of the oldest waiting message in seconds, 0 if none waits.
func (p *plan) oldest() float64 {
	if len(p.waiting) == 0 {
		return 0
	}
	return p.waiting[0].AgeSeconds
}

// oldestIsLate tells whether the oldest message is late even with a launch now.
func (p *plan) oldestIsLate() bool {
	return len(p.waiting) > 0 && p.lastMoment(p.waiting[0]) < p.soonestBoot()
}

// countsAreOutdated tells whether idle workers disprove the counted messages: the counts are old, and a tenth of the
// workers in service say that they find no message. More workers would find none either. While others boot, some of the
// idle ones may just have come into service.
func (p *plan) countsAreOutdated(o muster.Observation) bool {
	const share = 0.1
	c := o.Capacity
	return p.lag > 0 && !c.Unreported && c.Ordered+c.Booting == 0 && c.Idle > 0 &&
		float64(c.Idle) >= share*float64(c.InService())
}

// need is the number of workers to launch, and the messages that determine it.
type need struct {
	// workers is at least 0 and may be a fraction: 2.3 means that two are too few and the third is busy for a third of
	// its time. It is infinite if the delay loses a message that a launch now would save.
	workers float64
	// messages is how many messages must have begun latest seconds from now.
	messages, latest float64
	// cause tells which messages these are.
	cause cause
	// sooner is true if some waiting messages are late in any case, and each delay of the launch makes more of them
	// late. Only a warm pool that is too small does that.
	sooner bool
}

// cause tells which messages need the workers.
type cause uint8

const (
	forWaiting  cause = iota // messages that wait and can still be in time
	forLate                  // messages that wait and are late with any launch
	forArriving              // messages that will arrive while a worker boots
)

// needAfter returns how many workers must be launched after delay seconds so that every waiting message begins in time.
// For each group of waiting messages, oldest first,
//
//	need = (n + extra - begun) / (s starts(t - delay - b))
//
// n counts the messages of the group and of all older ones, extra is the allowance of varianceExtra, begun is what the
// present workers begin by t, the group's last moment. s is the slots of a worker and b its boot time, so the
// denominator is what one more worker begins by t. The largest need of all groups counts, at most one worker for each
// message that finds no slot.
//
// A group that a launch now saves and one after the delay loses makes the need infinite. A message that no launch can
// save keeps its place before the others and is to begin within lateAllowance: it is late, not forgotten. Where too
// many launches come too late, messages that often arrive during a boot need workers too, without extra.
func (p *plan) needAfter(delay float64) need {
	var greatest need
	ahead, ready, unused := 0.0, delay+p.boot, p.unusedSlots()
	// More workers than messages do not help, however much durations vary.
	most := func(ahead float64) float64 { return math.Max(0, math.Ceil((ahead-unused)/p.slots)) }
	count := func(why cause, ahead, latest, begun float64) {
		left := ahead - begun
		if why != forArriving { // for those, standingShare keeps a reserve
			left += p.varianceExtra(ahead)
		}
		if left <= 0 {
			return
		}
		each := p.launchesToBegin
		if why == forWaiting {
			each = p.launchesTogether
		}
		workers := math.Min(p.workersToBegin(left, latest-delay, each), most(ahead))
		if why == forArriving {
			workers = p.worthwhile(workers, left)
		}
		if workers > greatest.workers && (why != forArriving || workers > p.poolInTime()) {
			greatest = need{workers, ahead, latest, why, false}
		}
	}
	late, sooner, views := 0.0, false, p.views()
	for i, g := range p.waiting {
		ahead += g.Messages
		for _, v := range views {
			left, latest, begun := ahead-v.received, p.lastMoment(g)+p.lag-v.lag, p.begunBy[i]
			if v.lag != p.lag {
				begun = p.begunTogether(latest)
			}
			switch {
			case left <= 0 && v.received > 0:
			case latest < p.soonestBoot():
				late = math.Max(late, left)
			case latest >= ready || p.pool.canBegin(p, left-begun, latest-delay):
				count(forWaiting, left, latest, begun)
			case begun >= left:
			case latest >= p.boot || p.pool.canBegin(p, left-begun, latest):
				return need{math.Inf(1), left, latest, forWaiting, false}
			default: // only the pool is in time, and only for some of them: for more if it is used sooner
				late, sooner = math.Max(late, left), true
				count(forWaiting, left, latest, begun)
			}
		}
	}
	if late > 0 {
		by := ready + p.lateAllowance()
		count(forLate, late, by, p.begun(by))
	}
	if spare := p.latency - p.Tail; p.slack() <= 0 && spare > 0 && p.keepsHeadroom() && !p.rarelyUseful(p.arrivals) {
		p.needForArrivals(ahead, standingShare*spare, count)
	}
	greatest.sooner = sooner
	return greatest
}

// standingShare is the share of the time a message can wait at which a queue may stand, if no launch is in time for
// what waits. A queue that stands saves nothing: the same workers begin as many messages a second, whatever their age.
// At the age of the objective, any additional work makes all of them late. A quarter keeps three quarters of the time
// as reserve.
const standingShare = 0.25

// needForArrivals reports the workers that the messages arriving during a boot need: these are the first messages that
// a launch can be in time for. Messages that wait already are before them in the queue. The sooner all of those have
// begun, the fewer of the next are late, but the more workers boot only for that; catchUp finds the balance.
//
// count takes one need, as in needAfter. ahead counts the waiting messages, wait is the time in seconds that a message
// may wait. What arrived within the lag is among the messages, but a worker launched now is ready after its boot,
// however old the counts are. The workers in service are taken to have worked during the lag as well. What a worker
// that has just come did not do then is added again: see unearned.
func (p *plan) needForArrivals(ahead, wait float64, count func(why cause, ahead, latest, begun float64)) {
	boot := p.boot + p.lag
	ahead += p.unearned
	// Workers on their way are left out: with them, a launch would shorten the time that it was ordered for.
	within := math.Max(wait, p.catchUp(ahead+p.expectedArrivals(boot)-p.begunInService(boot),
		p.expectedArrivals(boot)/boot))
	count(forArriving, ahead+p.expectedArrivals(boot+within-wait), p.boot+within, p.begun(boot+within))
}

// view is one way to read the counts of a queue: they are lag seconds old, and workers have received so many of the
// counted messages since, the oldest first.
type view struct{ lag, received float64 }

// views returns how the counts may be read. They may be as old as the lag: then the messages are so much older, and
// those that workers have received since wait no more. Or they may be of now. To take the messages for so much older,
// and all of them for still there, would be neither. The messages over the time that is left for them is a ratio of two
// linear functions of the age of the counts, so it is greatest at one of these two ends.
func (p *plan) views() []view {
	if p.received == 0 {
		return []view{{p.lag, 0}}
	}
	return []view{{p.lag, p.received}, {0, 0}}
}

// countedBefore is for how many seconds more than the lag [muster.Observation].FinishedSince counts, on average.
const countedBefore = 7.5

// worthwhile returns the workers that messages to come need without the last, partly needed one, unless it pays:
//
//	c u f n / w > b + 2 p
//
// The part f of a worker begins f n / w of the n messages, if all w workers begin as many each; the share u of them is
// late without it, at the price c. It costs the mean boot b, and is idle until two polls later.
func (p *plan) worthwhile(workers, messages float64) float64 {
	whole := math.Floor(workers)
	if p.price*p.tooLateShare*(workers-whole)*messages/workers > p.bootMean+p.step {
		return workers
	}
	return whole
}

// catchUp returns within how many seconds to work off a backlog of messages, while rate more a second arrive and are
// late because of it. It minimises the cost of extra boots and late messages:
//
//	cost(T) = (W / T) b + c r T
//	T       = sqrt(W b / (c r))
//
// W is the backlog in worker-seconds, so W/T workers clear it within T; b is the mean boot time, c the price of a late
// message, r the rate. T is at least a third of a boot, or the time of a message that has just arrived if that is less:
// a shorter time takes more than three times the workers that the arrivals need afterwards, each booted for seconds of
// work. It is at most lateAllowance, also where nothing arrives.
func (p *plan) catchUp(messages, rate float64) float64 {
	if messages <= 0 {
		return 0
	}
	balance := math.Sqrt(messages * p.Mean / p.slots * p.bootMean / (p.price * rate))
	return math.Min(p.lateAllowance(), math.Max(math.Min(p.boot/3, p.newAllowance()), balance))
}

// lateAllowance returns within how many seconds late messages are to begin once a worker is ready: as if they had just
// arrived, but not within less than a mean boot. For messages that are late in any case, no worker is launched that
// boots for longer than it then works.
func (p *plan) lateAllowance() float64 { return math.Max(p.newAllowance(), p.bootMean) }

// newAllowance returns within how many seconds a message that arrives now is to begin, but at least the time until the
// effect of a launch can be seen.
func (p *plan) newAllowance() float64 { return math.Max(p.latency-p.lag, p.lag+p.step) }

// varianceExtra returns how many more messages to count than are ahead, because by chance they may take longer than the
// mean:
//
//	extra = (sqrt((d - m)^2 + sigma^2 n) - (d - m)) / m
//
// d is the tail of the durations, m their mean, sigma their deviation and n the messages ahead: their sum has the
// deviation sigma sqrt(n). The last moment already allows for a last message that takes d. Both at once are rarer than
// either, so the squares add up, and d - m is subtracted because it counts already.
func (p *plan) varianceExtra(ahead float64) float64 {
	own := math.Max(0, p.Tail-p.Mean)
	return (math.Sqrt(own*own+p.Deviation*p.Deviation*ahead) - own) / p.Mean
}

// expectedArrivals returns how many messages to expect within so many seconds. A rate that grows counts only if the
// objective leaves no time to launch workers for messages that have arrived.
func (p *plan) expectedArrivals(seconds float64) float64 {
	return arrivals.Expected(p.arrivals, seconds, p.slack() <= 0, p.seenRate())
}

// seenRate returns the rate at which messages are known to come one after the other, in messages a second.
func (p *plan) seenRate() float64 { return p.pace + arrivals.OfStream(p.waiting, p.step/2) }

// unusedSlots returns how many slots are free or on their way.
func (p *plan) unusedSlots() float64 {
	n := p.free
	for _, a := range p.pending {
		n += a.slots
	}
	return n
}

// begun returns how many messages the existing workers, in service and on their way, begin within so many seconds from
// now.
func (p *plan) begun(until float64) float64 {
	n := p.begunInService(until)
	for _, a := range p.pending {
		if until >= a.at {
			n += a.slots * p.starts(until-a.at, p.varied)
		}
	}
	return n
}

// begunInService is [plan.begun] for the workers in service alone.
func (p *plan) begunInService(until float64) float64 {
	return p.free*p.starts(until, p.varied) + p.begunByBusy(until)
}

// begunByBusy returns how many messages the slots that are busy now begin within so many seconds: see [renewal.Busy].
func (p *plan) begunByBusy(until float64) float64 {
	return renewal.Busy(p.inService-p.free-p.Hanging, until, p.residual, p.Mean, p.Variation, p.mixed)
}

// starts returns how many messages a free slot begins within so many seconds: see [renewal.Free].
func (p *plan) starts(seconds, mixed float64) float64 {
	return renewal.Free(seconds, p.Mean, p.Variation, mixed)
}
