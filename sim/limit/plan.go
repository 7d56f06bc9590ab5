package limit

import "math"

const (
	// planFineness and planSlots bound the slots of time of a plan, for an objective and in all. A plan looks ahead for
	// as many objectives as ahead says, and a few slots of time.
	planFineness, planSlots, ahead = 64, 16384, 2
)

// plan returns crews that do the work in time for an objective that is shorter by the given share, from 0 to 1. In each
// slot of time it knows the steepest way to a deadline, which is the number of workers that must be there from now on.
// They begin at once, or as late as possible without needing one more a slot later. They serve until no work waits, and
// then as many stay as the minimum asks for.
func (s *scheduler) plan(excused []bool, margin float64) crews {
	d := s.demand(excused, max(s.problem.Latency/planFineness, (s.last+s.problem.Latency)/planSlots)+1)
	wait := int(float64(s.problem.Latency) * (1 - margin) / float64(d.width))
	arrived := make([]float64, len(d.work)+1)
	for t, w := range d.work {
		arrived[t+1] = arrived[t] + w
	}
	// due is the work that must be done before slot t begins.
	due := func(t int) float64 {
		if t <= wait {
			return 0
		}
		return arrived[min(t-wait, len(d.work))]
	}
	opens := float64(s.ready) / float64(d.width)
	need := func(t int, done float64) (most float64) {
		for end := t + 1; end <= min(t+16+ahead*wait, len(d.work)+wait); end++ {
			if left := float64(end) - max(float64(t), opens); left > 0 {
				most = max(most, (due(end)-done)/left)
			}
		}
		return most
	}
	// next is the work done after slot t with n workers.
	next := func(t int, done, n float64) float64 {
		open := min(1, max(0, float64(t+1)-opens))
		return max(done, min(arrived[t+1], done+n*open+float64(s.problem.Min)*(1-open)))
	}
	c := crews{width: d.width, most: make([]int, len(d.work))}
	n, done := 0.0, 0.0
	now := need(0, 0)
	for t := range d.work {
		after := next(t, done, n)
		later := need(t+1, after)
		if whole := math.Ceil(now - 1e-9); whole > n {
			n = whole
			after = next(t, done, n)
			later = need(t+1, after)
		}
		c.most[t] = int(n)
		if done = after; done >= arrived[t+1]-1e-9 {
			n = min(n, math.Floor(later+1e-9))
		}
		now = later
	}
	return s.within(c)
}

// within limits the numbers of workers to the minimum and the maximum, and opens when launched workers can be ready.
func (s *scheduler) within(c crews) crews {
	c.opens, c.least = s.ready, s.problem.Min
	for t := range c.most {
		c.most[t] = min(max(c.most[t], s.problem.Min), s.most())
	}
	c.most[len(c.most)-1] = max(1, c.most[len(c.most)-1])
	return c
}
