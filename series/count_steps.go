package series

// countSteps are steps, oldest first, without what their width says already: of the finest only the sum is kept, of the next
// also their busiest fine step. Every fleet has a hundred of them or more.
type countSteps struct {
	coarse []coarseStep
	next   []nextStep
	fine   []fineStep
}

type fineStep struct {
	start uint32
	n     float32
}

type nextStep struct {
	fineStep
	peak float32
}

type coarseStep struct {
	nextStep
	crest float32
}

// packSteps packs steps whose widths do not increase.
func packSteps(steps []countStep) countSteps {
	var p countSteps
	counted := [len(tiers)]int{}
	for _, s := range steps {
		counted[tierOf(s)]++
	}
	p.fine, p.next, p.coarse = make([]fineStep, 0, counted[0]), make([]nextStep, 0, counted[1]), make([]coarseStep, 0, counted[2])
	for _, s := range steps {
		fine := fineStep{s.start, s.n}
		switch tierOf(s) {
		case 0:
			p.fine = append(p.fine, fine)
		case 1:
			p.next = append(p.next, nextStep{fine, s.peak})
		default:
			p.coarse = append(p.coarse, coarseStep{nextStep{fine, s.peak}, s.crest})
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
		return countStep{s.start, uint16(tiers[1].width), s.n, s.peak, s.n}
	}
	s := p.fine[i-len(p.next)]
	return countStep{s.start, uint16(tiers[0].width), s.n, s.n, s.n}
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

// appended returns what [countSteps.with] does for what is usual: added steps are the newest, and of those that have aged some
// of the finest go to the next width and nothing else changes. It is false for all else.
func (p countSteps) appended(added []fineStep, now, length int64) (_ countSteps, usual bool) {
	if length+tiers[1].width <= tiers[0].until {
		return p.appendedShort(added, now, length)
	}
	fine, next := p.fine, p.next
	age := func(start uint32) int64 { return now - int64(start) }
	switch {
	case len(added) == 0 || len(fine) == 0 || added[0].start < fine[len(fine)-1].start,
		age(added[0].start) > tiers[0].until || age(fine[0].start) > tiers[1].until,
		len(next) > 0 && age(next[0].start) > tiers[1].until,
		length < tiers[1].until, // steps may end before they have aged twice
		len(p.coarse) > 0 && age(p.coarse[0].start)-tiers[2].width > length:
		return p, false
	}
	width := uint32(tiers[1].width)
	for len(fine) > 0 && (age(fine[0].start) > tiers[0].until || len(next) > 0 && fine[0].start < next[len(next)-1].start+width) {
		f := fine[0]
		if len(next) == 0 {
			return p, false // nobody looked whether it belongs to a wider one
		}
		if len(fine) == len(p.fine) {
			next = append(make([]nextStep, 0, len(next)+2), next...)
		}
		if last := &next[len(next)-1]; f.start < last.start+width {
			last.n += f.n
			last.peak = max(last.peak, f.n)
		} else {
			next = append(next, nextStep{fineStep{f.start / width * width, f.n}, f.n})
		}
		fine = fine[1:]
	}
	kept := append(make([]fineStep, 0, len(fine)+len(added)), fine...)
	for _, f := range added {
		switch k := len(kept); {
		case k > 0 && kept[k-1].start == f.start:
			kept[k-1].n += f.n
		case k == 0:
			return p, false
		default:
			kept = append(kept, f)
		}
	}
	return countSteps{p.coarse, next, kept}, true
}

// appendedShort is [countSteps.appended] for a length within which no step gets coarser: those that are too old go, and nothing
// else changes.
func (p countSteps) appendedShort(added []fineStep, now, length int64) (_ countSteps, usual bool) {
	fine := p.fine
	if len(added) == 0 || len(p.next)+len(p.coarse) > 0 || len(fine) > 0 && added[0].start < fine[len(fine)-1].start {
		return p, false
	}
	over := func(f fineStep) bool { return now-int64(f.start)-tiers[0].width > length }
	for len(fine) > 0 && over(fine[0]) {
		fine = fine[1:]
	}
	kept := append(make([]fineStep, 0, len(fine)+len(added)), fine...)
	for _, f := range added {
		switch k := len(kept); {
		case k > 0 && kept[k-1].start == f.start:
			kept[k-1].n += f.n
		case !over(f):
			kept = append(kept, f)
		}
	}
	return countSteps{fine: kept}, true
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
	if t.fine(p.fine) {
		return
	}
	for i := len(p.next) - 1; i >= 0; i-- {
		if s := &p.next[i]; t.add(float64(s.start), float64(tiers[1].width), float64(s.n)) {
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
func (t *tails) fine(steps []fineStep) bool {
	width := float64(tiers[0].width)
	for len(steps) > 0 {
		// Most lie within the spans that are left.
		from, sum, i := t.from[t.first], t.sum, len(steps)-1
		for ; i >= 0; i-- {
			low := float64(steps[i].start)
			if low < from || low+width > t.to {
				break
			}
			sum += float64(steps[i].n)
		}
		if t.sum = sum; i < 0 {
			break
		}
		if t.add(float64(steps[i].start), width, float64(steps[i].n)) {
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
