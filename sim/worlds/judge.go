package worlds

import (
	"fmt"
	"math"
	"slices"

	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/scoring"
)

// NamedSeed is the seed of the named worlds: their limits hold for its draws.
const NamedSeed = 7

// Reference is the baseline with which every policy is compared: one formula without any state.
const Reference = "formula"

// Regretted bounds regret: where another policy's loss is below this share of a policy's, that policy regrets its
// decisions.
const Regretted = 0.9

// Prepare makes the trace of the named world, measures it and computes its lower bounds. With told, the configuration
// states the true mean processing duration and boot time.
func (n Named) Prepare(told bool) (contest.Prepared, error) {
	e := n.Event
	if told {
		e = contest.Told(e)
	}
	p, err := contest.Prepare(e, NamedSeed)
	if err == nil {
		err = p.Limit()
	}
	return p, err
}

// Missed names each limit of n that a result misses, with the figure that was found and the one that is allowed.
func (n Named) Missed(r scoring.Result) []string {
	var all []string
	miss := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if !(r.InTimeRatio >= n.Least) {
		miss("%.4g %% in time, wanted is %.4g %%", 100*r.InTimeRatio, 100*n.Least)
	}
	if n.MostRatio > 0 && !(r.Ratio > 0 && r.Ratio <= n.MostRatio) {
		miss("%.3f times the lower bound, allowed is %g", r.Ratio, n.MostRatio)
	}
	if n.MostLaunches > 0 && !(r.LaunchesPerHour <= n.MostLaunches) {
		miss("%.4g launches an hour, allowed are %g", r.LaunchesPerHour, n.MostLaunches)
	}
	if n.MostPeak > 0 && r.PeakWorkers > n.MostPeak {
		miss("a peak of %d workers, allowed are %d", r.PeakWorkers, n.MostPeak)
	}
	return all
}

// Duel is the outcome of one policy in a world, and the best outcome of any other: the one with the smallest loss.
type Duel struct{ Mine, Best Outcome }

// Duels pairs each outcome of the named policy with the best other one in the same world, in the order of the outcomes.
// A world without another outcome has no duel.
func Duels(policy string, all []Outcome) []Duel {
	best := map[uint64]Outcome{}
	for _, o := range all {
		if b, ok := best[o.World]; o.Policy != policy && (!ok || o.Loss < b.Loss) {
			best[o.World] = o
		}
	}
	var duels []Duel
	for _, o := range all {
		if b, ok := best[o.World]; ok && o.Policy == policy {
			duels = append(duels, Duel{o, b})
		}
	}
	return duels
}

// Ratio returns the policy's loss over that of the best other one.
func (d Duel) Ratio() float64 { return d.Mine.Loss / d.Best.Loss }

// Regret tells whether the best other policy's loss is more than a tenth smaller: below [Regretted] of the policy's.
func (d Duel) Regret() bool { return !(d.Best.Loss >= Regretted*d.Mine.Loss) }

// Worst returns the n duels with the largest ratios, the largest first.
func Worst(duels []Duel, n int) []Duel {
	duels = slices.Clone(duels)
	slices.SortStableFunc(duels, func(x, y Duel) int {
		switch a, b := x.Ratio(), y.Ratio(); {
		case a > b:
			return -1
		case a < b:
			return 1
		}
		return 0
	})
	return duels[:min(n, len(duels))]
}

// GeometricMean returns the geometric mean of ratios; NaN when there are none.
func GeometricMean(ratios []float64) float64 {
	logs := 0.0
	for _, r := range ratios {
		logs += math.Log(r)
	}
	return math.Exp(logs / float64(len(ratios)))
}
