package planning

import (
	"math"
	"slices"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/arrivals"
	"github.com/muster-scale/muster/policy/internal/race"
	"github.com/muster-scale/muster/policy/internal/rules"
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

// priorSpread is the assumed standard deviation of boot times over their mean, before the first is measured.
const priorSpread = 0.15

// racers returns how many workers are launched now only because the first of several is ready sooner than one. It is 0
// unless no worker is in service and the objective leaves no time to launch: then what comes until one is ready is
// late, and pays for that, as far as one worker can take it. See [race.Workers].
func (p *plan) racers(o muster.Observation) int {
	if o.Capacity.InService() > 0 || p.slack() > 0 || p.latency < p.Mean || p.pool.ready > 0 ||
		slices.ContainsFunc(o.Coming, func(g muster.Coming) bool { return g.Warm > 0 }) {
		return 0
	}
	rate := math.Min(arrivals.OfStream(p.waiting), p.slots/p.Mean)
	if p.arrivals.WatchedSeconds >= p.bootMean {
		rate = math.Min(rate, p.expectedArrivals(p.bootMean)/p.bootMean)
	}
	boots := race.Boots{Mean: p.bootMean, Spread: p.bootSpread}
	if !o.Boot.Known || o.Boot.Prior {
		boots.Spread = priorSpread * p.bootMean
	}
	most := min(o.Limits.Max, rules.Ceil(o.Backlog().Value)) - o.Capacity.Active()
	return race.Workers(boots, o.Coming, rate*p.price, most)
}
