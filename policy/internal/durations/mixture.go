package durations

import (
	"cmp"
	"math"
	"slices"

	"github.com/muster-scale/muster"
)

// mixture is the work of a fleet whose messages come in classes: the share of each class now, and how long it takes.
type mixture struct {
	// shares are the shares of the classes now, ever those of all measured messages. Both add up to 1.
	shares, ever []float64
	of           []muster.Class
}

const (
	// sharesBefore is how many messages the long-term shares count for against the last minutes.
	sharesBefore = 8
	// rare is how many times the share that may be late lies above the beginning of the tail: see [mixture.tail].
	rare = 3
	// rarestShare is the share of messages above the 99th percentile.
	rarestShare = 0.01
)

// RareShare returns the share of the messages of classes, 0 to 1, that lie above the beginning of the tail.
func RareShare(o muster.Observation) float64 { return rare * allowedOf(o) }

// mixtureOf returns the mixture, or false while fewer than two classes are known. The durations of a class are those of
// hours. The shares are those of the last minutes, with the long-term ones counting for sharesBefore messages: a change
// of the mix shows sooner in the shares than in the durations of all messages, and with less chance.
func mixtureOf(o muster.Observation) (mixture, bool) {
	m := mixture{of: o.Classes, shares: make([]float64, len(o.Classes)), ever: make([]float64, len(o.Classes))}
	ever, lately := 0.0, 0.0
	for _, c := range o.Classes {
		if !c.Processing.Known || c.Processing.Prior {
			return m, false
		}
		ever += float64(c.Processing.Count)
		lately += c.Finished
	}
	if len(o.Classes) < 2 || ever <= 0 {
		return m, false
	}
	for i, c := range o.Classes { // the shares add up to one
		m.ever[i] = float64(c.Processing.Count) / ever
		m.shares[i] = (sharesBefore*m.ever[i] + c.Finished) / (sharesBefore + lately)
	}
	mean, _ := m.mean()
	return m, mean > 0
}

// mean returns the mean duration and its standard deviation, in seconds.
func (m mixture) mean() (mean, deviation float64) {
	square := 0.0
	for i, c := range m.of {
		d := DeviationOf(c.Processing)
		mean += m.shares[i] * c.Processing.MeanSeconds
		square += m.shares[i] * (d*d + c.Processing.MeanSeconds*c.Processing.MeanSeconds)
	}
	return mean, math.Sqrt(math.Max(0, square-mean*mean))
}

// tail returns the duration that few messages exceed, as tailOf does for one class, and longest, the 99th percentile of
// all. The tail is the mean duration of the messages between two percentiles, with the longest classes last: three
// times the share allowed lie above the lower one, that share above the upper one. Where a hundredth may be late, these
// are the 97th and the 99th. So it changes gradually as the share of a class does; and of a class that is itself that
// rare, its usual messages count, not its own rare ones.
func (m mixture) tail(shares []float64, allowed float64) (tail, longest float64) {
	order := make([]int, len(m.of))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order,
		func(a, b int) int {
			return cmp.Compare(tailOf(m.of[b].Processing, allowed), tailOf(m.of[a].Processing, allowed))
		})
	least, most := allowed, rare*allowed
	above := 0.0 // the share of the messages of longer classes
	for _, i := range order {
		e, until := m.of[i].Processing, above+shares[i]
		within := func(share float64) float64 {
			d := durationAt(e, 1-(share-above)/shares[i])
			for j, c := range m.of { // each class alone reaches at least this duration
				if shares[j] > share {
					d = math.Max(d, durationAt(c.Processing, 1-share/shares[j]))
				}
			}
			return d
		}
		if low, high := math.Max(above, least), math.Min(until, most); low < high {
			tail += within((low+high)/2) * (high - low) / (most - least)
		}
		if above <= rarestShare && rarestShare < until {
			longest = within(rarestShare)
		}
		above = until
	}
	return tail, longest
}

// durationAt returns the duration that the share u of the messages of a class do not exceed. Over
//
//	x = -ln(1 - u)
//
// it is a line through the mean at x = 1 and the 95th percentile, and from there another one through the 99th. That is
// exact for equal and for exponential durations, and close for those in between.
func durationAt(e muster.Estimate, u float64) float64 {
	at, p95, p99 := -math.Log(math.Max(1e-6, 1-u)), -math.Log(0.05), -math.Log(0.01)
	high := math.Max(e.P95Seconds, e.MeanSeconds)
	if at > p95 {
		return high + math.Max(0, e.P99Seconds-high)*(at-p95)/(p99-p95)
	}
	return math.Max(0, e.MeanSeconds+(high-e.MeanSeconds)*(at-1)/(p95-1))
}

// finished returns how many messages ended during the last minutes.
func (m mixture) finished() (n float64) {
	for _, c := range m.of {
		n += c.Finished
	}
	return n
}

// workOfMixture returns what [Of] returns, by class. Messages in progress show longer work before any of it has ended,
// as they do without classes.
func workOfMixture(o muster.Observation, m mixture) Work {
	e := o.Processing
	mean, deviation := m.mean()
	variation := deviation / mean
	weight := sharesBefore*(1+variation*variation) + m.finished()
	inProgress := float64(o.Capacity.BusySlots)
	held, changed := Held(o.Capacity, math.Max(2*mean, e.P99Seconds)), changedWork(o, variation)
	allowed := allowedOf(o)
	tail, longest := m.tail(m.shares, allowed)
	hanging := Hanging(o.Capacity, max(e.P99Seconds, tail, longest)) // of a class that has become frequent, none hangs
	if hanging > 0 {
		inProgress, held, changed = 0, 0, 0
	}
	lately := math.Max(mean, (weight*mean+inProgress*held)/(weight+inProgress))
	now := max(lately, changed)
	scale := now / mean
	usual, _ := m.tail(m.ever, allowed)
	// The tail does not grow with the mean: more long messages are not longer messages.
	return Work{
		Mean: now, FinishedMean: lately, LongTermMean: e.MeanSeconds,
		Deviation: deviation * scale, Tail: math.Max(now, tail), Longest: math.Max(now, longest),
		LongTermTail: math.Max(e.MeanSeconds, usual), Variation: math.Min(1, variation), Classes: len(m.of),
		Hanging: hanging,
	}
}
