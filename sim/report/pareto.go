package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/muster-scale/muster/internal/render"
)

// Attainment draws what every run reached against what it cost, as a picture that stands alone, for light and dark
// backgrounds. It has one plot for each trace, with the Pareto front and, where it is known, the lower bound of the
// cost. It returns an error when there are no runs, and the errors of w.
func Attainment(w io.Writer, runs []Run) error {
	if len(runs) == 0 {
		return errors.New("draw attainment against cost: found no runs, at least one is needed")
	}
	_, err := io.WriteString(w, attainmentSVG(runs, false))
	return err
}

// maxFacets bounds the plots of the picture: with more of them it would be unreadable.
const maxFacets = 100

// maxTitle bounds the name of a plot, in bytes.
const maxTitle = 60

// attainmentSVG returns the picture. In a page each point is a link to the section of its run.
func attainmentSVG(runs []Run, inPage bool) string {
	all := facets(runs)
	left := 0
	if len(all) > maxFacets {
		left, all = len(all)-maxFacets, all[:maxFacets]
	}
	columns, plotWidth, plotHeight := 1, width, 380.0
	// One plot fills the width; several stand in two columns.
	if len(all) > 1 {
		columns, plotWidth, plotHeight = 2, width/2, 300.0
	}
	rows := (len(all) + columns - 1) / columns
	height := float64(rows) * plotHeight
	if left > 0 {
		height += 24
	}
	c := &canvas{}
	begun := []string{"class", "chart front", "viewBox", "0 0 " + px(width) + " " + px(height), "aria-labelledby",
		"front-title front-desc"}
	if inPage {
		c.begin("svg", append(begun, "role", "group")...)
	} else {
		c.begin("svg", append(begun, "role", "img", "xmlns", "http://www.w3.org/2000/svg", "width", px(width), "height",
			px(height))...)
		c.say("style", chartStyle)
		c.leaf("rect", "class", "paper", "width", px(width), "height", px(height))
	}
	c.say("title", "Attainment against cost", "id", "front-title")
	c.say("desc", attainmentDescription(runs, all), "id", "front-desc")
	called := names(runs)
	for i, f := range all {
		p := newPlot(runs, called, f)
		p.canvas, p.inPage, p.titled, p.narrow = c, inPage, len(all) > 1 || !inPage, len(all) > 1
		// The plots fill the columns row by row.
		p.place(float64(i%columns)*plotWidth, float64(i/columns)*plotHeight, plotWidth, plotHeight)
		p.draw()
	}
	if left > 0 {
		c.label(14, height-8, "unit", fmt.Sprintf("The plots of %s more are left out; the table has every run.",
			render.Plural(left, "trace")))
	}
	c.end("svg")
	return c.String()
}

// attainmentDescription names the runs on the Pareto front in words.
func attainmentDescription(runs []Run, all []facet) string {
	called := names(runs)
	text := ""
	for _, f := range all {
		best := ""
		for _, i := range pareto(runs, f.runs) {
			if best != "" {
				best += "; "
			}
			best += fmt.Sprintf("%s: %s in time for %s worker-seconds", called[i], percent(runs[i].Result.InTimeRatio),
				grouped(runs[i].Result.WorkerSeconds))
		}
		text += fmt.Sprintf("On %s no run is both cheaper and more in time than these: %s. ", f.trace, best)
	}
	return text
}

// pareto returns the Pareto front of the given runs by ascending cost: the runs for which no other is both cheaper and
// more in time. Runs that are equal in both are all in it.
func pareto(runs []Run, of []int) (best []int) {
	sorted := slices.Clone(of)
	// By ascending cost, a run is on the front if it is more in time than all cheaper ones, that is, than the last run
	// of the front.
	slices.SortStableFunc(sorted, func(a, b int) int {
		return cmp.Or(cmp.Compare(runs[a].Result.WorkerSeconds, runs[b].Result.WorkerSeconds),
			cmp.Compare(runs[b].Result.InTimeRatio, runs[a].Result.InTimeRatio))
	})
	for _, i := range sorted {
		r := runs[i].Result
		if n := len(best); n > 0 {
			last := runs[best[n-1]].Result
			equal := r.WorkerSeconds == last.WorkerSeconds && r.InTimeRatio == last.InTimeRatio
			if r.InTimeRatio <= last.InTimeRatio && !equal {
				continue
			}
		}
		best = append(best, i)
	}
	return best
}

