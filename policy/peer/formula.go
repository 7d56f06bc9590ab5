package peer

import (
	"math"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
)

// Formula is Little's law in one line: enough workers to finish all backlog and in-flight messages within the
// objective, if they were launched now. A slot begins this many messages in time, at least one:
//
//	k = (Share x L - b - d) / m + 1
//	workers = ceil((backlog + in flight) / (k x slots))
//
// L is the objective, b the boot time, d the 95th percentile and m the mean of the processing duration. It is the first
// formula that an engineer writes who knows the objective, and a mark for every longer one.
type Formula struct {
	// Share is the part of the objective to plan with, above 0 and at most 1.
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
