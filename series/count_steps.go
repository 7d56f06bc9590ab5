package series

import "math"

// countSteps are the steps of a [Counts], oldest first, in packed form. Every fleet has a hundred of them or more, so
// the width follows from the slice, and the fine steps store their start in two bytes:
//
//	coarse: 300 s wide    next: 30 s wide    fine: 5 s wide
//
// The slices are shared between copies of a Counts and never changed in place. count_steps.go has the packed form, its
// fast path for the usual append, and the sums over spans; counts.go has the meaning of steps and the general path.
type countSteps struct {
	coarse     []coarseStep
	next, fine []fineStep
	// base is the Unix second that the starts of next and fine are relative to.
	base uint32
}

// fineStep is a countStep of 5 or 30 seconds.
type fineStep struct {
	after uint16 // its start, in units of 5 seconds after the base
	peak  half
	n     float32
}

// coarseStep is a countStep of 300 seconds.
type coarseStep struct {
	start          uint32
	n, peak, crest float32
}

// half is a positive float32 without the lower half of its bits. It is rounded down by less than 0.8 %, which is
// precise enough for a peak.
type half uint16

// halfOf rounds v down to a half.
func halfOf(v float32) half { return half(math.Float32bits(v) >> 16) }

// value returns h as a float32.
func (h half) value() float32 { return math.Float32frombits(uint32(h) << 16) }

// start returns the Unix second at which a fine step begins.
func (p countSteps) start(s fineStep) uint32 { return p.base + uint32(s.after)*uint32(tiers[0].width) }

// most returns the most within any 5 seconds of a step of the finest width. A burst across a boundary may exceed n.
func (s fineStep) most() float32 { return max(s.n, s.peak.value()) }

// packed returns s as a fineStep. It is false if the step begins before the base, or 3.8 days or more after it.
func (p countSteps) packed(s countStep) (fineStep, bool) {
	after := (int64(s.start) - int64(p.base)) / tiers[0].width
	return fineStep{uint16(after), halfOf(s.peak), s.n}, after >= 0 && after <= math.MaxUint16
}

// packSteps packs steps in order of time, whose widths do not increase.
func packSteps(steps []countStep) countSteps {
	var p countSteps
	counted := [len(tiers)]int{}
	for _, s := range steps {
		if t := tierOf(s); t < len(tiers)-1 && counted[0]+counted[1] == 0 {
			p.base = s.start
		}
		counted[tierOf(s)]++
	}
	p.fine, p.next, p.coarse = make([]fineStep, 0, counted[0]), make([]fineStep, 0, counted[1]), make([]coarseStep, 0,
		counted[2])
	for _, s := range steps {
		// Fine steps are at most half an hour and a few minutes old, so they fit. An exception are steps from before
		// the clock was set back by days: they are dropped.
		fine, near := p.packed(s)
		if !near && tierOf(s) < len(tiers)-1 {
			continue
		}
		switch tierOf(s) {
		case 0:
			p.fine = append(p.fine, fine)
		case 1:
			p.next = append(p.next, fine)
		default:
			p.coarse = append(p.coarse, coarseStep{s.start, s.n, s.peak, s.crest})
		}
	}
	return p
}

// tierOf returns the index in tiers of the step's width.
func tierOf(s countStep) int {
	for k := range tiers {
		if int64(s.width) <= tiers[k].width {
			return k
		}
	}
	return len(tiers) - 1
}

// len returns the number of steps.
func (p countSteps) len() int { return len(p.coarse) + len(p.next) + len(p.fine) }

// at returns step i, from the oldest on.
func (p countSteps) at(i int) countStep {
	if i < len(p.coarse) {
		s := p.coarse[i]
		return countStep{s.start, uint16(tiers[2].width), s.n, s.peak, s.crest}
	}
	if i -= len(p.coarse); i < len(p.next) {
		s := p.next[i]
		peak := s.peak.value()
		return countStep{p.start(s), uint16(tiers[1].width), s.n, peak, max(s.n, peak)}
	}
	s := p.fine[i-len(p.next)]
	return countStep{p.start(s), uint16(tiers[0].width), s.n, s.most(), s.most()}
}

// usualSteps is the size of stack buffers for steps: two hours of them and a few more, which is above what most fleets
// keep. More steps still work; they move to the heap.
const usualSteps = 160

// unpacked appends all steps to steps.
func (p countSteps) unpacked(steps []countStep) []countStep {
	for i := range p.len() {
		steps = append(steps, p.at(i))
	}
	return steps
}

