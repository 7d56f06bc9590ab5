package metricmath_test

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/metricmath"
)

func TestFunctionsOfEveryPoint(t *testing.T) {
	check(t, []holds{
		{"ABS", "a 1 -2 -", "ABS(a)", "1 2 -"},
		{"ABS of an array", "a 1 -2; b -3 -", "ABS([a, b])", "1 2 | 3 -"},
		{"CEIL", "a 1.2 -1.2 -", "CEIL(a)", "2 -1 -"},
		{"FLOOR", "a 1.2 -1.2 -", "FLOOR(a)", "1 -2 -"},
		{"LOG is the natural one; of nothing positive there is none", "a 1 0 -1 -", "LOG(a)", "0 - - -"},
		{"LOG10", "a 1 1000 0", "LOG10(a)", "0 3 -"},
		{"DIFF to the known point before", "a 1 - 4 6", "DIFF(a)", "- - 3 2"},
		{"DIFF of an array", "a 1 2; b 5 1", "DIFF([a, b])", "- 1 | - -4"},
		{"DIFF_TIME in seconds", "a 1 - 4 6", "DIFF_TIME(a)", "- - 120 60"},
		{"RATE per second", "a 0 - 60 180", "RATE(a)", "- - 0.5 2"},
		{"RUNNING_SUM", "a 1 - 3 4", "RUNNING_SUM(a)", "1 - 4 8"},
		{"RUNNING_SUM of an array", "a 1 2; b 3 4", "RUNNING_SUM([a, b])", "1 3 | 3 7"},
		{"TIME_SERIES has no holes", "a 1 - -", "TIME_SERIES(5 * MAX(a))", "5 5 5"},
		{"TIME_SERIES of an unknown number is empty", "a - -", "TIME_SERIES(MAX(a))", "- -"},
	}, metricmath.Options{})
}

func TestFunctionsThatReduce(t *testing.T) {
	check(t, []holds{
		{"AVG of a series: over the points that exist", "a 1 - 5", "TIME_SERIES(AVG(a))", "3 3 3"},
		{"AVG of an array: missing points are zero", "a 4 2 -; b 2 - -", "AVG([a, b])", "3 1 -"},
		{"MAX of a series", "a 1 - 5", "a / MAX(a)", "0.2 - 1"},
		{"MAX of an array: over what exists", "a -4 2 -; b -2 - -", "MAX([a, b])", "-2 2 -"},
		{"MIN of a series", "a 1 - 5", "a - MIN(a)", "0 - 4"},
		{"MIN of an array: over what exists", "a 4 2 -; b 2 - -", "MIN([a, b])", "2 2 -"},
		{"SUM of a series", "a 1 - 5", "TIME_SERIES(SUM(a))", "6 6 6"},
		{"SUM of an array", "a 4 2 -; b 2 - -", "SUM([a, b])", "6 2 -"},
		{"SUM of nothing is unknown", "a - -; b 1 2", "b + SUM(a)", "- -"},
		{"STDDEV of a series divides by n", "a 2 4 4 4 5 5 7 9", "TIME_SERIES(STDDEV(a)) + 0", "2 2 2 2 2 2 2 2"},
		{"STDDEV keeps its digits beside a large mean", "a 1e9 1000000002", "TIME_SERIES(STDDEV(a))", "1 1"},
		{"STDDEV of an array", "a 1 5 -; b 3 - -", "STDDEV([a, b])", "1 0 -"},
		{"DATAPOINT_COUNT of a series", "a 1 - 5", "SUM(a) / DATAPOINT_COUNT(a) + TIME_SERIES(0)", "3 3 3"},
		{"DATAPOINT_COUNT of nothing is zero", "a - -", "TIME_SERIES(DATAPOINT_COUNT(a))", "0 0"},
		{"DATAPOINT_COUNT of an array is known everywhere", "a 4 2 -; b 2 - -", "DATAPOINT_COUNT([a, b])", "2 1 0"},
		{"METRIC_COUNT", "a 1; b 2", "TIME_SERIES(METRIC_COUNT([a, b]))", "2"},
	}, metricmath.Options{})
	check(t, []holds{{"AVG of a series, holes counted as zero", "a 1 - 5", "TIME_SERIES(AVG(a))", "2 2 2"}},
		metricmath.Options{AverageCountsHoles: true})
	check(t, []holds{
		{"STDDEV by n-1", "a 1 3", "TIME_SERIES(STDDEV(a)) ^ 2", "2.0000000000000004 2.0000000000000004"},
		{"STDDEV by n-1 of one point is unknown", "a 1 -", "TIME_SERIES(STDDEV(a))", "- -"},
	}, metricmath.Options{SampleDeviation: true})
}

