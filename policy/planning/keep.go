package planning

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/arrivals"
	"github.com/muster-scale/muster/policy/internal/quiet"
	"github.com/muster-scale/muster/policy/internal/room"
	"github.com/muster-scale/muster/policy/internal/rules"
	"github.com/muster-scale/muster/policy/internal/saturation"
)

// keptWorkers returns how many workers stay or are launched although nothing waits for them.
//
// While launches come in time for enough messages (tooLateShare <= 1 - quantile), these are the workers that the
// arrivals keep busy. No worker is launched only for that. Otherwise the headroom for the busiest times counts too, and
// workers are launched for it. Workers that were too few at the maximum stay either way, also while single messages
// arrive; none is launched for that. Workers whose messages hang do none of this, and count in addition.
func (p *plan) keptWorkers(o muster.Observation) int {
	active, busy := o.Capacity.Active(), 0
	hanging := p.Hanging / p.slots // workers that are there, and do nothing
	if o.Arrivals.Known {
		// No worker is launched only for that.
		busy = min(active, int(hanging)+p.keptBusy(o.Arrivals, o.Capacity))
	}
	if !p.keepsHeadroom() {
		return max(busy, min(active, rules.Ceil(p.quietHeadroom(o)))) // a launch is in time for the first messages
	}
	// Workers are launched for what is surely busy, and those that are there stay for what may be.
	stay, _ := p.usableHeadroom(o, arrivals.Load)
	room, tooFew := p.sureHeadroom(o), 0
	if quiet := p.quietHeadroom(o); p.tooFew(o) {
		tooFew = min(active, rules.Ceil(quiet))
	} else {
		room = math.Max(room, quiet)
	}
	ahead, stay := rules.Ceil(room+hanging), math.Max(stay, room)
	if pool := p.poolInTime(); pool > 0 {
		stay = math.Max(0, stay-p.poolReplaces())
		if float64(active)+pool >= room+hanging {
			// A worker launched from the pool leaves it, so the number is the same after the launch.
			ahead = rules.Ceil(room + hanging - pool)
		}
	}
	p.saturated = saturation.Workers(o, p.Mean, p.boot)
	return max(busy, ahead, tooFew, p.saturated, min(active, rules.Ceil(math.Min(stay*keepFactor, stay+0.5)+hanging)))
}

// keepsHeadroom tells whether too many messages would be late if workers were only launched for messages that wait.
func (p *plan) keepsHeadroom() bool { return p.tooLateShare > 1-p.quantile }

// keepsStandby tells whether workers stay for the next busy time: where headroom is kept, and where all permitted
// workers were too few in the last one (overloaded).
func (p *plan) keepsStandby(o muster.Observation) bool { return p.keepsHeadroom() || p.tooFew(o) }

// tooFew tells whether the kept headroom is that of an overloaded fleet, and the maximum has not been raised since.
func (p *plan) tooFew(o muster.Observation) bool {
	return p.standby.TooFew && p.standby.Workers >= float64(o.Limits.Max)
}

// usableHeadroom returns the headroom in workers, as far as it can have work, and how many of them late messages pay
// for; both are 0 while the arrivals are unknown. load returns how many slots the arrivals keep busy with messages of a
// mean duration.
func (p *plan) usableHeadroom(
	o muster.Observation, load func(muster.Arrivals, float64) float64,
) (usable, forLate float64) {
	if !o.Arrivals.Known {
		return 0, 0
	}
	room := p.headroom(o.Arrivals, load(o.Arrivals, p.LongTermMean))
	usable = math.Min(room+p.extra.Beside(room), p.usableSlots(o)/p.slots)
	return usable, math.Max(0, usable-room)
}

// sureHeadroom is usableHeadroom for what is surely busy. It is computed once for each forecast, and sets forLate.
func (p *plan) sureHeadroom(o muster.Observation) float64 {
	if !p.sureKnown {
		p.sure, p.forLate = p.usableHeadroom(o, arrivals.SureLoad)
		p.sureKnown = true
	}
	return p.sure
}

// nextStandby returns the headroom that the decision keeps for the next one. An overloaded fleet keeps all permitted
// workers.
func (p *plan) nextStandby(o muster.Observation) quiet.Headroom {
	now, silent := rules.Seconds(o.At), o.Arrivals.QuietSeconds
	switch {
	case !o.Arrivals.Known || o.Arrivals.Hour == 0:
		return p.standby
	case p.overloaded(o):
		worth := quiet.WorthAtMax(p.bootMean, p.price, p.LongTermMean/p.slots)
		return p.standby.Next(quiet.Headroom{Workers: float64(o.Limits.Max), Worth: worth, Last: now, TooFew: true}, 0)
	case !p.keepsHeadroom() || p.tooFew(o) && p.standby.Left(now) > 0:
		return p.standby
	}
	room := p.sureHeadroom(o)
	return p.standby.Next(quiet.Headroom{Workers: room, Worth: p.headroomWorth(o.Arrivals, room), Last: now - silent},
		silent)
}

