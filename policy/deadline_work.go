package policy

import (
	"math"

	"github.com/muster-scale/muster"
)

// work is what is known of the time that messages take, in seconds.
type work struct {
	// mean is the mean processing duration, deviation its standard deviation, tail the duration that few messages exceed, and
	// usual the same over the whole time that was measured.
	mean, deviation, tail, usual float64
	// variation is the deviation over the mean, at most 1, also of durations that are seldom and long.
	variation float64
}

// weightBefore is how many durations the mean from before the last minutes counts for, where all are about the same. The mean
// of durations that vary more takes so many more to tell a change from chance.
const weightBefore = 8

// workOf estimates how long the work of a message takes: the mean that was measured, as long as it agrees with the work of the
// last minutes, finished and in hand. What is in hand tells before its end when work begins to take longer. The spread is
// that of the measured durations, in proportion.
func workOf(o muster.Observation) (work, bool) {
	e := o.Processing
	if !e.Known || e.MeanSeconds <= 0 {
		return work{}, false
	}
	// Of the usual shapes, the 95th percentile lies about 1.7 deviations above the mean, the 99th of skewed ones 3.
	deviation := math.Max(0, math.Max((e.P95Seconds-e.MeanSeconds)/1.7, (e.P99Seconds-e.MeanSeconds)/3))
	variation := deviation / e.MeanSeconds
	weight := math.Min(weightBefore*(1+variation*variation), math.Max(1, float64(e.Count)))
	// A message in hand counts as finished for the lower bound, and not at all for the upper: it may end now, or have just
	// begun.
	inHand := float64(o.Capacity.BusySlots)
	before := weight*e.MeanSeconds + o.Pace.Seconds + inHand*o.Capacity.HeldMeanSeconds
	low := before / (weight + o.Pace.Finished + inHand)
	high := before / (weight + o.Pace.Finished)
	mean := min(max(e.MeanSeconds, low), high)
	scale := mean / e.MeanSeconds
	usual := math.Max(e.MeanSeconds, tailOf(e))
	return work{
		mean: mean, deviation: math.Max(0, e.P95Seconds-e.MeanSeconds) / 1.7 * scale, tail: usual * scale, usual: usual, variation: math.Min(1, variation),
	}, true
}

// manyDurations is how many durations it takes to tell their 99th percentile from chance.
const manyDurations = 200

// tailOf is the duration that a message is planned to need at the most: between the 95th and the 99th percentile, because few
// messages begin at the last moment. Of few durations the highest ones say little.
func tailOf(e muster.Estimate) float64 {
	if e.Prior || e.Count >= manyDurations {
		return (e.P95Seconds + e.P99Seconds) / 2
	}
	return e.P95Seconds
}
