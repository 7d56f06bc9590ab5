package metricmath

import (
	"slices"

	"github.com/muster-scale/muster/metricmath/language"
)

// fill evaluates FILL: it puts values where a series has none. with is the evaluated second argument: a number, or a
// series that fills point by point; the words REPEAT and LINEAR are in n.
func (e *evaluation) fill(n *language.Node, r, with result) (result, error) {
	word := n.Args[1].Text
	switch {
	case n.Args[1].Kind == language.NodeWord && word == "REPEAT":
		return e.lines(r, 1, repeat, nil)
	case n.Args[1].Kind == language.NodeWord:
		return e.lines(r, 1, interpolate, nil)
	case with.kind == language.OneSeries: // every series of an array reads it, so it is never overwritten
		return e.lines(r, 1, func(out, in []Point) {
			for i, p := range in {
				if !p.Known {
					p = with.lines[0].points[i]
				}
				out[i] = p
			}
		}, nil)
	}
	keepEmpty := e.program.options.FillEmpty == EmptyKept
	return e.lines(r, 1, func(out, in []Point) {
		empty := true
		for i, p := range in {
			if p.Known {
				empty = false
			} else {
				p = with.number
			}
			out[i] = p
		}
		if empty && keepEmpty {
			clear(out)
		}
	}, nil)
}

// repeat fills with the last known point before. Points before the first known one stay missing.
func repeat(out, in []Point) {
	var last Point
	for i, p := range in {
		if p.Known {
			last = p
		}
		out[i] = last
	}
}

// interpolate fills on the straight line between the known neighbours. Points before the first known one and after the
// last one stay missing.
func interpolate(out, in []Point) {
	last := -1
	for i, p := range in {
		out[i] = p
		if !p.Known {
			continue
		}
		for j := last + 1; last >= 0 && j < i; j++ {
			share := float64(j-last) / float64(i-last)
			out[j] = Known(out[last].Value*(1-share) + p.Value*share)
		}
		last = i
	}
}

// choose evaluates IF(condition, yes, no) for each period:
//
//	condition missing        missing
//	condition not zero       yes; a missing point of a series is zero if the condition is a series
//	condition zero           no; missing without a third argument
func (e *evaluation) choose(args []result) (result, error) {
	c, yes := args[0], args[1]
	no := result{kind: language.Number}
	if len(args) == 3 {
		no = args[2]
	}
	if err := e.spend(e.grid.n); err != nil {
		return result{}, err
	}
	out := e.reuse(slices.Concat(c.lines, yes.lines, no.lines)...)
	for i := range out {
		condition := c.at(i)
		switch {
		case !condition.Known:
			out[i] = Point{}
		case condition.Value != 0:
			p := yes.at(i)
			p.Known = p.Known || yes.kind == language.OneSeries && c.kind == language.OneSeries
			out[i] = p
		default:
			out[i] = no.at(i)
		}
	}
	return result{kind: language.OneSeries, lines: []line{{points: out, scratch: true}}}, nil
}

// at returns the number, or point i of the series.
func (r result) at(i int) Point {
	if r.kind == language.Number {
		return r.number
	}
	return r.lines[0].points[i]
}
