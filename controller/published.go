package controller

import (
	"math"

	"github.com/muster-scale/muster"
)

// published returns what the sources know of processing durations, averaged over the queues that know it, or else what
// the observation has. Programs that publish their mean and never report are served by that.
func published(o muster.Observation) muster.Estimate {
	sum, n := 0.0, 0
	for _, q := range o.Queues {
		if mean := q.Published.Value().ProcessingMean; mean.Known && mean.Value > 0 {
			sum, n = sum+mean.Value, n+1
		}
	}
	if n == 0 {
		return o.Processing
	}
	mean := sum / float64(n)
	return muster.Estimate{Known: true, Count: int64(n), MeanSeconds: mean, P50Seconds: mean, P95Seconds: mean,
		P99Seconds: mean}
}

// occupied takes as many slots of a fleet whose workers do not report to be busy as messages are in flight, and all
// where nobody knows.
func occupied(o muster.Observation) muster.Capacity {
	c := o.Capacity
	if n, known := o.InFlight().Count(); known {
		c.BusySlots = min(c.Slots, n)
		members := c.InService()
		c.Busy = min(members, int(math.Ceil(float64(c.BusySlots)/c.SlotsPerWorker)))
		c.Idle = members - c.Busy
	}
	return c
}
