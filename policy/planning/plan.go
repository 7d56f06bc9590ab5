package planning

import (
	"cmp"
	"math"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/durations"
)

// plan is what deadlines are judged by: the messages that wait, the workers there are and will be, and the times that
// matter. All times are in seconds from now.
type plan struct {
	durations.Work
	waiting []muster.Waiting
	// begunBy is how many messages, whichever, have begun by the last moment of each group that waits: a launch changes
	// nothing of it.
	begunBy []float64
	// slots is how many messages a worker handles at once, up the slots in service, free those without a message.
	slots, inService, free float64
	pending                []pendingSlots
	// residual is how long slots that are busy now stay so on average.
	residual float64
	// varied is how far durations differ, mixed how far slots in use are
	// at different points of their work: 0 is not at all, 1 is so much that only means count.
	varied, mixed float64
	// latency is what is planned with, boot the time a worker needs that is launched now, step the time until the next
	// decision at the latest, and lag by how much counts may lag behind: messages are so much older than they seem, and
	// those that came since are not seen.
	latency, boot, step, lag float64
	// missed is the share of launches, from 0 to 1, that come too late for a message that is there when they are
	// ordered.
	tooLateShare float64
	// quantile is the share of the messages that shall be in time, price what one of the others costs, in
	// worker-seconds.
	quantile, price float64
	// pool is the warm pool, from which workers are launched first.
	pool pool
	// blind is true while the ages of the messages are not known: then no launch is put off.
	agesUnknown bool
	// prompt is true when one worker is launched only because nobody is there.
	promptLaunch bool
	// share is the share of the objective that is planned with.
	share float64
	// wary is true when fewer are launched than all needed, because only what is in hand says how long the work takes.
	probing bool
	// arrivals tell how many more will come; they count where a launch is too late for those that wait.
	arrivals muster.Arrivals
	// forecast tells how fast they will come; it is zero where none is used.
	forecast muster.Forecast
}

// arrival is workers that will take messages at an instant.
type pendingSlots struct{ at, slots float64 }

func newPlan(o muster.Observation, w durations.Work, scale float64) plan {
	if scale <= 0 {
		scale = 1
	}
	c := o.Capacity
	p := plan{
		Work: w, waiting: o.Waiting, slots: math.Max(1, c.SlotsPerWorker), inService: float64(c.Slots),
		free: float64(max(0, c.Slots-c.BusySlots)),
		boot: bootWithMargin(o.Boot), lag: o.LateSeconds(), quantile: o.Objective.Quantile, arrivals: o.Arrivals,
	}
	poll, whole := cmp.Or(o.Poll, time.Second).Seconds(), o.Objective.Latency.Seconds()*scale
	p.latency = whole - math.Min(reservedShare*whole, reservedPolls*poll)
	p.share = scale
	p.price = o.Objective.PriceOfLate(p.boot, w.LongTermMean)
	p.pool = poolOf(o, p.boot)
	p.step = math.Max(2*poll, 0.02*p.boot)
	p.tooLateShare = p.launchesTooLate(o)
	p.nearMax(o)
	p.estimateProgress(c)
	if backlog, oldest := o.Backlog(), o.OldestAge(); !oldest.Known && !o.Arrivals.Known {
		// Nobody knows how old they are. Half of the time they can wait is as likely to be over as not.
		p.agesUnknown = true
		p.waiting = []muster.Waiting{{AgeSeconds: math.Max(0, p.latency-p.Tail-p.boot) / 2, Messages: backlog.Value}}
	} else if len(p.waiting) == 0 {
		p.waiting = []muster.Waiting{{AgeSeconds: oldest.Value, Messages: backlog.Value}}
	}
	for _, g := range o.Coming {
		if g.Warm > 0 {
			p.pending = append(p.pending, pendingSlots{math.Max(math.Min(1, p.pool.boot), p.pool.boot-g.AgeSeconds),
				float64(g.Warm) * p.slots})
		}
		if cold := g.Members - g.Warm; cold > 0 {
			p.pending = append(p.pending, pendingSlots{math.Max(1, p.boot-g.AgeSeconds), float64(cold) * p.slots})
		}
	}
	if waiting := o.Backlog().Value; waiting > 0 && waiting <= fewWaiting && p.slack() > 0 {
		p.Tail = math.Max(p.Tail, w.Longest)
	}
	if most := (p.Mean + p.latency - p.lag) / 2; p.slack() <= 0 && p.Tail > most {
		// Those that take so long are late whatever is done. The others still have half of what a usual one can wait.
		p.Tail = math.Max(p.Mean, most)
	}
	p.begunBy = make([]float64, len(p.waiting))
	for i, g := range p.waiting {
		p.begunBy[i] = p.begun(p.lastMoment(g))
	}
	return p
}

