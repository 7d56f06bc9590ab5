package policy

import (
	"math"

	"github.com/muster-scale/muster"
)

// work is what is known of the time that messages take, in seconds.
type work struct {
	// mean is the mean processing duration, deviation its standard deviation, tail the duration that few messages exceed.
	mean, deviation, tail float64
}

// weightBefore is how many measured durations the figure from before the last minutes counts for.
const weightBefore = 8

// workOf estimates how long the work of a message takes: the mean that was measured, as long as it agrees with the seconds
// that slots were busy in the last minutes and the messages they finished. Those seconds count from the start of the work, so
// they tell at once when work begins to take longer. The spread is that of the measured durations, in proportion.
func workOf(o muster.Observation) (work, bool) {
	e := o.Processing
	if !e.Known || e.MeanSeconds <= 0 {
		return work{}, false
	}
	weight := math.Min(weightBefore, math.Max(1, float64(e.Count)))
	if e.Prior {
		weight = 1
	}
	// A message in hand counts as finished for the lower bound, and not at all for the upper: it may end now, or have just
	// begun.
	before := weight*e.MeanSeconds + o.Pace.BusySeconds
	low := before / (weight + o.Pace.Finished + float64(o.Capacity.BusySlots))
	high := before / (weight + o.Pace.Finished)
	mean := min(max(e.MeanSeconds, low), high)
	scale := mean / e.MeanSeconds
	w := work{mean: mean, tail: math.Max(mean, e.P99Seconds*scale)}
	// Of the usual shapes, the 95th percentile lies about 1.6 to 2 deviations above the mean.
	w.deviation = math.Max(0, e.P95Seconds-e.MeanSeconds) / 1.7 * scale
	return w, true
}
