package limit

import (
	"math"
	"slices"
)

// route is the search for the cheapest way through a band: the work done by the end of each slot of time stays between
// low and high, while whole workers come and go. It is a dynamic program over the number of workers and the work done.
// Work is counted in grains, a fraction of what a worker does in a slot of time, and costs in slots of time of a
// worker.
type route struct {
	low, high []int
	// levels are the numbers of workers to choose from, ascending. If boundless, the last level can do any work.
	levels    []int
	boundless bool
	// In the first slots of time, as many as named, there are at least and at most so many workers. The least number is
	// there from the start.
	least, present int
	opens          float64
	// boot is the cost of a start, miss the cost of a grain that is not done by its deadline.
	boot, miss float64
	// grains is how many grains a worker does in a slot of time.
	grains int
}

// states returns how many states there are; each is a number of workers with an amount of work done at one time.
func (r *route) states() int {
	n := 0
	for t := range r.low {
		n += r.high[t] - r.low[t] + 1
	}
	return n * len(r.levels)
}

// layer holds the least cost of each state at one time. The index of a state is the work done, from low on, times the
// number of levels, plus the level.
type layer struct {
	low   int
	costs []float64
}

// begin returns the state before the first slot of time.
func (r *route) begin() layer {
	f := layer{costs: make([]float64, len(r.levels))}
	for n := range f.costs {
		f.costs[n] = math.Inf(1)
		if r.levels[n] == r.least {
			f.costs[n] = 0
		}
	}
	return f
}

// step returns the layer after slot t. Unless from is nil, it sets it to the state before each state on the best way.
func (r *route) step(t int, f layer, into []float64, from []uint32, s *starter) layer {
	crews := len(r.levels)
	next := layer{low: r.low[t], costs: into[:(r.high[t]-r.low[t]+1)*crews]}
	for i := range next.costs {
		next.costs[i] = math.Inf(1)
	}
	open := min(1, max(0, float64(t+1)-r.opens))
	for first := 0; first < len(f.costs); first += crews {
		done := f.low + first/crews
		s.start(f.costs[first:first+crews], r.levels, r.boot)
		for n, cost := range s.costs {
			workers := r.levels[n]
			if t < r.present && workers < r.least || open == 0 && workers > r.least {
				continue
			}
			able := float64(min(workers, r.least))*(1-open) + float64(workers)*open
			reach := done + int(float64(r.grains)*able)
			if r.boundless && n == crews-1 && open > 0 {
				reach = r.high[t]
			}
			all := cost + float64(workers)
			if missed := r.low[t] - reach; missed > 0 {
				reach, all = r.low[t], all+float64(missed)*r.miss
			}
			to := (min(reach, r.high[t])-r.low[t])*crews + n
			if all < next.costs[to] {
				next.costs[to] = all
				if from != nil {
					from[to] = uint32(first + s.before[n])
				}
			}
		}
	}
	return next
}

// width returns the largest number of states at one time.
func (r *route) width() int {
	n := 1
	for t := range r.low {
		n = max(n, r.high[t]-r.low[t]+1)
	}
	return n * len(r.levels)
}

// cost returns the least cost.
func (r *route) cost() float64 {
	f, s := r.begin(), newStarter(len(r.levels))
	spare, other := make([]float64, r.width()), make([]float64, r.width())
	for t := range r.low {
		f = r.step(t, f, spare, nil, s)
		spare, other = other, spare
	}
	return slices.Min(f.costs)
}

// crews returns the number of workers in each slot of time of one cheapest way, by a second pass that remembers the
// way.
func (r *route) crews() []int {
	f, s := r.begin(), newStarter(len(r.levels))
	spare, other := make([]float64, r.width()), make([]float64, r.width())
	from := make([][]uint32, len(r.low))
	for t := range r.low {
		from[t] = make([]uint32, (r.high[t]-r.low[t]+1)*len(r.levels))
		f = r.step(t, f, spare, from[t], s)
		spare, other = other, spare
	}
	at := 0
	for i, c := range f.costs {
		if c < f.costs[at] {
			at = i
		}
	}
	workers := make([]int, len(r.low))
	for t := range slices.Backward(workers) {
		workers[t] = r.levels[at%len(r.levels)]
		at = int(from[t][at])
	}
	return workers
}

// starter finds the least cost of each level after some workers start or leave, and the level before that.
type starter struct {
	costs  []float64
	before []int
}

// newStarter returns a starter for so many levels, which is used for every slot of time.
func newStarter(levels int) *starter { return &starter{make([]float64, levels), make([]int, levels)} }

// start sets the least cost of each level: from a higher level workers leave for nothing, and from a lower one each
// worker that starts costs a boot. Two passes are enough, from above and from below.
func (s *starter) start(costs []float64, levels []int, boot float64) {
	best, from := math.Inf(1), 0
	for n := len(costs) - 1; n >= 0; n-- {
		if costs[n] < best {
			best, from = costs[n], n
		}
		s.costs[n], s.before[n] = best, from
	}
	best, from = math.Inf(1), 0
	for n, cost := range costs {
		up := boot * float64(levels[n])
		if best+up < s.costs[n] {
			s.costs[n], s.before[n] = best+up, from
		}
		if cost-up < best {
			best, from = cost-up, n
		}
	}
}
