package policy

import (
	"fmt"
	"math"

	"github.com/muster-scale/muster"
)

// keep returns how many workers are kept although nothing waits for them now.
func (p *plan) keep(o muster.Observation) int {
	if !o.Arrivals.Known {
		return 0
	}
	active := o.Capacity.Active()
	if p.slack() > 0 {
		return min(active, p.keptBusy(o.Arrivals)) // nobody is launched only to be kept
	}
	room := p.headroom(o.Arrivals)
	ahead, stay := ceil(room), room
	if pool := p.inTime(); pool > 0 {
		stay = math.Max(0, room-p.standIn())
		if float64(active)+pool >= room {
			ahead = ceil(room - pool) // what is launched from it is not in it any more, so this stands when it is done
		}
	}
	return max(ahead, min(active, ceil(math.Min(stay*sticky, stay+0.5))))
}

// sticky is by how much more headroom is kept than is launched for, up to half a worker: the estimates behind it move all the
// time, and each move across a whole worker would cost a boot.
const sticky = 1.2

// stay is how many of the active workers stay for reasons that lie outside the plan: the one of a fleet that is prompt, while a
// message a minute comes, and all while launches are scarce, because who is let go then may not come back within the hour.
func (p Deadline) stay(o muster.Observation, active int) (workers int, because string) {
	// A quarter of what an hour may have is for work that waits. While launches fail they
	// are tried again and again, and would keep everybody for hours after that is mended.
	if l := o.Limits.LaunchesPerHour; l > 0 && 4*o.Launches.LastHour >= 3*l && o.Launches.Failed == 0 {
		return active, fmt.Sprintf("%s in the past hour, %d are allowed", launches(o.Launches.LastHour), l)
	}
	// A message counts for half of one in a minute's mean until 42 s later.
	if p.Prompt && o.Arrivals.Known && o.Arrivals.Minute*60 >= 0.5 {
		return min(active, 1), "a message came within the past minute"
	}
	return 0, ""
}

// keptBusy is how many workers the arrivals keep busy, to the nearest. The lower of two rates counts: letting one go that is
// needed again costs a boot, and the objective leaves time for that.
func (p *plan) keptBusy(a muster.Arrivals) int {
	rate := math.Min(a.Minute, a.FiveMinutes)
	return int(rate*p.lately/p.slots + 0.5)
}

// reserve is how much is kept of what the busiest times would have needed: the rest is launched when they come. More is dearer
// and hardly better, less is late in each of them.
const reserve = 0.9

// headroom is for objectives that leave no time to launch a worker for a message that is already there: as many workers as
// would have kept the objective in the busiest times of the past hours. Within a window of w seconds came n messages that had to
// be in time; slots that work them off within w plus the time x that a message may wait number n m / (w + x), and never more
// than one for each beside those that are busy anyway. A forecast that is used says how many such a window will have. Of the
// messages that begin around the last moment some take longer than the mean and some less, so x leaves the mean for the work itself.
func (p *plan) headroom(a muster.Arrivals) float64 {
	spare := math.Max(0, p.latency-p.settled)
	usual := a.FiveMinutes * p.settled
	slots := usual
	for i, b := range a.Busiest {
		over := b.OverSeconds
		if i == 0 {
			over /= 2 // how they came within the shortest window nobody knows: evenly, or all of them at once
		}
		n := foreseen(p.forecast, b)
		slots = math.Max(slots, math.Min(n*p.settled/(over+spare), n+usual))
	}
	return math.Max(reserve*slots, p.steady(usual, spare)) / p.slots
}

// steady is how many slots keep the waits of messages that come at random, and keep so many slots busy, within x seconds. In heavy
// traffic a wait is longer than x in exp(-2 x (c - a) / (m (1 + v^2))) of all cases, with c slots of which a are busy on average
// (Kingman's formula; where x is less than m it counts as m); where little comes that is too much, and twice as many do. What comes
// while a worker boots cannot be left to one that is launched for it, what comes later can: so of what it takes the part
// b / (b + x) counts, for a boot time b.
func (p *plan) steady(busy, spare float64) float64 {
	late := math.Max(1e-4, 1-p.quantile)
	least := p.settled * (1 + p.variation*p.variation) / (2 * math.Max(p.settled, spare)) * math.Log(1/late)
	return (busy + math.Min(least, busy)) * p.boot / (p.boot + spare)
}
