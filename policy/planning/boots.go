package planning

import (
	"math"
	"slices"
	"sort"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/arrivals"
	"github.com/muster-scale/muster/policy/internal/durations"
	"github.com/muster-scale/muster/policy/internal/race"
	"github.com/muster-scale/muster/policy/internal/risk"
)

// begunTogether is [plan.begun] with the workers on their way taken together: see startsAfterBoot. It is for messages
// that can still be in time.
func (p *plan) begunTogether(until float64) float64 {
	sure, mean, variance := 0.0, 0.0, 0.0
	for _, a := range p.pending {
		each, deviation := 0.0, 0.0
		if until >= a.at {
			each = p.starts(until-a.at, p.varied)
			sure += a.slots * each
		}
		if a.age >= 0 {
			each, deviation = p.startsAfterBoot(until+a.age, a.age)
		}
		mean += a.slots * each
		variance += a.slots * p.slots * deviation * deviation // the slots of one worker begin together
	}
	return p.begunInService(until) + math.Max(sure, mean-deviationsToP95*math.Sqrt(variance))
}

// deviationsToP95 is how many standard deviations the 95th percentile lies above the mean in usual distributions.
const deviationsToP95 = 1.7

// startsAfterBoot returns how many messages a slot of a worker begins within so many seconds after its launch, as mean
// and standard deviation. It has been booting for age seconds. Boot times are taken to be half one deviation below
// their mean and half one above. Of many workers some are ready soon, so together they begin more than if each took as
// long as nearly all do at most.
func (p *plan) startsAfterBoot(within, age float64) (mean, deviation float64) {
	starts := func(boot float64) float64 {
		if within < boot {
			return 0
		}
		return p.starts(within-boot, p.varied)
	}
	late := starts(math.Max(age+1, p.bootMean+p.bootSpread))
	if soon := p.bootMean - p.bootSpread; soon > age {
		early := starts(soon)
		return (early + late) / 2, (early - late) / 2
	}
	return late, 0
}

// launchesToBegin returns how many workers, launched so many seconds before the last moment, begin so many messages if
// each takes the boot time that nearly all keep.
func (p *plan) launchesToBegin(messages, before float64) float64 {
	return messages / (p.slots * p.starts(before-p.boot, p.varied))
}

// launchesTogether is launchesToBegin for workers taken together: see startsAfterBoot. n workers begin n e messages on
// average with the deviation sqrt(n) d, so with near certainty
//
//	n e - 1.7 sqrt(n) d = messages
//
// The smaller number of both counts.
func (p *plan) launchesTogether(messages, before float64) float64 {
	n := p.launchesToBegin(messages, before)
	mean, deviation := p.startsAfterBoot(before, 0)
	mean, deviation = mean*p.slots, deviationsToP95*deviation*p.slots
	if mean <= 0 {
		return n
	}
	root := (deviation + math.Sqrt(deviation*deviation+4*mean*messages)) / (2 * mean)
	return math.Min(n, root*root)
}

// mostSpared is how many launches a decision leaves out at most because each costs more than it saves: rounding is of
// no account for more.
const mostSpared = 32

// fewest returns the smallest of so many launches that suffices. The need is one of last moments and of whole workers,
// so the last of several, or the only one, may save next to nothing. With k launches, late(k) messages are expected to
// be late, and the worst chance of one is worst(k); see [risk.Late].
//
//	S > 0:   worst(k) <= 1 - q
//	S <= 0:  c (late(k) - late(k + 1)) <= b for k and all larger numbers; k >= 1 while no worker is there
//
// S is the slack, q the quantile, c the price of a late message, b the mean boot time. So where the quantile can be
// kept it is, for each message; where it cannot, a worker is launched only for what it saves. All are needed where too
// few durations were measured to tell the chance of a long one. With slack, they are also needed while the fleet is
// behind: see [durations.Behind].
func (p *plan) fewest(launch int, o muster.Observation) int {
	slack := p.slack() > 0
	if launch == 0 || p.agesUnknown || p.Few() || slack && durations.Behind(o) {
		return launch
	}
	work := durations.Scaled(o.Processing, p.Mean/p.LongTermMean)
	with := func(launches int) (late, worst float64) {
		q, warm := *p, math.Min(float64(launches), p.pool.ready)
		q.pending = append(slices.Clip(p.pending), pendingSlots{p.pool.boot, warm * p.slots, -1},
			pendingSlots{p.boot, (float64(launches) - warm) * p.slots, 0})
		for _, v := range p.views() {
			left := risk.Without(v.received, p.waiting)
			n, chance := risk.Late(left, p.latency-v.lag, work, func(n, within float64) bool {
				begun := q.begunTogether(within)
				return begun >= n && (n <= p.free || begun >= n+p.varianceExtra(n))
			})
			late, worst = math.Max(late, n), math.Max(worst, chance)
		}
		return late, worst
	}
	if slack {
		return sort.Search(launch, func(k int) bool {
			_, worst := with(k)
			return worst <= 1-p.quantile
		})
	}
	few, least := launch, max(launch-mostSpared, 0)
	if o.Capacity.Active() == 0 {
		least = max(least, 1)
	}
	for late, _ := with(few); few > least; few-- {
		before, _ := with(few - 1)
		if p.price*(before-late) > p.bootMean {
			break
		}
		late = before
	}
	return few
}

// race returns how many workers are launched now only because the first of several is ready sooner than one. It is 0
// unless no worker is in service and the objective leaves no time to launch. Messages that come are then late until one
// is ready, and pay for it as far as one worker could take them. See [race.Workers].
func (p *plan) race(o muster.Observation) int {
	room := race.Room(o)
	if room == 0 || p.slack() > 0 || p.latency < p.Mean || p.outdated || p.done {
		return 0
	}
	p.stream = math.Min(arrivals.OfStream(p.waiting, p.step/2), p.slots/p.Mean)
	if p.arrivals.WatchedSeconds >= p.bootMean {
		p.stream = math.Min(p.stream, p.expectedArrivals(p.bootMean)/p.bootMean)
	}
	late := math.Max(0, p.lastMoment(p.waiting[0]))
	return race.Workers(race.BootsOf(o.Boot, p.bootMean, p.bootSpread), o.Coming, late, p.stream*p.price, room)
}
