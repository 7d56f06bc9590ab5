// Package durations estimates how long the work of a message takes. [Of] returns the estimate as a [Work]: the mean,
// the deviation and the tail that plans are made with.
//
// Three sources go into it:
//
//   - measured durations of hours, as an [muster.Estimate];
//   - the last two minutes ([muster.Pace]), which show a change sooner;
//   - messages in progress, which show longer work before any of it has ended.
//
// If messages come in classes, the estimate is that of their mixture (mixture.go), so that a change of the mix shows at
// once. The estimate weighs the sources such that one message that hangs moves little, and that chance in few durations
// is not taken for a change.
//
// [GrowthOf] estimates how durations grow with the number of busy slots, on a machine that all members share. [Boot],
// [BootWithMargin] and [BootSoFar] estimate the boot time of a worker.
//
// Package series computes the measured estimates, package policy/planning uses the result. This package knows nothing
// of workers to launch or of objectives. docs/arithmetic.md has the formulas.
package durations

import (
	"cmp"
	"math"
	"time"

	"github.com/muster-scale/muster"
)

// Work is the estimate of the processing duration. All durations are in seconds.
type Work struct {
	// Mean and Deviation are the mean and the standard deviation now. Tail is the duration that few messages exceed,
	// LongTermTail the same over the whole measured time.
	Mean, Deviation, Tail, LongTermTail float64
	// Longest is the 99th percentile. Count is how many durations were measured; 0 if the mean is only stated, and
	// where messages come in classes, whose tails have an estimate of their own.
	Longest, Count float64
	// LongTermMean is the measured mean. The last minutes do not change it: where work takes longer the more messages
	// wait, a quiet time would forget what the next busy one needs.
	LongTermMean float64
	// FinishedMean is Mean without the jump that messages in progress alone can cause: a few long ones may be among
	// them.
	FinishedMean float64
	// Variation is the deviation over the mean, at most 1. It also shows rare, long durations, which Deviation does
	// not.
	Variation float64
	// Classes is the number of known message classes; 0 if all work is treated as one.
	Classes int
	// Hanging is how many messages in progress hang, as the function of that name estimates.
	Hanging float64
}

// Times returns the work where a message takes so many times as long in the mean, at least once. Tails do not change,
// but are at least the mean.
func (w Work) Times(n float64) Work {
	w.Mean, w.FinishedMean, w.LongTermMean = n*w.Mean, n*w.FinishedMean, n*w.LongTermMean
	w.Tail, w.LongTermTail = math.Max(w.Tail, w.Mean), math.Max(w.LongTermTail, w.LongTermMean)
	return w
}

// weightBefore is how many durations the long-term mean counts for against the last minutes, if durations are about
// equal. If they vary, it counts for more, because more durations are needed to tell a change from chance.
const weightBefore = 8

// Of returns the estimate for o, or false while no duration is known. The mean is
//
//	W    = min(8 (1 + v^2), n0)
//	low  = (W e + y + H j) / (W + f + H)
//	high = (W e + y + H j) / (W + f)
//	mean = e, but at least low and at most high
//
// e is the measured mean of n0 durations and v their variation. In the last two minutes f messages ended that took y
// seconds in all. H messages have been in progress for j seconds on average; low counts each as ended now, high as time
// without an end. H and j count as 0 while messages hang (Hanging). A jump shown by messages in progress alone is added
// by changedWork. Deviation and tail grow in proportion to the mean.
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
	// A message in progress may end now, or have just begun: the lower bound counts it as finished, the upper does not.
	tail := tailOf(e, allowedOf(o))
	inProgress, held := float64(o.Capacity.BusySlots), Held(o.Capacity, math.Max(2*e.MeanSeconds, tail))
	changed, jump := changedWork(o, variation), jumped(o.Pace)
	// Work that has ended shows how long other work may take.
	finished := max(e.MeanSeconds, (weight*e.MeanSeconds+o.Pace.Seconds)/(weight+o.Pace.Finished), jump)
	hanging := Hanging(o.Capacity, math.Max(tail, e.P99Seconds)*finished/e.MeanSeconds)
	if hanging > 0 {
		inProgress, held, changed = 0, 0, 0
	}
	before := weight*e.MeanSeconds + o.Pace.Seconds + inProgress*held
	low := before / (weight + o.Pace.Finished + inProgress)
	high := before / (weight + o.Pace.Finished)
	lately := max(min(max(e.MeanSeconds, low), high), jump)
	mean := max(lately, changed)
	scale := mean / e.MeanSeconds
	usual := math.Max(e.MeanSeconds, tail)
	return Work{
		Mean: mean, FinishedMean: lately, LongTermMean: e.MeanSeconds,
		Deviation: math.Max(0, e.P95Seconds-e.MeanSeconds) / 1.7 * scale, Tail: usual * scale, LongTermTail: usual,
		Variation: math.Min(1, variation),
		Longest:   e.P99Seconds * mean / e.MeanSeconds, Count: float64(e.Count), Hanging: hanging,
	}, true
}

