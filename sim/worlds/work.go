package worlds

import (
	"math"
)

// The kinds of drift.
const (
	driftUp, driftDown   = "rises at once", "falls at once"
	driftRise, driftFall = "rises evenly", "falls evenly"
	driftSwing           = "swings"
	driftQueue           = "rises with the queue"
)

// work says how long messages take.
type work struct {
	mean, cv float64
	drift    string
	factor   float64
	// classes are the parts of a mixture; empty for one kind of work.
	classes []class
	seed    uint64
}

// class is a kind of message: its share of the messages, and its mean over the mean of all.
type class struct {
	name        string
	share, mean float64
}

// drawWork draws classes and drift, and sets the tail of the world.
func drawWork(d draws, w *World) work {
	x := work{mean: w.Mean, cv: w.CV, factor: 1, seed: d.Uint64()}
	if d.hit(1.0 / 7) {
		ratio, share := d.log(4, 50), d.between(0.02, 0.5)
		unit := 1 / (1 - share + share*ratio)
		x.classes = []class{{"short", 1 - share, unit}, {"long", share, ratio * unit}}
	}
	if d.hit(0.4) {
		x.drift = []string{driftUp, driftDown, driftRise, driftFall, driftSwing, driftQueue}[d.IntN(6)]
		x.factor = d.between(1.5, 8)
		if x.drift == driftDown || x.drift == driftFall {
			x.factor = 1 / x.factor
		}
		if x.drift == driftQueue {
			x.factor = 1
		}
	}
	w.Drift = x.drift
	w.Tail = x.tail()
	return x
}

// tail returns about the 99th percentile of the work where drift is greatest. Objectives are drawn as multiples of it.
func (x work) tail() float64 {
	of := func(mean float64) float64 {
		variance := math.Log1p(x.cv * x.cv)
		return mean * math.Exp(2.326*math.Sqrt(variance)-variance/2)
	}
	worst := of(x.mean)
	for _, c := range x.classes {
		if c.share > 0.01 {
			worst = math.Max(worst, of(c.mean*x.mean))
		}
	}
	return worst * math.Max(1, x.factor)
}

// at returns the mean at a share of the length of the world, over the mean at the start.
func (x work) at(share float64) float64 {
	const turn = 0.5
	switch x.drift {
	case driftUp, driftDown:
		if share < turn {
			return 1
		}
		return x.factor
	case driftRise, driftFall:
		return 1 + (x.factor-1)*share
	case driftSwing:
		return 1 + (x.factor-1)*(1-math.Cos(6*math.Pi*share))/2
	}
	return 1
}

// draw draws the work of a message that arrives at a share of the length of the world.
func (x work) draw(d draws, share float64) (seconds float64, name string) {
	mean := x.mean * x.at(share)
	if len(x.classes) > 0 {
		c := x.classes[0]
		if d.hit(x.classes[1].share) {
			c = x.classes[1]
		}
		mean, name = mean*c.mean, c.name
	}
	if x.cv > 0 {
		variance := math.Log1p(x.cv * x.cv)
		mean *= math.Exp(d.NormFloat64()*math.Sqrt(variance) - variance/2)
	}
	return math.Min(math.Max(mean, 1e-6), 24*3600), name
}