// as returns the plan for work of another mean, of which the messages in hand are.
func (p *plan) withMean(mean float64) plan {
	q := *p
	scale := mean / p.Mean
	q.Mean, q.Deviation, q.Tail, q.Longest = mean, scale*p.Deviation, scale*p.Tail, scale*p.Longest
	q.residual = math.Min(p.residual, mean)
	q.begunBy = make([]float64, len(q.waiting))
	for i, g := range q.waiting {
		q.begunBy[i] = q.begun(q.lastMoment(g))
	}
	return q
}

// seldom is of how many messages those that begin at the last moment are no few: one in four or more of them does, so
// that one in a hundred that takes longer than planned is one too many.
const fewWaiting = 4

// lastMoment is when the messages of a group must begin.
func (p *plan) lastMoment(g muster.Waiting) float64 {
	return p.latency - p.Tail - p.lag - g.AgeSeconds
}

// hand judges the messages in hand. The less durations vary, the more the time they have been worked on tells about the
// rest: with a variation of one or more it tells nothing.
func (p *plan) estimateProgress(c muster.Capacity) {
	memory := p.Variation * p.Variation
	p.residual = memory*p.Mean + (1-memory)*math.Max(0, p.Mean-c.HeldMeanSeconds)
	if sure := durations.SurelyHeld(c); sure > math.Max(p.Tail, p.Longest) {
		p.residual = sure // longer than ever: what has lasted so long may last as long again
	}
	p.varied = math.Min(1, p.Variation/0.3)
	// Evenly spread over their work, slots differ by the mean over the square root of 12.
	p.mixed = math.Max(p.varied, math.Min(1, c.HeldDeviationSeconds*math.Sqrt(12)/p.Mean))
}

// unsureBoot is how far boots are taken to differ, as a share of their mean, where few were measured.
const bootVariation = 0.1

// launchesTooLate is the share of launches that come too late for a message that is there when they are ordered:
// because the boot takes long, or the work of the message. Work that takes longer than the objective is in time with no
// launch, and is left out.
func (p *plan) launchesTooLate(o muster.Observation) float64 {
	left := p.latency - p.step - p.lag
	boot := o.Boot
	if !boot.Known {
		boot = muster.Estimate{MeanSeconds: p.boot}
	}
	boots := shareLonger(boot, boot.MeanSeconds, left-p.LongTermMean)
	usual := p.LongTermMean / p.Mean
	work := shareLonger(o.Processing, math.Max(o.Processing.P50Seconds, 1e-3*p.LongTermMean),
		(left-p.boot)*usual) - shareLonger(o.Processing, o.Processing.P50Seconds, p.latency*usual)
	if p.slack() <= 0 {
		work = math.Max(work, durations.RareShare) // those that take longer than is planned with, by class
	}
	return math.Max(boots, work)
}

// longer returns the share of durations that take longer than so many seconds, of which half take longer than the
// middle: one in twenty takes longer than the 95th percentile, one in a hundred than the 99th, and in between as many
// as on a line through the logarithms of these shares. Where all take as long it is 0 or 1.
func shareLonger(e muster.Estimate, middle, than float64) float64 {
	share, at := 0.5, middle
	if than <= at {
		return 1
	}
	for _, next := range []struct{ at, share float64 }{{e.P95Seconds, 0.05}, {e.P99Seconds, 0.01}} {
		if than < next.at {
			return share * math.Pow(next.share/share, (than-at)/(next.at-at))
		}
		share, at = next.share, math.Max(at, next.at)
	}
	return 0
}

