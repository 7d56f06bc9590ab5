package series

import "math"

// countSteps are steps, oldest first, without what their width says already. Every fleet has a hundred of them or more,
// so they are kept small.
type countSteps struct {
	coarse     []coarseStep
	next, fine []fineStep
	// base is the Unix second that the starts of next and fine are told from.
	base uint32
}

// fineStep is a countStep of the finest width or the next.
type fineStep struct {
	after uint16 // how many of the finest width it starts after the base
	peak  half
	n     float32
}

type coarseStep struct {
	start          uint32
	n, peak, crest float32
}

// half is a float32 above zero without the lower half of its bits: no more than it, by less than 0.8 %.
type half uint16

func halfOf(v float32) half { return half(math.Float32bits(v) >> 16) }

func (h half) value() float32 { return math.Float32frombits(uint32(h) << 16) }

// start is when a step of the finest width or the next starts.
func (p countSteps) start(s fineStep) uint32 { return p.base + uint32(s.after)*uint32(tiers[0].width) }

// most is the most within a span as long as the finest width.
func (s fineStep) most() float32 { return max(s.n, s.peak.value()) }

// packed returns a step; false where it is too far from the base.
func (p countSteps) packed(s countStep) (fineStep, bool) {
	after := (int64(s.start) - int64(p.base)) / tiers[0].width
	return fineStep{uint16(after), halfOf(s.peak), s.n}, after >= 0 && after <= math.MaxUint16
}

// packSteps packs steps whose widths do not increase.
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
		fine, near := p.packed(s) // all are of the last half hour, or of a few minutes more
		if !near && tierOf(s) < len(tiers)-1 {
			continue // but for what came before the clock was set back by days
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

func tierOf(s countStep) int {
	for k := range tiers {
		if int64(s.width) <= tiers[k].width {
			return k
		}
	}
	return len(tiers) - 1
}

func (p countSteps) len() int { return len(p.coarse) + len(p.next) + len(p.fine) }

// at returns step i.
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

// usualSteps is room for the steps of two hours, beside a few: more than most fleets keep.
const usualSteps = 160

// unpacked appends the steps to those given.
func (p countSteps) unpacked(steps []countStep) []countStep {
	for i := range p.len() {
		steps = append(steps, p.at(i))
	}
	return steps
}

// appended returns what [countSteps.with] does for what is usual: added steps are the newest, and of those that have
// aged some of the finest go to the next width and nothing else changes. It is false for all else.
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
		length < tiers[1].until, // steps may end before they have aged twice
		len(p.coarse) > 0 && age(p.coarse[0].start)-tiers[2].width > length:
		return p, false
	}
	width := uint32(tiers[1].width)
	for len(fine) > 0 && (age(p.start(fine[0])) > tiers[0].until || len(next) > 0 &&
		p.start(fine[0]) < p.start(next[len(next)-1])+width) {
		f := fine[0]
		if len(next) == 0 {
			return p, false // nobody looked whether it belongs to a wider one
		}
		if len(fine) == len(p.fine) {
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

// appendedShort is [countSteps.appended] for a length within which no step gets coarser: those that are too old go, and
// nothing else changes.
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

// tooOld tells whether a step of the finest width that starts then has ended longer ago than is kept.
func tooOld(start uint32, now, length int64) bool { return now-int64(start)-tiers[0].width > length }

// joined returns fine steps with others at their end, without those that are too old. It is false where one is too far
// from the base.
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

// tails adds up steps, newest first, for spans of time that all end at one instant. Instants are Unix seconds.
type tails struct {
	to float64
	// from are the beginnings of the spans, latest first; the first of them have their sums.
	from, sums []float64
	first      int
	// sum is what happened in the steps so far, for the spans that reach further back.
	sum float64
}

// sum adds up the steps until t has all its sums, or there are no more.
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

// fine adds steps of the finest width, of which there are the most. It is true when every span has its sum.
func (t *tails) fine(p countSteps) bool {
	width, base, steps := float64(tiers[0].width), float64(p.base), p.fine
	for len(steps) > 0 {
		// Most lie within the spans that are left.
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

// add adds the step that begins at low. It is true when every span has its sum.
func (t *tails) add(low, width, n float64) bool {
	if low > t.to {
		return false // the clock was set back
	}
	end := low + width
	// What is in the newest step happened before now, not evenly up to its end.
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
