package planning

import (
	"cmp"
	"fmt"
	"math"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// keep returns how many workers are kept although nothing waits for them now.
func (p *plan) keptWorkers(o muster.Observation) int {
	if !o.Arrivals.Known {
		return 0
	}
	active := o.Capacity.Active()
	busy := min(active, p.keptBusy(o.Arrivals, o.Capacity)) // no worker is launched only for that
	if p.tooLateShare <= 1-p.quantile {
		return busy
	}
	room := math.Min(p.headroom(o.Arrivals), p.usableSlots(o)/p.slots)
	ahead, stay := rules.Ceil(room), room
	if pool := p.poolInTime(); pool > 0 {
		stay = math.Max(0, room-p.poolReplaces())
		if float64(active)+pool >= room {
			ahead = rules.Ceil(
				room - pool) // what is launched from it is not in it any more, so this stands when it is done
		}
	}
	return max(busy, ahead, min(active, rules.Ceil(math.Min(stay*keepFactor, stay+0.5))))
}

// sticky is by how much more headroom is kept than is launched for, up to half a worker: the estimates behind it move
// all the time, and each move across a whole worker would cost a boot.
const keepFactor = 1.2

// stay is how many of the active workers stay for reasons that lie outside the plan: the one of a fleet that is prompt,
// while a message a minute comes, and all while launches are scarce, because who is let go then may not come back
// within the hour.
func (p Deadline) keptOutsidePlan(o muster.Observation, active int) (workers int, because string) {
	// A quarter of what an hour may have is for work that waits. While launches fail they
	// are tried again and again, and would keep everybody for hours after that is mended.
	if l := o.Limits.LaunchesPerHour; l > 0 && 4*o.Launches.LastHour >= 3*l && o.Launches.Failed == 0 {
		return active, fmt.Sprintf("%s in the past hour, %d are allowed", rules.Launches(o.Launches.LastHour), l)
	}
	// A message counts for half of one in a minute's mean until 42 s later.
	if p.Prompt && o.Arrivals.Known && o.Arrivals.Minute*60 >= 0.5 {
		return min(active, 1), "a message came within the past minute"
	}
	return 0, ""
}

// keptBusy is how many workers stay because the arrivals keep them busy, where the objective leaves time to launch one
// again.
//
// Arrivals that keep a workers busy never leave the first floor(a) of them idle for long. The last one, of which a
// fraction f is busy, can go and come again: the others leave f seconds of work a second undone, until what waits is as
// much as can wait, floor(a) times the slack. If that takes no longer than a boot, the worker stays: its boot costs
// more than its idle time until then (ski rental). An idle worker also goes when no message is to come for it within
// the time that it takes to boot.
func (p *plan) keptBusy(a muster.Arrivals, c muster.Capacity) int {
	rate := p.arrivalBound(a)
	load := rate * p.FinishedMean / p.slots
	whole := math.Floor(load + 1e-9)
	keep := whole
	if part := load - whole; part > 0 {
		slack := math.Max(0, p.slack())
		until := slack * whole / part
		if whole == 0 {
			until = math.Max(slack+1/rate, a.QuietSeconds)
		}
		if until <= p.boot {
			keep++
		}
	}
	busy := float64(c.BusySlots) / p.slots
	return int(math.Min(keep, math.Ceil(busy)+math.Floor(rate*p.boot/p.slots+0.5)))
}

// arriving is the rate that the arrivals surely have at the most, in messages a second: of n messages in a window there
// may have been (n + 1 + z sqrt(n)) by chance; the window that says the least counts.
func (p *plan) arrivalBound(a muster.Arrivals) float64 {
	const z = 1
	watched := cmp.Or(a.WatchedSeconds, 3600)
	least := math.Inf(1)
	for _, w := range []struct{ over, rate float64 }{{60, a.Minute}, {300, a.FiveMinutes}, {1200, a.TwentyMinutes},
		{3600, a.Hour}} {
		over := math.Min(w.over, watched)
		n := w.rate * over
		least = math.Min(least, (n+1+z*math.Sqrt(n))/over)
	}
	return least
}

// reserve is how much is kept of what the busiest times would have needed: the rest is launched when they come. More is
// dearer and hardly better, less is late in each of them.
const busiestShare = 0.9

// headroom is for objectives that leave no time to launch a worker for a message that is already there: as many workers
// as would have kept the objective in the busiest times of the past hours. Within a window of w seconds came n messages
// that had to be in time; slots that work them off within w plus the time x that a message may wait number n m / (w +
// x), and never more than one for each beside those that are busy anyway. A forecast that is used says how many such a
// window will have. Of the messages that begin around the last moment some take longer than the mean and some less, so
// x leaves the mean for the work itself.
//
// How much of that is worth its price is a newsvendor's question: room for a larger share of the messages costs idle
// slots, room for a smaller one late messages, and the share with the least sum of both counts, up to the one that is
// asked for.
func (p *plan) headroom(a muster.Arrivals) float64 {
	spare := math.Max(0, p.latency-p.LongTermMean)
	usual, come := p.offeredLoad(a), a.Hour
	rate, differs := forecastRate(p.forecast)
	rises := p.forecast.Used && differs && rate > p.forecast.LatelyPerSecond
	switch {
	case rises:
		come = rate
	case p.forecast.Used && differs:
		come = math.Min(come, rate)
	}
	least, best := math.Inf(1), 0.0
	shares := muster.RoomShares()
	for k := -1; k <= len(shares); k++ {
		slots, share := usual, 0.0
		switch {
		case k == len(shares):
			slots, share = p.busiestSlots(a, usual, spare, func(b muster.Busiest) float64 { return b.Messages }), p.quantile
		case k >= 0:
			if share = shares[k]; share >= p.quantile {
				continue
			}
			slots = p.busiestSlots(a, usual, spare, func(b muster.Busiest) float64 { return b.Rooms[k] })
		}
		cost := (slots-usual)/p.slots + p.price*come*p.tooLateShare*(p.quantile-share)
		if cost <= least {
			least, best = cost, slots
		}
	}
	if !rises && p.idleTooLong(a, best) {
		return 0
	}
	return math.Max(busiestShare*best, p.kingmanSlots(usual, spare)) / p.slots
}

// mayGather tells whether workers that each hold a little may go as soon as fewer can hold all of it: where there is
// time to launch one again, or where what is kept goes by five minutes of arrivals at least.
func (p *plan) mayConsolidate() bool {
	return p.slots > 1 && (p.slack() > 0 || p.arrivals.Known && cmp.Or(p.arrivals.WatchedSeconds, 3600) >= 300)
}

// holdable is how many slots can have something to do by the time at which a worker is ready that is launched now, or
// by the next decision: one for each message in hand, that waits, or that credibly comes until then. What comes later
// finds workers that are launched later.
func (p *plan) usableSlots(o muster.Observation) float64 {
	a, until := o.Arrivals, p.boot+p.step+p.lag
	come := p.expectedArrivals(until)
	come += 1 + 2*math.Sqrt(come)
	for i, b := range a.Busiest {
		if i == 0 || b.OverSeconds <= until {
			come = math.Max(come, forecastBusiest(p.forecast, b))
			continue
		}
		come = math.Max(come, forecastBusiest(p.forecast, b)*until/b.OverSeconds)
		break
	}
	return p.inService - p.free + o.Backlog().Value + come
}

// rested tells whether nothing came for so long that the idle slots have cost as much by now as the messages would that
// are late when work begins again without them (ski rental).
func (p *plan) idleTooLong(a muster.Arrivals, slots float64) bool {
	late := busiestWithin(a.Busiest, math.Max(1, p.boot+p.lag+p.LongTermMean-p.latency))
	workers := math.Ceil(slots / p.slots)
	return a.QuietSeconds*workers > p.price*late+p.boot*workers
}

// usually is how many slots the arrivals keep busy: over five minutes, or over longer where the work takes longer,
// because one message of two hours is no load of 24 slots.
func (p *plan) offeredLoad(a muster.Arrivals) float64 {
	switch {
	case p.LongTermMean <= 300:
		rate := a.FiveMinutes
		if rise := p.rateGrowth(); rise > 0 {
			rate = math.Max(rate, a.TenSeconds+rise*(5+p.boot))
		}
		return rate * p.LongTermMean
	case p.LongTermMean <= 1200:
		return a.TwentyMinutes * p.LongTermMean
	}
	return a.Hour * math.Min(p.LongTermMean, 3600)
}

// roomFor is how many slots the busiest times take, where messages says how many of a window there is to be room for.
func (p *plan) busiestSlots(a muster.Arrivals, usual, spare float64, messages func(muster.Busiest) float64) float64 {
	slots := usual
	for i, b := range a.Busiest {
		over := b.OverSeconds
		if i == 0 {
			over /= 2 // how they came within the shortest window nobody knows: evenly, or all of them at once
		}
		b.Messages = messages(b)
		n := forecastBusiest(p.forecast, b)
		slots = math.Max(slots, math.Min(n*p.LongTermMean/(over+spare), n+usual))
	}
	return slots
}

// steady is how many slots keep the waits of messages that come at random, and keep so many slots busy, within x
// seconds. In heavy traffic a wait is longer than x in exp(-2 x (c - a) / (m (1 + v^2))) of all cases, with c slots of
// which a are busy on average (Kingman's formula; where x is less than m it counts as m); where little comes that is
// too much, and twice as many do. What comes while a worker boots cannot be left to one that is launched for it, what
// comes later can: so of what it takes beyond a the part b / (b + x) counts, for a boot time b.
func (p *plan) kingmanSlots(busy, spare float64) float64 {
	late := math.Max(1e-4, 1-p.quantile)
	least := p.LongTermMean * (1 + p.Variation*p.Variation) / (2 * math.Max(p.LongTermMean, spare)) * math.Log(1/late)
	return busy + math.Min(least, busy)*p.boot/(p.boot+spare)
}