// fewWaiting is how many waiting messages are few. Of these, each may be the one that begins at the last moment, so the
// rare long one decides whether the objective is kept.
const fewWaiting = 4

// TailOf returns the tail to plan the waiting messages with, if a launch comes in time for them. It is Tail, but
//
//	p99                                   while at most four wait
//	min(p99 (100 / (n + 1))^2, P / 2)     while that is longer, s = 1 and w b <= 4 m
//
// The second one is guessed, because only n < 100 durations were measured. P is most: how long a message may take;
// s are the slots of a worker, w the messages that wait, b is the mean boot time and m the mean duration. All times are
// in seconds.
//
// The next duration is longer than all n with the chance 1/(n + 1). If from there on the chance falls as slowly as
// 1/sqrt(x), it is 1 % at (100/(n + 1))^2 times the longest. The guess makes launches earlier, so fewer messages share
// a worker. That is cheap where the boots of all that wait cost at most the work of four of them. Slots would be shared
// as well, and an unused one costs as much as work.
func (w Work) TailOf(waiting, slots, boot, most float64) (tail float64, guessed bool) {
	if waiting <= 0 {
		return w.Tail, false
	}
	longest, off := math.Max(w.Tail, w.Longest), 1/rarestShare/(w.Count+1)
	guess, cheap := math.Min(longest*off*off, most/2), slots <= 1 && waiting*boot <= fewWaiting*w.Mean
	switch {
	case w.Count > 0 && cheap && guess > longest:
		return guess, true
	case waiting <= fewWaiting:
		return longest, false
	}
	return w.Tail, false
}

// Few tells whether too few durations were measured to tell the chance of a long one: so also where the mean is only
// stated, and where messages come in classes.
func (w Work) Few() bool { return w.Count < fewDurations }

// jumped returns the mean of the n messages that ended in the last seconds, if most of them took more than twice the
// median of the hours before; else 0. Most are two thirds, and a deviation and more above a half:
//
//	max(2 n / 3, n / 2 + sqrt(n))
//
// At most half of all messages take longer than the median, so independent messages rarely pass this test by chance,
// however skewed they are, and single ones that hang do not count. Those of one burst may pass it, because the short
// ones end first.
func jumped(p muster.Pace) float64 {
	const few = 10
	n := p.LatelyFinished
	if n < few || p.LatelyLong < math.Max(2*n/3, n/2+math.Sqrt(n)) {
		return 0
	}
	return p.LatelySeconds / n
}

// DeviationOf returns the standard deviation that fits the percentiles of e, in seconds. In usual distributions the
// 95th percentile lies about 1.7 deviations above the mean, in skewed ones the 99th lies 3 above it. The larger value
// counts.
func DeviationOf(e muster.Estimate) float64 {
	return math.Max(0, math.Max((e.P95Seconds-e.MeanSeconds)/1.7, (e.P99Seconds-e.MeanSeconds)/3))
}

// Held returns how long messages in progress have taken so far on average, in seconds, without the effect of one that
// hangs. usual bounds the result for one or two busy workers, where a message that hangs looks like longer work.
//
// For even work these times deviate by 0.6 of their mean, for exponential work by 1.3. Three of which one hangs deviate
// by 1.4, more by more: from there on SurelyHeld replaces the mean.
func Held(c muster.Capacity, usual float64) float64 {
	if c.Busy < 3 { // one or two messages that hang look like longer work
		return math.Min(c.HeldMeanSeconds, usual)
	}
	if c.HeldDeviationSeconds < 1.4*c.HeldMeanSeconds {
		return c.HeldMeanSeconds
	}
	return SurelyHeld(c)
}

// SurelyHeld returns a lower bound of how long messages in progress have taken so far on average, in seconds: the mean
// less one and a half of its own deviations.
func SurelyHeld(c muster.Capacity) float64 {
	return math.Max(0, c.HeldMeanSeconds-1.5*c.HeldDeviationSeconds/math.Sqrt(math.Max(1, float64(c.BusySlots))))
}