// plot is attainment against cost on one trace.
type plot struct {
	*canvas          // all plots draw into the same picture
	runs    []Run    // of all traces
	called  []string // the names of the runs
	facet   facet    // the runs of this plot
	best    []int    // the Pareto front
	bounds  []bound  // the different lower bounds of the runs
	inPage  bool     // points are links
	titled  bool     // the plot needs the name of its trace, because it is not the only one
	narrow  bool     // there is no room for long texts
	x, y    scale    // of cost and of attainment
	xTicks  []tick
	yTicks  []tick
	taken   []box   // places that no name may cover: points and names
	lines   []box   // lines, which a name may cover only where it would otherwise be far from its point
	goal    float64 // the quantile of the objective, if all runs have the same; 0 otherwise
	outside box     // the area of the plot inside its margins
}

// bound is a lower bound of the cost, and what proves it.
type bound struct {
	cost   float64
	method string
}

// newPlot returns the plot of a trace, with axes for its runs.
func newPlot(runs []Run, called []string, f facet) *plot {
	p := &plot{runs: runs, called: called, facet: f, best: pareto(runs, f.runs)}
	least, costs, goals := 1.0, []float64{}, []float64{}
	for _, i := range f.runs {
		r := runs[i].Result
		costs = append(costs, r.WorkerSeconds)
		least = min(least, r.InTimeRatio)
		goals = append(goals, runs[i].Objective.Quantile)
		// Runs on one trace share a lower bound, but seeds of a generated trace have one each.
		if b := (bound{r.Bound, r.Method}); b.cost > 0 && !slices.Contains(p.bounds, b) {
			p.bounds = append(p.bounds, b)
		}
	}
	// A line for the objective makes sense only where all runs have the same one.
	if slices.Min(goals) == slices.Max(goals) && goals[0] > 0 && goals[0] < 1 {
		p.goal = goals[0]
		least = min(least, p.goal)
	}
	for _, b := range p.bounds {
		costs = append(costs, b.cost)
	}
	p.costs(slices.Min(costs), slices.Max(costs))
	p.attainment(least)
	return p
}

// costs chooses the axis of cost: logarithmic if the costs are far apart.
func (p *plot) costs(low, high float64) {
	if low > 0 && high > 8*low {
		// Without logarithms the cheap runs would be drawn on top of each other.
		p.x = scale{low: low / 1.4, high: high * 1.4, log: true}
		p.xTicks = logTicks(p.x.low, p.x.high)
		return
	}
	// The margin at the right has room for the name of the most expensive run.
	p.x = scale{low: 0, high: max(high*1.18, 1)}
	for _, t := range rateTicks(p.x.high, 6) {
		if t.value <= p.x.high {
			p.xTicks = append(p.xTicks, t)
		}
	}
}

// attainment chooses the axis of attainment: all of it, or its upper end if all runs are there.
func (p *plot) attainment(least float64) {
	// The floor leaves a margin of a twentieth of the axis below the lowest run.
	floor := 0.0
	for _, f := range []float64{0.5, 0.8, 0.9, 0.95} {
		if least >= f+(1-f)/20 {
			floor = f
		}
	}
	p.y = scale{low: floor, high: 1, nines: true}
	for _, v := range []float64{0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1} {
		if v >= floor {
			p.yTicks = append(p.yTicks, tick{v, percent(v)})
		}
	}
}

// place sets the position of the plot.
func (p *plot) place(x, y, width, height float64) {
	const left, right, bottom = 64, 18, 46
	top := 22.0
	if p.titled {
		top = 46
	}
	p.outside = box{x + left, y + top, x + width - right, y + height - bottom}
	p.x.from, p.x.to = p.outside.x1, p.outside.x2
	// The values end inside the frame, so that points at 0 or 100 % have room for their names.
	p.y.from, p.y.to = p.outside.y2-14, p.outside.y1+24
}

