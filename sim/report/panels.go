package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/muster-scale/muster/internal/render"
)

// outline returns the path of a quantity. Each value holds until the next column, and a stroke within a column shows
// the range. Where the quantity is unknown there is a gap. An area begins and ends at the zero line.
func (p *picture) outline(q int, y scale, area bool) string {
	// finish ends a piece of the curve at x, where a gap begins or the run ends.
	var d path
	finish := func(x float64) {
		if !d.drawn {
			return
		}
		d.across(x)
		if area {
			d.down(y.at(0))
		}
		d.drawn = false
	}
	for _, c := range p.k.columns {
		x, v := p.seconds(c.at), c.values[q]
		if !v.known {
			finish(x)
			continue
		}
		switch {
		case d.drawn:
			d.across(x)
		case area:
			d.start(x, y.at(0))
		default:
			d.start(x, y.at(v.least))
		}
		// Within a column the order of the values is lost, so it is drawn from the least to the largest and on to the
		// last.
		d.down(y.at(v.least))
		d.down(y.at(v.largest))
		d.down(y.at(v.last))
	}
	finish(p.seconds(p.k.end))
	return d.String()
}

// curve draws a quantity as an area.
func (p *picture) curve(class string, q int, y scale) {
	p.leaf("path", "class", "area "+class, "d", p.outline(q, y, true))
}

// arrivals draws the messages per second: the mean, and behind it the fastest second of each column.
func (p *picture) arrivals(y scale) {
	var mean, fastest path
	rates := p.k.rates()
	if len(rates) == 0 {
		return
	}
	mean.start(p.seconds(0), y.at(0))
	fastest.start(p.seconds(0), y.at(0))
	differ := false
	for _, r := range rates {
		mean.down(y.at(r.mean))
		mean.across(p.seconds(r.to))
		fastest.down(y.at(r.fastest))
		fastest.across(p.seconds(r.to))
		// The second curve and its legend are drawn only where they would be visible.
		differ = differ || px(y.at(r.mean)) != px(y.at(r.fastest))
	}
	mean.down(y.at(0))
	fastest.down(y.at(0))
	if differ {
		p.leaf("path", "class", "area fastest", "d", fastest.String())
		p.legend(right, y.to-9, entry{"area arrivals", "mean"}, entry{"area fastest", "busiest second"})
	}
	p.leaf("path", "class", "area arrivals", "d", mean.String())
}

// age draws the age of the oldest message, and marks the part beyond the objective.
func (p *picture) age(y scale) {
	latency := p.run.Objective.Latency.Seconds()
	d := p.outline(age, y, true)
	p.leaf("path", "class", "area age", "d", d)
	if latency <= 0 {
		return
	}
	at := y.at(latency)
	if p.k.largest(age) > latency {
		// The part beyond the objective is the same area in another colour, cut off below the line.
		p.begin("clipPath", "id", p.id+"-late")
		p.leaf("rect", "x", px(left-2), "y", px(y.to-2), "width", px(right-left+4), "height", px(at-y.to+2))
		p.end("clipPath")
		p.leaf("path", "class", "area late", "d", d, "clip-path", "url(#"+p.id+"-late)")
	}
	p.line("objective", left, at, right, at)
	// A line near the top has its label below it.
	// Otherwise it would cover the name of the panel.
	below := at-y.to < 14
	lift := -5.0
	if below {
		lift = 13
	}
	p.label(right-4, at+lift, "goal end", "objective "+span(latency))
}

// fleet draws the members that exist, those in service and the busy ones as areas, one before the other, and the
// desired count as a line.
func (p *picture) fleet(y scale) {
	// The order matters: each area covers a part of the one before it.
	p.curve("live", live, y)
	p.curve("service", inService, y)
	p.curve("busy", busy, y)
	class := "desired"
	if p.restless() {
		class += " thin"
	}
	p.leaf("path", "class", class, "d", p.outline(desired, y, false))
	p.legend(right, y.to-9, entry{"desired", "desired"}, entry{"area live", "existing"},
		entry{"area service", "in service"}, entry{"area busy", "busy"})
}