// overloaded tells whether messages are late because all permitted workers are busy: the arrivals keep overloadShare of
// them busy, the oldest message has waited for longer than the objective, and of the past hour's messages more than
// tolerated were late beyond those that fail. Work that is not done then stays late.
func (p *plan) overloaded(o muster.Observation) bool {
	const overloadShare, tolerated = 0.7, 0.05
	w := o.Progress.Value()
	return o.Capacity.Active() >= o.Limits.Max && p.oldest() > o.Objective.Latency.Seconds() && w.InTime.Known &&
		w.InTime.Value+w.FailingShare() < p.quantile-tolerated &&
		arrivals.Load(o.Arrivals, p.LongTermMean) >= overloadShare*float64(o.Limits.Max)*p.slots
}

// keepFactor is the hysteresis of the headroom: present workers stay for up to 1.2 times the headroom, at most half a
// worker more. The estimates behind it move all the time, and without hysteresis each move across a whole worker would
// cost a boot.
const keepFactor = 1.2

// keptBusy returns how many workers stay because the arrivals keep them busy, if the objective leaves time to launch
// them again.
//
//	a    = r m / s                 workers kept busy, with f = a - floor(a)
//	keep = floor(a), and one more if floor(a) max(0, S) / f <= b / 2
//
// r is the arrival rate, m the mean duration, s the slots of a worker, S the slack and b the mean boot time.
//
// The first floor(a) workers are never idle for long. Without the last one, f seconds of work a second pile up, until
// as much waits as can wait: floor(a) S. Then it is launched again and boots for b seconds, which cost as much as idle
// ones. So to stop it saves the time until the launch, and nothing is paid in addition. It stays where that time is at
// most half a boot: a worker that is there takes a burst for which several would be launched. With floor(a) = 0 the
// time is max(S + 1/r, time since the last message), and none stays where that was in vain before (inVain). An idle
// worker also stops if fewer messages than it handles arrive within a boot.
func (p *plan) keptBusy(a muster.Arrivals, c muster.Capacity) int {
	rate := arrivals.Bound(a, p.FinishedMean, p.slack() > 0)
	load := rate * p.FinishedMean / p.slots
	whole := math.Floor(load + 1e-9)
	keep := whole
	if part := load - whole; part > 0 {
		slack := math.Max(0, p.slack())
		until := slack * whole / part
		if whole == 0 {
			until = math.Max(slack+1/rate, a.QuietSeconds)
		}
		if until <= p.bootMean/2 && !(whole == 0 && p.inVain(a)) {
			keep++
		}
	}
	busy := float64(c.BusySlots) / p.slots
	return int(math.Min(keep, math.Ceil(busy)+math.Floor(rate*p.boot/p.slots+0.5)))
}

// headroom returns how many workers to keep if the objective leaves no time to launch one for a message that has
// arrived: the room that is worth its price, see [room.Work.Cheapest]. usual are the busy slots.
//
// A forecast that is used replaces the arrival rate and the busiest times. Unless it is one of a rise, headroom returns
// 0 where idle workers cost more than late messages would: see idleTooLong, inVain and rarelyUseful.
func (p *plan) headroom(a muster.Arrivals, usual float64) float64 {
	spare, hourly := math.Max(0, p.latency-p.LongTermMean), a.Hour
	rate, differs := arrivals.ForecastRate(p.forecast)
	rises := p.forecast.Used && differs && rate > p.forecast.LatelyPerSecond
	switch {
	case rises:
		hourly = math.Max(hourly, rate)
	case p.forecast.Used && differs:
		hourly = math.Min(hourly, rate)
	}
	work := room.Work{Mean: p.LongTermMean, Variation: p.Variation, Boot: p.boot, TooLate: p.tooLateShare,
		Quantile: p.quantile}
	foreseen := func(b muster.Busiest) float64 {
		if p.forecast.Used {
			return arrivals.ForecastBusiest(p.forecast, b)
		}
		return b.Messages
	}
	best := work.Cheapest(a.Busiest, usual, spare, p.slots, p.price*hourly, foreseen)
	single := best <= p.slots && (p.rarelyUseful(a) || p.cold.Cheap(p.price))
	if !rises && (single || p.idleTooLong(a, best) || p.inVain(a)) {
		return 0
	}
	return best / p.slots
}

