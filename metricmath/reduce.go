package metricmath

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/muster-scale/muster/metricmath/language"
)

// reduce evaluates AVG, MAX, MIN, SUM, STDDEV and DATAPOINT_COUNT. They reduce a series to a number over time, and an
// array to a series period by period.
func (e *evaluation) reduce(function string, r result) (result, error) {
	if r.kind == language.OneSeries {
		if err := e.spend(2 * e.grid.n); err != nil {
			return result{}, err
		}
		var t tally
		for _, p := range r.lines[0].points {
			t.add(p)
		}
		if function == "AVG" && e.program.options.AverageCountsHoles {
			t.of = e.grid.n
		}
		return result{kind: language.Number, number: e.statistic(function, t)}, nil
	}
	if err := e.spend((2 + len(r.lines)) * e.grid.n); err != nil {
		return result{}, err
	}
	tallies := make([]tally, e.grid.n)
	for _, l := range r.lines {
		for i, p := range l.points {
			tallies[i].add(p)
		}
	}
	out := make([]Point, e.grid.n)
	for i, t := range tallies {
		t.of = len(r.lines)
		if function != "AVG" {
			t.of = 0
		}
		out[i] = e.statistic(function, t)
	}
	return result{kind: language.OneSeries, lines: []line{{points: out, scratch: true}}}, nil
}

// tally accumulates the statistics of points in one pass. The deviation uses Welford's method, which keeps its digits
// when the mean is large.
type tally struct {
	n         int
	sum       float64
	low, high float64
	// mean is the running mean, squares the sum of squared distances from it.
	mean, squares float64
	// of is the least divisor of the average: missing points below it count as zero.
	of int
}

// add adds a point; missing ones do not count.
func (t *tally) add(p Point) {
	if !p.Known {
		return
	}
	if t.n == 0 {
		t.low, t.high = p.Value, p.Value
	}
	t.n++
	t.sum += p.Value
	t.low, t.high = min(t.low, p.Value), max(t.high, p.Value)
	off := p.Value - t.mean
	t.mean += off / float64(t.n)
	t.squares += off * (p.Value - t.mean)
}

// statistic returns a function of the tallied points. Without points only the count is known.
func (e *evaluation) statistic(function string, t tally) Point {
	switch {
	case function == "DATAPOINT_COUNT":
		return Known(float64(t.n))
	case t.n == 0:
		return Point{}
	case function == "AVG":
		return Known(t.sum / float64(max(t.n, t.of)))
	case function == "MAX":
		return Known(t.high)
	case function == "MIN":
		return Known(t.low)
	case function == "SUM":
		return Known(t.sum)
	case e.program.options.SampleDeviation:
		return Known(math.Sqrt(t.squares / float64(t.n-1))) // 0/0 is missing: one point has no sample deviation
	}
	return Known(math.Sqrt(t.squares / float64(t.n)))
}

// pick evaluates FIRST, LAST, SLICE, SORT and REMOVE_EMPTY, which select and order series of an array.
func (e *evaluation) pick(n *language.Node, args []result) (result, error) {
	lines := args[0].lines
	for i, a := range args[1:] {
		if n.Args[i+1].Kind != language.NodeWord && !a.number.Known {
			return result{}, fmt.Errorf("argument %d of %s is an unknown number", i+2, n.Text)
		}
	}
	switch n.Text {
	case "FIRST", "LAST":
		return e.one(n.Text, lines)
	case "SLICE":
		from, to := 0, len(lines)
		if from = place(args[1].number, len(lines)); len(args) == 3 {
			to = max(from, place(args[2].number, len(lines)))
		}
		lines = lines[from:to]
	case "REMOVE_EMPTY":
		if err := e.spend(len(lines) * e.grid.n); err != nil {
			return result{}, err
		}
		lines = slices.DeleteFunc(slices.Clone(lines), func(l line) bool {
			return !slices.ContainsFunc(l.points, func(p Point) bool { return p.Known })
		})
	case "SORT":
		if err := e.spend((1 + 2*len(lines)) * e.grid.n); err != nil {
			return result{}, err
		}
		lines = e.sorted(lines, n.Args[1].Text, n.Args[2].Text == "DESC")
		if len(args) == 4 {
			lines = lines[:place(args[3].number, len(lines))]
		}
	}
	return result{kind: language.Array, lines: lines}, nil
}

// place converts a number to an index into a list of n: rounded down, at least 0 and at most n.
func place(v Point, n int) int {
	return int(math.Floor(min(max(v.Value, 0), float64(n))))
}

// one returns the first or last series. For an empty array it is a series without points.
func (e *evaluation) one(function string, lines []line) (result, error) {
	switch {
	case len(lines) == 0:
		return e.constant(Point{})
	case function == "FIRST":
		lines = lines[:1]
	default:
		lines = lines[len(lines)-1:]
	}
	return result{kind: language.OneSeries, lines: lines}, nil
}

// sorted orders series by a statistic. Equal ones keep their order, and series without points come last in both
// directions.
func (e *evaluation) sorted(lines []line, measure string, descending bool) []line {
	type ranked struct {
		line
		by Point
	}
	all := make([]ranked, len(lines))
	for i, l := range lines {
		var t tally
		for _, p := range l.points {
			t.add(p)
		}
		all[i] = ranked{l, e.statistic(measure, t)}
	}
	slices.SortStableFunc(all, func(a, b ranked) int {
		switch {
		case a.by.Known != b.by.Known:
			return cmp.Compare(truth(b.by.Known), truth(a.by.Known))
		case descending:
			return cmp.Compare(b.by.Value, a.by.Value)
		}
		return cmp.Compare(a.by.Value, b.by.Value)
	})
	out := make([]line, len(all))
	for i, r := range all {
		out[i] = r.line
	}
	return out
}
