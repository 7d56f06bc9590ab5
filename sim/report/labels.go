package report

// box is a rectangle, from its upper left to its lower right corner.
type box struct{ x1, y1, x2, y2 float64 }

func (b box) meets(o box) bool {
	return b.x1 < o.x2 && o.x1 < b.x2 && b.y1 < o.y2 && o.y1 < b.y2
}

func (b box) inside(o box) bool {
	return b.x1 >= o.x1 && b.y1 >= o.y1 && b.x2 <= o.x2 && b.y2 <= o.y2
}

// maxLabel bounds the text of a label, in characters; the whole name is in the table and under the pointer.
const maxLabel = 32

// nameAt writes a name beside a point where it covers nothing, with a line to it if that is far away. A name that fits
// nowhere is left to the pointer and the table.
func (p *plot) nameAt(x, y float64, name string) {
	if r := []rune(name); len(r) > maxLabel {
		name = string(r[:maxLabel-1]) + "…"
	}
	w := textWidth(name)
	for _, away := range []float64{0, 14, 28, 46, 66, 90, 120} {
		for _, side := range []struct{ right, down float64 }{
			{1, 0}, {-1, 0}, {1, -1}, {1, 1}, {-1, -1}, {-1, 1}, {0, -1}, {0, 1},
		} {
			if away > 0 && side.down == 0 {
				continue // a long line along a row of points says nothing
			}
			at, base := x+float64(side.right*(9+away)), y+4+float64(side.down*(13+away))
			b := box{at - w/2, base - 11, at + w/2, base + 4}
			class := "run middle"
			switch side.right {
			case 1:
				b.x1, b.x2, class = at-2, at+w, "run"
			case -1:
				b.x1, b.x2, class = at-w, at+2, "run end"
			}
			if !b.inside(p.outside) || p.covered(b) {
				continue
			}
			p.taken = append(p.taken, b)
			if away > 0 {
				p.line("leader", x, y, at-float64(side.right*3), base-4-float64(side.down*6))
			}
			p.label(at, base, class, name)
			return
		}
	}
}

func (p *plot) covered(b box) bool {
	for _, t := range p.taken {
		if b.meets(t) {
			return true
		}
	}
	return false
}
