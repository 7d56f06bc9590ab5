package limit

import (
	"slices"
	"time"
)

// rushIntervals bounds how many intervals are tried for each size.
const rushIntervals = 4 << 20

// Rush returns the bound for many messages close together, in whole workers and whole messages. Between the first
// arrival and the last deadline of some messages that each take at least s, a slot finishes a whole number of them;
// each worker that is needed beyond Min was booted. It is exact for equal messages that arrive at once.
func (f *Profile) Rush(start Start) Bound {
	bound := Bound{Method: "rush", Start: start.String()}
	most := int64(1)
	// Each size is tried alone: larger messages need more of a slot, smaller ones are more.
	for _, least := range f.steps() {
		needed, ok := f.needed(start, least)
		most = max(most, needed)
		bound.Unreachable = bound.Unreachable || !ok
	}
	bound.WorkerSeconds = down(f.atLeast() + f.boots(most))
	return bound
}

// steps returns the least service of each class of sizes. If there are many classes, it returns those with the most
// work, so that the search takes a fraction of a second.
func (f *Profile) steps() (least []time.Duration) {
	const most = 6
	classes := slices.Clone(f.sizes)
	slices.SortStableFunc(classes, func(a, b class) int { return int(min(1, max(-1, b.work-a.work))) })
	for _, c := range classes[:min(most, len(classes))] {
		if c.least > 0 {
			least = append(least, c.least)
		}
	}
	return least
}

// needed returns the most workers that some interval needs to finish its messages whose service is at least least;
// false if no number of workers is enough.
func (f *Profile) needed(start Start, least time.Duration) (workers int64, reachable bool) {
	var full []int // slots of time with such messages
	counts := make([]int64, 0, len(f.slots))
	for g, s := range f.slots {
		var count int64
		for _, c := range s.classes {
			// The class counts only if none of its messages is smaller.
			if c.least >= least {
				count += c.count
			}
		}
		if count > 0 {
			full, counts = append(full, g), append(counts, count)
		}
	}
	ready := f.first
	if start == Causal {
		ready += f.problem.Boot
	}
	span := rushIntervals / max(1, len(full))
	for i := range full {
		sum := -f.excused
		for j := i; j < min(len(full), i+1+span); j++ {
			sum += counts[j]
			if sum <= 0 {
				continue
			}
			n, ok := f.crew(sum, f.slots[full[i]].first, ready, f.slots[full[j]].last+f.problem.Latency, least)
			if !ok {
				return workers, false
			}
			workers = max(workers, n)
		}
	}
	return workers, true
}

// crew returns how many workers finish count messages of at least the given service between from and to, when all but
// Min of them come into service at ready at the earliest.
func (f *Profile) crew(count int64, from, ready, to, least time.Duration) (workers int64, ok bool) {
	slots, standing := int64(f.problem.Slots), int64(f.problem.Min)
	left := count - standing*slots*int64((to-from)/least)
	if left <= 0 {
		return 0, true
	}
	each := slots * int64(max(0, to-max(from, ready))/least)
	if each == 0 {
		return 0, false
	}
	workers = standing + (left+each-1)/each
	return workers, f.problem.Max == 0 || workers <= int64(f.problem.Max)
}