// draw draws the plot: axes, lines, points and names, in this order.
func (p *plot) draw() {
	o := p.outside
	if p.titled {
		p.label(o.x1, o.y1-25, "name", shortened(p.facet.trace, maxTitle))
	}
	for _, t := range p.yTicks {
		p.line("grid", o.x1, p.y.at(t.value), o.x2, p.y.at(t.value))
		p.label(o.x1-7, p.y.at(t.value)+4, "end", t.label)
	}
	for _, t := range p.xTicks {
		p.line("grid", p.x.at(t.value), o.y1, p.x.at(t.value), o.y2)
		p.label(p.x.at(t.value), o.y2+17, "middle", t.label)
	}
	p.line("axis", o.x1, o.y2, o.x2, o.y2)
	stretched := "in time, stretched towards 100 %"
	if p.narrow {
		stretched = "in time, stretched"
	}
	p.label(o.x1, o.y1-8, "unit", stretched)
	p.legend(o.x2, o.y1-8, p.entries()...)
	cost := "cost, worker-seconds"
	if p.x.log {
		cost += " (logarithmic)"
	}
	p.label(o.x2, o.y2+35, "unit end", cost)
	p.drawLines()
	p.points()
}

// entries returns the legend of the lines.
func (p *plot) entries() []entry {
	all := []entry{{"pareto", "best"}}
	if p.goal > 0 {
		all = append(all, entry{"objective", "objective " + percent(p.goal)})
	}
	switch len(p.bounds) {
	case 0:
	case 1:
		all = append(all, entry{"bound", "lower bound " + grouped(p.bounds[0].cost)})
	default:
		all = append(all, entry{"bound", fmt.Sprintf("lower bounds (%d)", len(p.bounds))})
	}
	return all
}

// drawLines draws the Pareto front, the lower bounds and the objective.
func (p *plot) drawLines() {
	o := p.outside
	for _, b := range p.bounds {
		x := p.x.at(b.cost)
		p.begin("line", "class", "bound", "x1", px(x), "y1", px(o.y1), "x2", px(x), "y2", px(o.y2))
		p.say("title", "No schedule that meets the objective pays less than "+grouped(b.cost)+
			" worker-seconds; proof: "+orDash(b.method))
		p.end("line")
		p.lines = append(p.lines, box{x - 1, o.y1, x + 1, o.y2})
	}
	if p.goal > 0 {
		y := p.y.at(p.goal)
		p.line("objective", o.x1, y, o.x2, y)
		p.lines = append(p.lines, box{o.x1, y - 1, o.x2, y + 1})
	}
	var d path
	for n, i := range p.best {
		x, y := p.x.at(p.runs[i].Result.WorkerSeconds), p.y.at(p.runs[i].Result.InTimeRatio)
		if n == 0 {
			d.start(x, y)
			continue
		}
		p.lines = append(p.lines, box{d.x, d.y - 1, x, d.y + 1}, box{x - 1, y, x + 1, d.y})
		d.across(x)
		d.down(y)
	}
	// Behind the last run of the front nothing is gained: the line goes on to the right.
	p.lines = append(p.lines, box{d.x, d.y - 1, o.x2, d.y + 1})
	d.across(o.x2)
	p.leaf("path", "class", "pareto", "d", d.String())
}

// points draws the runs with their names; those on the Pareto front are filled.
func (p *plot) points() {
	const radius = 5.0
	for _, i := range p.facet.runs {
		x, y := p.x.at(p.runs[i].Result.WorkerSeconds), p.y.at(p.runs[i].Result.InTimeRatio)
		// All points are taken before the first name is placed, so that no name covers a later point.
		p.taken = append(p.taken, box{x - radius - 1, y - radius - 1, x + radius + 1, y + radius + 1})
	}
	for _, i := range p.facet.runs {
		r := p.runs[i].Result
		x, y := p.x.at(r.WorkerSeconds), p.y.at(r.InTimeRatio)
		class := "beaten"
		if slices.Contains(p.best, i) {
			class = "best"
		}
		if p.inPage {
			p.begin("a", "href", "#run-"+strconv.Itoa(i), "aria-label", p.called[i])
		}
		// The title is the tooltip of the point.
		p.begin("circle", "class", class, "cx", px(x), "cy", px(y), "r", px(radius))
		p.say("title", fmt.Sprintf("%s: %s in time, %s worker-seconds, p95 %s", p.called[i], percent(r.InTimeRatio),
			grouped(r.WorkerSeconds), render.Seconds(r.P95)))
		p.end("circle")
		p.nameAt(x, y, p.called[i])
		if p.inPage {
			p.end("a")
		}
	}
}
