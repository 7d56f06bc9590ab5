package world

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Draw is a random duration. The zero Draw is always 0; a Draw with a Mean alone is always the mean.
type Draw struct {
	// Mean is from 0 to 24 hours.
	Mean time.Duration
	// CV is the coefficient of variation of a lognormal distribution, from 0 to 100.
	CV float64
	// Exponential selects the exponential distribution; CV must then be 0.
	Exponential bool
	// Samples are measured durations. When there are any, one of them is drawn instead, each equally likely. With
	// InTurn the launches of a run take them in their order, over and over.
	Samples []time.Duration
	InTurn  bool
}

// Nth returns the duration of the given turn, counted from 0: with InTurn the sample of that turn, otherwise a draw.
func (d Draw) Nth(r *rand.Rand, turn int) time.Duration {
	if d.InTurn && len(d.Samples) > 0 {
		return d.Samples[turn%len(d.Samples)]
	}
	return d.Next(r)
}

// Next draws a duration, and ignores InTurn.
func (d Draw) Next(r *rand.Rand) time.Duration {
	switch {
	case len(d.Samples) > 0:
		return d.Samples[r.IntN(len(d.Samples))]
	case d.Exponential:
		return time.Duration(float64(d.Mean) * r.ExpFloat64())
	case d.CV == 0 || d.Mean == 0:
		return d.Mean
	}
	// The logarithm of a lognormal with mean m and variation cv has the variance v = ln(1 + cv^2) and the mean ln m -
	// v/2.
	variance := math.Log1p(d.CV * d.CV)
	return time.Duration(float64(d.Mean) * math.Exp(r.NormFloat64()*math.Sqrt(variance)-variance/2))
}

// Average returns the mean of what is drawn.
func (d Draw) Average() time.Duration {
	if len(d.Samples) == 0 {
		return d.Mean
	}
	sum := 0.0
	for _, s := range d.Samples {
		sum += s.Seconds()
	}
	return time.Duration(sum / float64(len(d.Samples)) * float64(time.Second))
}

// Least returns the smallest duration that can be drawn; 0 when there is none above. A lower bound of the cost must not
// assume more.
func (d Draw) Least() time.Duration {
	switch {
	case len(d.Samples) > 0:
		return slices.Min(d.Samples)
	case d.CV > 0 || d.Exponential:
		return 0
	}
	return d.Mean
}

// Check returns an error when d is impossible; what names d in it.
func (d Draw) Check(what string) error {
	if d.Mean < 0 || d.Mean > 24*time.Hour || !(d.CV >= 0) || d.CV > 100 {
		return fmt.Errorf("%s: found a mean of %s and a variation of %v, allowed are 0s to 24h and 0 to 100", what,
			d.Mean, d.CV)
	}
	if d.Exponential && d.CV != 0 {
		return fmt.Errorf("%s: found an exponential distribution with a variation of %v, want none: it has its own",
			what, d.CV)
	}
	for _, s := range d.Samples {
		if s < 0 || s > 24*time.Hour {
			return fmt.Errorf("%s: found a sample of %s, allowed is 0s to 24h", what, s)
		}
	}
	return nil
}
