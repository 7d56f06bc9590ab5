package metricmath

import (
	"math"
	"slices"

	"github.com/muster-scale/muster/metricmath/language"
)

// costly is the rough cost of a power, a logarithm or a date, in additions.
const costly = 16

// apply computes out[i].Value from left[i].Value and right[i].Value. It ignores which points are known, and results may
// be infinite or not a number: the callers correct both. One loop in each case takes a third less time than a switch in
// one loop.
func apply(o language.Operator, out, left, right []Point) {
	left, right = left[:len(out)], right[:len(out)]
	switch o {
	case language.OpAdd:
		for i := range out {
			out[i].Value = left[i].Value + right[i].Value
		}
	case language.OpSubtract:
		for i := range out {
			out[i].Value = left[i].Value - right[i].Value
		}
	case language.OpMultiply:
		for i := range out {
			out[i].Value = left[i].Value * right[i].Value
		}
	case language.OpDivide:
		for i := range out {
			out[i].Value = left[i].Value / right[i].Value
		}
	case language.OpPower:
		for i := range out {
			out[i].Value = math.Pow(left[i].Value, right[i].Value)
		}
	case language.OpAnd, language.OpOr:
		for i := range out {
			a, b := left[i].Value != 0, right[i].Value != 0
			out[i].Value = truth(a && b || o == language.OpOr && (a || b))
		}
	default:
		for i := range out {
			out[i].Value = truth(holds(o, left[i].Value, right[i].Value))
		}
	}
}

// holds tells whether a comparison is true.
func holds(o language.Operator, a, b float64) bool {
	switch o {
	case language.OpEqual:
		return a == b
	case language.OpNotEqual:
		return a != b
	case language.OpLess:
		return a < b
	case language.OpAtMost:
		return a <= b
	case language.OpGreater:
		return a > b
	}
	return a >= b
}

// truth is how the language writes a condition: 1 or 0.
func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// binary evaluates an operator between two results:
//
//	number, number    a number, unknown if either is
//	series, number    known where the series is
//	series, series    known where either is; a missing point counts as zero
//	array, series     each series of the array with the single series
func (e *evaluation) binary(o language.Operator, a, b result) (result, error) {
	cost := 1
	if o == language.OpPower {
		cost = costly
	}
	switch {
	case a.kind == language.Number && b.kind == language.Number:
		one := []Point{{}}
		whereBoth(o, one, []Point{a.number}, []Point{b.number})
		return result{kind: language.Number, number: one[0]}, e.spend(cost)
	case b.kind == language.Number:
		same := e.same(b.number)
		defer e.keep(same)
		return e.lines(a, cost, func(out, in []Point) { whereBoth(o, out, in, same) }, nil)
	case a.kind == language.Number:
		same := e.same(a.number)
		defer e.keep(same)
		return e.lines(b, cost, func(out, in []Point) { whereBoth(o, out, same, in) }, nil)
	}
	out := a
	if b.kind == language.Array {
		out = b
	}
	out.lines = slices.Clone(out.lines)
	for i := range out.lines {
		if err := e.spend(1 + cost*e.grid.n); err != nil {
			return result{}, err
		}
		left, right := a.lines[min(i, len(a.lines)-1)], b.lines[min(i, len(b.lines)-1)]
		// A single series is read for every series of the array, so it is never overwritten.
		points := e.reuse(left.only(a.kind == out.kind), right.only(b.kind == out.kind))
		whereEither(o, points, left.points, right.points)
		out.lines[i].points, out.lines[i].scratch = points, true
	}
	return out, nil
}

// only returns the line, with scratch removed unless may is true.
func (l line) only(may bool) line {
	l.scratch = l.scratch && may
	return l
}

// reuse returns a buffer of points: that of the first scratch line, a spare one or a new one. The buffers of further
// scratch lines become spare. The buffer holds old points, so the caller must write all of them.
func (e *evaluation) reuse(lines ...line) (points []Point) {
	for _, l := range lines {
		switch {
		case !l.scratch:
		case points == nil:
			points = l.points
		default:
			e.keep(l.points)
		}
	}
	if n := len(e.spare); points == nil && n > 0 {
		points, e.spare = e.spare[n-1], e.spare[:n-1]
	}
	if points == nil {
		points = make([]Point, e.grid.n)
	}
	return points
}

// keep makes a buffer spare. No result may use it any more.
func (e *evaluation) keep(points []Point) { e.spare = append(e.spare, points) }

// same returns a buffer with a number at every period.
func (e *evaluation) same(number Point) []Point {
	points := e.reuse()
	for i := range points {
		points[i] = number
	}
	return points
}

// whereBoth applies an operator where both sides are known. out may be one of the operands.
func whereBoth(o language.Operator, out, left, right []Point) {
	apply(o, out, left, right)
	left, right = left[:len(out)], right[:len(out)]
	for i := range out {
		if v := out[i].Value; !left[i].Known || !right[i].Known || v-v != 0 {
			out[i] = Point{}
		} else {
			out[i].Known = true
		}
	}
}

// whereEither applies an operator where at least one side is known; the other counts as zero. out may be one of the
// operands.
func whereEither(o language.Operator, out, left, right []Point) {
	apply(o, out, left, right)
	left, right = left[:len(out)], right[:len(out)]
	for i := range out {
		if v := out[i].Value; !left[i].Known && !right[i].Known || v-v != 0 {
			out[i] = Point{}
		} else {
			out[i].Known = true
		}
	}
}

// each applies f to every known point, of a number, a series or an array.
func (e *evaluation) each(r result, cost int, f func(Point) Point) (result, error) {
	return e.lines(r, cost, func(out, in []Point) {
		for i, p := range in {
			if p.Known {
				out[i] = f(p)
			} else {
				out[i] = Point{}
			}
		}
	}, f)
}

// lines computes every line with change, where out may be the same slice as in. A number is changed by f instead, which
// may be nil where the compiler admits no number.
func (e *evaluation) lines(r result, cost int, change func(out, in []Point), f func(Point) Point) (result, error) {
	if r.kind == language.Number {
		if r.number.Known {
			r.number = f(r.number)
		}
		return r, e.spend(cost)
	}
	lines := make([]line, len(r.lines))
	for i, l := range r.lines {
		if err := e.spend(1 + cost*e.grid.n); err != nil {
			return result{}, err
		}
		out := e.reuse(l)
		change(out, l.points)
		lines[i] = line{label: l.label, points: out, scratch: true}
	}
	r.lines = lines
	return r, nil
}