// nearMax plans with less of the objective where the load comes near the maximum: what is put off then may find no
// worker later. Up to a share of the maximum nothing changes; at the maximum no launch is put off. The load is that of
// the busier of the last minute and the usual time, because what comes in the minutes until it is usual is put off as
// well.
func (p *plan) nearMax(o muster.Observation) {
	if !o.Arrivals.Known || o.Limits.Max <= 0 {
		return
	}
	const (
		minute = 60 // seconds: the shortest time of which a rate is known
		// free is the share of the maximum up to which all of the objective is planned with: three times the load still
		// finds workers there.
		free = 0.3
	)
	busy := p.offeredLoad(o.Arrivals)
	if p.LongTermMean <= minute { // the rate of one minute says nothing of work that takes longer
		busy = math.Max(busy, o.Arrivals.Minute*p.LongTermMean)
	}
	share := busy * math.Min(1, o.Arrivals.WatchedSeconds/minute) / p.slots / float64(o.Limits.Max)
	if share > free {
		least := math.Min(p.latency, p.LongTermTail+p.boot+p.step)
		p.latency = math.Max(least, p.latency*math.Max(0, (1-share)/(1-free)))
	}
}

// bootOf is the boot time that nearly all workers keep.
func bootOf(e muster.Estimate) float64 {
	if !e.Known || e.MeanSeconds <= 0 {
		return cautiousBoot.Seconds()
	}
	return math.Max(e.MeanSeconds, e.P95Seconds)
}

// surelyBooted is [bootOf] with what chance leaves: of few boots the longest says little. One that was stated is taken
// as it is.
func bootWithMargin(e muster.Estimate) float64 {
	boot := bootOf(e)
	if e.Known && !e.Prior {
		boot = math.Max(boot, e.MeanSeconds*(1+bootVariation*math.Sqrt(4/(1+float64(e.Count)))))
	}
	return boot
}

// slack is the time that a message can wait before a worker must be launched for it; at or below zero a launch comes
// too late for any message that is already there. It goes by the usual durations: what happens to take longer for some
// minutes is no reason to plan otherwise.
func (p *plan) slack() float64 { return p.latency - p.LongTermTail - p.boot - p.step - p.lag }

func (p *plan) oldest() float64 {
	if len(p.waiting) == 0 {
		return 0
	}
	return p.waiting[0].AgeSeconds
}

// late tells whether no launch saves the oldest message any more.
func (p *plan) oldestIsLate() bool {
	return len(p.waiting) > 0 && p.lastMoment(p.waiting[0]) < p.soonestBoot()
}

// need is how many more workers it takes, and for whom.
type need struct {
	// workers is a fraction: 2.3 means that two would be too few and the third is busy for a third of its time.
	workers float64
	// ahead is how many messages must have been begun latest seconds from now.
	messages, latest float64
	// whom says who they are.
	cause cause
	// sooner is true where some of those that wait are late whatever is done, and the more so the later workers are
	// launched.
	sooner bool
}

// whom tells for which messages workers are needed.
type cause uint8

const (
	forWaiting  cause = iota
	forLate           // that no launch can save any more
	forArriving       // that will come while a worker boots
)

// need returns how many workers must be launched after the given delay, so that every message that waits now begins in
// time. A message that no launch can save any more keeps its place ahead of the others, and is to begin within another
// objective: it is late, and not forgotten. One that only a launch before the delay can save makes the need infinite.
func (p *plan) needAfter(delay float64) need {
	var greatest need
	ahead, ready, unused := 0.0, delay+p.boot, p.unusedSlots()
	// More workers than messages help nobody, however much durations vary.
	most := func(ahead float64) float64 { return math.Max(0, math.Ceil((ahead-unused)/p.slots)) }
	ask := func(who cause, ahead, latest, begun float64) {
		left := ahead + p.varianceExtra(ahead) - begun
		if left <= 0 {
			return
		}
		if workers := math.Min(p.workersToBegin(left, latest, delay), most(ahead)); workers > greatest.workers &&
			(who != forArriving || workers > p.poolInTime()) {
			greatest = need{workers, ahead, latest, who, false}
		}
	}
	late, sooner := 0.0, false
	for i, g := range p.waiting {
		ahead += g.Messages
		switch latest := p.lastMoment(g); {
		case latest < p.soonestBoot():
			late = ahead
		case latest >= ready || p.pool.canBegin(p, ahead-p.begunBy[i], latest-delay):
			ask(forWaiting, ahead, latest, p.begunBy[i])
		case p.begunBy[i] >= ahead:
		case latest >= p.boot || p.pool.canBegin(p, ahead-p.begunBy[i], latest):
			return need{math.Inf(1), ahead, latest, forWaiting, false}
		default: // the pool saves some of them, and the sooner the more
			late, sooner = ahead, true
			ask(forWaiting, ahead, latest, p.begunBy[i])
		}
	}
	if late > 0 {
		by := ready + p.lateAllowance()
		ask(forLate, late, by, p.begun(by))
	}
	if spare := p.latency - p.Tail; p.slack() <= 0 && spare > 0 {
		p.needForArrivals(ahead, standingShare*spare, ask)
	}
	greatest.sooner = sooner
	return greatest
}

