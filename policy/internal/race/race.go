// Package race says how many workers to launch beyond those that the work needs, only because the first of several is
// ready sooner: [Workers]. Boot times vary, and while no worker is ready, messages that come may be late.
//
//	boots := race.BootsOf(o.Boot, 120, 20)
//	n := race.Workers(boots, o.Coming, 0, 8.5, race.Room(o))
//
// All functions are pure. What an earlier worker saves is the caller's to say: see package planning.
package race

import (
	"math"
	"slices"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// Boots are boot times in seconds: their mean, above 0, and their standard deviation. They are taken to be normal, with
// a deviation between a hundredth and a third of the mean.
type Boots struct{ Mean, Spread float64 }

// priorSpread is the assumed standard deviation of boot times over their mean, before the first is measured.
const priorSpread = 0.15

// BootsOf returns the boot times of an estimate: their mean, and the deviation that its percentiles show.
func BootsOf(e muster.Estimate, mean, spread float64) Boots {
	if !e.Known || e.Prior {
		spread = priorSpread * mean
	}
	return Boots{mean, math.Max(0.01*mean, math.Min(spread, mean/3))}
}

// Workers returns how many workers, most at most, to launch now beside those that are coming, so that the first of all
// is ready sooner. While none is ready, each second costs so many worker-seconds, saved, from the time from on, in
// seconds from now.
//
// A further worker costs a boot, and saves the time by which it is expected to be ready before all others:
//
//	integral over t >= from of F(t) product (1 - F_i(t)) dt
//
// F is the distribution of the boot times, F_i that of the i-th other worker, given that it is not ready yet. Workers
// are added as long as that pays. The first of two is ready 0.56 deviations before the mean, the first of five 1.16,
// the first of twenty 1.87: the expected largest of as many normal numbers. The integral ends three deviations after
// the mean: a worker alone is worth no more than that.
func Workers(boots Boots, coming []muster.Coming, from, saved float64, most int) int {
	const before, after, steps = 4, 3, 64 // hardly any boot ends earlier or later by so many deviations
	from = math.Max(from, boots.Mean-before*boots.Spread)
	step := (boots.Mean + after*boots.Spread - from) / steps
	if saved <= 0 || step <= 0 {
		return 0
	}
	// none is the chance that no worker is ready at the middle of each step, each that one launched now is not.
	var none, each [steps]float64
	for i := range none {
		at := from + (float64(i)+0.5)*step
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
	return max(0, most)
}

// Room returns how many workers may be launched to be ready sooner. It is 0 where a worker is in service, or is about
// to be: from a warm pool, or because it was told to stop and takes messages again. Otherwise there are at most as many
// as the messages that wait can fill, and none beyond the spare launches of the hour (rules.SpareLaunches). Workers on
// one shared machine would delay each other, so none is launched there.
func Room(o muster.Observation) int {
	c := o.Capacity
	if c.InService()+c.Draining > 0 || o.Sharing != nil || o.Pool != nil && o.Pool.Ready > 0 ||
		slices.ContainsFunc(o.Coming, func(g muster.Coming) bool { return g.Warm > 0 }) {
		return 0
	}
	room := min(o.Limits.Max, rules.Ceil(o.Backlog().Value/math.Max(1, c.SlotsPerWorker))) - c.Active()
	return max(0, min(room, rules.SpareLaunches(o)))
}

// longer returns the chance that a worker that has been booting for age seconds needs more than within further ones.
func (b Boots) longer(within, age float64) float64 {
	above := func(t float64) float64 { return math.Erfc((t - b.Mean) / (b.Spread * math.Sqrt2)) }
	if already := above(age); already > 0 {
		return above(within+age) / already
	}
	return 0 // so long overdue that it is taken to be ready at any moment
}