// Hanging returns how many of the busy slots hold a message that hangs: one that has taken more than
// [muster.HangsBeyond] times longest so far. However many there are, they do not count as longer work: work that really
// becomes so long shows once it ends. longest is what few messages exceed, in seconds. If the share p of the slots have
// held theirs for T and the others have just begun, the mean of these times is p T and their variance p (1 - p) T^2, so
//
//	T = (mean^2 + variance) / mean,   p = mean / T
func Hanging(c muster.Capacity, longest float64) float64 {
	mean := c.HeldMeanSeconds
	if mean <= 0 {
		return 0
	}
	each := mean + c.HeldDeviationSeconds*c.HeldDeviationSeconds/mean
	if each <= muster.HangsBeyond*longest {
		return 0
	}
	return math.Round(float64(c.BusySlots) * mean / each)
}

// changedWork returns the mean duration of work that the messages in progress prove to be unlike the measured one; 0 if
// they do not.
//
// At any instant, messages in progress have taken for m (1 + v^2)/2 on average, with the variance m^2 ((1 + v^2)^3/3 -
// (1 + v^2)^2/4) for lognormal work (renewal theory). If they have taken so much longer that neither chance nor one
// message that hangs explains it, the mean follows from their own time j:
//
//	m = 2 j / (1 + v^2)
//
// It takes at least three busy slots, and times of at least a poll: while all workers stand still for a moment, so do
// their reports. And they must have begun at different instants: those of a burst, which began together, have only
// taken as long as the burst is old. Times that deviate by less than 0.3 of their mean are taken for such; at any
// instant, those of even work deviate by 0.58.
func changedWork(o muster.Observation, variation float64) float64 {
	c, e, sure := o.Capacity, o.Processing, SurelyHeld(o.Capacity)
	const together = 0.3
	if c.BusySlots < 3 || !e.Prior && e.Count < fewDurations || sure < cmp.Or(o.Poll, time.Second).Seconds() ||
		c.HeldDeviationSeconds < together*c.HeldMeanSeconds {
		return 0
	}
	if e.Prior {
		variation = math.Max(variation, 0.5) // a stated duration does not say how much they vary
	}
	// Six deviations of their mean exclude chance, for skewed durations too.
	const chance = 6
	mean, square, each := e.MeanSeconds, 1+variation*variation, math.Sqrt(float64(c.BusySlots))
	usual := mean * square / 2
	deviation := mean * math.Sqrt(square*square*square/3-square*square/4)
	if sure < usual+chance*deviation/each {
		return 0
	}
	return 2 * c.HeldMeanSeconds / square
}

// fewDurations is the number of durations below which their variation is unknown: of messages that began together, the
// short ones are measured first.
const fewDurations = 100

// allowedOf returns the share of the messages to plan the tail for: that which the objective allows to be late, at most
// a hundredth. A shorter tail for objectives that allow more makes later launches, and these are as dear: fewer of them
// can be repeated when one fails.
func allowedOf(o muster.Observation) float64 {
	const most, least = 0.01, 1e-4
	return math.Min(most, math.Max(least, 1-cmp.Or(o.Objective.Quantile, 1-most)))
}

// tailOf returns the duration that the plan allows for one message, where the share allowed may be late:
//
//	p95 + (p99 - p95) ln(0.05 / (sqrt(5) allowed)) / ln(5)
//
// sqrt(5) times the share exceed it, because few messages begin at the last moment, if the logarithm of the share falls
// along a straight line: see [ShareLonger]. For a hundredth it is halfway between the percentiles. With few durations
// it is the 95th.
func tailOf(e muster.Estimate, allowed float64) float64 {
	if e.Prior || e.Count >= muster.ManyDurations {
		beyond := math.Log(0.05/(math.Sqrt(5)*allowed)) / math.Log(5)
		return e.P95Seconds + beyond*(e.P99Seconds-e.P95Seconds)
	}
	return e.P95Seconds
}

// ShareLonger returns the share of durations above than, in seconds. At the 95th percentile it is 0.05, at the 99th
// 0.01. In between, the logarithm of the share falls along a straight line, as exponential tails do. Above the 99th
// percentile it returns 0, up to the median 1, so equal durations give 0 or 1.
func ShareLonger(e muster.Estimate, than float64) float64 {
	share, at := 0.5, e.P50Seconds
	if than <= at {
		return 1
	}
	for _, next := range []struct{ at, share float64 }{{e.P95Seconds, 0.05}, {e.P99Seconds, 0.01}} {
		if than < next.at {
			return share * math.Pow(next.share/share, (than-at)/(next.at-at))
		}
		share, at = next.share, math.Max(at, next.at)
	}
	return 0
}
