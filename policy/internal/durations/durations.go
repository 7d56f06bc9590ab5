// Package durations estimates how long the work of a message takes, from what was measured, from the last minutes and
// from what is in hand. [Of] is the estimate; of messages that come in classes it is that of their mixture.
package durations

import (
	"cmp"
	"math"
	"time"

	"github.com/muster-scale/muster"
)

// Work is what is known of the time that messages take, in seconds.
type Work struct {
	// Mean is the Mean processing duration, Deviation its standard Deviation, Tail the duration that few messages
	// exceed, and Usual the same over the whole time that was measured.
	Mean, Deviation, Tail, LongTermTail float64
	// Longest is the 99th percentile.
	Longest float64
	// Settled is the mean as far as the last minutes differ from the time before by more than chance.
	LongTermMean float64
	// Lately is the mean as far as finished work shows it: in hand may be a few long ones.
	FinishedMean float64
	// Variation is the deviation over the mean, at most 1, also of durations that are seldom and long.
	Variation float64
	// Classes is how many Classes were told apart; 0 where the work is taken as one.
	Classes int
}

// weightBefore is how many durations the mean from before the last minutes counts for, where all are about the same.
// The mean of durations that vary more takes so many more to tell a change from chance.
const weightBefore = 8

// Of estimates how long the work of a message takes: the mean that was measured, as long as it agrees with the work
// of the last minutes, finished and in hand. What is in hand tells before its end when work begins to take longer. The
// spread is that of the measured durations, in proportion.
func Of(o muster.Observation) (Work, bool) {
	e := o.Processing
	if !e.Known || e.MeanSeconds <= 0 {
		return Work{}, false
	}
	if m, mixed := mixtureOf(o); mixed {
		return workOfMixture(o, m), true
	}
	deviation := DeviationOf(e)
	variation := deviation / e.MeanSeconds
	weight := math.Min(weightBefore*(1+variation*variation), math.Max(1, float64(e.Count)))
	// A message in hand counts as finished for the lower bound, and not at all for the upper: it may end now, or have
	// just begun.
	inHand := float64(o.Capacity.BusySlots)
	before := weight*e.MeanSeconds + o.Pace.Seconds + inHand*Held(o.Capacity, math.Max(2*e.MeanSeconds, tailOf(e)))
	low := before / (weight + o.Pace.Finished + inHand)
	high := before / (weight + o.Pace.Finished)
	lately := min(max(e.MeanSeconds, low), high)
	mean := max(lately, changedWork(o, variation))
	scale := mean / e.MeanSeconds
	usual := math.Max(e.MeanSeconds, tailOf(e))
	return Work{
		Mean: mean, FinishedMean: lately,
		LongTermMean: followChange(e.MeanSeconds, lately, deviation, weight, o.Pace.Finished+inHand),
		Deviation: math.Max(0, e.P95Seconds-e.MeanSeconds) / 1.7 * scale, Tail: usual * scale, LongTermTail: usual,
		Variation: math.Min(1, variation),
		Longest:   e.P99Seconds * mean / e.MeanSeconds,
	}, true
}

// settle returns a mean from before, corrected by a newer one. Up to two of its deviations nothing of the difference
// counts; beyond them nearly all of it does, the larger it is. The newer is the mean of so many durations, and the one
// from before counts for as many as weight.
func followChange(before, lately, deviation, weight, durations float64) float64 {
	chance := 2 * deviation * math.Sqrt(durations) / (weight + durations)
	off := lately - before
	if math.Abs(off) <= chance {
		return before
	}
	return before + off*(1-chance*chance/(off*off))
}

// DeviationOf is the standard deviation: of the usual shapes, the 95th percentile lies about 1.7 deviations above the
// mean, the 99th of skewed ones 3.
func DeviationOf(e muster.Estimate) float64 {
	return math.Max(0, math.Max((e.P95Seconds-e.MeanSeconds)/1.7, (e.P99Seconds-e.MeanSeconds)/3))
}

// Held is how long messages in hand have been worked on, on average. Of even work they differ by 0.6 of that, of
// exponential work by 1.3; three of which one hangs differ by 1.4 and more do by more, and then what it adds is left
// out: less than one and a half of the deviations that it makes their mean have.
func Held(c muster.Capacity, usual float64) float64 {
	if c.Busy < 3 { // one or two that hang look like work that takes longer
		return math.Min(c.HeldMeanSeconds, usual)
	}
	if c.HeldDeviationSeconds < 1.4*c.HeldMeanSeconds {
		return c.HeldMeanSeconds
	}
	return SurelyHeld(c)
}

// SurelyHeld is how long messages in hand have been worked on for certain, on average: the mean less one and a half of
// its own deviations, in seconds.
func SurelyHeld(c muster.Capacity) float64 {
	return math.Max(0, c.HeldMeanSeconds-1.5*c.HeldDeviationSeconds/math.Sqrt(math.Max(1, float64(c.BusySlots))))
}

// unlike returns the mean of work that the messages in hand show to be unlike what was measured before; 0 where they do
// not.
//
// At any instant messages in hand have been worked on for m (1 + v^2)/2 on average, with the variance of lognormal work
// m^2 ((1 + v^2)^3/3 - (1 + v^2)^2/4) (renewal theory). Where they have for so much longer that chance cannot be the
// reason, and not because of one of them that hangs, their own mean tells that of the work they belong to.
//
// Nor does it count before it has lasted for a poll: where all workers stand still for a moment, so does what measures
// them.
func changedWork(o muster.Observation, variation float64) float64 {
	c, e := o.Capacity, o.Processing
	if c.BusySlots < 3 || !e.Prior && e.Count < fewDurations ||
		SurelyHeld(c) < cmp.Or(o.Poll, time.Second).Seconds() {
		return 0
	}
	if e.Prior {
		variation = math.Max(variation, 0.5) // nobody knows yet how much they differ
	}
	// Six deviations of their mean are no chance, also where durations are skewed.
	const chance = 6
	mean, square, each := e.MeanSeconds, 1+variation*variation, math.Sqrt(float64(c.BusySlots))
	usual := mean * square / 2
	deviation := mean * math.Sqrt(square*square*square/3-square*square/4)
	if SurelyHeld(c) < usual+chance*deviation/each {
		return 0
	}
	return 2 * c.HeldMeanSeconds / square
}

// fewDurations say little of how much all differ: of those that were begun, the short ones are known first.
const fewDurations = 100

// manyDurations is how many durations it takes to tell their 99th percentile from chance.
const manyDurations = 200

// tailOf is the duration that a message is planned to need at the most: between the 95th and the 99th percentile,
// because few messages begin at the last moment. Of few durations the highest ones say little.
func tailOf(e muster.Estimate) float64 {
	if e.Prior || e.Count >= manyDurations {
		return (e.P95Seconds + e.P99Seconds) / 2
	}
	return e.P95Seconds
}
