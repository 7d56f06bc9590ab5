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
//	duration(n) = base x max(1, n / useful)
//
// for n busy slots. Up to useful of them each message takes base seconds. With more of them, as much is finished in
// all, and each message takes longer in proportion (processor sharing).
//
// useful is the cores over the share of a core that one message uses. It is estimated from durations alone, so that a
// message which computes on several cores, or which waits for a disk, is told as well as one which computes on one.
type growth struct {
	// known is true while the durations grow by more than chance explains.
	known        bool
	base, useful float64
	// seen is the greatest number of busy slots that was measured, 0 for none.
	seen   float64
	crowds []muster.Crowd
	cores  int
}

const (
	// certain is by how much less the growth misses the durations that were measured, in squares of their errors, than
	// no growth does. One in two thousand measurements of durations that do not grow misses as much by chance.
	growthEvidence = 12
	// leastGrowth is the growth that counts, from the fewest busy slots measured to the most.
	leastGrowth = 1.25
	// modelError is how far durations are taken to be from the model where many were measured, as a share of them.
	modelError = 0.05
	// usefulSteps is how many values of useful are tried between a number and twice as many.
	usefulSteps = 16
	// hardlyUseful is the part of a worker that is not launched for: so much of useful is within its error.
	hardlyUseful = 0.1
)

// growthOf estimates how durations grow: the least squares of the logarithms, over all values of useful that could tell
// the crowds apart. It is not known while durations were measured at about one number of busy slots alone.
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
		// While few slots were never busy alone, less explains as much: the most that does is taken.
		if miss, b := g.misfit(useful, variation); miss < least+1e-6 {
			least, best, base = math.Min(miss, least), useful, b
		}
	}
	if without-least >= growthEvidence && g.seen >= leastGrowth*best {
		g.known, g.useful, g.base = true, best, base
	}
	return g
}

// miss is by how much the durations differ from the model: the sum of the squares of their errors, each over its
// variance; and the base that makes it least.
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

// times is how many times as long a message takes with so many busy slots as alone.
func (g *growth) slowdown(busy float64) float64 { return math.Max(1, busy/g.useful) }

// measured is how many times as long the messages took on average that were measured, by their number or by how many of
// them are of the last minutes.
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

// with returns the observation as it would be if every duration had been measured with so many busy slots.
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

func scaled(e muster.Estimate, times float64) muster.Estimate {
	for _, s := range []*float64{&e.MeanSeconds, &e.P50Seconds, &e.P95Seconds, &e.P99Seconds} {
		*s *= times
	}
	return e
}

// workers is how many workers finish as much as any more of them would; no fewer than there are cores for.
func (g *growth) workers(slots float64) int {
	return max(1, rules.Ceil(float64(g.cores)/slots), rules.Ceil(g.useful/slots-hardlyUseful))
}

// busyWith is how many slots are busy with so many workers, while there is work for them.
func busySlotsWith(o muster.Observation, workers int) float64 {
	there := float64(o.Capacity.BusySlots) + o.Backlog().Value
	return math.Max(1, math.Min(there, float64(workers)*math.Max(1, o.Capacity.SlotsPerWorker)))
}

// asBusyWith returns the observation with all durations as they are with so many workers, where durations were seen to
// grow.
func withDurationsAt(o muster.Observation, workers int) muster.Observation {
	g := growthOf(o)
	return g.convert(o, busySlotsWith(o, workers))
}

// decideShared decides for members that share a machine. It plans with the durations that so many busy workers have,
// and launches no worker with which nothing more would be finished.
func (p Deadline) decideShared(o muster.Observation) muster.Decision {
	g := growthOf(o)
	active, slots := o.Capacity.Active(), math.Max(1, o.Capacity.SlotsPerWorker)
	if !g.known {
		return p.findGrowth(g, p.decide(o), o)
	}
	enough := g.workers(slots)
	as := g.convert(o, busySlotsWith(o, max(active, enough)))
	as.Limits.Max = min(o.Limits.Max, enough) // more of them are no help, so none is put off to be one of more later
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

func workersFinish(workers int) string {
	if workers == 1 {
		return "1 worker finishes"
	}
	return fmt.Sprintf("%d workers finish", workers)
}

// findGrowth lets fewer workers find out how durations grow, where that is free: no more at once than twice the cores,
// or twice as many as were measured, while the others may be launched two messages later and all messages still be in
// time.
func (p Deadline) findGrowth(g growth, d muster.Decision, o muster.Observation) muster.Decision {
	active, slots := o.Capacity.Active(), math.Max(1, o.Capacity.SlotsPerWorker)
	tried := rules.Ceil(2 * math.Max(float64(g.cores), math.Floor(g.seen)) / slots)
	work, known := durations.Of(o)
	if d.Verdict != muster.Apply || !known || d.Desired <= max(active, tried) || active > tried {
		return d
	}
	plan := newPlan(o, work, p.dial(o, work))
	const learned = 6 // seconds until what was measured counts
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
