package limit

import (
	"math"
	"time"
)

const (
	// The bound by crews has at most so many states, distinguishes so many numbers of workers, and needs a boot to be
	// at least so many slots of time: with fewer, the roundings at the slots' edges take off most of a boot.
	crewStates, crewLevels, crewFineness = 3 << 20, 24, 5
)

// Crews returns the bound that counts whole workers, with divisible work, on slots of time. It is the cheapest way to
// keep the work done between what has arrived and what is due, over all ways of starting and stopping workers. It is
// strong for loads of a few workers. Where it would need too many states, it equals [Profile.Work]. The proof is in
// docs/limit.md.
func (f *Profile) Crews(start Start) Bound {
	bound := f.Work()
	bound.Method, bound.Start = "crews", start.String()
	// Work beyond a size is taken as work without a deadline: then the messages that may be late excuse less.
	for _, size := range f.cuts() {
		r, width := f.band(start, size)
		if r == nil {
			break
		}
		best := math.Inf(-1)
		if f.excused == 0 {
			r.miss = math.Inf(1)
			best = r.cost()
		} else {
			best = climb(func(fee float64) float64 {
				r.miss = fee / float64(r.grains) * width.Seconds() * float64(f.problem.Slots) / max(1e-9,
					size.Seconds())
				return r.cost() - r.miss - fee*float64(f.excused)
			}, float64(f.problem.Boot+size)/float64(width))
		}
		// A worker of the minimum has no boot that its last slot of time could be taken off.
		best -= float64(f.problem.Min)
		if math.IsInf(best, 1) {
			bound.Unreachable = true
			break
		}
		bound.WorkerSeconds = max(bound.WorkerSeconds, down(best*width.Seconds()))
	}
	return bound
}

// band returns the finest band that has few enough states, and the width of its slots of time; nil if there is none.
func (f *Profile) band(start Start, size time.Duration) (*route, time.Duration) {
	if f.problem.Min > crewLevels {
		return nil, 0
	}
	for f.problem.Boot >= crewFineness*f.width {
		for levels := crewLevels; levels >= crewLevels/4; levels /= 2 {
			if r := f.route(start, size, levels); r.states() <= crewStates {
				return r, f.width
			}
		}
		f = f.wider()
	}
	return nil, 0
}

// climb returns the largest value seen in a search for the maximum of a concave function between 0 and high.
func climb(value func(float64) float64, high float64) float64 {
	const golden = 0.6180339887
	low, best := 0.0, math.Inf(-1)
	a, b := high*(1-golden), high*golden
	va, vb := value(a), value(b)
	for range 9 {
		best = max(best, va, vb)
		if va < vb {
			low, a, va = a, b, vb
			b = low + golden*(high-low)
			vb = value(b)
		} else {
			high, b, vb = b, a, va
			a = high - golden*(high-low)
			va = value(a)
		}
	}
	return max(best, va, vb)
}

// cuts returns sizes beyond which work may lose its deadline: the longest size, so that no work does; the size beyond
// which as many messages are as may be late; and sizes beyond which a few times as many are. The bound holds for each
// size, and its strength differs, so a few are tried.
func (f *Profile) cuts() (sizes []time.Duration) {
	sizes = []time.Duration{f.longest}
	if f.excused == 0 {
		return sizes
	}
	longer := int64(0)
	for i := len(f.sizes) - 1; i >= 0 && longer < 8*f.excused; i-- {
		if longer += f.sizes[i].count; longer >= f.excused && f.sizes[i].least < sizes[len(sizes)-1] &&
			f.sizes[i].least > 0 {
			sizes = append(sizes, f.sizes[i].least)
		}
	}
	return sizes
}

// route returns the band of the work with deadlines, rounded in favour of the schedule. A worker that starts or stops
// inside a slot of time counts for all of it, so up to two slots are taken off each boot.
func (f *Profile) route(start Start, size time.Duration, levels int) *route {
	width, slots := float64(f.width), float64(f.problem.Slots)
	most := f.problem.Min + levels
	r := &route{
		grains: 2, boot: float64(f.problem.Boot)/width - 2, opens: float64(f.from(start)),
		least: f.problem.Min, present: int(f.last / f.width), boundless: f.problem.Max == 0 || f.problem.Max > most,
	}
	if !r.boundless {
		most = f.problem.Max
	}
	for n := range most + 1 {
		r.levels = append(r.levels, n)
	}
	slack := 0
	if f.excused > 0 {
		slack = 1
	}
	length := f.length()
	arrives, due := make([]float64, length), make([]float64, length)
	for g, s := range f.slots {
		for _, k := range s.classes {
			work := float64(k.cut(size)) / width / slots
			arrives[g] += work
			due[f.due(g)] += work
		}
	}
	high, low := 0.0, 0.0
	for t := range length {
		high += arrives[t]
		low += due[t]
		r.high = append(r.high, int(math.Ceil(high*float64(r.grains)*(1+1e-12))))
		r.low = append(r.low, max(0, int(math.Floor(low*float64(r.grains)*(1-1e-12)))-slack))
	}
	return r
}

// cut returns a lower bound of the work of a class if no message were longer than size.
func (c class) cut(size time.Duration) time.Duration {
	if c.most <= size {
		return c.work
	}
	if c.least >= size {
		return time.Duration(c.count) * size
	}
	// min(s, size) is concave in s, so the chord from the least to the most size is below it.
	share := float64(size-c.least) / float64(c.most-c.least)
	above := float64(c.work) - float64(c.count)*float64(c.least)
	return time.Duration((float64(c.count)*float64(c.least) + share*above) * (1 - 1e-12))
}
