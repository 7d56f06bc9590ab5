package limit

import (
	"math"
	"time"
)

// Lull returns the bound for sparse loads, in which whole workers matter. Service is divided into stretches with at
// least one worker each: a boot starts each stretch, and a stretch that lasts longer than its work is idle for the
// rest. It gives nothing when Min is above zero. The proof is in docs/limit.md.
func (f *Profile) Lull() Bound {
	bound := Bound{Method: "lull", Start: Prescient.String()}
	atLeast := f.atLeast()
	bound.WorkerSeconds = down(atLeast + f.boots(1))
	stretches := f.stretches()
	if f.problem.Min > 0 || len(stretches) == 0 {
		return bound
	}
	// The bound holds for any fee and is concave in it.
	value := func(fee float64) float64 { return f.cheapest(stretches, fee) }
	low, high := 0.0, f.longest.Seconds()/float64(f.problem.Slots)+f.problem.Boot.Seconds()
	best := value(high)
	for range 48 {
		third := (high - low) / 3
		a, b := value(low+third), value(high-third)
		best = max(best, a, b)
		if a < b {
			low += third
		} else {
			high -= third
		}
	}
	bound.WorkerSeconds = max(bound.WorkerSeconds, down(f.work.Seconds()/float64(f.problem.Slots)+best-f.shed()))
	return bound
}

// shed returns the worker-seconds that leaving late messages undone saves at most.
func (f *Profile) shed() float64 {
	if !f.problem.Shed {
		return 0
	}
	return (f.beyond + largest(f.sizes, f.excused)).Seconds() / float64(f.problem.Slots)
}

// stretch is a slot of time with attainable messages, as the beginning or the end of a stretch in service.
type stretch struct {
	// begin bounds from above the instant, less the work that arrived too early to be left, at which a stretch begins
	// that serves these messages and later ones; end bounds from below the instant, less the work that arrived in time
	// to be finished, at which one ends that serves them and earlier ones. Their difference is idle time.
	begin, end float64
	classes    []class
}

// stretches returns one entry for each slot of time with attainable messages.
func (f *Profile) stretches() (all []stretch) {
	before, begin, c := 0.0, math.Inf(-1), float64(f.problem.Slots)
	// A message is served from its begin to its end within one stretch. So no arrival falls into the last moments
	// of one, and no deadline into the first.
	least := f.shortest().Seconds()
	for _, s := range f.slots {
		if len(s.classes) == 0 {
			continue
		}
		begin = max(begin, (s.last+f.problem.Latency).Seconds()-least-before)
		for _, k := range s.classes {
			before += k.work.Seconds() / c
		}
		all = append(all, stretch{begin: begin, end: s.first.Seconds() + least - before, classes: s.classes})
	}
	for i := len(all) - 2; i >= 0; i-- {
		all[i].end = min(all[i].end, all[i+1].end)
	}
	return all
}

// cheapest returns the least cost of boots, idle time and excuses when a message may be late for the fee, in
// worker-seconds. The allowed number of excuses at that fee, and the idle time that late work can fill, are taken off.
func (f *Profile) cheapest(all []stretch, fee float64) float64 {
	c, boot := float64(f.problem.Slots), f.problem.Boot.Seconds()
	filled := f.beyond.Seconds()/c + fee*float64(f.excused)
	// Costs are those of the messages up to j. Ways that ended before enough have to bridge idle time to reach j.
	costs := make([]float64, len(all)+1)
	enough, bridge := 0, math.Inf(1)
	for j, s := range all {
		excuse := 0.0
		for _, k := range s.classes {
			mean := k.work.Seconds() / float64(k.count)
			excuse += float64(k.count) * max(0, fee-mean/c)
			for _, a := range k.atoms() {
				if a.work > 0 {
					filled += a.work.Seconds() / a.size.Seconds() * max(0, a.size.Seconds()/c-fee)
				}
			}
		}
		for ; enough <= j && all[enough].begin < s.end; enough++ {
			bridge = min(bridge, costs[enough]-all[enough].begin)
		}
		costs[j+1] = min(costs[j]+excuse, bridge+s.end+boot)
		if enough <= j {
			costs[j+1] = min(costs[j+1], costs[enough]+boot)
		}
	}
	return costs[len(all)] - filled
}

// shortest returns the least service of an attainable message; 0 if there is none.
func (f *Profile) shortest() time.Duration {
	if len(f.sizes) == 0 {
		return 0
	}
	return f.sizes[0].least
}
