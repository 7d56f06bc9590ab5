package series

import (
	"time"
)

// Counts keeps how much of something happened when: in steps of 5 seconds for the last 5 minutes, of half a minute for
// the last half hour and of 5 minutes before, back to Length. Steps begin at multiples of their width, so that what is
// kept depends on what was added and not on when it was folded. The zero Counts is not usable; set Length.
//
// Counts is a value: [Counts.Add] returns a new one.
type Counts struct {
	// Length is above zero.
	Length time.Duration
	steps  countSteps
	// from is since when anything was counted, in Unix nanoseconds; 0 before.
	from int64
}

// countStep is what happened from start on until the width of its age is over.
type countStep struct {
	start uint32 // Unix seconds
	width uint16 // seconds
	n     float32
	peak  float32 // the most within a span as long as the finest width, wherever that begins
	crest float32 // the most within one step of the next width; no more is known of a step of that width than n
}

// within returns how much of the step can have happened within so many seconds of it: between the spans of which the
// most is known in proportion, because what came beside the busiest moment is not known to have come close to it.
func (s countStep) within(seconds float64) float64 {
	fine, next, width := float64(tiers[0].width), float64(tiers[1].width), float64(s.width)
	// What came together with a part of this step beside it is counted there.
	n := float64(s.n)
	peak, crest := min(float64(s.peak), n), min(float64(s.crest), n)
	switch {
	case seconds >= width:
		return n
	case seconds <= fine:
		return peak
	case width <= next:
		return peak + (n-peak)*(seconds-fine)/(width-fine)
	case seconds <= next:
		return peak + (crest-peak)*(seconds-fine)/(next-fine)
	}
	return crest + (n-crest)*(seconds-next)/(width-next)
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

// Reach is how long before an instant something may have happened and still count at it: Length and the widest step.
func (c Counts) Reach() time.Duration {
	return c.Length + time.Duration(tiers[len(tiers)-1].width)*time.Second
}

// Add returns c with n more, spread evenly from one instant to the other. Instants before 1970, and spans the wrong way
// round, count as the later instant.
func (c Counts) Add(from, to time.Time, n float64) Counts {
	if n == 0 {
		return c
	}
	width := tiers[0].width
	if first := time.Unix(width, 0); to.Before(first) {
		to = first
	}
	if from.Unix() < 0 || from.After(to) {
		from = to
	}
	c = c.Watch(from)
	c.from = min(c.from, from.UnixNano())
	begin, end := from.UnixNano(), to.UnixNano()
	now := to.Unix()
	at := max(from.Unix(), now-int64(c.Reach()/time.Second)) / width * width // what came before is too old
	// Not on the heap: every fleet adds every few seconds.
	var room [4]countStep
	added := room[:0]
	for ; at <= now; at += width {
		share := 1.0
		if begin < end {
			low, high := max(begin, at*int64(time.Second)), min(end, (at+width)*int64(time.Second))
			share = float64(high-low) / float64(end-begin)
		}
		if share > 0 {
			part := float32(n * share)
			added = append(added, countStep{uint32(at), uint16(width), part, part, part})
		}
	}
	if to.Sub(from) <= together {
		keepTogether(added, float32(n))
	}
	length := int64(c.Length / time.Second)
	steps, usual := c.steps.appended(added, now, length)
	if !usual {
		steps = c.steps.with(added, now, length)
	}
	c.steps = steps
	return c
}

// together is within how short a span all that is added may have come at once: nobody looked in between. It is the
// finest width, a second between two looks, and what a look is late. In longer spans it may as well have come evenly.
const together = 6500 * time.Millisecond

// keepTogether makes n, which was added to all of these steps, the peak of the one with most of it: a spike does not
// become half of one because a step ended in the middle of it.
func keepTogether(added []countStep, n float32) {
	most := 0
	for i := range added {
		if added[i].n > added[most].n {
			most = i
		}
	}
	if len(added) > 0 {
		added[most].peak, added[most].crest = n, n
	}
}

// with returns p with steps of the finest width added wherever they belong, as of now.
func (p countSteps) with(added []countStep, now, length int64) countSteps {
	var room [usualSteps]countStep
	steps := p.unpacked(room[:0])
	for _, s := range added {
		steps = put(steps, s)
	}
	return packSteps(fold(steps, now, length))
}

// put adds a step in its place, or to the one that covers it.
func put(steps []countStep, s countStep) []countStep {
	i := len(steps)
	for i > 0 && steps[i-1].start > s.start {
		i--
	}
	if i > 0 && s.start < steps[i-1].start+uint32(steps[i-1].width) {
		steps[i-1].n += s.n
		// To a wider one it came late: what else came in those seconds is forgotten.
		steps[i-1].peak, steps[i-1].crest = max(steps[i-1].peak, s.peak), max(steps[i-1].crest, s.crest)
		if steps[i-1].width == uint16(tiers[0].width) {
			steps[i-1].peak = max(steps[i-1].peak, steps[i-1].n)
		}
		if int64(steps[i-1].width) <= tiers[1].width {
			steps[i-1].crest = max(steps[i-1].peak, steps[i-1].n)
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
		for k := 1; k < len(tiers) && age > tiers[k-1].until; k++ {
			width := tiers[k].width
			s.start, s.width = uint32(int64(s.start)/width*width), uint16(max(width, int64(s.width)))
		}
		if now-int64(s.start)-int64(s.width) > length {
			continue
		}
		if n := len(out); n > 0 && s.start < out[n-1].start+uint32(out[n-1].width) {
			out[n-1].n += s.n
			out[n-1].peak, out[n-1].crest = max(out[n-1].peak, s.peak), max(out[n-1].crest, s.crest)
			if int64(out[n-1].width) <= tiers[1].width {
				out[n-1].crest = max(out[n-1].peak, out[n-1].n)
			}
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

// Over returns how much happened during the last span before now, which is above zero.
func (c Counts) Over(now time.Time, span time.Duration) float64 {
	var sum [1]float64
	c.over(now, []time.Duration{span}, sum[:])
	return sum[0]
}

// over puts into each sum what happened during the last span of the same place before now; no span is shorter than the
// one before.
func (c Counts) over(now time.Time, spans []time.Duration, sums []float64) {
	var room [maxSpans]float64
	t := tails{to: float64(now.UnixNano()) / 1e9, from: room[:len(spans)], sums: sums}
	for k := range spans {
		t.from[k] = float64(now.Add(-spans[k]).UnixNano()) / 1e9
	}
	c.steps.sum(&t)
	for k := t.first; k < len(sums); k++ {
		sums[k] = t.sum
	}
}

// maxSpans bounds the spans that are told at once.
const maxSpans = 8

// PerSecond returns the mean rate over the last span, or over what was watched of it; false when that is less than a
// second.
func (c Counts) PerSecond(now time.Time, span time.Duration) (float64, bool) {
	var rate [1]float64
	known := c.Rates(now, []time.Duration{span}, rate[:])
	return rate[0], known
}

// Rates puts into each rate what [Counts.PerSecond] returns for the span of the same place; no span is shorter than the
// one before, and there are as many rates as spans, which are at least one and at most 8.
func (c Counts) Rates(now time.Time, spans []time.Duration, rates []float64) (known bool) {
	since, ok := c.Since(now)
	watched := now.Sub(since)
	clear(rates)
	if !ok || min(watched, spans[0]) < time.Second {
		return false
	}
	var room [maxSpans]time.Duration
	reach := append(room[:0], spans...)
	for k := range reach {
		reach[k] = min(reach[k], watched)
	}
	c.over(now, reach, rates)
	for k := range rates {
		rates[k] /= reach[k].Seconds()
	}
	return true
}

// Envelope returns, for each window and each share q, how many came within so long at the busiest times since Length
// before now: so many that room for them in every window of that length would have been room for the share q of all
// that came. A window is at least the finest step. Of times long past only the sums over coarser steps are known, and
// the busiest finer steps in each; windows in between are taken in proportion.
func (c Counts) Envelope(now time.Time, shares []float64, windows []time.Duration) [][]float64 {
	var roomOfSteps [usualSteps]countStep
	steps := c.steps.unpacked(roomOfSteps[:0])
	for oldest := now.Add(-c.Length).Unix(); len(steps) > 0 && int64(steps[0].start) < oldest; {
		steps = steps[1:]
	}
	peaks := make([][]float64, len(windows))
	room := make([]float64, len(windows)*len(shares))
	var roomOfAll [usualSteps]seen
	var roomOfSums [usualSteps + 1]float64
	all := roomOfAll[:0]
	before, fine := sums(roomOfSums[:0], steps)
	for k, w := range windows {
		seconds := max(w.Seconds(), float64(tiers[0].width))
		all = all[:0]
		total, first := before[len(steps)], fine
		for i, s := range steps {
			came, left, j := 0.0, seconds, i
			if i >= fine { // what is in the finest steps is known, and need not be added up again
				for first < i && float64(s.start)-float64(steps[first].start) >= seconds {
					first++
				}
				came, left, j = before[i+1]-before[first], left-float64(i+1-first)*float64(tiers[0].width), first-1
			}
			for ; j >= 0 && left > 0; j-- {
				t := steps[j]
				if gap := float64(s.start) - float64(t.start) - seconds; gap >= 0 {
					break
				}
				came += t.within(left)
				left -= float64(t.width)
			}
			all = append(all, seen{max(came, float64(s.peak)), float64(s.n)})
		}
		peaks[k] = room[k*len(shares) : (k+1)*len(shares)]
		for j, q := range shares {
			least := 0.0 // of a smaller share before, if there is one: then the steps begin there
			if j > 0 && shares[j-1] <= q {
				least = peaks[k][j-1]
			}
			peaks[k][j] = roomFor(all, (1-q)*total, least)
		}
	}
	return peaks
}

// seen is how many came within the window that ends with a step, and how many of all came in that step.
type seen struct{ came, weight float64 }

// roomFor returns the least room in every window at which no more than so many of all are left over. Of a window with
// more than that the rest of it is left over. What is left over is convex in the room, so Newton's steps from below,
// from x on, never go too far.
func roomFor(all []seen, over, x float64) float64 {
	for {
		weight, slope := 0.0, 0.0
		for i := range all {
			if s := &all[i]; s.came > x {
				weight += s.weight
				slope += s.weight / s.came
			}
		}
		next := (weight - over) / slope
		if !(next > x) { // also where no window has more
			return x
		}
		x = next
	}
}

// sums returns how much happened before each step, and in all; and where the finest steps begin, which are the newest.
func sums(before []float64, steps []countStep) (_ []float64, fine int) {
	before = append(before, 0)
	for i, s := range steps {
		before = append(before, before[i]+float64(s.n))
		if int64(s.width) > tiers[0].width {
			fine = i + 1
		}
	}
	return before, fine
}

// Newest calls yield with the steps of the last Length, newest first: how much happened, and how long before now the
// step began.
func (c Counts) Newest(now time.Time, yield func(n float64, began time.Duration) bool) {
	for i := c.steps.len() - 1; i >= 0; i-- {
		s := c.steps.at(i)
		began := now.Sub(time.Unix(int64(s.start), 0))
		if began-time.Duration(s.width)*time.Second > c.Length || !yield(float64(s.n), began) {
			return
		}
	}
}