func TestFill(t *testing.T) {
	check(t, []holds{
		{"with a number", "a - 2 - 4 -", "FILL(a, 10)", "10 2 10 4 10"},
		{"with a computed number", "a - 2 - 4 -", "FILL(a, MIN(a))", "2 2 2 4 2"},
		{"with REPEAT: not before the first point", "a - 2 - 4 -", "FILL(a, REPEAT)", "- 2 2 4 4"},
		{"with LINEAR: not before the first point nor after the last", "a - - 2 - - 8 -", "FILL(a, LINEAR)",
			"- - 2 4 6 8 -"},
		{"with a series", "a - 2 - 4; b 7 8 - 9", "FILL(a, b)", "7 2 - 4"},
		{"an array with a number", "a 1 -; b - 2", "FILL([a, b], 0)", "1 0 | 0 2"},
		{"an array with a series", "a 1 -; b - 2; c 8 9", "FILL([a, b], c)", "1 9 | 8 2"},
		{"an array with REPEAT", "a 1 -; b - 2", "FILL(METRICS(), REPEAT)", "1 1 | - 2"},
		{"an array with LINEAR", "a 1 - 3", "FILL(METRICS(), LINEAR)", "1 2 3"},
		{"with an unknown number", "a 1 - 3; b - - -", "FILL(a, MAX(b))", "1 - 3"},
		{"nothing at all, with a number", "a - -", "FILL(a, 0)", "0 0"},
		{"nothing at all, with REPEAT", "a - -", "FILL(a, REPEAT)", "- -"},
		{"nothing at all, with LINEAR", "a - -", "FILL(a, LINEAR)", "- -"},
		{"a straight line between very large numbers", "a -1e308 - 1e308", "FILL(a, LINEAR)", "-1e+308 0 1e+308"},
	}, metricmath.Options{})
	check(t, []holds{
		{"nothing at all may stay empty", "a - -; b 1 1", "[FILL(a, 0), b]", "- - | 1 1"},
		{"and then only that", "a 1 -; b 1 1", "[FILL(a, 0), b]", "1 0 | 1 1"},
	}, metricmath.Options{FillEmpty: metricmath.EmptyKept})
}

// The vectors are those of the user guide and of docs/metric-math.md.
func TestIf(t *testing.T) {
	const metrics = "c 1 1 0 0 -; a 7 - 1 1 7; b 1 1 9 - 9"
	check(t, []holds{
		{"two series: zero where the first has no point, dropped where the second has none", metrics, "IF(c, a, b)",
			"7 0 9 - -"},
		{"a number and a series", metrics, "IF(c, 4, b)", "4 4 9 - -"},
		{"a series and a number", metrics, "IF(c, a, 3)", "7 0 3 3 -"},
		{"two numbers", metrics, "IF(c, 4, 3)", "4 4 3 3 -"},
		{"no second value", metrics, "IF(c, a)", "7 0 - - -"},
		{"a comparison", "m 100 500 -", "IF(m < 400, 10, 2)", "10 2 -"},
		{"any number but zero is true", "m -1 0.5 0", "IF(m, 1, 2)", "1 1 2"},
		{"a true number", metrics, "IF(1, a, b)", "7 - 1 1 7"},
		{"a false number", metrics, "IF(0, a, b)", "1 1 9 - 9"},
		{"a false number without a second value", metrics, "IF(0, a)", "- - - - -"},
		{"an unknown number", "c 1; a 1; e -", "IF(MAX(e), a, c)", "-"},
		{"an unknown number as a value", "c 1 0; e - -", "IF(c, MAX(e), 3)", "- 3"},
		{"low values only", "m 100 500 300", "IF(m < 400, m)", "100 - 300"},
	}, metricmath.Options{})
}

