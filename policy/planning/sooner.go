package planning

import (
	"fmt"
	"math"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/arrivals"
	"github.com/muster-scale/muster/policy/internal/rules"
	"github.com/muster-scale/muster/policy/internal/scarcity"
)

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

// sooner returns how many workers are launched now, launch or more, and sets whySooner if they are more.
func (p *plan) sooner(o muster.Observation, launch int) int {
	if n := p.keepsUp(o); n > launch {
		launch, p.whySooner = n, "the arrivals keep so many busy, and to launch them later would hardly save a boot"
	}
	if n := p.growsToMax(o); n > launch {
		launch, p.whySooner = n, fmt.Sprintf("more and more arrive, and most of the %d permitted workers are needed "+
			"for what waits once they are ready", o.Limits.Max)
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
	return max(0, min(int(arrivals.SureLoad(o.Arrivals, p.FinishedMean))-o.Capacity.Active(), p.filled(o)))
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

// farSlack is [plan.slack] with farLatency.
func (p *plan) farSlack() float64 { return p.slack() + p.farLatency - p.latency }
