package metricmath_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/metricmath"
)

// part is an expression drawn at random, once as one text, and once with each part that gives series as a query of its
// own.
type part struct{ whole, apart string }

// drawer draws expressions whose kinds fit, and collects the queries of their parts.
type drawer struct {
	*rapid.T
	queries []metricmath.Query
	// pointwise leaves out what looks at more than one period.
	pointwise bool
}

// of fills parts into a text such as "(%s + %s)".
func of(text string, parts ...part) part {
	whole, apart := make([]any, len(parts)), make([]any, len(parts))
	for i, p := range parts {
		whole[i], apart[i] = p.whole, p.apart
	}
	return part{fmt.Sprintf(text, whole...), fmt.Sprintf(text, apart...)}
}

// query gives the part an id of its own.
func (d *drawer) query(p part) part {
	id := fmt.Sprintf("e%d", len(d.queries))
	d.queries = append(d.queries, expression(id, p.apart))
	return part{p.whole, id}
}

func (d *drawer) one(words ...string) string { return rapid.SampledFrom(words).Draw(d.T, "word") }

func (d *drawer) number(depth int) part {
	leaf := of(d.one("0", "1", "2.5", "-3", "PERIOD(a)"))
	if depth == 0 {
		return leaf
	}
	switch shapes := 3; rapid.IntRange(0, shapes).Draw(d.T, "number") {
	case 0:
		return leaf
	case 1:
		return of("METRIC_COUNT(%s)", d.array(depth-1))
	case 2:
		return of("(%s "+d.one("+", "-", "*", "/", "<", "AND")+" %s)", d.number(depth-1), d.number(depth-1))
	}
	if d.pointwise {
		return leaf
	}
	return of(d.one("AVG", "MAX", "MIN", "SUM", "STDDEV", "DATAPOINT_COUNT")+"(%s)", d.series(depth-1))
}

func (d *drawer) series(depth int) part {
	if depth == 0 {
		return of(d.one("a", "b", "c"))
	}
	shapes := 9
	if d.pointwise {
		shapes = 6
	}
	var p part
	switch rapid.IntRange(0, shapes).Draw(d.T, "series") {
	case 0:
		p = of("("+d.one("-%s", "ABS(%s)", "CEIL(%s)", "FLOOR(%s)", "HOUR(%s)")+")", d.series(depth-1))
	case 1:
		p = of("(%s "+d.one("+", "-", "*", "/", "^", "<", ">=", "==", "AND", "OR")+" %s)", d.series(depth-1),
			d.series(depth-1))
	case 2:
		p = of("(%s "+d.one("+", "-", "*", "/", "<", "!=", "OR")+" %s)", d.series(depth-1), d.number(depth-1))
	case 3:
		p = of("IF(%s, %s, %s)", d.series(depth-1), d.series(depth-1), d.series(depth-1))
	case 4:
		p = of("IF(%s, %s)", d.series(depth-1), d.number(depth-1))
	case 5:
		p = of(d.one("AVG", "MAX", "MIN", "SUM", "STDDEV", "DATAPOINT_COUNT", "FIRST", "LAST")+"(%s)", d.array(depth-1))
	case 6:
		p = of("TIME_SERIES(%s)", d.number(depth-1))
	case 7:
		p = of(d.one("FILL(%s, REPEAT)", "FILL(%s, LINEAR)", "FILL(%s, 7)", "DIFF(%s)", "RATE(%s)", "RUNNING_SUM(%s)",
			"DIFF_TIME(%s)"), d.series(depth-1))
	case 8:
		p = of("FILL(%s, %s)", d.series(depth-1), d.series(depth-1))
	default:
		p = of("FIRST(SORT(%s, "+d.one("AVG", "MIN", "MAX", "SUM")+", "+d.one("ASC", "DESC")+"))", d.array(depth-1))
	}
	return d.query(p)
}

