// Package race says how many workers to launch where one would do, only because the first of several is ready sooner:
// [Workers]. Boot times vary, and while no worker is ready, every message that comes may be late.
//
//	n := race.Workers(race.Boots{Mean: 120, Spread: 20}, o.Coming, 8.5, 500)
//
// All functions are pure. When a fleet is in that position, and what an earlier worker saves, is the caller's to say:
// see package planning.
package race

import (
	"math"

	"github.com/muster-scale/muster"
)

// Boots are boot times in seconds: their mean, above 0, and their standard deviation, which counts as a hundredth of
// the mean at least. They are taken to be normal.
type Boots struct{ Mean, Spread float64 }

// Workers returns how many workers, at most so many, to launch now beside those that are coming. A second by which the
// first worker is ready sooner saves so many worker-seconds.
//
// A further worker costs a boot, and saves the time by which it is expected to be ready before all others,
//
//	integral of F(t) product (1 - F_i(t)) dt
//
// F is the distribution of the boot times, F_i that of the i-th other worker under the condition that it is not ready
// yet. Workers are added as long as that pays. With the first two workers the first is ready 0.56 deviations before the
// mean, with five 1.16, with twenty 1.87: this is the expected largest of so many normal numbers.
func Workers(boots Boots, coming []muster.Coming, saved float64, most int) int {
	// All boots end within three deviations of the mean; a sum over so many steps is exact to a few thousandths.
	const deviations, steps = 3, 64
	boots.Spread = math.Max(boots.Spread, 0.01*boots.Mean)
	step := (boots.Mean + deviations*boots.Spread) / steps
	if saved <= 0 {
		return 0
	}
	// none is the chance that no worker is ready at the middle of each step, each that one launched now is not.
	var none, each [steps]float64
	for i := range none {
		at := (float64(i) + 0.5) * step
		none[i], each[i] = 1, boots.longer(at, 0)
		for _, g := range coming {
			none[i] *= math.Pow(boots.longer(at, g.AgeSeconds), float64(g.Members))
		}
	}
	for n := range most {
		sooner := 0.0
		for i := range none {
			sooner += none[i] * (1 - each[i]) * step
			none[i] *= each[i]
		}
		if sooner*saved < boots.Mean {
			return n
		}
	}
	return most
}

// longer returns the chance that a worker that has been booting for age seconds needs more than within further ones.
func (b Boots) longer(within, age float64) float64 {
	above := func(t float64) float64 { return math.Erfc((t - b.Mean) / (b.Spread * math.Sqrt2)) }
	if already := above(age); already > 0 {
		return above(within+age) / already
	}
	return 0 // so long overdue that it is taken to be ready at any moment
}