// standing is the share of the time a message can wait that a queue may stand at where no launch is in time for what is
// there already. A queue that stands saves nothing, because the same workers begin as many messages a second whatever
// their age; and at the age of the objective each moment of more work makes all of them late.
const standingShare = 0.25

// askForComing asks for the workers that those need which come while a worker boots: they are the first it can be in
// time for. Those that came before are ahead of them. The sooner all of them have begun, the fewer of the next are
// late, and the more workers boot only for that: see [plan.catchUp].
func (p *plan) needForArrivals(ahead, spare float64, ask func(who cause, ahead, latest, begun float64)) {
	boot := p.boot + p.lag
	// Workers on their way are left out, so that a launch does not change for what it was made.
	least := p.catchUp(ahead+p.expectedArrivals(boot)-p.begunInService(boot), p.expectedArrivals(boot)/boot)
	for _, share := range []float64{0.15, 0.5, 1} {
		within := math.Max(share*spare, least)
		if in := boot + within - spare; in > 0 {
			ask(forArriving, ahead+p.expectedArrivals(in), boot+within, p.begun(boot+within))
		}
	}
}

// catchUp is within how many seconds a backlog of messages is worked off at the least cost, while rate more a second
// are late for it. With W seconds of work, within T it takes W/T slots, whose boots cost W/T x boot, and rate x T
// messages are late:
//
//	T = sqrt(W x boot / (price x rate))
//
// and no less than a third of a boot: what came during a boot is otherwise worked off by more than three times the
// workers that the arrivals need from then on, each of which boots for seconds of work.
func (p *plan) catchUp(messages, rate float64) float64 {
	if messages <= 0 || rate <= 0 {
		return 0
	}
	return math.Min(p.lateAllowance(), math.Max(p.boot/3, math.Sqrt(messages*p.Mean/p.slots*p.boot/(p.price*rate))))
}

// clearing is within how long messages that are late are to begin, once a worker is ready: as if they had come anew,
// and no sooner than it shows what a launch has done.
func (p *plan) lateAllowance() float64 { return math.Max(p.latency-p.lag, p.lag+p.step) }

// chance is how many messages more are reckoned with than are ahead, because all of them may by chance take longer than
// the mean: their sum has a deviation that grows with the square root. That the last of them takes long itself is
// planned for already, and both at once is rarer than either, so the squares are added and not the times.
func (p *plan) varianceExtra(ahead float64) float64 {
	own := math.Max(0, p.Tail-p.Mean)
	return (math.Sqrt(own*own+p.Deviation*p.Deviation*ahead) - own) / p.Mean
}

// toCome is how many messages will come within so many seconds: as many as lately, by the window with the most of them
// that is no shorter than a third of that time. A third also counts as watched where arrivals were watched for less:
// what the first seconds show is not taken for what a whole boot will bring. A spike in the last ten seconds goes on as
// long as the busiest times of the past hours did.
func (p *plan) expectedArrivals(seconds float64) float64 {
	a := p.arrivals
	watched := cmp.Or(a.WatchedSeconds, 3600)
	const most = 3600
	come := 0.0
	for _, w := range []struct{ over, rate float64 }{{10, a.TenSeconds}, {60, a.Minute}, {300, a.FiveMinutes},
		{1200, a.TwentyMinutes}, {most, a.Hour}} {
		seen := math.Min(w.over, watched)
		if w.over < seconds/3 && w.over < most {
			continue
		}
		n := w.rate * seen
		in := n * seconds / math.Max(seen, seconds/3)
		if w.over <= 10 && len(a.Busiest) > 0 && watched >= seconds {
			// Above what has been usual, a spike has no more than spikes had.
			in = math.Min(in, math.Max(a.FiveMinutes*seconds, busiestWithin(a.Busiest, seconds+w.over)-n))
		}
		come = math.Max(come, in)
	}
	if rise := p.rateGrowth(); rise > 0 {
		come = math.Max(come, (a.TenSeconds+rise*(5+seconds/2))*seconds)
	}
	return come
}

