package metricmath_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/metricmath/language"
)

func TestTextIsBounded(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("ABS(", n) + "m" + strings.Repeat(")", n) }
	grouped := func(n int) string { return strings.Repeat("(", n) + "m" + strings.Repeat(")", n) }
	for _, r := range []struct{ name, text, want string }{
		{"functions as deep as allowed", nested(64), ""},
		{"functions too deep", nested(65), "line 1, column 1: found nesting deeper than 64, expected less; give the " +
			"inner part an id of its own"},
		{"far too deep, told before the end is reached", nested(3000), "line 1, column 517: found nesting deeper " +
			"than 64, expected less; give the inner part an id of its own"},
		{"parentheses as deep as allowed", grouped(64), ""},
		{"parentheses too deep", grouped(65), "line 1, column 65: found nesting deeper than 64, expected less; give " +
			"the inner part an id of its own"},
		{"minus upon minus", strings.Repeat("-", 65) + "m", "line 1, column 1: found nesting deeper than 64, " +
			"expected less; give the inner part an id of its own"},
		{"powers of powers", strings.Repeat("m^", 65) + "m", "line 1, column 2: found nesting deeper than 64, " +
			"expected less; give the inner part an id of its own"},
		{"a long sum is not deep", strings.Repeat("m+", 8191) + "m", ""},
		{"text as long as allowed", strings.Repeat(" ", language.MaxText-1) + "m", ""},
		{"text too long", strings.Repeat(" ", language.MaxText) + "m", "line 1, column 16385: found 16385 bytes, " +
			"expected at most 16384; give its parts ids of their own"},
	} {
		t.Run(r.name, func(t *testing.T) {
			got := ""
			if _, err := language.Parse(r.text, false); err != nil {
				got = err.Error()
			}
			if got != r.want {
				t.Errorf("found    %s\nexpected %s", got, r.want)
			}
		})
	}
}

// wide is a list of n metrics with some expressions, and inputs with so many points each.
func wide(n, points int, expressions ...string) ([]metricmath.Query, metricmath.Inputs, time.Time) {
	in := metricmath.Inputs{Since: monday, Series: map[string]metricmath.Series{}}
	var list []metricmath.Query
	for i := range n {
		id := fmt.Sprintf("m%d", i)
		list = append(list, quiet(metric(id)))
		s := metricmath.Series{Start: monday, Period: time.Minute, Points: make([]metricmath.Point, points)}
		for j := range s.Points {
			if (i+j)%7 > 0 {
				s.Points[j] = metricmath.Known(float64((1 + i*j) % 100))
			}
		}
		in.Series[id] = s
	}
	for i, x := range expressions {
		list = append(list, expression(fmt.Sprintf("e%d", i), x))
	}
	list[len(list)-1].ReturnData = said(true)
	return list, in, monday.Add(time.Duration(points) * time.Minute)
}

func TestWorkIsBounded(t *testing.T) {
	for _, r := range []struct {
		name        string
		n, points   int
		expressions []string
		known       bool
	}{
		{"498 metrics for a day, twice as much", 498, 1440, []string{"SUM(METRICS() * 2)"}, false},
		{"499 metrics for a day", 499, 1440, []string{"SUM(METRICS())"}, true},
		{"one metric for a week, much arithmetic", 1, 10080, []string{strings.Repeat("m0+", 60) + "m0"}, true},
		{"a power of a power of a week", 1, 10080, []string{"m0" + strings.Repeat(" ^ m0", 15)}, false},
		{"a number computed again and again", 1, 2, []string{strings.Repeat("1^", 60) + "m0"}, true},
		{"expressions that each take twice the work of the one before", 400, 1,
			[]string{"METRICS()", "[e0, e0]", "SUM([e1, e1, e1])"}, false},
	} {
		t.Run(r.name, func(t *testing.T) {
			list, in, at := wide(r.n, r.points, r.expressions...)
			p := compiled(t, metricmath.Options{}, list...)
			_, reason := p.Evaluate(in, at)
			bounded := strings.Contains(reason, "more than 1572864 points would have to be computed") ||
				strings.Contains(reason, "series, at most 500 can be computed")
			if (reason == "") != r.known || reason != "" && !bounded {
				t.Errorf("found %q", reason)
			}
		})
	}
}