func TestFunctionsOfTheDate(t *testing.T) {
	check(t, []holds{
		{"MINUTE is known at every period", "a 1 - 3", "MINUTE(a)", "0 1 2"},
		{"HOUR", "a 1", "HOUR(a)", "12"},
		{"DAY: Monday is 1", "a 1", "DAY(a)", "1"},
		{"DATE", "a 1", "DATE(a)", "2"},
		{"MONTH", "a 1", "MONTH(a)", "3"},
		{"YEAR", "a 1", "YEAR(a)", "2026"},
		{"EPOCH in seconds", "a 1 -", "EPOCH(a)", "1.7724528e+09 1.77245286e+09"},
		{"weekdays only", "a 7 8", "IF(DAY(a) < 6, a)", "7 8"},
		{"PERIOD in seconds", "a 60 120", "a / PERIOD(a)", "1 2"},
	}, metricmath.Options{})
	queries, in, _ := given(t, "a 1")
	sunday := monday.Add(-time.Hour * 24)
	in.Since, in.Series["a"] = sunday, metricmath.Row(sunday, time.Minute, 1)
	p, err := metricmath.Compile(append(queries, metricmath.Query{ID: "day", Expression: "DAY(a)"}),
		metricmath.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := p.Evaluate(in, sunday.Add(time.Minute)); shown(v) != "7" {
		t.Errorf("found %s for a Sunday, expected 7", shown(v))
	}
}

func TestFunctionsOfArrays(t *testing.T) {
	const metrics = "low 1 1; high 9 9; none - -; mid 4 6"
	check(t, []holds{
		{"METRICS are all metrics in order, no expressions", metrics, "METRICS()", "1 1 | 9 9 | - - | 4 6"},
		{"METRICS by a part of the id", metrics, `METRICS("i")`, "9 9 | 4 6"},
		{"METRICS that none has", metrics, `SUM([METRICS("x"), low])`, "1 1"},
		{"FIRST", metrics, "FIRST(METRICS())", "1 1"},
		{"LAST", metrics, "LAST(METRICS())", "4 6"},
		{"FIRST of nothing", metrics, `FIRST(METRICS("x")) + low`, "1 1"},
		{"REMOVE_EMPTY", metrics, "REMOVE_EMPTY(METRICS())", "1 1 | 9 9 | 4 6"},
		{"SORT up: what has no point is last", metrics, "SORT(METRICS(), AVG, ASC)", "1 1 | 4 6 | 9 9 | - -"},
		{"SORT down: what has no point is last", metrics, "SORT(METRICS(), AVG, DESC)", "9 9 | 4 6 | 1 1 | - -"},
		{"SORT by MAX, the first of them", metrics, "SORT(METRICS(), MAX, DESC, 1)", "9 9"},
		{"SORT by MIN", "a 5 5; b 9 1", "SORT(METRICS(), MIN, ASC)", "9 1 | 5 5"},
		{"SORT by SUM", "a 5 5; b 11 1", "SORT(METRICS(), SUM, DESC)", "11 1 | 5 5"},
		{"SORT keeps equal ones in order", "a 1 3; b 3 1; c 2 2", "SORT(METRICS(), AVG, DESC)", "1 3 | 3 1 | 2 2"},
		{"SORT with more than there are", "a 1", "SORT(METRICS(), AVG, DESC, 10)", "1"},
		{"SORT with a computed limit", metrics, "SORT(METRICS(), AVG, DESC, METRIC_COUNT(METRICS()) / 2)", "9 9 | 4 6"},
		{"SLICE from one on", metrics, "SLICE(METRICS(), 2)", "- - | 4 6"},
		{"SLICE with an end, which is not in it", metrics, "SLICE(METRICS(), 1, 3)", "9 9 | - -"},
		{"SLICE beyond the end", metrics, "[low, SLICE(METRICS(), 3, 99)]", "1 1 | 4 6"},
		{"SLICE the wrong way round is empty", metrics, "[low, SLICE(METRICS(), 3, 1)]", "1 1"},
		{"SLICE from a negative number on", metrics, "SLICE(METRICS(), -1, 1)", "1 1"},
		{"SLICE with an unknown number", metrics, "SLICE(METRICS(), MAX(none))", "unknown: result is unknown: " +
			"argument 2 of SLICE is an unknown number"},
		{"the top one, as documented", "a 50 150; b 120 130", "IF(FIRST(SORT(METRICS(), AVG, DESC)) > 100, 1, 0)",
			"1 1"},
	}, metricmath.Options{})
}

func TestWhatOnlyCloudWatchComputes(t *testing.T) {
	queries, in, end := given(t, "usage 5 6")
	list := append(queries, metricmath.Query{ID: "share", Expression: "usage/SERVICE_QUOTA( usage )"})
	p, err := metricmath.Compile(list, metricmath.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, reason := p.Evaluate(in, end); reason != "share is unknown: SERVICE_QUOTA(usage) is computed by CloudWatch "+
		"alone and was not given" {
		t.Errorf("found the reason %q", reason)
	}
	in.Computed = map[string][]metricmath.Series{"SERVICE_QUOTA(usage)": {row(t, "10 10")}}
	if v, reason := p.Evaluate(in, end); shown(v) != "0.5 0.6" {
		t.Errorf("found %s, %s", shown(v), reason)
	}
	in.Computed["SERVICE_QUOTA(usage)"] = nil
	if _, reason := p.Evaluate(in, end); reason != "share is unknown: found 0 series for SERVICE_QUOTA(usage), "+
		"expected one" {
		t.Errorf("found the reason %q", reason)
	}
	for _, r := range []struct {
		name   string
		series metricmath.Series
		want   string
	}{
		{"of another period", metricmath.Series{Label: "quota", Period: time.Hour, Start: monday,
			Points: make([]metricmath.Point, 1)},
			`share is unknown: SERVICE_QUOTA(usage): found the series "quota" with points every 1h0m0s, expected every 1m0s`},
		{"without a period", metricmath.Series{Label: "quota", Start: monday, Points: make([]metricmath.Point, 1)},
			`share is unknown: SERVICE_QUOTA(usage): found the series "quota" with points every 0s, expected every 1m0s`},
		{"of no year that there is", metricmath.Series{Start: time.Unix(1<<50, 0), Period: time.Minute,
			Points: make([]metricmath.Point, 1)}, "share is unknown: SERVICE_QUOTA(usage): a series begins outside " +
			"of the years 1 to 9999"},
		{"without points", metricmath.Series{}, "share has no point from 2026-03-02T12:00:00Z to " +
			"2026-03-02T12:02:00Z: every point was dropped, by a division by zero, by IF without a third argument, " +
			"or by a number that is not finite"},
	} {
		in.Computed["SERVICE_QUOTA(usage)"] = []metricmath.Series{r.series}
		if _, reason := p.Evaluate(in, end); reason != r.want {
			t.Errorf("a series %s: found the reason %s\nexpected %s", r.name, reason, r.want)
		}
	}
	for call, series := range map[string]string{
		`ANOMALY_DETECTION_BAND(usage, 4)`:                  "LAST(%s)",
		`INSIGHT_RULE_METRIC('rule', 'UniqueContributors')`: "%s",
		`DB_PERF_INSIGHTS('RDS', 'db-1', 'os.cpu.avg')`:     "%s",
		`LAMBDA('fn', 1, usage)`:                            "FIRST(%s)",
	} {
		in.Computed = map[string][]metricmath.Series{call: {row(t, "3 4")}}
		p, err := metricmath.Compile(append(queries,
			metricmath.Query{ID: "e", Expression: strings.Replace(series, "%s", call, 1)}), metricmath.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if v, reason := p.Evaluate(in, end); shown(v) != "3 4" {
			t.Errorf("%s: found %s, %s", call, shown(v), reason)
		}
	}
}