func (d *drawer) array(depth int) part {
	if depth == 0 {
		return of(d.one("METRICS()", "METRICS('a')", "[a, b]"))
	}
	var p part
	switch rapid.IntRange(0, 5).Draw(d.T, "array") {
	case 0:
		p = of("[%s, %s]", d.series(depth-1), d.array(depth-1))
	case 1:
		p = of("(%s "+d.one("+", "-", "*", "/")+" %s)", d.array(depth-1), d.series(depth-1))
	case 2:
		p = of("(%s "+d.one("+", "-", "*", "/")+" %s)", d.series(depth-1), d.array(depth-1))
	case 3:
		p = of("SLICE(%s, 0, 2)", d.array(depth-1))
	case 4:
		p = of("(-ABS(%s))", d.array(depth-1))
	default:
		p = of("FILL(%s, %s)", d.array(depth-1), d.series(depth-1))
		if d.pointwise {
			p = of("(%s * %s)", d.array(depth-1), d.number(depth-1))
		}
	}
	return d.query(p)
}

// inputs draws three metrics of some minutes.
func (d *drawer) inputs(minutes int) metricmath.Inputs {
	in := metricmath.Inputs{Since: monday, Series: map[string]metricmath.Series{}}
	value := rapid.SampledFrom([]float64{metricmath.Missing(), metricmath.Missing(), 0, 1, 2, -1, 3.5, 1e200})
	for _, id := range []string{"a", "b", "c"} {
		in.Series[id] = metricmath.Row(monday, time.Minute, rapid.SliceOfN(value, minutes, minutes).Draw(d.T, id)...)
	}
	return in
}

func (d *drawer) evaluate(in metricmath.Inputs, at time.Time, queries ...metricmath.Query) metricmath.Value {
	list := append([]metricmath.Query{quiet(metric("a")), quiet(metric("b")), quiet(metric("c"))}, queries...)
	p, err := metricmath.Compile(list, metricmath.Options{})
	if err != nil {
		d.Fatalf("%v", err)
	}
	v, reason := p.Evaluate(in, at)
	if strings.Contains(reason, "at most 500") || strings.Contains(reason, "unknown number") {
		d.Skip(reason)
	}
	sound(d.T, v, reason)
	return v
}

// Points that are used again and memory that is written over must not show: every part with an id of its own is a
// series of its own, which nothing may write over.
func TestGivingPartsTheirOwnIDsChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &drawer{T: t}
		x := d.series(rapid.IntRange(1, 4).Draw(t, "depth"))
		in := d.inputs(4)
		at := monday.Add(4 * time.Minute)
		whole := d.evaluate(in, at, returning(expression("whole", x.whole)))
		apart := d.evaluate(in, at, append(d.queries, returning(expression("last", x.apart)))...)
		if shown(whole) != shown(apart) {
			t.Fatalf("%s\nas one expression %s\nin parts          %s", x.whole, shown(whole), shown(apart))
		}
	})
}

// What looks at one period at a time gives the same for a long range as for each of its periods.
func TestPeriodsDoNotMeet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &drawer{T: t, pointwise: true}
		x := returning(expression("x", d.series(rapid.IntRange(1, 4).Draw(t, "depth")).whole))
		in := d.inputs(4)
		all := d.evaluate(in, monday.Add(4*time.Minute), x)
		for i, p := range all.Series[0].Points {
			in.Since = monday.Add(time.Duration(i) * time.Minute)
			alone := d.evaluate(in, in.Since.Add(time.Minute), x)
			if got := alone.Series[0].Points; !slices.Equal(got, []metricmath.Point{p}) &&
				math.Abs(got[0].Value-p.Value) > 0 {
				t.Fatalf("%s at minute %d: %s in the range, %s alone", x.Expression, i, p, got)
			}
		}
	})
}

// What was published later does not change what was computed before, except where a line is drawn to it.
func TestLaterPointsDoNotChangeEarlierOnes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &drawer{T: t, pointwise: true}
		inner := d.series(rapid.IntRange(1, 3).Draw(t, "depth")).whole
		x := returning(expression("x", d.one("FILL(%s, REPEAT)", "RUNNING_SUM(%s)", "DIFF(%s)", "RATE(%s)",
			"FILL(%s, 1)")))
		x.Expression = fmt.Sprintf(x.Expression, inner)
		in := d.inputs(5)
		long := d.evaluate(in, monday.Add(5*time.Minute), x).Series[0].Points
		short := d.evaluate(in, monday.Add(3*time.Minute), x).Series[0].Points
		if !slices.Equal(long[:3], short) {
			t.Fatalf("%s: %v until the third minute, %v with two more", x.Expression, short, long)
		}
	})
}
