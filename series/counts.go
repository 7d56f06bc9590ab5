package series

import "time"

// Counts keeps how much of something happened when. Its resolution falls with age: steps of 5 seconds for the last 5
// minutes, of 30 seconds for the last half hour, and of 5 minutes before that, back to Length. Steps begin at multiples
// of their width, so that the state depends on what was added and not on when old steps were merged. A restart that
// replays the records therefore gets the same numbers.
//
// The zero Counts is not usable; set Length. Counts is a value: [Counts.Add] returns a new one.
type Counts struct {
	// Length is above zero and must not change once something was added.
	Length time.Duration
	steps  countSteps
	// from is the time since which anything is counted, in Unix nanoseconds; 0 before the first call of Watch or Add.
	from int64
}

// countStep counts what happened from start until start plus width. For the busiest moments it keeps two maxima, which
// merging into a wider step would lose:
//
//	peak  <= n   the most within any span of 5 s in the step
//	crest <= n   the most within one step of 30 s in the step
//
// A step of 5 seconds has all three equal. Wide steps with several spikes keep only the largest one.
type countStep struct {
	start uint32 // Unix seconds
	width uint16 // seconds
	n     float32
	peak  float32
	crest float32
}

// within returns how much of the step can have happened within a span of the given seconds. It knows the answer for
// spans of 5 seconds (peak), 30 seconds (crest) and the whole width (n), and interpolates linearly in between: what
// happened outside of the busiest moment is not known to have come close to it.
func (s countStep) within(seconds float64) float64 {
	fine, next, width := float64(tiers[0].width), float64(tiers[1].width), float64(s.width)
	// A burst across the boundary of two steps is the peak of one of them, which may exceed that step's own count.
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

// tiers are the widths of steps in seconds, finest first. A step older than until seconds is merged into the next
// width; the widest has no such age.
var tiers = [...]struct{ width, until int64 }{{5, 300}, {30, 1800}, {300, 1 << 40}}

// Watch returns c with counting begun at the given instant, if it had not begun before. Without it, a quiet time before
// the first event would be unknown instead of zero.
func (c Counts) Watch(at time.Time) Counts {
	if c.from == 0 {
		c.from = at.UnixNano()
	}
	return c
}

// Reach returns the greatest age at which an event still counts: Length plus the widest step. History must be read back
// that far to rebuild c.
func (c Counts) Reach() time.Duration {
	return c.Length + time.Duration(tiers[len(tiers)-1].width)*time.Second
}

// Add returns c with n more events, spread evenly from one instant to the other. If to is before 1970, or from is after
// to, all count at the later instant.
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
	// On the stack, because every fleet adds every few seconds.
	var buffer [4]countStep
	added := buffer[:0]
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
	if to.Sub(from) <= burstSpan {
		markBurst(added, float32(n))
	}
	length := int64(c.Length / time.Second)
	steps, usual := c.steps.appended(added, now, length)
	if !usual {
		steps = c.steps.with(added, now, length)
	}
	c.steps = steps
	return c
}

// burstSpan is the longest span between two polls whose events may all have come at one moment: the finest width, one
// second between polls, and half a second of delay. Over longer spans the events are taken to have come evenly.
const burstSpan = 6500 * time.Millisecond

