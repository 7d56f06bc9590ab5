package metricmath

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster/metricmath/language"
)

// Answer is the result of one query.
type Answer struct {
	// ID is the id of the query.
	ID string
	// Value has a point for every period of the range. At least one of them is known if Reason is empty.
	Value Value
	// Reason says why no point is known; empty if some are.
	Reason string
}

// Evaluate computes the returned query from the points that were read up to the instant at. The range ends with the
// last period that is complete then: values of the current period are still arriving. The reason is empty if at least
// one point is known; otherwise it says why none is.
//
// For a graph that returns several queries, Evaluate returns the first; use EvaluateAll for all. The value shares no
// memory with the inputs.
func (p Program) Evaluate(in Inputs, at time.Time) (Value, string) {
	a := p.EvaluateAll(in, at)
	if len(a) == 0 {
		return Value{}, "the program is empty; Compile makes one"
	}
	return a[0].Value, a[0].Reason
}

// EvaluateAll computes every returned query, in the order of the list. The limits hold for all of them together.
func (p Program) EvaluateAll(in Inputs, at time.Time) []Answer {
	answers := make([]Answer, len(p.returned))
	g, reason := p.grid(in, at)
	e := evaluation{program: p, grid: g, in: in, work: MaxWork, entries: make([]result, len(p.entries)),
		faults: make([]error, len(p.entries))}
	if reason == "" {
		e.compute()
	}
	for i, place := range p.returned {
		id := p.entries[place].query.ID
		answers[i] = Answer{ID: id, Reason: reason}
		if reason != "" {
			continue
		}
		r, err := e.entry(place)
		if err == nil {
			err = e.spend((len(p.entries) + p.edges) / 4) // the cost of finding the silent metrics, see value
		}
		if err != nil {
			answers[i].Reason = id + " is unknown: " + err.Error()
			continue
		}
		answers[i].Value, answers[i].Reason = e.value(place, r)
	}
	return answers
}

// evaluation is one run of a program. It lives for one call and is used by one goroutine.
type evaluation struct {
	program Program
	grid    grid
	in      Inputs
	// work is how many points may still be computed, see MaxWork.
	work int
	// entries and faults hold the result of each entry by its place. Metrics are placed on the grid when first used.
	entries []result
	faults  []error
	// spare are buffers of points that are no longer in use. A deep expression needs a few buffers instead of one for
	// each operator.
	spare [][]Point
}

// result is the value of a node: a number, or lines.
type result struct {
	kind   language.Kind
	number Point
	lines  []line
}

// line is a series on the grid: points has one element for each period.
type line struct {
	label  string
	points []Point
	// scratch lines may be overwritten: no other result shares their points.
	scratch bool
	// made lines were computed here; the points of others belong to the inputs.
	made bool
}

// needs tells for each entry whether the given places depend on it, directly or not. The places themselves are
// included.
func (p Program) needs(places ...int) []bool {
	needed := make([]bool, len(p.entries))
	for _, i := range places {
		needed[i] = true
	}
	for _, i := range slices.Backward(p.order) {
		if needed[i] {
			for _, n := range p.entries[i].needs {
				needed[n] = true
			}
		}
	}
	return needed
}

// compute evaluates the expressions that the returned entries need, in order. An unused expression costs nothing, and
// its faults do not matter.
func (e *evaluation) compute() {
	p := e.program
	needed := p.needs(p.returned...)
	for _, i := range p.order {
		if !needed[i] {
			continue
		}
		r, err := e.node(p.entries[i].root)
		r.lines = slices.Clone(r.lines) // an expression of only an id shares the lines of another entry
		for j := range r.lines {
			r.lines[j].made = r.lines[j].made || r.lines[j].scratch
			r.lines[j].scratch = false
			if r.kind == language.OneSeries {
				r.lines[j].label = p.entries[i].query.name()
			}
		}
		e.entries[i], e.faults[i] = r, err
	}
}

// name returns the label of a query's series.
func (q Query) name() string {
	if q.Label != "" {
		return q.Label
	}
	return q.ID
}

// spend takes points from the remaining work. It is called before the work, so that a refused evaluation stays cheap.
func (e *evaluation) spend(points int) error {
	if e.work -= points; e.work < 0 {
		return fmt.Errorf("more than %d points would have to be computed: shorten the range, or take fewer metrics",
			MaxWork)
	}
	return nil
}

// entry returns the result of an entry. Expressions are computed in order before they are used; a metric is placed on
// the grid at its first use.
func (e *evaluation) entry(place int) (result, error) {
	x := e.program.entries[place]
	if x.root != nil || e.entries[place].kind != 0 || e.faults[place] != nil {
		return e.entries[place], e.faults[place]
	}
	points, err := e.metric(x)
	e.faults[place] = err
	e.entries[place] = result{kind: language.OneSeries, lines: []line{{label: x.query.name(), points: points}}}
	return e.entries[place], err
}

