package series

import (
	"time"
)

// Counts keeps how much of something happened when: in steps of 5 seconds for the last 5 minutes, of half a minute for the
// last half hour and of 5 minutes before, back to Length. Steps begin at multiples of their width, so that what is kept
// depends on what was added and not on when it was folded. The zero Counts is not usable; set Length.
//
// Counts is a value: [Counts.Add] returns a new one.
type Counts struct {
	// Length is above zero.
	Length time.Duration
	steps  []countStep
	// from is since when anything was counted, in Unix nanoseconds; 0 before.
	from int64
}

// countStep is what happened from start on until the width of its age is over.
type countStep struct {
	start uint32 // Unix seconds
	width uint16 // seconds
	n     float32
	peak  float32 // the most within one step of the finest width
}

// tiers are the widths of steps in seconds, and from which age on in seconds the next one holds.
var tiers = [...]struct{ width, until int64 }{{5, 300}, {30, 1800}, {300, 1 << 40}}

// Watch returns c, counting from at on if it did not count before.
func (c Counts) Watch(at time.Time) Counts {
	if c.from == 0 {
		c.from = at.UnixNano()
	}
	return c
}

// Add returns c with n more, spread evenly from one instant to the other. Instants before 1970, and spans the wrong way
// round, count as the later instant.
func (c Counts) Add(from, to time.Time, n float64) Counts {
	if n == 0 {
		return c
	}
	c = c.Watch(from)
	c.from = min(c.from, from.UnixNano())
	end := max(5, to.Unix())
	begin := min(max(0, from.Unix()), end)
	steps := make([]countStep, len(c.steps), len(c.steps)+1+int(min(64, (end-begin)/5+1)))
	copy(steps, c.steps)
	width := tiers[0].width
	span := max(float64(to.UnixNano()-from.UnixNano())/1e9, 0)
	for at := begin / width * width; at <= end; at += width {
		share := 1.0
		if span > 0 {
			low, high := max(float64(at), float64(from.UnixNano())/1e9), min(float64(at+width), float64(to.UnixNano())/1e9)
			if share = (high - low) / span; share <= 0 {
				continue
			}
		} else if at+width <= end {
			continue
		}
		steps = put(steps, countStep{uint32(at), uint16(width), float32(n * share), float32(n * share)})
	}
	c.steps = fold(steps, end, int64(c.Length/time.Second))
	return c
}

// put adds a step in its place, or to the one that covers it.
func put(steps []countStep, s countStep) []countStep {
	i := len(steps)
	for i > 0 && steps[i-1].start > s.start {
		i--
	}
	if i > 0 && s.start < steps[i-1].start+uint32(steps[i-1].width) {
		steps[i-1].n += s.n
		if steps[i-1].width == uint16(tiers[0].width) {
			steps[i-1].peak = steps[i-1].n
		}
		return steps
	}
	steps = append(steps, countStep{})
	copy(steps[i+1:], steps[i:])
	steps[i] = s
	return steps
}

// fold makes steps coarser that have aged, and drops those that are too old.
func fold(steps []countStep, now, length int64) []countStep {
	out := steps[:0]
	for _, s := range steps {
		age := now - int64(s.start)
		if age-int64(s.width) > length {
			continue
		}
		for k := 1; k < len(tiers) && age > tiers[k-1].until; k++ {
			width := tiers[k].width
			s.start, s.width = uint32(int64(s.start)/width*width), uint16(max(width, int64(s.width)))
		}
		if n := len(out); n > 0 && s.start < out[n-1].start+uint32(out[n-1].width) {
			out[n-1].n += s.n
			out[n-1].peak = max(out[n-1].peak, s.peak)
			continue
		}
		out = append(out, s)
	}
	return out
}

// Since returns since when c counts, no further back than Length before now; false if it never did.
func (c Counts) Since(now time.Time) (time.Time, bool) {
	if c.from == 0 {
		return time.Time{}, false
	}
	oldest := now.Add(-c.Length)
	if from := time.Unix(0, c.from); from.After(oldest) {
		return from, true
	}
	return oldest, true
}

// Over returns how much happened during the last span before now.
func (c Counts) Over(now time.Time, span time.Duration) float64 {
	from, to := float64(now.Add(-span).UnixNano())/1e9, float64(now.UnixNano())/1e9
	sum := 0.0
	for i := len(c.steps) - 1; i >= 0; i-- {
		s := c.steps[i]
		low, high := float64(s.start), float64(s.start)+float64(s.width)
		if high <= from {
			break
		}
		// What is in the newest step happened before now, not evenly up to its end.
		high = min(high, max(to, low+1e-9))
		if share := (high - max(low, from)) / (high - low); share > 0 {
			sum += float64(s.n) * min(1, share)
		}
	}
	return sum
}

// PerSecond returns the mean rate over the last span, or over what was watched of it; false when that is less than a second.
func (c Counts) PerSecond(now time.Time, span time.Duration) (float64, bool) {
	since, ok := c.Since(now)
	watched := min(span, now.Sub(since))
	if !ok || watched < time.Second {
		return 0, false
	}
	return c.Over(now, watched) / watched.Seconds(), true
}

// Envelope returns, for each window, how many came within so long at the busiest times: so many that the share q of all that
// came did so in windows with no more. A window is at least the finest step. Of times long past only the sums over coarser
// steps and the busiest fine step in each are known, and a window in between is taken to be as busy as both allow.
func (c Counts) Envelope(now time.Time, q float64, windows []time.Duration) []float64 {
	peaks := make([]float64, len(windows))
	type seen struct{ came, weight float64 }
	all := make([]seen, 0, len(c.steps))
	for k, w := range windows {
		seconds := max(w.Seconds(), float64(tiers[0].width))
		all = all[:0]
		total := 0.0
		for i, s := range c.steps {
			came, left := 0.0, seconds
			for j := i; j >= 0 && left > 0; j-- {
				t := c.steps[j]
				if gap := float64(s.start) - float64(t.start) - seconds; gap >= 0 {
					break
				}
				came += min(float64(t.n), float64(t.peak)*max(1, left/float64(tiers[0].width)))
				left -= float64(t.width)
			}
			all = append(all, seen{came, float64(s.n)})
			total += float64(s.n)
		}
		// Few windows are needed, the busiest first, so they are picked out one by one instead of sorting all.
		for above, rest := 0.0, all; len(rest) > 0 && above <= (1-q)*total; rest = rest[1:] {
			most := 0
			for i := range rest {
				if rest[i].came > rest[most].came {
					most = i
				}
			}
			rest[0], rest[most] = rest[most], rest[0]
			peaks[k], above = rest[0].came, above+rest[0].weight
		}
	}
	return peaks
}

// Newest calls yield with the steps, newest first: how much happened, and how long before now the step began.
func (c Counts) Newest(now time.Time, yield func(n float64, began time.Duration) bool) {
	for i := len(c.steps) - 1; i >= 0; i-- {
		if !yield(float64(c.steps[i].n), now.Sub(time.Unix(int64(c.steps[i].start), 0))) {
			return
		}
	}
}