// markBurst makes n, which was spread over these steps, the peak of the step with the largest part of it. Otherwise a
// spike would count as two half ones whenever a step ends in the middle of it.
func markBurst(added []countStep, n float32) {
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

// with returns p at the time now with steps of the finest width added in their places. It handles every case; Add calls
// it when the fast path of [countSteps.appended] does not apply.
func (p countSteps) with(added []countStep, now, length int64) countSteps {
	var buffer [usualSteps]countStep
	steps := p.unpacked(buffer[:0])
	for _, s := range added {
		steps = insertStep(steps, s)
	}
	return packSteps(coarsen(steps, now, length))
}

// insertStep inserts a step of the finest width in its place, or adds it to the step that covers its time.
func insertStep(steps []countStep, s countStep) []countStep {
	i := len(steps)
	for i > 0 && steps[i-1].start > s.start {
		i--
	}
	if i > 0 && s.start < steps[i-1].start+uint32(steps[i-1].width) {
		steps[i-1].n += s.n
		// A late addition to a wide step: the old counts of exactly these seconds are gone, so the peaks are only
		// compared, not added.
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

// coarsen merges steps into wider ones as they age, and drops those that ended more than length seconds before now. It
// works in place: out never overtakes steps.
func coarsen(steps []countStep, now, length int64) []countStep {
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

// Since returns the time since which c counts, at most Length before now; false if counting has not begun.
func (c Counts) Since(now time.Time) (time.Time, bool) {
	began, ok := c.Began()
	if oldest := now.Add(-c.Length); ok && began.Before(oldest) {
		return oldest, true
	}
	return began, ok
}

// Began returns when counting began, however long ago; false if it has not.
func (c Counts) Began() (time.Time, bool) {
	if c.from == 0 {
		return time.Time{}, false
	}
	return time.Unix(0, c.from), true
}

// Over returns how much happened during the last span before now. span is above zero.
func (c Counts) Over(now time.Time, span time.Duration) float64 {
	var sum [1]float64
	c.over(now, []time.Duration{span}, sum[:])
	return sum[0]
}

// over sets each sum to what happened during the span of the same index before now. No span may be shorter than the one
// before it, because one pass over the steps serves all.
func (c Counts) over(now time.Time, spans []time.Duration, sums []float64) {
	var buffer [maxSpans]float64
	t := tails{to: float64(now.UnixNano()) / 1e9, from: buffer[:len(spans)], sums: sums}
	for k := range spans {
		t.from[k] = float64(now.Add(-spans[k]).UnixNano()) / 1e9
	}
	c.steps.sum(&t)
	for k := t.first; k < len(sums); k++ {
		sums[k] = t.sum
	}
}

// maxSpans bounds the spans of one call.
const maxSpans = 8

// PerSecond returns the mean rate over the last span, or over the watched part of it. It is false if less than a second
// was watched.
func (c Counts) PerSecond(now time.Time, span time.Duration) (float64, bool) {
	var rate [1]float64
	known := c.Rates(now, []time.Duration{span}, rate[:])
	return rate[0], known
}

// Rates sets each rate to [Counts.PerSecond] of the span of the same index. There are 1 to 8 spans, as many as rates,
// and no span is shorter than the one before it.
func (c Counts) Rates(now time.Time, spans []time.Duration, rates []float64) (known bool) {
	since, ok := c.Since(now)
	watched := now.Sub(since)
	clear(rates)
	if !ok || min(watched, spans[0]) < time.Second {
		return false
	}
	var buffer [maxSpans]time.Duration
	reach := append(buffer[:0], spans...)
	for k := range reach {
		reach[k] = min(reach[k], watched)
	}
	c.over(now, reach, rates)
	for k := range rates {
		rates[k] /= reach[k].Seconds()
	}
	return true
}

// Envelope returns, for each window and each share q, the room that busy times would have needed: if every window of
// that length since Length before now had had room for so many events, the share q of all events would have found room.
// Windows are at least 5 seconds long.
//
// Recent windows are exact. For older ones only the sums of wider steps and their peaks are known; windows in between
// are interpolated, see [countStep.within]. Shares in increasing order are computed faster.
func (c Counts) Envelope(now time.Time, shares []float64, windows []time.Duration) [][]float64 {
	var stepBuffer [usualSteps]countStep
	steps := c.steps.unpacked(stepBuffer[:0])
	for oldest := now.Add(-c.Length).Unix(); len(steps) > 0 && int64(steps[0].start) < oldest; {
		steps = steps[1:]
	}
	peaks := make([][]float64, len(windows))
	room := make([]float64, len(windows)*len(shares))
	var windowBuffer [usualSteps]window
	var sumBuffer, widthBuffer [usualSteps + 1]float64
	all := windowBuffer[:0]
	var leftBuffer [usualSteps]window
	left := leftBuffer[:0] // the windows that matter for larger rooms than those found
	before, widths := sums(sumBuffer[:0], widthBuffer[:0], steps)
	total := before[len(steps)]
	for k, w := range windows {
		seconds := max(w.Seconds(), float64(tiers[0].width))
		all = all[:0]
		first := 0 // the oldest step of which a part is within the window that ends with step i
		for i, s := range steps {
			for first < i && (widths[i+1]-widths[first+1] >= seconds ||
				float64(s.start)-float64(steps[first].start) >= seconds) {
				first++
			}
			came := before[i+1] - before[first+1] + steps[first].within(seconds-(widths[i+1]-widths[first+1]))
			all = append(all, window{max(came, float64(s.peak)), float64(s.n)})
		}
		peaks[k] = room[k*len(shares) : (k+1)*len(shares)]
		for j, q := range shares {
			least := 0.0 // the room for a smaller share is a lower bound, from which the search starts
			if j > 0 && shares[j-1] <= q {
				least = peaks[k][j-1]
			} else {
				left = append(left[:0], all...)
			}
			peaks[k][j], left = roomFor(left, (1-q)*total, least)
		}
	}
	return peaks
}

// window is the window that ends with one step: came is how many events it holds, weight how many of them are of that
// step. Each event has weight in exactly one window.
type window struct{ came, weight float64 }

// roomFor returns the least room x in every window at which at most over events find no room. A window with more than
// x events leaves the fraction (came-x)/came of its weight without room:
//
//	left(x) = sum over windows with came > x of weight * (1 - x/came)
//
// left is convex and decreasing in x, so Newton's iteration from a lower bound, the given x, never overshoots. It
// returns x, and the windows with more events than that, which are at the front of all.
func roomFor(all []window, over, x float64) (room float64, larger []window) {
	for {
		weight, slope, n := 0.0, 0.0, 0
		for _, s := range all {
			if s.came > x {
				weight += s.weight
				slope += s.weight / s.came
				all[n], n = s, n+1
			}
		}
		all = all[:n]
		next := (weight - over) / slope
		if !(next > x) { // also for NaN, when no window has more than x
			return x, all
		}
		x = next
	}
}

// sums returns two prefix sums of steps: before[i] is how much happened before step i, and widths[i] how many seconds
// wide all steps before it are. The last ones are the totals.
func sums(before, widths []float64, steps []countStep) (_, _ []float64) {
	before, widths = append(before, 0), append(widths, 0)
	for i, s := range steps {
		before, widths = append(before, before[i]+float64(s.n)), append(widths, widths[i]+float64(s.width))
	}
	return before, widths
}

// Newest calls yield with the steps of the last Length, newest first: how much happened in the step, and how long
// before now it began. It stops when yield returns false.
func (c Counts) Newest(now time.Time, yield func(n float64, began time.Duration) bool) {
	for i := c.steps.len() - 1; i >= 0; i-- {
		s := c.steps.at(i)
		began := now.Sub(time.Unix(int64(s.start), 0))
		if began-time.Duration(s.width)*time.Second > c.Length || !yield(float64(s.n), began) {
			return
		}
	}
}
