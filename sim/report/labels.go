package report

// box is a rectangle, from its upper left to its lower right corner.
type box struct{ x1, y1, x2, y2 float64 }

// meets tells whether two boxes have a point in common; touching edges do not count.
func (b box) meets(o box) bool {
	return b.x1 < o.x2 && o.x1 < b.x2 && b.y1 < o.y2 && o.y1 < b.y2
}

// inside tells whether b lies within o.
func (b box) inside(o box) bool {
	return b.x1 >= o.x1 && b.y1 >= o.y1 && b.x2 <= o.x2 && b.y2 <= o.y2
}

// maxLabel bounds the text of a label, in characters. The whole name is in the table and in the tooltip.
const maxLabel = 32

// side is the side of a point on which a name stands: right is 1, 0 or -1 (left), down is 1, 0 or -1 (up).
type side struct{ right, down float64 }

// nameAt writes a name beside a point, where it covers no other point or name. A name far away gets a line to its
// point. Places that cover no line are tried first. A name that fits nowhere is only in the tooltip and the table.
func (p *plot) nameAt(x, y float64, name string) {
	if r := []rune(name); len(r) > maxLabel {
		name = string(r[:maxLabel-1]) + "…"
	}
	// Names are placed beside their point, then above or below it, and at last further away with a line.
	level := []side{{1, 0}, {-1, 0}}
	aslant := []side{{1, -1}, {1, 1}, {-1, -1}, {-1, 1}, {0, -1}, {0, 1}}
	near, far := []float64{0, 12}, []float64{28, 46, 66, 90, 120}
	for _, try := range []struct {
		distance []float64
		sides    []side
		over     bool // may cover lines
	}{
		{near, append(level, aslant...), false}, {near, append(aslant, level...), true}, {far, aslant, false},
		{far, aslant, true},
	} {
		for _, distance := range try.distance {
			for _, s := range try.sides {
				if p.fits(x, y, s, distance, name, try.over) {
					return
				}
			}
		}
	}
}

// fits writes a name on a side of a point, at a distance, if there is room, and tells whether there was.
func (p *plot) fits(x, y float64, s side, distance float64, name string, over bool) bool {
	if distance > 0 && s.down == 0 {
		return false // a line along a row of points would look like one of the plot
	}
	// The numbers are in pixels: the radius of a point, the height of a line of text, and margins.
	w := textWidth(name)
	at, base := x+float64(s.right*(9+distance)), y+4+float64(s.down*(13+distance))
	b := box{at - w/2, base - 11, at + w/2, base + 4}
	class := "run middle"
	switch s.right {
	case 1:
		// The text begins right of the point.
		b.x1, b.x2, class = at-2, at+w, "run"
	case -1:
		// The text ends left of the point.
		b.x1, b.x2, class = at-w, at+2, "run end"
	}
	if !b.inside(p.outside) || b.meetsAny(p.taken) || !over && b.meetsAny(p.lines) {
		return false
	}
	// Later names must not cover this one.
	p.taken = append(p.taken, b)
	if distance > 0 {
		p.line("leader", x, y, at-float64(s.right*3), base-4-float64(s.down*6))
	}
	p.label(at, base, class, name)
	return true
}

// meetsAny tells whether b meets one of the others.
func (b box) meetsAny(others []box) bool {
	for _, o := range others {
		if b.meets(o) {
			return true
		}
	}
	return false
}
