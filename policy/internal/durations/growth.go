package durations

import (
	"math"
	"slices"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// Growth is how durations grow with the number of busy slots, on a machine that all members share:
//
//	duration(n) = Base max(1, n / Useful)
//
// n is the number of busy slots. Up to Useful of them, each message takes Base seconds. With more, the throughput stays
// and each message takes longer in proportion (processor sharing).
//
// Useful is the number of cores over the cores that one message uses. It is estimated from durations alone. So a
// message that computes on several cores, or that waits for a disk, is handled as well as one that computes on one
// core.
type Growth struct {
	// Known is true while the durations grow by more than chance explains. Otherwise Base and
	// Useful have no meaning.
	Known bool
	// Base is the duration in seconds with up to Useful busy slots. Useful need not be whole.
	Base, Useful float64
	// Seen is the largest measured number of busy slots, 0 for none. Crowds are the measurements, fewest busy slots
	// first.
	Seen   float64
	Crowds []muster.Crowd
	// Cores is how many cores the machine has.
	Cores int
}

const (
	// growthEvidence is how much better a growth must fit than none, in squares of standard errors. One in two thousand
	// measurements of constant durations fits that much better by chance.
	growthEvidence = 12
	// leastGrowth is the smallest growth that counts, from the fewest to the most measured busy slots.
	leastGrowth = 1.25
	// modelError is the assumed error of the model itself, as a share of a duration: many measurements do not make the
	// model exact.
	modelError = 0.05
	// usefulSteps is how many values of useful are tried between a number and its double.
	usefulSteps = 16
	// hardlyUseful is the fraction of a worker that is not worth a launch: useful is not known better than that.
	hardlyUseful = 0.1
)

// GrowthOf estimates how durations grow: the least squares of their logarithms, over all values of useful that could
// tell the crowds apart. The growth stays unknown while only about one number of busy slots was measured.
func GrowthOf(o muster.Observation) Growth {
	if o.Sharing == nil {
		return Growth{}
	}
	g := Growth{Useful: math.Inf(1), Cores: o.Sharing.Cores}
	for _, c := range o.Sharing.Crowds {
		if c.Messages > 0 && c.MeanSeconds > 0 && c.Busy >= 1 {
			g.Crowds, g.Seen = append(g.Crowds, c), math.Max(g.Seen, c.Busy)
		}
	}
	if len(g.Crowds) < 2 {
		return g
	}
	variation := 0.0
	if e := o.Processing; e.Known && e.MeanSeconds > 0 {
		variation = DeviationOf(e) / e.MeanSeconds
	}
	without, _ := g.misfit(math.Inf(1), variation)
	least, best, base := without, math.Inf(1), 0.0
	for k := 0; ; k++ {
		useful := math.Exp2(float64(k) / usefulSteps)
		if useful >= g.Seen {
			break
		}
		// Several values fit equally if few busy slots were never measured. The largest of them is taken.
		if miss, b := g.misfit(useful, variation); miss < least+1e-6 {
			least, best, base = math.Min(miss, least), useful, b
		}
	}
	if without-least >= growthEvidence && g.Seen >= leastGrowth*best {
		g.Known, g.Useful, g.Base = true, best, base
	}
	return g
}

// misfit returns how badly the model with useful fits: the sum of the squared errors, each over its variance. It also
// returns the base that makes the sum least. variation is that of the durations; useful may be infinite.
func (g *Growth) misfit(useful, variation float64) (sum, base float64) {
	weights, logs := 0.0, 0.0
	off := func(c muster.Crowd) (log, weight float64) {
		return math.Log(c.MeanSeconds / math.Max(1, c.Busy/useful)),
			1 / (variation*variation/c.Messages + modelError*modelError)
	}
	for _, c := range g.Crowds {
		log, weight := off(c)
		weights, logs = weights+weight, logs+weight*log
	}
	middle := logs / weights
	for _, c := range g.Crowds {
		log, weight := off(c)
		sum += weight * (log - middle) * (log - middle)
	}
	return sum, math.Exp(middle)
}

// Slowdown returns how many times as long a message takes with so many busy slots as alone.
func (g *Growth) Slowdown(busy float64) float64 { return math.Max(1, busy/g.Useful) }

// meanSlowdown returns the mean slowdown of the measured messages. count returns the weight of a crowd: all its
// messages, or those of the last minutes.
func (g *Growth) meanSlowdown(count func(muster.Crowd) float64) float64 {
	sum, n := 0.0, 0.0
	for _, c := range g.Crowds {
		sum, n = sum+count(c)*g.Slowdown(c.Busy), n+count(c)
	}
	if n <= 0 {
		return 1
	}
	return sum / n
}

// Convert returns the observation as if every duration had been measured with so many busy slots. A duration from the
// configuration stays as it is.
func (g *Growth) Convert(o muster.Observation, busy float64) muster.Observation {
	if !g.Known {
		return o
	}
	to := g.Slowdown(busy)
	if !o.Processing.Prior {
		ever := to / g.meanSlowdown(func(c muster.Crowd) float64 { return c.Messages })
		o.Processing = Scaled(o.Processing, ever)
		o.Classes = slices.Clone(o.Classes)
		for i := range o.Classes {
			o.Classes[i].Processing = Scaled(o.Classes[i].Processing, ever)
		}
	}
	o.Pace.Seconds *= to / g.meanSlowdown(func(c muster.Crowd) float64 { return c.Lately })
	// A crowded machine makes messages long as well, so those of the last seconds show no other work.
	o.Pace.LatelyFinished, o.Pace.LatelySeconds, o.Pace.LatelyLong = 0, 0, 0
	now := to / g.Slowdown(float64(o.Capacity.BusySlots))
	o.Capacity.HeldMeanSeconds *= now
	o.Capacity.HeldDeviationSeconds *= now
	return o
}

// Scaled returns e with all durations multiplied.
func Scaled(e muster.Estimate, times float64) muster.Estimate {
	for _, s := range []*float64{&e.MeanSeconds, &e.P50Seconds, &e.P95Seconds, &e.P99Seconds} {
		*s *= times
	}
	return e
}

// Workers returns the smallest number of workers, each with so many slots, that has the full throughput. It is at least
// the number that occupies every core.
func (g *Growth) Workers(slots float64) int {
	return max(1, rules.Ceil(float64(g.Cores)/slots), rules.Ceil(g.Useful/slots-hardlyUseful))
}

// BusySlotsWith returns how many slots would be busy with so many workers, given the work that there is.
func BusySlotsWith(o muster.Observation, workers int) float64 {
	there := float64(o.Capacity.BusySlots) + o.Backlog().Value
	return math.Max(1, math.Min(there, float64(workers)*math.Max(1, o.Capacity.SlotsPerWorker)))
}

// WithDurationsAt returns the observation with the durations that so many workers would have, if the growth is known.
func WithDurationsAt(o muster.Observation, workers int) muster.Observation {
	g := GrowthOf(o)
	return g.Convert(o, BusySlotsWith(o, workers))
}
