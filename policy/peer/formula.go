package peer

import (
	"math"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
)

// Formula is Little's law in one line: so many workers that all that waits or is in flight is done within the
// objective, if they were launched now. With the objective L, the boot time b, the 95th percentile d and the mean m of
// the work, a slot begins
//
//	k = (Share x L - b - d) / m + 1
//
// messages in time, at least one, and it takes ceil((backlog + in flight) / (k x slots)) workers. It is what an
// engineer writes first who knows the objective, and the mark for anything longer.
type Formula struct {
	// Share is how much of the objective is planned with, above 0 and at most 1.
	Share float64
}

// Decide implements [muster.Policy].
func (p Formula) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	t := begin(o, recent, "formula")
	if d, lacks := t.lacks(needWork | needCapacity); lacks {
		return d
	}
	e := o.Processing
	if !e.Known || e.MeanSeconds <= 0 {
		desired := 0
		if work(o) > 0 {
			desired = max(o.Capacity.Desired, 1)
		}
		return t.settle(desired, nil, "how long the work takes is not known yet: one worker finds out")
	}
	in := p.Share*o.Objective.Latency.Seconds() - math.Max(o.Boot.MeanSeconds,
		o.Boot.P95Seconds) - math.Max(e.MeanSeconds, e.P95Seconds)
	each := math.Max(1, in/e.MeanSeconds+1) * math.Max(1, o.Capacity.SlotsPerWorker)
	return t.settle(workers(work(o)/each), []muster.Value{num("work", work(o)), num("per_worker", each)},
		"%s messages, of which a worker that is launched now begins %s in time", render.Number(work(o)),
		render.Number(math.Round(each*100)/100))
}