// rarelyUseful tells whether messages come so rarely that one idle worker costs more than to launch one when a message
// comes:
//
//	r c (u + r max(0, b + m - P)) < 1
//
// r is the arrival rate, the larger one of five minutes and an hour, c the price of a late message, u the share of
// launches that come too late, b the mean boot time, m the mean duration and P the plan's latency. A worker that boots
// costs as much as an idle one, so what an idle one spares is the price of late messages: the first one, and those that
// come soon after it. It costs its time until the next message, 1/r. Unknown arrivals are not rare.
func (p *plan) rarelyUseful(a muster.Arrivals) bool {
	rate := math.Max(a.FiveMinutes, a.Hour)
	return a.Known && rate*p.price*(p.tooLateShare+rate*math.Max(0, p.bootMean+p.LongTermMean-p.latency)) < 1
}

// mayTakeCounts tells whether old counts that show no more messages than were finished within their lag may be taken to
// show those, and no others:
//
//	S > g   or   r max(g, c) < 1
//
// S is the slack while the maximum is far, g the lag, c the price of a late message, r the arrival rate as in
// rarelyUseful. A message that came within the lag is seen at its end, g later. Where there is slack, that is in time;
// if many wait, the workers that finished as many within the lag need no longer for them. Otherwise r g of all messages
// come within the lag of another one, at a price c each, and a worker that is launched in vain, or waits for new
// counts, costs g or more.
func (p *plan) mayTakeCounts(a muster.Arrivals) bool {
	return p.lag > 0 && a.Known &&
		(p.farSlack() > p.lag || math.Max(a.FiveMinutes, a.Hour)*math.Max(p.lag, p.price) < 1)
}

// idleStop returns for how long a worker must be without a message until it says itself that it is ready to stop:
//
//	max(1 s, lag, min(p, b / 20))
//
// p is the poll interval and b the boot time: the larger it is, the longer a worker may wait for the chance of another
// message at little cost. lag is how old the counts may be: a decision that does not know yet that the last message is
// finished would launch a worker for it. It counts as 0 where mayTakeCounts knows better. idleStop returns 0 where the
// lag is 0 and a boot takes twenty polls or more: the next poll asks the worker as soon. After shorter boots the
// request would come late: a worker reads it in the answer to its next report, which may be seconds away.
func (p *plan) idleStop(o muster.Observation) time.Duration {
	poll, lag := cmp.Or(o.Poll, time.Second).Seconds(), p.lag
	if p.mayTakeCounts(o.Arrivals) {
		lag = 0
	}
	idle := math.Max(math.Max(1, lag), math.Min(poll, p.boot/20))
	if lag == 0 && p.boot >= 20*poll {
		return 0
	}
	return time.Duration(idle * float64(time.Second))
}

// mayConsolidate tells whether the fleet may shrink to the workers that could hold all messages in progress, although
// each worker holds some. That needs time to launch a worker again, or at least five minutes of arrivals to base the
// kept ones on.
func (p *plan) mayConsolidate() bool {
	return p.slots > 1 && (p.slack() > 0 || p.arrivals.Known && cmp.Or(p.arrivals.WatchedSeconds, 3600) >= 300)
}

// mayDrain tells whether workers may stop taking messages while they hold some: what comes next waits for workers that
// it fills. It is so for several slots, if one of them is busy on average: such a worker is never idle, however many
// other slots are. Also for the longest messages, the slack must leave time for it to end and for the boot of another
// one. It is not known of few durations.
func (p *plan) mayDrain(a muster.Arrivals) bool {
	longest := math.Max(p.LongTermTail, p.Longest)
	return p.slots > 1 && a.Known && !p.Few() && arrivals.Load(a, p.LongTermMean) >= 1 &&
		p.slack()-(longest-p.LongTermTail) >= longest+p.bootMean
}

// usableSlots returns how many slots can have work by the time that a worker launched now is ready, or by the next
// decision. It is one slot for each message in progress, for each that waits, and for each that may arrive until then.
// Messages that arrive later find workers launched later, so headroom above this number would be idle.
func (p *plan) usableSlots(o muster.Observation) float64 {
	a, until := o.Arrivals, p.boot+p.step+p.lag
	arrive := p.expectedArrivals(until)
	arrive += 1 + 2*math.Sqrt(arrive)
	for i, b := range a.Busiest {
		if i == 0 || b.OverSeconds <= until {
			arrive = math.Max(arrive, arrivals.ForecastBusiest(p.forecast, b))
			continue
		}
		arrive = math.Max(arrive, arrivals.ForecastBusiest(p.forecast, b)*until/b.OverSeconds)
		break
	}
	return p.inService - p.free + o.Backlog().Value + arrive
}

