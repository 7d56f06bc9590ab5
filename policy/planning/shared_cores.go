package planning

import (
	"fmt"
	"math"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/durations"
	"github.com/muster-scale/muster/policy/internal/rules"
	"github.com/muster-scale/muster/policy/internal/start"
)

// decideShared decides for members that share a machine. It plans with the durations at that number of busy workers,
// and launches no worker that would not raise the throughput.
func (p Deadline) decideShared(o muster.Observation, recent muster.Recent) muster.Decision {
	g := durations.GrowthOf(o)
	active, slots := o.Capacity.Active(), math.Max(1, o.Capacity.SlotsPerWorker)
	if !g.Known {
		return p.findGrowth(g, p.decide(o, recent), o)
	}
	enough := g.Workers(slots)
	as := g.Convert(o, durations.BusySlotsWith(o, max(active, enough)))
	as.Limits.Max = min(o.Limits.Max, enough) // more do not help, so none is postponed to launch more later
	d := p.decide(as, recent)
	if d.Verdict != muster.Apply || d.Desired <= max(active, enough) {
		return d
	}
	most := g.Crowds[len(g.Crowds)-1]
	return d.With(muster.Term{
		Rule: "shared_machine", Out: max(active, enough),
		In: []muster.Value{
			rules.Value("cores", float64(g.Cores)), rules.Value("useful_workers", float64(enough)),
			rules.Value("useful_slots", rules.Round3(g.Useful)),
			rules.Value("mpd_alone_s", rules.Round3(g.Base)), rules.Value("mpd_most_s", rules.Round3(most.MeanSeconds)),
			rules.Value("most_busy", rules.Round3(most.Busy)),
		},
		Why: fmt.Sprintf("durations grow with busy workers on this machine's %s: %s with %s messages in progress, "+
			"%s alone; %s as much as more would",
			render.Plural(g.Cores, "core"), render.Seconds(rules.Round3(most.MeanSeconds)),
			render.Number(math.Round(most.Busy)),
			render.Seconds(rules.Round3(g.Base)), workersFinish(enough)),
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
func (p Deadline) findGrowth(g durations.Growth, d muster.Decision, o muster.Observation) muster.Decision {
	active, slots := o.Capacity.Active(), math.Max(1, o.Capacity.SlotsPerWorker)
	tried := rules.Ceil(2 * math.Max(float64(g.Cores), math.Floor(g.Seen)) / slots)
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
		In: []muster.Value{rules.Value("cores", float64(g.Cores)), rules.Value("most_busy", rules.Round3(g.Seen))},
		Why: fmt.Sprintf("how durations grow with busy workers is not known yet: %s, and a later launch is still in "+
			"time",
			start.Said(max(active, tried))),
	})
}
