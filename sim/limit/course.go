package limit

import (
	"math"
	"slices"
	"time"
)

const (
	// A course looks at so many numbers of workers, so many slots of time per objective and in all, and so many states in
	// all, each a number of workers with an amount of work done at an instant. Work is counted in halves of what a worker
	// does in a slot of time.
	courseCrews, courseFineness, courseSlots, courseStates = 48, 48, 16384, 4 << 20
	grain                                                  = 2
)

// course returns crews with the least cost that do the work in time, in whole workers but with divisible work, if the
// objective were shorter by the given share (longer if negative): a dynamic program over the number of workers and the work
// done. Many workers are counted in groups.
func (s *scheduler) course(excused []bool, margin float64) crews {
	latency := float64(s.problem.Latency) * (1 - margin)
	width := max(s.problem.Latency/courseFineness, (s.last+s.problem.Latency)/courseSlots) + 1
	for {
		d := s.demand(excused, width)
		r := d.route(int(latency/float64(width)), float64(s.ready)/float64(width), float64(s.problem.Boot)/float64(width))
		if r.states() <= courseStates || len(r.high) < 64 {
			c := crews{width: width, most: r.solve()}
			for t := range c.most {
				c.most[t] *= r.group
			}
			return s.within(c)
		}
		width *= 2
	}
}

// route is a dynamic program: low and high bound the work done at the end of each slot of time.
type route struct {
	low, high []int
	// Workers come in groups, from 0 to most of them; boot is what a start costs in slots of time; none serves before opens.
	group, most int
	boot        float64
	opens       float64
	// from holds, for each slot of time and each state in it, the state before.
	from [][]uint32
}

func (d demand) route(wait int, opens, boot float64) route {
	arrived := make([]float64, len(d.work)+1)
	for t, w := range d.work {
		arrived[t+1] = arrived[t] + w
	}
	// due is the work that must be done before slot t begins.
	due := func(t int) float64 { return arrived[min(max(0, t-wait), len(d.work))] }
	peak := 1.0
	for begin := range d.work {
		for end := begin + 1; end <= min(begin+wait+64, len(d.work)); end++ {
			if left := float64(end) - max(float64(begin), opens); left > 0 {
				peak = max(peak, (due(end)-arrived[begin])/left)
			}
		}
	}
	r := route{group: 1 + int(peak)/courseCrews, boot: boot, opens: opens}
	r.most = int(peak)/r.group + 1
	unit := grain / float64(r.group)
	for t := range d.work {
		high := int(arrived[t+1] * unit)
		low := min(high, int(math.Ceil(due(t+1)*unit)))
		if t+1 == len(d.work) {
			low = high
		}
		r.low, r.high = append(r.low, low), append(r.high, high)
	}
	return r
}

func (r *route) states() int {
	n := 0
	for t := range r.low {
		n += r.high[t] - r.low[t] + 1
	}
	return n * (r.most + 1)
}

// solve returns the number of groups in each slot of time. A state is its amount of work, from low on, times the number of
// possible crews, plus the crew.
func (r *route) solve() []int {
	crews := r.most + 1
	costs := []float64{0}
	for range r.most {
		costs = append(costs, math.Inf(1))
	}
	low, high := 0, 0
	began, before := make([]float64, crews), make([]int, crews)
	r.from = make([][]uint32, len(r.low))
	for t := range r.low {
		levels := r.high[t] - r.low[t] + 1
		next := make([]float64, levels*crews)
		for i := range next {
			next[i] = math.Inf(1)
		}
		r.from[t] = make([]uint32, len(next))
		open := min(1, max(0, float64(t+1)-r.opens))
		for done := low; done <= high; done++ {
			first := (done - low) * crews
			starts(costs[first:first+crews], r.boot, began, before)
			for n, cost := range began {
				// Who cannot make the deadline is as late as he has to be: the replay finds out whether that is allowed.
				reach := max(r.low[t], min(done+int(grain*open*float64(n)), r.high[t]))
				missed := float64(max(0, r.low[t]-done-int(grain*open*float64(n))))
				to := (reach-r.low[t])*crews + n
				if all := cost + float64(n) + missed*(r.boot+float64(len(r.low))); all < next[to] {
					next[to], r.from[t][to] = all, uint32(first+before[n])
				}
			}
		}
		costs, low, high = next, r.low[t], r.high[t]
	}
	at := 0
	for i, c := range costs {
		if c < costs[at] {
			at = i
		}
	}
	most := make([]int, len(r.low))
	for t := range slices.Backward(most) {
		most[t] = at % crews
		at = int(r.from[t][at])
	}
	return most
}

// starts sets began to the least cost of having n workers after starting some or letting some go, and before to how many
// there were then.
func starts(costs []float64, boot float64, began []float64, before []int) {
	best, from := math.Inf(1), 0
	for n := range slices.Backward(costs) {
		if costs[n] < best {
			best, from = costs[n], n
		}
		began[n], before[n] = best, from
	}
	best, from = math.Inf(1), 0
	for n, cost := range costs {
		if up := best + boot*float64(n); up < began[n] {
			began[n], before[n] = up, from
		}
		if cost-boot*float64(n) < best {
			best, from = cost-boot*float64(n), n
		}
	}
}

// demand is work per slot of time, in what a worker does in one.
type demand struct {
	width time.Duration
	work  []float64
}

// demand returns the work that is to be done in time.
func (s *scheduler) demand(excused []bool, width time.Duration) demand {
	d := demand{width, make([]float64, (s.last+s.problem.Latency)/width+1)}
	for j, b := range s.jobs {
		if !excused[j] && b.latest >= b.arrival {
			d.work[b.arrival/width] += float64(b.service) / float64(width) / float64(s.problem.Slots)
		}
	}
	return d
}
