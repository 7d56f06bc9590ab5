package uninformed

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Prior says how long a message may take when nothing is stated about it: the logarithm of its duration is uniform
// between the logarithms of the bounds, so each factor of two is equally likely.
type Prior struct {
	// Shortest is above 0, and Longest at least Shortest. If both are equal, the duration is known.
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

// at returns the duration that the given share of all durations does not exceed.
func (p Prior) at(share float64) time.Duration {
	low, high := math.Log(p.Shortest.Seconds()), math.Log(p.Longest.Seconds())
	return time.Duration(math.Round(math.Exp(low+share*(high-low)) * 1e9))
}

// Measure says which mean over a prior is to be small.
type Measure int

const (
	// MeanLoss is the mean of the loss in worker-seconds. Long messages count most, because their work does.
	MeanLoss Measure = iota
	// MeanMultiple is the mean of the loss as a multiple of [Burst.Told]. Each duration counts alike.
	MeanMultiple
)

// Solution is the best that a policy can do, in the mean over a prior, when it is told no duration.
type Solution struct {
	// Launches are the launches while no message has finished, ascending by time. The first is made at the arrival.
	// What is launched after a message has finished follows from them: see [Burst.Loss].
	Launches []Launch
	// Mean is the mean of these launches. Bound is a lower bound for every policy that launches at the instants which
	// were tried. Told is the mean of a policy that is told each duration. All have the unit of the measure.
	Mean, Bound, Told float64
}

// The grids of [Burst.Solve]: how many equally likely durations stand for a prior, at which of their borders launches
// are tried, and in how many steps the latest of these instants is counted.
const (
	untoldStrata = 400
	untoldStride = 3
	untoldSteps  = 32
)

// Solve searches the launches with the least mean over a prior, and computes a lower bound of that mean. It takes
// seconds for a hundred messages.
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

// belief has the durations that stand for a prior, and the instants at which workers may be launched. Durations are
// ruled out in the order of time: when the first worker has been ready for so long, and no message has finished, they
// take longer than that.
type belief struct {
	burst     Burst
	durations []possible
	// instants are the durations that must be exceeded for a launch, ascending. spans[i] has the durations between
	// instants[i-1] and instants[i], and left[i] the weight of these and all longer ones.
	instants []time.Duration
	spans    [][]possible
	left     []float64
	// work is the mean of the work. hopeless is the mean price of the messages that are late with any number of
	// workers. told is the mean of a policy that is told the duration.
	work, hopeless, told float64
}

// possible is a duration in seconds with its weight. rest is weighted, too: what is to be paid besides the launches
// made before a message has finished, by the number of messages that these finish in time.
type possible struct {
	seconds, weight float64
	rest            []float64
}

// newBelief returns the belief of a prior, with so many durations and a possible launch at each stride-th border.
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
	// A launch helps only messages that take less than the time that is left then, and the first worker is enough for
	// short ones.
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

// launches returns so many workers at the arrival, and so many at each instant, as launches.
func (g *belief) launches(first int, later []int) []Launch {
	all := []Launch{{0, first}}
	for i, workers := range later {
		if workers > 0 {
			all = append(all, Launch{g.instants[i], workers})
		}
	}
	return all
}

// mean returns the mean of launches, in the unit of the measure.
func (g *belief) mean(all []Launch) (sum float64) {
	for _, x := range g.durations {
		sum += x.weight * g.burst.loss(all, x.seconds)
	}
	return sum
}

// solve computes a lower bound of the least mean by a dynamic program, and improves the launches that it finds.
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

// improve adds workers, removes some and moves single ones from launch to launch, as long as the mean falls.
func (g *belief) improve(first int, later []int) []Launch {
	workers := append([]int{first}, later...)
	best := g.mean(g.launches(first, later))
	// try launches so many more workers here and fewer there, if that lowers the mean.
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
