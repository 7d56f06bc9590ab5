package uninformed

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Prior says how long a message may take where nothing was said of it: the logarithm of its duration is as likely
// anywhere between the logarithms of the bounds, so that each factor of two is as likely as any other.
type Prior struct {
	// Shortest is above 0, and Longest no less. If they are equal, the duration is known.
	Shortest, Longest time.Duration
}

// Strata returns the middles of so many equally likely parts of p, ascending.
func (p Prior) Strata(parts int) []time.Duration {
	all := make([]time.Duration, parts)
	for i := range all {
		all[i] = p.at((float64(i) + 0.5) / float64(parts))
	}
	return all
}

// at returns the duration that the given share of all do not exceed.
func (p Prior) at(share float64) time.Duration {
	low, high := math.Log(p.Shortest.Seconds()), math.Log(p.Longest.Seconds())
	return time.Duration(math.Round(math.Exp(low+share*(high-low)) * 1e9))
}

// Measure says of what the mean over a prior is to be small.
type Measure int

const (
	// MeanLoss is the mean of the loss, in worker-seconds. Long messages count most, because their work does.
	MeanLoss Measure = iota
	// MeanMultiple is the mean of the loss as a multiple of [Burst.Told]: each duration counts alike.
	MeanMultiple
)

// Solution is what a policy can do at best, in the mean over a prior, that is told no duration.
type Solution struct {
	// Launches are made while no message has finished, ascending; the first is made at the arrival. What is launched
	// when one has finished follows from them: see [Burst.Loss].
	Launches []Launch
	// Mean is what they come to, Bound what no policy can go below that launches at the instants which are tried, and
	// Told what one comes to that is told each duration. All are means over the prior, in the unit of the measure.
	Mean, Bound, Told float64
}

// The grids of [Burst.Solve]: how many equally likely durations stand for a prior, at which of their borders
// launches are tried, and in how many steps the latest of these instants is counted.
const (
	untoldStrata = 400
	untoldStride = 3
	untoldSteps  = 32
)

// Solve looks for the launches with the least mean over a prior, and bounds the least from below. It takes seconds
// for a hundred messages.
func (b Burst) Solve(p Prior, m Measure) (Solution, error) {
	if err := b.check(); err != nil {
		return Solution{}, err
	}
	if p.Shortest <= 0 || p.Longest < p.Shortest || p.Longest > longest {
		return Solution{}, fmt.Errorf("limit of a burst: the prior reaches from %s to %s; give durations above 0s "+
			"and at most %s, the shorter first", p.Shortest, p.Longest, longest)
	}
	return newBelief(b, p, m, untoldStrata, untoldStride).solve(), nil
}

// belief is the durations that stand for a prior, and the instants at which workers may be launched. The order in which
// durations are ruled out is the order of time: when the first worker has been ready for so long and no message has
// finished, they take longer than that.
type belief struct {
	burst     Burst
	durations []possible
	// instants are the durations that must be exceeded for a launch, ascending; spans[i] are the durations between
	// instants[i-1] and instants[i], and left[i] is the weight of these and all longer ones.
	instants []time.Duration
	spans    [][]possible
	left     []float64
	// work is the mean of the work, hopeless that of the late messages that take too long for any worker, and told the
	// mean of a policy that is told the duration.
	work, hopeless, told float64
}

// possible is a duration in seconds with its weight, and the weighted rest: what is to be paid besides the launches
// made before a message has finished, by how many messages these finish in time.
type possible struct {
	seconds, weight float64
	rest            []float64
}

func newBelief(b Burst, p Prior, m Measure, strata, stride int) *belief {
	g := &belief{burst: b}
	for _, each := range p.Strata(strata) {
		x := possible{seconds: each.Seconds(), weight: 1 / float64(strata)}
		g.told += x.weight * b.Told(each)
		if m == MeanMultiple {
			x.weight /= b.Told(each)
		}
		for inTime := range b.Messages + 1 {
			x.rest = append(x.rest, x.weight*b.rest(inTime, x.seconds))
		}
		g.durations = append(g.durations, x)
		g.work += x.weight * b.work(x.seconds)
		if b.begun(b.whole(), x.seconds) == 0 {
			g.hopeless += x.rest[0]
		}
	}
	if m == MeanMultiple {
		g.told = 1
	}
	// A launch helps only messages that are shorter than what is left then, and the first worker is enough for short
	// ones.
	for i := stride; i < strata; i += stride {
		at := p.at(float64(i) / float64(strata))
		if s := at.Seconds(); at > p.Shortest && at < p.Longest && s < b.second()/2 && b.work(s) > b.whole()/3 {
			g.instants = append(g.instants, at)
		}
	}
	g.split()
	return g
}

// split sorts the durations into the spans between the instants.
func (g *belief) split() {
	g.spans, g.left = make([][]possible, len(g.instants)+1), make([]float64, len(g.instants)+1)
	for _, x := range g.durations {
		i, _ := slices.BinarySearchFunc(g.instants, x.seconds, func(at time.Duration, s float64) int {
			if at.Seconds() < s {
				return -1
			}
			return 1
		})
		g.spans[i] = append(g.spans[i], x)
		for k := range i + 1 {
			g.left[k] += x.weight
		}
	}
}

// launches are so many workers at the arrival, and so many at each instant.
func (g *belief) launches(first int, later []int) []Launch {
	all := []Launch{{0, first}}
	for i, workers := range later {
		if workers > 0 {
			all = append(all, Launch{g.instants[i], workers})
		}
	}
	return all
}

// mean is what launches come to.
func (g *belief) mean(all []Launch) (sum float64) {
	for _, x := range g.durations {
		sum += x.weight * g.burst.loss(all, x.seconds)
	}
	return sum
}

// solve bounds the least mean by a dynamic program, and improves on the launches that it finds.
func (g *belief) solve() Solution {
	u := Solution{Launches: g.improve(1, make([]int, len(g.instants))), Told: g.told}
	u.Mean = g.mean(u.Launches)
	u.Bound = u.Mean
	d := newDues(g)
	for n := 1; n <= g.burst.Messages && g.work+g.hopeless+g.burst.boots(n)*g.left[0] < u.Bound; n++ {
		bound, later := d.solve(n)
		u.Bound = min(u.Bound, bound)
		if bound > u.Bound {
			continue
		}
		launches := g.improve(n, later)
		if mean := g.mean(launches); mean < u.Mean {
			u.Launches, u.Mean = launches, mean
		}
	}
	return u
}

// improve adds workers, takes some away and moves single ones from launch to launch, as long as the mean falls.
func (g *belief) improve(first int, later []int) []Launch {
	workers := append([]int{first}, later...)
	best := g.mean(g.launches(first, later))
	// try launches so many more here, and fewer there, if that is for the better.
	try := func(here, more, there, fewer int) bool {
		workers[here] += more
		workers[there] -= fewer
		if workers[0] > 0 && workers[here] >= 0 && workers[there] >= 0 {
			if mean := g.mean(g.launches(workers[0], workers[1:])); mean < best*(1-1e-12) {
				best = mean
				return true
			}
		}
		workers[here] -= more
		workers[there] += fewer
		return false
	}
	for again := true; again; {
		again = false
		for i := range workers {
			for _, more := range []int{-3, -2, -1, 1, 2, 3} {
				again = try(i, more, i, 0) || again
			}
			for j := range i {
				again = try(i, 1, j, 1) || try(i, -1, j, -1) || try(i, 1, j, -1) || try(i, -1, j, 1) || again
			}
		}
	}
	return g.launches(workers[0], workers[1:])
}
