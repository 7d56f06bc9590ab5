package policy

import (
	"math"

	"github.com/muster-scale/muster"
)

// mixture is the work of a fleet whose messages come in classes: how much of each comes now, and how long each takes.
type mixture struct {
	shares []float64
	of     []muster.Class
}

const (
	// sharesBefore is how many messages the shares from before the last minutes count for.
	sharesBefore = 8
	// rare is the share of all messages that a plan may leave out of its tail.
	rare = 0.02
)

// mixtureOf returns the mixture; false for a fleet of which fewer than two classes are known. How long a class takes was measured
// over hours. The shares are those of the last minutes, and those from before for as many messages as sharesBefore says: a shift of
// the mix shows in them sooner, and with less chance, than in the durations of all.
func mixtureOf(o muster.Observation) (mixture, bool) {
	m := mixture{of: o.Classes, shares: make([]float64, len(o.Classes))}
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
		m.shares[i] = (sharesBefore*float64(c.Processing.Count)/ever + c.Finished) / (sharesBefore + lately)
	}
	mean, _ := m.mean()
	return m, mean > 0
}

// mean is the mean duration in seconds, deviation its standard deviation.
func (m mixture) mean() (mean, deviation float64) {
	square := 0.0
	for i, c := range m.of {
		d := deviationOf(c.Processing)
		mean += m.shares[i] * c.Processing.MeanSeconds
		square += m.shares[i] * (d*d + c.Processing.MeanSeconds*c.Processing.MeanSeconds)
	}
	return mean, math.Sqrt(math.Max(0, square-mean*mean))
}

// tail is the longest of the tails of its classes, but for those that are rare, and longest the same of their 99th percentiles.
func (m mixture) tail() (tail, longest float64) {
	for i, c := range m.of {
		if m.shares[i] > rare {
			tail = math.Max(tail, tailOf(c.Processing))
			longest = math.Max(longest, c.Processing.P99Seconds)
		}
	}
	return tail, longest
}

// finished is how many messages ended during the last minutes.
func (m mixture) finished() (n float64) {
	for _, c := range m.of {
		n += c.Finished
	}
	return n
}

// workOfMixture is [workOf] by class. What is in hand still tells before its end when work begins to take longer.
func workOfMixture(o muster.Observation, m mixture) work {
	e := o.Processing
	mean, deviation := m.mean()
	variation := deviation / mean
	weight := sharesBefore*(1+variation*variation) + m.finished()
	inHand := float64(o.Capacity.BusySlots)
	lately := math.Max(mean, (weight*mean+inHand*held(o.Capacity))/(weight+inHand))
	now := max(lately, unlike(o.Capacity, e, variation))
	scale := now / mean
	tail, longest := m.tail()
	// The tail does not grow with the mean: more long messages are no longer ones.
	return work{
		mean: now, lately: lately, deviation: deviation * scale, tail: math.Max(now, tail), longest: math.Max(now, longest),
		usual: math.Max(e.MeanSeconds, tailOf(e)), variation: math.Min(1, variation), classes: len(m.of),
	}
}
