package policy

import (
	"fmt"
	"math"

	"github.com/muster-scale/muster"
)

// keep returns how many workers are kept although nothing waits for them now.
func (p plan) keep(o muster.Observation) int {
	if !o.Arrivals.Known {
		return 0
	}
	active := o.Capacity.Active()
	if p.slack() > 0 {
		return min(active, p.surelyBusy(o.Arrivals)) // nobody is launched only to be kept
	}
	room := p.headroom(o.Arrivals)
	ahead := ceil(room)
	if pool := p.inTime(); float64(active)+pool >= room {
		// A pool that is in time spares launches, as long as it has enough: what is launched from it is not in it any more. Who is
		// there stays, or each fill of the pool would send some away and each message call them back.
		ahead = ceil(room - pool)
	}
	return max(ahead, min(active, ceil(room*sticky)))
}

// sticky is by how much more headroom is kept than is launched for: the estimates behind it move all the time, and each move
// across a whole worker would cost a boot.
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

// surelyBusy is how many workers the arrivals keep busy all the time. The lower of two rates counts: letting one go that is
// needed again costs a boot, and the objective leaves time for that.
func (p plan) surelyBusy(a muster.Arrivals) int {
	rate := math.Min(a.Minute, a.FiveMinutes)
	return int(rate * p.lately / p.slots)
}

// reserve is how much is kept of what the busiest times would have needed: the rest is launched when they come. More is dearer
// and hardly better, less is late in each of them.
const reserve = 0.8

// headroom is for objectives that leave no time to launch a worker for a message that is already there: as many workers as
// would have begun the messages of the busiest times of the past hours in time. Within a window of w seconds came n messages;
// slots that begin them within w plus the time x that a message may wait number n m / (w + x), and never more than one for each
// beside those that are busy anyway. A forecast that is used says how many such a window will have.
func (p plan) headroom(a muster.Arrivals) float64 {
	spare := math.Max(0, p.latency-p.tail)
	usual := math.Max(a.Minute, a.FiveMinutes) * p.lately
	slots := usual
	for _, b := range a.Busiest {
		n := foreseen(p.forecast, b)
		slots = math.Max(slots, math.Min(n*p.lately/(b.OverSeconds+spare), n+usual))
	}
	return reserve * slots / p.slots
}
