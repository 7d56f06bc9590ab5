package world

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Draw is a distribution of durations. The zero Draw is always zero.
type Draw struct {
	// Mean is at least 0.
	Mean time.Duration
	// CV is the coefficient of variation of a lognormal distribution; 0 makes every draw the mean.
	CV float64
	// Exponential makes it the exponential distribution; CV is then 0.
	Exponential bool
	// Samples, when there are any, are drawn from instead, each equally likely; or taken in turn, over and over, by the
	// launches of a run with InTurn.
	Samples []time.Duration
	InTurn  bool
}

// Nth is the duration of the given turn, counted from 0.
func (d Draw) Nth(r *rand.Rand, turn int) time.Duration {
	if d.InTurn && len(d.Samples) > 0 {
		return d.Samples[turn%len(d.Samples)]
	}
	return d.Next(r)
}

// Next draws a duration.
func (d Draw) Next(r *rand.Rand) time.Duration {
	switch {
	case len(d.Samples) > 0:
		return d.Samples[r.IntN(len(d.Samples))]
	case d.Exponential:
		return time.Duration(float64(d.Mean) * r.ExpFloat64())
	case d.CV == 0 || d.Mean == 0:
		return d.Mean
	}
	// A lognormal with mean m and variation cv has the logarithm's variance ln(1+cv^2) and mean ln m - variance/2.
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

// Least returns the smallest duration that can be drawn, as far as there is one: a bound on the cost may use no other.
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
