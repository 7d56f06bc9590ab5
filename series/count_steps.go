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