// appended is the fast path of [countSteps.with], with equal results. It applies when the added steps are the newest
// ones and aging moves only some of the finest steps to the next width. Otherwise usual is false and nothing was
// changed.
func (p countSteps) appended(added []countStep, now, length int64) (_ countSteps, usual bool) {
	if length+tiers[1].width <= tiers[0].until {
		return p.appendedShort(added, now, length)
	}
	fine, next := p.fine, p.next
	age := func(start uint32) int64 { return now - int64(start) }
	switch {
	case len(added) == 0 || len(fine) == 0 || added[0].start < p.start(fine[len(fine)-1]),
		age(added[0].start) > tiers[0].until || age(p.start(fine[0])) > tiers[1].until,
		len(next) > 0 && age(p.start(next[0])) > tiers[1].until,
		length < tiers[1].until, // steps may be dropped before they reach the widest tier
		len(p.coarse) > 0 && age(p.coarse[0].start)-tiers[2].width > length:
		return p, false
	}
	width := uint32(tiers[1].width)
	for len(fine) > 0 && (age(p.start(fine[0])) > tiers[0].until || len(next) > 0 &&
		p.start(fine[0]) < p.start(next[len(next)-1])+width) {
		f := fine[0]
		if len(next) == 0 {
			return p, false // the last coarse step may cover it: the general path checks that
		}
		if len(fine) == len(p.fine) { // the first move copies next, which other values share
			next = append(make([]fineStep, 0, len(next)+2), next...)
		}
		if last := &next[len(next)-1]; p.start(f) < p.start(*last)+width {
			last.n += f.n
			last.peak = halfOf(max(last.peak.value(), f.most()))
		} else {
			wide, near := p.packed(countStep{start: p.start(f) / width * width, n: f.n, peak: f.most()})
			if !near {
				return p, false
			}
			next = append(next, wide)
		}
		fine = fine[1:]
	}
	kept, usual := p.joined(fine, added, now, length)
	if !usual || len(fine) == 0 {
		return p, false
	}
	return countSteps{p.coarse, next, kept, p.base}, true
}

// appendedShort is [countSteps.appended] for a length so short that no step is ever merged: steps that are too old are
// dropped, and nothing else changes.
func (p countSteps) appendedShort(added []countStep, now, length int64) (_ countSteps, usual bool) {
	fine := p.fine
	if len(added) == 0 || len(p.next)+len(p.coarse) > 0 || len(fine) == 0 ||
		added[0].start < p.start(fine[len(fine)-1]) {
		return p, false
	}
	for len(fine) > 0 && tooOld(p.start(fine[0]), now, length) {
		fine = fine[1:]
	}
	kept, usual := p.joined(fine, added, now, length)
	return countSteps{fine: kept, base: p.base}, usual
}

// tooOld tells whether a step of the finest width ended more than length seconds before now. start is its Unix second.
func tooOld(start uint32, now, length int64) bool { return now-int64(start)-tiers[0].width > length }

// joined returns a copy of fine with the added steps at its end, without the added ones that are too old. It is false
// if an added step is too far from the base.
func (p countSteps) joined(fine []fineStep, added []countStep, now, length int64) ([]fineStep, bool) {
	kept := append(make([]fineStep, 0, len(fine)+len(added)), fine...)
	for _, s := range added {
		f, near := p.packed(s)
		switch k := len(kept); {
		case !near:
			return nil, false
		case k > 0 && kept[k-1].after == f.after:
			last := &kept[k-1]
			last.n += f.n
			last.peak = halfOf(max(last.peak.value(), s.peak, last.n))
		case !tooOld(s.start, now, length):
			kept = append(kept, f)
		}
	}
	return kept, true
}

// tails adds up steps, newest first, for several spans that all end at the instant to. Instants are Unix seconds.
type tails struct {
	to float64
	// from are the starts of the spans, latest first, and sums their results. The spans before index first are
	// complete.
	from, sums []float64
	first      int
	// sum is what happened in the steps added so far. It counts for every span that is not complete.
	sum float64
}

// sum adds steps until every span of t is complete or no step is left. A span that is still incomplete then has t.sum.
func (p countSteps) sum(t *tails) {
	if t.fine(p) {
		return
	}
	for i := len(p.next) - 1; i >= 0; i-- {
		if s := &p.next[i]; t.add(float64(p.start(*s)), float64(tiers[1].width), float64(s.n)) {
			return
		}
	}
	for i := len(p.coarse) - 1; i >= 0; i-- {
		if s := &p.coarse[i]; t.add(float64(s.start), float64(tiers[2].width), float64(s.n)) {
			return
		}
	}
}

// fine adds the steps of the finest width, which are the most. It returns true once every span is complete. The inner
// loop adds steps that lie entirely within the next span without a call.
func (t *tails) fine(p countSteps) bool {
	width, base, steps := float64(tiers[0].width), float64(p.base), p.fine
	for len(steps) > 0 {
		from, sum, i := t.from[t.first], t.sum, len(steps)-1
		for ; i >= 0; i-- {
			low := base + float64(steps[i].after)*width
			if low < from || low+width > t.to {
				break
			}
			sum += float64(steps[i].n)
		}
		if t.sum = sum; i < 0 {
			break
		}
		if t.add(base+float64(steps[i].after)*width, width, float64(steps[i].n)) {
			return true
		}
		steps = steps[:i]
	}
	return false
}

// add adds the step that begins at low. A step that begins before a span counts for it in proportion to the overlap. It
// returns true once every span is complete.
func (t *tails) add(low, width, n float64) bool {
	if low > t.to {
		return false // the step is in the future: the clock was set back
	}
	end := low + width
	// The newest step is not over: its events happened evenly until now, not until its end.
	high := min(end, t.to)
	for ; t.first < len(t.from) && low < t.from[t.first]; t.first++ {
		t.sums[t.first] = t.sum
		if from := t.from[t.first]; end > from {
			t.sums[t.first] += n * ((high - from) / (high - low))
		}
	}
	t.sum += n
	return t.first == len(t.from)
}
