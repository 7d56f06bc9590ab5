package report

import (
	_ "embed"
	"fmt"
	"io"
	"time"

	"github.com/muster-scale/muster/internal/render"
)

//go:embed chart.css
var chartStyle string

// The geometry of a run's picture, in SVG units, which are pixels at full size.
const (
	width      = 1120.0
	left       = 58.0         // of the plots
	right      = width - 14.0 // of the plots
	headRoom   = 26.0         // above a plot, for its name
	gap        = 12.0         // below a plot
	timeHeight = 22.0         // below all plots, for the axis of time

	bannerHeight = 46.0 // above all plots, for the name of a picture of its own
	maxBanner    = 140  // bytes of that name
)

// SVG draws the curves of one run as a picture that stands alone, for light and dark backgrounds. It returns an error
// when the run has no curves, and the errors of w.
func SVG(w io.Writer, run Run) error {
	if len(run.Curves.columns) == 0 {
		return fmt.Errorf("draw run %q: it has no curves; give its recorder's Stepped to the simulator and take the "+
			"run from Recorder.Run", names([]Run{run})[0])
	}
	p := picture{run: run, k: run.Curves.coarse(maxColumns, maxMarks), name: names([]Run{run})[0], id: "run"}
	_, err := io.WriteString(w, p.draw())
	return err
}

// picture is the drawing of one run: panels one below the other with a common axis of time.
type picture struct {
	canvas
	run    Run
	k      Curves // those of the run, made coarser where the page is crowded
	name   string
	id     string  // prefix of the ids of its elements, which are unique in a page
	inPage bool    // the page has the style, shows values and lists the decisions
	x      scale   // of time, common to all panels
	times  []tick  // of the axis of time
	y      float64 // where the next panel begins
}

// panel is one plot of a picture. Its draw function gets the scale of its values.
type panel struct {
	name, unit string
	height     float64 // of the plot itself
	ticks      []tick  // labels of its values, and the values of its grid lines
	draw       func(p *picture, y scale)
}

// draw returns the picture as SVG.
func (p *picture) draw() string {
	end := p.k.end.Seconds()
	p.x = scale{low: 0, high: end, from: left, to: right}
	for _, t := range timeTicks(end, 10) {
		if t.value <= end {
			p.times = append(p.times, t)
		}
	}
	panels := p.panels()
	// The height must be known before anything is drawn, because it is in the first element.
	height := marksHeight + timeHeight
	for _, a := range panels {
		height += headRoom + a.height + gap
	}
	if !p.inPage {
		p.y = bannerHeight
		height += bannerHeight
	}
	p.open(height)
	for _, a := range panels {
		p.panel(a)
	}
	p.marks()
	p.timeAxis(height)
	if p.inPage {
		// The script moves this line with the pointer.
		p.line("cursor", left, 0, left, height-timeHeight)
	}
	p.end("svg")
	return p.String()
}

// open begins the picture, with the text that a screen reader reads.
func (p *picture) open(height float64) {
	if p.inPage {
		// In a page the section has the name of the run, and the script needs the edges of the plots.
		p.begin("svg", "class", "chart curves", "viewBox", "0 0 "+px(width)+" "+px(height), "role", "group",
			"aria-labelledby", p.id+"-title "+p.id+"-desc", "data-left", px(left), "data-right", px(right))
	} else {
		p.begin("svg", "xmlns", "http://www.w3.org/2000/svg", "class", "chart", "viewBox", "0 0 "+px(width)+" "+
			px(height),
			"width", px(width), "height", px(height), "role", "img", "aria-labelledby", p.id+"-title "+p.id+"-desc")
		p.say("title", p.name+" on "+p.run.Result.Trace, "id", p.id+"-title")
		p.say("style", chartStyle)
		p.leaf("rect", "class", "paper", "width", px(width), "height", px(height))
		p.label(left, 20, "name", shortened(p.name+" on "+p.run.Result.Trace, maxBanner))
		p.label(left, 37, "unit", headline(p.run.Result))
	}
	p.say("desc", p.description(), "id", p.id+"-desc")
}

// description describes the picture in words.
func (p *picture) description() string {
	objective := "."
	if p.run.Objective.Latency > 0 {
		objective = fmt.Sprintf(", with an objective of %s.", span(p.run.Objective.Latency.Seconds()))
	}
	return fmt.Sprintf("Over %s, %s messages came. The backlog was at most %s, its oldest message at most %s old%s "+
		"At most %s; the desired count changed %s.",
		span(p.k.end.Seconds()), grouped(float64(p.k.sent)), render.Plural(int(p.k.largest(backlog)), "message"),
		span(p.k.largest(age)), objective,
		render.Plural(int(p.k.largest(live)), "worker")+" existed at a time", render.Plural(p.k.changes, "time"))
}

// panels returns the plots of the picture, from top to bottom.
func (p *picture) panels() []panel {
	// Each panel has a scale from 0 to its largest value; that of the age includes the objective.
	fastest := 0.0
	for _, r := range p.k.rates() {
		fastest = max(fastest, r.fastest)
	}
	latency := p.run.Objective.Latency
	return []panel{
		{"Arrivals", "messages per second", 80, rateTicks(fastest, 3), (*picture).arrivals},
		{"Backlog", "messages waiting", 100, countTicks(p.k.largest(backlog), 3),
			func(p *picture, y scale) { p.curve("backlog", backlog, y) }},
		{"Oldest age", "of the messages waiting", 100, timeTicks(max(p.k.largest(age), latency.Seconds(), 1), 3),
			(*picture).age},
		{"Fleet", "workers", 170, countTicks(p.k.largest(live, desired, inService), 4), (*picture).fleet},
	}
}

// panel draws the frame of a plot and its content.
func (p *picture) panel(a panel) {
	top := p.y + headRoom
	// The scale ends at the last tick, which is at or above the largest value.
	high := a.ticks[len(a.ticks)-1].value
	y := scale{low: 0, high: high, from: top + a.height, to: top}
	p.heading(top, a.name, a.unit)
	for _, t := range a.ticks {
		p.line("grid", left, y.at(t.value), right, y.at(t.value))
		p.label(left-7, y.at(t.value)+4, "end", t.label)
	}
	for _, t := range p.times {
		p.line("grid", p.x.at(t.value), y.from, p.x.at(t.value), y.to)
	}
	a.draw(p, y)
	p.line("axis", left, y.from, right, y.from)
	p.y = y.from + gap
}

// heading writes the name of the plot that begins at top.
func (p *picture) heading(top float64, name, unit string) {
	p.begin("text", "class", "name", "x", px(left), "y", px(top-9))
	p.escaped(name)
	p.say("tspan", " "+unit, "class", "unit")
	p.end("text")
}

// timeAxis labels the axis of time since the start of the run.
func (p *picture) timeAxis(height float64) {
	for _, t := range p.times {
		x, class := p.x.at(t.value), "middle"
		at := x
		// A label at the right edge would be cut off.
		if x+textWidth(t.label)/2 > width {
			at, class = width, "end"
		}
		p.line("axis", x, height-timeHeight, x, height-timeHeight+4)
		p.label(at, height-5, class, t.label)
	}
}

// seconds returns the horizontal coordinate of a time of the run.
func (p *picture) seconds(at time.Duration) float64 { return p.x.at(at.Seconds()) }