// idleTooLong tells whether the quiet time has cost more in idle workers than the headroom is worth.
func (p *plan) idleTooLong(a muster.Arrivals, slots float64) bool {
	workers := slots / p.slots
	return a.QuietSeconds > p.headroomWorth(a, workers) && !p.mayBeChance(a, workers)
}

// mayBeChance tells whether the time since the last message may be that between two of a steady stream that pays for so
// many workers:
//
//	r c u >= workers   and   quiet r' < 5
//
// r is the smaller and r' the larger rate of five minutes and an hour. At random, one gap in 150 is as long as five.
func (p *plan) mayBeChance(a muster.Arrivals, workers float64) bool {
	const unlikely = 5
	pays := math.Min(a.FiveMinutes, a.Hour) * p.price * p.tooLateShare
	return pays >= math.Max(1, math.Ceil(workers)) && a.QuietSeconds*math.Max(a.FiveMinutes, a.Hour) < unlikely
}

// quietHeadroom returns the headroom of the last busy time in workers while the fleet is quiet; 0 while messages
// arrive, once it is no longer worth its idle workers, while a forecast tells what comes next, or without keepsStandby.
// Workers that were too few also stay while messages arrive: between two bursts, single ones may come.
func (p *plan) quietHeadroom(o muster.Observation) float64 {
	a := o.Arrivals
	arriving := a.Known && a.Hour > 0 && a.QuietSeconds <= quiet.After
	if arriving && !p.tooFew(o) || p.forecast.Used || !p.keepsStandby(o) {
		return 0
	}
	if p.standby.Left(rules.Seconds(o.At)) <= 0 || p.inVain(a) {
		return 0
	}
	return p.standby.Workers
}

// headroomWorth returns for how many seconds without an arrival idle workers cost less than to be without them when
// work begins again (ski rental):
//
//	worth = c late / k + b
//
// k is the number of workers, c the price of a late message, b the mean boot time. late is how many messages of a
// typical busy time are late because no worker is ready: those of its first b + g + m - P seconds, where usual work is
// late with a launch, and at most the share u of those within a poll, a boot and the lag. Where starts without a worker
// were measured, it is at most what those cost: see [quiet.ColdStarts].
func (p *plan) headroomWorth(a muster.Arrivals, workers float64) float64 {
	if workers <= 0 {
		return 0
	}
	within := func(seconds float64) float64 {
		return arrivals.Within(arrivals.Typical(a.Busiest), math.Max(1, seconds))
	}
	late := math.Min(within(p.boot+p.lag+p.LongTermMean-p.latency), p.tooLateShare*within(p.boot+p.lag+p.step/2))
	return p.price*p.cold.AtMost(late)/math.Ceil(workers) + p.bootMean
}

// whyQuiet says as a clause why idle workers stay: for how long the headroom of the last busy time is worth them.
func (p *plan) whyQuiet(o muster.Observation) string {
	because := "the objective leaves no time to launch them for the next messages"
	if p.tooFew(o) {
		because = "the maximum was too small in the last busy time"
	}
	return fmt.Sprintf("%s: until %s idle workers cost less than late messages", because,
		rules.Clock(o, p.standby.Left(rules.Seconds(o.At))))
}

// inVain tells whether the fleet is quiet and workers that stay for the next message have not paid so far.
func (p *plan) inVain(a muster.Arrivals) bool {
	return p.quiets.Since > 0 && a.QuietSeconds >= quiet.From(p.quiets.Worth) && !p.quiets.Pay() &&
		!p.mayBeChance(a, p.standby.Workers)
}

// nextQuiets returns the quiet times that the decision keeps for the next one.
func (p *plan) nextQuiets(o muster.Observation) quiet.Times {
	a := o.Arrivals
	if !a.Known || a.Hour == 0 {
		return p.quiets
	}
	worth := p.bootMean
	if p.keepsStandby(o) {
		worth = math.Max(worth, p.standby.Worth)
	}
	silent := a.QuietSeconds
	if p.mayBeChance(a, p.standby.Workers) {
		silent = 0 // messages still come
	}
	return p.quiets.Next(rules.Seconds(o.At)-a.QuietSeconds, silent, worth)
}
