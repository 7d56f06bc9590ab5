package planning

import (
	"fmt"
	"math"
	"slices"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/durations"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// growth is how durations grow with the number of busy slots, on a machine that all members share:
//
//	duration(n) = base max(1, n / useful)
//
// n is the number of busy slots. Up to useful of them, each message takes base seconds. With more, the throughput stays
// and each message takes longer in proportion (processor sharing).
//
// useful is the number of cores over the cores that one message uses. It is estimated from durations alone. So a
// message that computes on several cores, or that waits for a disk, is handled as well as one that computes on one
// core.
type growth struct {
	// known is true while the durations grow by more than chance explains. Otherwise useful is infinite.
	known        bool
	base, useful float64
	// seen is the largest measured number of busy slots, 0 for none. crowds are the measurements, fewest busy slots
	// first.
	seen   float64
	crowds []muster.Crowd
	cores  int
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

// growthOf estimates how durations grow: the least squares of their logarithms, over all values of useful that could
// tell the crowds apart. The growth stays unknown while only about one number of busy slots was measured.
func growthOf(o muster.Observation) growth {
	if o.Sharing == nil {
		return growth{}
	}
	g := growth{useful: math.Inf(1), cores: o.Sharing.Cores}
	for _, c := range o.Sharing.Crowds {
		if c.Messages > 0 && c.MeanSeconds > 0 && c.Busy >= 1 {
			g.crowds, g.seen = append(g.crowds, c), math.Max(g.seen, c.Busy)
		}
	}
	if len(g.crowds) < 2 {
		return g
	}
	variation := 0.0
	if e := o.Processing; e.Known && e.MeanSeconds > 0 {
		variation = durations.DeviationOf(e) / e.MeanSeconds
	}
	without, _ := g.misfit(math.Inf(1), variation)
	least, best, base := without, math.Inf(1), 0.0
	for k := 0; ; k++ {
		useful := math.Exp2(float64(k) / usefulSteps)
		if useful >= g.seen {
			break
		}
		// Several values fit equally if few busy slots were never measured. The largest of them is taken.
		if miss, b := g.misfit(useful, variation); miss < least+1e-6 {
			least, best, base = math.Min(miss, least), useful, b
		}
	}
	if without-least >= growthEvidence && g.seen >= leastGrowth*best {
		g.known, g.useful, g.base = true, best, base
	}
	return g
}

// misfit returns how badly the model with useful fits: the sum of the squared errors, each over its variance. It also
// returns the base that makes the sum least. variation is that of the durations; useful may be infinite.
func (g *growth) misfit(useful, variation float64) (sum, base float64) {
	weights, logs := 0.0, 0.0
	off := func(c muster.Crowd) (log, weight float64) {
		return math.Log(c.MeanSeconds / math.Max(1, c.Busy/useful)),
			1 / (variation*variation/c.Messages + modelError*modelError)
	}
	for _, c := range g.crowds {
		log, weight := off(c)
		weights, logs = weights+weight, logs+weight*log
	}
	middle := logs / weights
	for _, c := range g.crowds {
		log, weight := off(c)
		sum += weight * (log - middle) * (log - middle)
	}
	return sum, math.Exp(middle)
}

// slowdown returns how many times as long a message takes with so many busy slots as alone.
func (g *growth) slowdown(busy float64) float64 { return math.Max(1, busy/g.useful) }

// meanSlowdown returns the mean slowdown of the measured messages. count returns the weight of a crowd: all its
// messages, or those of the last minutes.
func (g *growth) meanSlowdown(count func(muster.Crowd) float64) float64 {
	sum, n := 0.0, 0.0
	for _, c := range g.crowds {
		sum, n = sum+count(c)*g.slowdown(c.Busy), n+count(c)
	}
	if n <= 0 {
		return 1
	}
	return sum / n
}

// convert returns the observation as if every duration had been measured with so many busy slots. A duration from the
// configuration stays as it is.
func (g *growth) convert(o muster.Observation, busy float64) muster.Observation {
	if !g.known {
		return o
	}
	to := g.slowdown(busy)
	if !o.Processing.Prior {
		ever := to / g.meanSlowdown(func(c muster.Crowd) float64 { return c.Messages })
		o.Processing = scaled(o.Processing, ever)
		o.Classes = slices.Clone(o.Classes)
		for i := range o.Classes {
			o.Classes[i].Processing = scaled(o.Classes[i].Processing, ever)
		}
	}
	o.Pace.Seconds *= to / g.meanSlowdown(func(c muster.Crowd) float64 { return c.Lately })
	now := to / g.slowdown(float64(o.Capacity.BusySlots))
	o.Capacity.HeldMeanSeconds *= now
	o.Capacity.HeldDeviationSeconds *= now
	return o
}

// scaled returns e with all durations multiplied.
func scaled(e muster.Estimate, times float64) muster.Estimate {
	for _, s := range []*float64{&e.MeanSeconds, &e.P50Seconds, &e.P95Seconds, &e.P99Seconds} {
		*s *= times
	}
	return e
}

// workers returns the smallest number of workers with the full throughput, at least as many as the cores need.
func (g *growth) workers(slots float64) int {
	return max(1, rules.Ceil(float64(g.cores)/slots), rules.Ceil(g.useful/slots-hardlyUseful))
}

// busySlotsWith returns how many slots would be busy with so many workers, given the work that there is.
func busySlotsWith(o muster.Observation, workers int) float64 {
	there := float64(o.Capacity.BusySlots) + o.Backlog().Value
	return math.Max(1, math.Min(there, float64(workers)*math.Max(1, o.Capacity.SlotsPerWorker)))
}

// withDurationsAt returns the observation with the durations that so many workers would have, if the growth is known.
func withDurationsAt(o muster.Observation, workers int) muster.Observation {
	g := growthOf(o)
	return g.convert(o, busySlotsWith(o, workers))
}

// decideShared decides for members that share a machine. It plans with the durations at that number of busy workers,
// and launches no worker that would not raise the throughput.
func (p Deadline) decideShared(o muster.Observation) muster.Decision {
	g := growthOf(o)
	active, slots := o.Capacity.Active(), math.Max(1, o.Capacity.SlotsPerWorker)
	if !g.known {
		return p.findGrowth(g, p.decide(o), o)
	}
	enough := g.workers(slots)
	as := g.convert(o, busySlotsWith(o, max(active, enough)))
	as.Limits.Max = min(o.Limits.Max, enough) // more do not help, so none is postponed to launch more later
	d := p.decide(as)
	if d.Verdict != muster.Apply || d.Desired <= max(active, enough) {
		return d
	}
	most := g.crowds[len(g.crowds)-1]
	return d.With(muster.Term{
		Rule: "shared_machine", Out: max(active, enough),
		In: []muster.Value{
			rules.Value("cores", float64(g.cores)), rules.Value("useful_workers", float64(enough)),
			rules.Value("useful_slots", rules.Round3(g.useful)),
			rules.Value("mpd_alone_s", rules.Round3(g.base)), rules.Value("mpd_most_s", rules.Round3(most.MeanSeconds)),
			rules.Value("most_busy", rules.Round3(most.Busy)),
		},
		Why: fmt.Sprintf("durations grow with busy workers on this machine's %s: %s with %s messages in progress, "+
			"%s alone; %s as much as more would",
			render.Plural(g.cores, "core"), render.Seconds(rules.Round3(most.MeanSeconds)),
			render.Number(math.Round(most.Busy)),
			render.Seconds(rules.Round3(g.base)), workersFinish(enough)),
	})
}

// workersFinish returns "1 worker finishes" or "3 workers finish".
func workersFinish(workers int) string {
	if workers == 1 {
		return "1 worker finishes"
	}
	return fmt.Sprintf("%d workers finish", workers)
}

// findGrowth returns d with fewer launches while the growth is unknown, if that is free: the rest may be launched two
// messages later and all messages are still in time. Until then at most twice as many workers run as there are cores,
// or as were measured. So the growth is measured before too many workers slow each other down.
func (p Deadline) findGrowth(g growth, d muster.Decision, o muster.Observation) muster.Decision {
	active, slots := o.Capacity.Active(), math.Max(1, o.Capacity.SlotsPerWorker)
	tried := rules.Ceil(2 * math.Max(float64(g.cores), math.Floor(g.seen)) / slots)
	work, known := durations.Of(o)
	if d.Verdict != muster.Apply || !known || d.Desired <= max(active, tried) || active > tried {
		return d
	}
	plan := newPlan(o, work, p.dial(o, work))
	// learned is how many seconds it takes until a new measurement counts.
	const learned = 6
	later := plan.needAfter(2*work.Tail + learned + plan.step)
	if later.cause != forWaiting || later.sooner || float64(active)+later.workers > float64(o.Limits.Max) {
		return d
	}
	return d.With(muster.Term{
		Rule: "shared_machine", Out: max(active, tried),
		In: []muster.Value{rules.Value("cores", float64(g.cores)), rules.Value("most_busy", rules.Round3(g.seen))},
		Why: fmt.Sprintf("how durations grow with busy workers is not known yet: %s, and a later launch is still in "+
			"time",
			workersFindOut(max(active, tried))),
	})
}