// rise is by how much the rate of the arrivals grows each second, at the least: the least of how it grew from each
// window to the next shorter one. A ramp grows alike over all of them, and a step does not. What may be chance is taken
// off, two deviations of the numbers that came; but not of the last ten seconds, which only tell whether it still
// grows. Where a launch is in time, nothing of it needs to be foreseen.
func (p *plan) rateGrowth() float64 {
	const enough, apart = 90, 1.4
	a := p.arrivals
	watched := cmp.Or(a.WatchedSeconds, 3600)
	if watched < enough || p.slack() > 0 {
		return 0
	}
	least, late, over := (a.TenSeconds-a.Minute)*2/(60-10), a.Minute, 60.0
	for _, w := range []struct{ over, rate float64 }{{300, a.FiveMinutes}, {1200, a.TwentyMinutes}, {3600, a.Hour}} {
		longer := math.Min(w.over, watched)
		if longer < apart*over {
			break
		}
		chance := 2 * math.Sqrt(late/over+w.rate/longer)
		least = math.Min(least, (late-w.rate-chance)*2/(longer-over))
		late, over = w.rate, longer
	}
	return math.Max(0, least)
}

// mostWithin is how many came within so many seconds at the busiest times: between two windows in proportion.
func busiestWithin(all []muster.Busiest, seconds float64) float64 {
	var before muster.Busiest
	for _, b := range all {
		if b.OverSeconds >= seconds {
			return before.Messages +
				(b.Messages-before.Messages)*(seconds-before.OverSeconds)/(b.OverSeconds-before.OverSeconds)
		}
		before = b
	}
	return before.Messages
}

// unused is how many slots are free or on their way.
func (p *plan) unusedSlots() float64 {
	n := p.free
	for _, a := range p.pending {
		n += a.slots
	}
	return n
}

// begun returns how many messages the workers that are there and on their way begin until the given time.
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

// begunByBusy returns how many messages the slots that are busy now begin until the given time. Where all are at the
// same point of work that does not vary, they begin one each when it is over. Where they are at different points, the
// number grows evenly: it is (1+v^2)/2 when what is left of the work is over on average, and one for each mean duration
// after that (renewal theory). As long as it is below one each, chance decides which of them are free by then, and it
// is planned with fewer.
func (p *plan) begunByBusy(until float64) float64 {
	busy := p.inService - p.free
	if busy <= 0 || until < 0 {
		return 0
	}
	whole, mean := 0.0, (1+p.Variation*p.Variation)/2
	if until >= p.residual {
		whole = math.Floor((until-p.residual)/p.Mean+1e-9) + 1
		mean += (until - p.residual) / p.Mean
	} else {
		mean *= until / p.residual
	}
	chance := busy * p.mixed * mean
	if p.mixed*mean < 1 {
		chance = math.Max(0, chance-freeDeviations*math.Sqrt(chance))
	}
	return busy*(1-p.mixed)*whole + chance
}

// seldomFree is how many deviations fewer slots become free than do on average, where that is planned with.
const freeDeviations = 2.33

// starts returns how many messages a slot begins within so many seconds from when it is free, the first at once. Where
// all durations are the same they are whole numbers; the more they are mixed, the more the mean number counts, which
// for a variation v grows to t/m + (1+v^2)/2 (the renewal theorem).
func (p *plan) starts(seconds, mixed float64) float64 {
	whole := math.Floor(seconds/p.Mean+1e-9) + 1
	mean := math.Max(1, seconds/p.Mean+(1+p.Variation*p.Variation)/2)
	return (1-mixed)*whole + mixed*mean
}