// metric returns the points of a metric on the grid. Points at another distance than the query's period are an error:
// the caller read something else.
func (e *evaluation) metric(x entry) ([]Point, error) {
	id := x.query.ID
	s, read := e.in.Series[id]
	if !read {
		return nil, fmt.Errorf("the metric %s was not read", id)
	}
	if len(s.Points) == 0 {
		return make([]Point, e.grid.n), e.spend(e.grid.n)
	}
	if want := inSeconds(x.period); s.Period != want {
		return nil, fmt.Errorf("found points every %s for the metric %s, expected every %s as its query says", s.Period,
			id, want)
	}
	return e.place(s, x.query.MetricStat.Stat)
}

// place maps a series onto the grid and pays for it.
func (e *evaluation) place(s Series, stat string) ([]Point, error) {
	if !sensible(s.Start) {
		return nil, errors.New("a series begins outside of the years 1 to 9999")
	}
	if err := e.spend(max(e.grid.n, int(e.grid.period/int64(s.Period/time.Second))*e.grid.n)); err != nil {
		return nil, err
	}
	return e.grid.place(s, stat), nil
}

// value returns the answer of a returned entry, with the metrics behind it that had no point.
func (e *evaluation) value(place int, r result) (Value, string) {
	x := e.program.entries[place]
	v := Value{Kind: r.kind, Series: make([]Series, len(r.lines))}
	some := false
	for i, l := range r.lines {
		label := l.label
		if r.kind == language.Array && x.query.Label != "" {
			label = x.query.Label + " " + label
		}
		points := l.points
		if !l.made || len(e.program.returned) > 1 {
			points = slices.Clone(points)
		}
		v.Series[i] = Series{Label: label, Start: e.grid.start(0), Period: inSeconds(int(e.grid.period)),
			Points: points}
		some = some || slices.ContainsFunc(l.points, known)
	}
	asked, needed := 0, e.program.needs(place)
	for i, m := range e.program.entries {
		if m.root == nil && e.entries[i].kind != 0 && needed[i] {
			asked++
			if !slices.ContainsFunc(e.entries[i].lines[0].points, known) {
				v.Silent = append(v.Silent, m.query.ID)
			}
		}
	}
	if some {
		return v, ""
	}
	return v, e.nothing(x, asked, v.Silent)
}

// known tells whether a point is known.
func known(p Point) bool { return p.Known }

// nothing says why no point is known. asked is the number of metrics that were read, silent those of them without
// points.
func (e *evaluation) nothing(x entry, asked int, silent []string) string {
	where := fmt.Sprintf("%s has no point from %s to %s", x.query.ID, e.grid.start(0).Format(time.RFC3339),
		e.grid.start(e.grid.n).Format(time.RFC3339))
	switch {
	case len(silent) > 0:
		return where + ": nothing was published for " + strings.Join(silent[:min(len(silent), 10)], ", ")
	case asked > 0:
		return where + ": every point was dropped, by a division by zero, by IF without a third argument, or by a " +
			"number that is not finite"
	}
	return where
}

// node evaluates a part of an expression. The compiler has checked the kinds, so every case is possible only with the
// right kinds of operands.
func (e *evaluation) node(n *language.Node) (result, error) {
	switch n.Kind {
	case language.NodeNumber:
		return result{kind: language.Number, number: Point{n.Number, true}}, nil
	case language.NodeID:
		return e.entry(e.program.places[n.Text])
	case language.NodeArray:
		r := result{kind: language.Array}
		for _, a := range n.Args {
			inner, err := e.node(a)
			if err != nil {
				return result{}, err
			}
			r.lines = append(r.lines, inner.lines...)
		}
		return r, e.fits(r)
	case language.NodeCall:
		return e.call(n)
	case language.NodeMinus:
		inner, err := e.node(n.Args[0])
		if err != nil {
			return result{}, err
		}
		return e.each(inner, 1, func(p Point) Point { return Point{0 - p.Value, true} })
	}
	a, err := e.node(n.Args[0])
	if err != nil {
		return result{}, err
	}
	b, err := e.node(n.Args[1])
	if err != nil {
		return result{}, err
	}
	return e.binary(n.Operator, a, b)
}

// fits refuses an array with too many series, and pays for the others.
func (e *evaluation) fits(r result) error {
	if len(r.lines) > MaxSeries {
		return fmt.Errorf("an array has %d series, at most %d can be computed", len(r.lines), MaxSeries)
	}
	return e.spend(len(r.lines))
}
