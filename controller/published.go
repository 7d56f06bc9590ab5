package controller

import "github.com/muster-scale/muster"

// published returns what the sources know of processing durations, averaged over the queues that know it, or else what the
// observation has. Programs that publish their mean and never report are served by that.
func published(o muster.Observation) muster.Estimate {
	sum, n := 0.0, 0
	for _, q := range o.Queues {
		if q.ProcessingMean.Known && q.ProcessingMean.Value > 0 {
			sum, n = sum+q.ProcessingMean.Value, n+1
		}
	}
	if n == 0 {
		return o.Processing
	}
	mean := sum / float64(n)
	return muster.Estimate{Known: true, Count: int64(n), MeanSeconds: mean, P50Seconds: mean, P95Seconds: mean, P99Seconds: mean}
}