func TestSearchIsBounded(t *testing.T) {
	p := compiled(t, metricmath.Options{Use: metricmath.ForGraph},
		metricmath.Query{ID: "e", Expression: "SEARCH('" + strings.Repeat("a OR ", 200) + "a', 'Sum')"})
	in := metricmath.Inputs{Since: monday}
	listed := metricmath.Listed{Metric: named("Some Metric queue=" + strings.Repeat("b-", 500)), Stat: "Sum"}
	for _, r := range []struct {
		n    int
		want string
	}{
		{1000, "e is unknown: more than 1572864 points would have to be computed: shorten the range, or take fewer " +
			"metrics"},
		{1001, "e is unknown: 1001 metrics are listed for SEARCH, at most 1000 can be"},
	} {
		for len(in.Listed) < r.n {
			in.Listed = append(in.Listed, listed)
		}
		if _, reason := p.Evaluate(in, monday.Add(time.Minute)); reason != r.want {
			t.Errorf("found %q", reason)
		}
	}
	calls := strings.Repeat("METRICS('a'), ", 100) + "METRICS()"
	_, err := metricmath.Compile([]metricmath.Query{metric("a"), returning(expression("e", "SUM(["+calls+"])"))},
		metricmath.Options{})
	if want := "found 101 calls of METRICS and SEARCH, expected at most 100; give what is selected an id of its own, " +
		"and use that"; err == nil || err.Error() != want {
		t.Errorf("found %v", err)
	}
}

func TestAllTextIsBounded(t *testing.T) {
	list := []metricmath.Query{metric("m")}
	for i := range 3 {
		list = append(list, expression(fmt.Sprintf("e%d", i), strings.Repeat("m+", 7000)+"m"))
	}
	_, err := metricmath.Compile(list, metricmath.Options{Use: metricmath.ForGraph})
	want := "e2: found too much text in all expressions together, expected at most 32768 bytes"
	if err == nil || err.Error() != want {
		t.Errorf("found %.200v", err)
	}
}

// worst are evaluations near the limit of work, each of another kind.
func worst() map[string]func() ([]metricmath.Query, metricmath.Inputs, time.Time) {
	return map[string]func() ([]metricmath.Query, metricmath.Inputs, time.Time){
		"sum": func() ([]metricmath.Query, metricmath.Inputs, time.Time) { return wide(75, 10080, "SUM(METRICS())") },
		"fill": func() ([]metricmath.Query, metricmath.Inputs, time.Time) {
			return wide(30, 10080, "SUM(FILL(FILL(METRICS(), LINEAR), 0) * 2)")
		},
		"power": func() ([]metricmath.Query, metricmath.Inputs, time.Time) {
			return wide(1, 10080, "m0 ^ 1.5 ^ m0 + LOG(m0) + m0 ^ 0.3 + 1.0001 ^ m0"+strings.Repeat(" + HOUR(m0)", 3))
		},
		"many": func() ([]metricmath.Query, metricmath.Inputs, time.Time) {
			return wide(490, 1050, "SUM(METRICS() * 2)")
		},
		"single": func() ([]metricmath.Query, metricmath.Inputs, time.Time) {
			return wide(1, 10080, strings.Repeat("m0*m0+", 75)+"m0")
		},
		"deviate": func() ([]metricmath.Query, metricmath.Inputs,
			time.Time) {
			return wide(72, 10080, "STDDEV(METRICS())")
		},
	}
}

// BenchmarkTheWorstEvaluation shows what the limits promise: at most 10 ms.
func BenchmarkTheWorstEvaluation(b *testing.B) {
	for _, name := range []string{"sum", "fill", "power", "many", "single", "deviate"} {
		b.Run(name, func(b *testing.B) {
			list, in, at := worst()[name]()
			p := compiled(b, metricmath.Options{}, list...)
			for b.Loop() {
				if _, reason := p.Evaluate(in, at); reason != "" {
					b.Fatal(reason)
				}
			}
		})
	}
}

// BenchmarkTheLongestList compiles as much text as is allowed.
func BenchmarkTheLongestList(b *testing.B) {
	b.Run("unknown", func(b *testing.B) {
		var list []metricmath.Query
		for i := range 500 {
			list = append(list, expression(fmt.Sprintf("a_long_name_that_is_%04d", i),
				fmt.Sprintf("b_long_name_that_was%04d", i)))
		}
		for b.Loop() {
			if _, err := metricmath.Compile(list, metricmath.Options{Use: metricmath.ForGraph}); err == nil {
				b.Fatal("nothing is wrong")
			}
		}
	})
	texts := map[string]string{"sums": strings.Repeat("m1+", 5000) + "m1", "calls": "SUM([" +
		strings.Repeat("FILL(m1,0),", 1400) + "m1])", "wrong": strings.Repeat("mm+", 5000) + "m1"}
	for _, name := range []string{"sums", "calls", "wrong"} {
		b.Run(name, func(b *testing.B) {
			var list []metricmath.Query
			for i := range 490 {
				list = append(list, metric(fmt.Sprintf("m%d", i)))
			}
			for i := range 2 {
				list = append(list, expression(fmt.Sprintf("e%d", i), texts[name]))
			}
			for b.Loop() {
				if _, err := metricmath.Compile(list,
					metricmath.Options{Use: metricmath.ForGraph}); (err != nil) != (name == "wrong") {
					b.Fatal(err)
				}
			}
		})
	}
}