// restless tells whether the desired count changes in so many columns that a line of full width would hide the rest.
func (p *picture) restless() bool {
	n := 0
	for _, c := range p.k.columns {
		if v := c.values[desired]; v.known && v.least != v.largest {
			n++
		}
	}
	return n > dense
}

// dense is the number of neighbouring strokes from which on they are drawn thinner.
const dense = 250

// entry is a part of a legend: a class of the style sheet, and a name.
type entry struct{ class, name string }

// area tells whether it is drawn as an area, and not as a line.
func (e entry) area() bool { return strings.HasPrefix(e.class, "area") }

// legend explains the curves, in one row that ends at the right.
func (c *canvas) legend(right, y float64, entries ...entry) {
	x := right
	for i := len(entries) - 1; i >= 0; i-- {
		e := entries[i]
		// The legend is laid out from right to left, because only its right end is known.
		x -= textWidth(e.name) + 21
		c.say("text", e.name, "x", px(x+21), "y", px(y))
		if e.area() {
			c.leaf("rect", "class", e.class, "x", px(x), "y", px(y-9), "width", "16", "height", "10")
		} else {
			c.line(e.class, x, y-4, x+16, y-4)
		}
		x -= 16
	}
}

// textWidth returns about how wide a text is in the size of labels, in a wide font.
func textWidth(text string) (w float64) {
	for _, r := range text {
		switch {
		case strings.ContainsRune("fijlrt.,:;'|()[] -", r):
			w += 4.7
		case strings.ContainsRune("mwMW%", r):
			w += 10.8
		default:
			w += 7.4
		}
	}
	return w
}

// The strip of decisions: rises stand above its middle, falls below.
const (
	marksHeight = headRoom + 2*marksReach + 10
	marksReach  = 18.0
)

// marks draws a stroke for each decision that changed the desired count; the larger the change, the longer the stroke.
func (p *picture) marks() {
	top := p.y + headRoom
	middle := top + marksReach
	unit := "changes of the desired count"
	if len(p.k.marks) < p.k.changes {
		unit += fmt.Sprintf(", the largest %s of %s", grouped(float64(len(p.k.marks))), grouped(float64(p.k.changes)))
	}
	p.heading(top, "Decisions", unit)
	p.label(left-7, middle-6, "end", "up")
	p.label(left-7, middle+14, "end", "down")
	p.line("axis", left, middle, right, middle)
	// The largest change has the full length, and a change of one is still visible: lengths grow with the root.
	largest := 1
	for _, m := range p.k.marks {
		largest = max(largest, m.size())
	}
	for i, m := range p.k.marks {
		// A stroke has at least five pixels.
		reach := 5 + float64((marksReach-5)*math.Sqrt(float64(m.size())/float64(largest)))
		class, y := "mark up", middle-reach
		if m.to < m.from {
			class, y = "mark fall", middle+reach
		}
		if len(p.k.marks) > dense {
			class += " thin"
		}
		d := "M" + px(p.seconds(m.at)) + " " + px(middle) + "V" + px(y)
		if p.inPage {
			// Only one mark is a stop of the tab key; the script moves between marks with the arrow keys.
			stop := "-1"
			if i == 0 {
				stop = "0"
			}
			p.leaf("path", "class", class, "d", d, "tabindex", stop, "role", "img", "aria-label", m.spoken(),
				"data-mark", strconv.Itoa(i))
			continue
		}
		p.begin("path", "class", class, "d", d)
		p.say("title", "at "+span(m.at.Seconds())+": "+m.why())
		p.end("path")
	}
	p.y = middle + marksReach
}

// spoken returns the time and the change, for a screen reader.
func (m mark) spoken() string {
	return fmt.Sprintf("at %s from %d to %d", span(m.at.Seconds()), m.from, m.to)
}

// why returns the decision's sentence, and how many smaller changes are not shown.
func (m mark) why() string {
	if m.others == 0 {
		return m.sentence
	}
	return fmt.Sprintf("%s (and %s close to it)", m.sentence, render.Plural(m.others, "smaller change"))
}
