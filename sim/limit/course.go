package limit

import (
	"math"
	"time"
)

const (
	// A course has at most so many slots of time for an objective and in all, and so many states. It distinguishes each
	// number of workers up to fewWorkers, and above that steps of a sixteenth.
	courseFineness, courseSlots, courseStates, fewWorkers = 48, 16384, 3 << 20, 32
)

// course returns the cheapest crews that do the work in time, with whole workers and divisible work, for an objective
// that is shorter by the given share (longer if negative).
func (s *scheduler) course(excused []bool, margin float64) crews {
	latency := float64(s.problem.Latency) * (1 - margin)
	width := max(s.problem.Latency/courseFineness, (s.last+s.problem.Latency)/courseSlots) + 1
	for {
		r := s.route(s.demand(excused, width), int(latency/float64(width)))
		if r.states() <= courseStates || len(r.high) < 64 {
			return s.within(crews{width: width, most: r.crews()})
		}
		width *= 2
	}
}

// route makes a band of the work of each slot of time, which is due after wait slots. Deadlines that cannot be met are
// missed: the replay finds out whether that is allowed.
func (s *scheduler) route(d demand, wait int) *route {
	unit := float64(d.width)
	r := &route{
		grains: 2, boot: float64(s.problem.Boot) / unit, opens: float64(s.ready) / unit,
		least: s.problem.Min, present: int(s.last / d.width), miss: float64(len(d.work)),
	}
	arrived := make([]float64, len(d.work)+1)
	for t, w := range d.work {
		arrived[t+1] = arrived[t] + w
	}
	// due is the work that must be done before slot t begins.
	due := func(t int) float64 { return arrived[min(max(0, t-wait), len(d.work))] }
	peak := 1.0
	for begin := range d.work {
		for end := begin + 1; end <= min(begin+wait+64, len(d.work)); end++ {
			if left := float64(end) - max(float64(begin), r.opens); left > 0 {
				peak = max(peak, (due(end)-arrived[begin])/left)
			}
		}
	}
	most := min(int(math.Ceil(peak))+1, s.most())
	for n := 0; n < most; n++ {
		if n > fewWorkers {
			n += n / 16
		}
		r.levels = append(r.levels, min(n, most))
	}
	if s.problem.Min > 0 {
		r.levels = withLevel(r.levels, s.problem.Min)
	}
	r.levels = withLevel(r.levels, most)
	for t := range d.work {
		// Work that arrives in a slot of time is done from the next one on, and work that was begun is finished.
		high := int(math.Ceil(arrived[t] * float64(r.grains)))
		low := min(high, int(math.Ceil(due(t+1)*float64(r.grains))))
		if t+1 == len(d.work) {
			high = int(math.Ceil(arrived[t+1] * float64(r.grains)))
			low = high
		}
		r.low, r.high = append(r.low, low), append(r.high, high)
	}
	return r
}

// withLevel adds a number of workers to ascending levels.
func withLevel(levels []int, n int) []int {
	i := len(levels)
	for i > 0 && levels[i-1] > n {
		i--
	}
	if i > 0 && levels[i-1] == n {
		return levels
	}
	levels = append(levels, 0)
	copy(levels[i+1:], levels[i:])
	levels[i] = n
	return levels
}

// demand is the work of each slot of time, in units of what a worker does in one.
type demand struct {
	width time.Duration
	work  []float64
}

// demand returns the work that has to be done in time.
func (s *scheduler) demand(excused []bool, width time.Duration) demand {
	d := demand{width, make([]float64, (s.last+s.problem.Latency)/width+1)}
	for j, b := range s.jobs {
		if !excused[j] && b.latest >= b.arrival {
			d.work[b.arrival/width] += float64(b.service) / float64(width) / float64(s.problem.Slots)
		}
	}
	return d
}
