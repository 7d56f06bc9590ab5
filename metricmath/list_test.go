package metricmath_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/metricmath"
)

func expression(id, text string) metricmath.Query {
	return metricmath.Query{ID: id, Expression: text, ReturnData: said(false)}
}

func returning(q metricmath.Query) metricmath.Query {
	q.ReturnData = said(true)
	return q
}

func quiet(q metricmath.Query) metricmath.Query {
	q.ReturnData = said(false)
	return q
}

func TestWhatIsWrongWithAList(t *testing.T) {
	m := quiet(metric("m"))
	every := func(id string, seconds int, stat string) metricmath.Query {
		q := quiet(metric(id))
		q.MetricStat.PeriodSeconds, q.MetricStat.Stat = seconds, stat
		return q
	}
	many := make([]metricmath.Query, 501)
	for i := range many {
		many[i] = metric(fmt.Sprintf("m%d", i))
	}
	for _, r := range []struct {
		name    string
		list    []metricmath.Query
		options metricmath.Options
		want    string
	}{
		{"nothing", nil, metricmath.Options{}, "found a list of 0 queries, expected 1 to 500"},
		{"too much", many, metricmath.Options{}, "found a list of 501 queries, expected 1 to 500"},
		{"an id that begins with a capital", []metricmath.Query{metric("Workers")}, metricmath.Options{},
			`query 1: found the Id "Workers", expected a lower-case letter, then letters, digits and underscores, at most 255`},
		{"an id with a dash", []metricmath.Query{m, metric("a-b")}, metricmath.Options{},
			`query 2: found the Id "a-b", expected a lower-case letter, then letters, digits and underscores, at most 255`},
		{"no id", []metricmath.Query{{Expression: "1"}}, metricmath.Options{},
			`query 1: found the Id "", expected a lower-case letter, then letters, digits and underscores, at most 255`},
		{"an id twice", []metricmath.Query{m, metric("m")}, metricmath.Options{}, "m: found an Id that an earlier " +
			"query has, expected another"},
		{"a metric and an expression in one", []metricmath.Query{{ID: "m", MetricStat: m.MetricStat, Expression: "m"}},
			metricmath.Options{}, "m: found both MetricStat and Expression, expected one of them; read the metric in " +
				"one query, and compute in another"},
		{"neither", []metricmath.Query{{ID: "m"}}, metricmath.Options{}, "m: line 1, column 1: found nothing, " +
			"expected an expression"},
		{"no name, namespace or statistic", []metricmath.Query{{ID: "m", MetricStat: &metricmath.MetricStat{}}},
			metricmath.Options{},
			"m: found Namespace \"\", expected 1 to 255 characters\nm: found MetricName \"\", expected 1 to 255 " +
				"characters\nm: found Stat \"\", expected 1 to 255 characters"},
		{"a dimension without a value",
			[]metricmath.Query{{ID: "m",
				MetricStat: &metricmath.MetricStat{Stat: "Sum",
					Metric: metricmath.Metric{Namespace: "N", MetricName: "M",
						Dimensions: []metricmath.Dimension{{Name: "d"}}}}}}, metricmath.Options{},
			`m: found the dimension "d" = "", expected a name of 1 to 255 characters and a value of 1 to 1024`},
		{"a dimension too many",
			[]metricmath.Query{{ID: "m",
				MetricStat: &metricmath.MetricStat{Stat: "Sum",
					Metric: metricmath.Metric{Namespace: "N", MetricName: "M",
						Dimensions: slices.Repeat([]metricmath.Dimension{{Name: "d", Value: "v"}}, 31)}}}},
			metricmath.Options{}, "m: found 31 dimensions, expected at most 30"},
		{"a strange period", []metricmath.Query{every("m", 45, "Sum")}, metricmath.Options{},
			"m: found a period of 45 seconds, expected 1, 5, 10, 20, 30 or a multiple of 60 seconds up to a day"},

		{"an expression that needs itself", []metricmath.Query{m, expression("e", "m + e")}, metricmath.Options{},
			"e: found an expression that needs itself: e needs e, expected expressions over metrics and over other " +
				"expressions"},
		{"a circle of expressions", []metricmath.Query{m, expression("a", "b + m"), expression("b", "c"),
			expression("c", "a")}, metricmath.Options{}, "a: found an expression that needs itself: a needs b needs " +
			"c needs a, expected expressions over metrics and over other expressions"},

		{"nothing comes out", []metricmath.Query{m, expression("e", "m")}, metricmath.Options{},
			"found no query with ReturnData true, expected one; write ReturnData: true on the last expression"},
		{"two come out", []metricmath.Query{returning(m), returning(expression("e", "m"))}, metricmath.Options{},
			"found 2 queries that return their points (m, e), expected exactly one; the default of ReturnData is " +
				"true: write ReturnData: false on every query but the one to scale by"},
		{"none is written", []metricmath.Query{metric("m"), {ID: "e", Expression: "m"}}, metricmath.Options{},
			"found 2 queries that return their points (m, e), expected exactly one; the default of ReturnData is " +
				"true: write ReturnData: false on every query but the one to scale by"},
		{"an array comes out", []metricmath.Query{m, returning(expression("e", "[m, m]"))}, metricmath.Options{},
			"e: line 1, column 1: found an array of series, expected one series; make one of it with SUM, MAX, MIN, " +
				"AVG or FIRST"},
		{"SEARCH in target tracking", []metricmath.Query{m, returning(expression("e", "SUM(SEARCH('x', 'Sum'))"))},
			metricmath.Options{}, "e: line 1, column 5: found SEARCH, expected named metrics; AWS allows SEARCH in " +
				"graphs alone, since what it finds may change: list the metrics as queries"},
		{"SEARCH in an alarm", []metricmath.Query{m, returning(expression("e", "SUM(SEARCH('x', 'Sum'))"))},
			metricmath.Options{Use: metricmath.ForAlarm}, "e: line 1, column 5: found SEARCH, expected named " +
				"metrics; AWS allows SEARCH in graphs alone, since what it finds may change: list the metrics as " +
				"queries"},

		{"several periods", []metricmath.Query{every("a", 60, "Sum"), every("b", 300, "Sum"),
			returning(expression("e", "a + b"))}, metricmath.Options{}, "found metrics with periods of 60, 300 " +
			"seconds, expected one period; AWS does not document how they combine; give all the same Period, or " +
			"choose with the option mixed_periods"},
		{"periods that do not divide each other", []metricmath.Query{every("a", 120, "Sum"), every("b", 300, "Sum"),
			returning(expression("e", "a + b"))}, metricmath.Options{MixedPeriods: metricmath.LongestPeriod},
			"found metrics with periods of 120, 300 seconds, expected periods that divide each other"},
		{"a percentile of short periods", []metricmath.Query{every("a", 60, "p99"), every("b", 300, "Sum"),
			returning(expression("e", "a + b"))}, metricmath.Options{MixedPeriods: metricmath.LongestPeriod},
			"a: found the statistic p99 of a shorter period, expected Sum, SampleCount, Maximum, Minimum or Average; " +
				"other statistics of short periods do not give that of a long one"},
		{"a period on an expression",
			[]metricmath.Query{m, {ID: "e", Expression: "m", PeriodSeconds: 300, ReturnData: said(true)}},
			metricmath.Options{}, "e: found a period of 300 seconds, expected the list's period, 60; leave Period " +
				"out of expressions"},

		{"options", []metricmath.Query{m}, metricmath.Options{Use: "dashboard", FillEmpty: "zeros", Ambiguity: "maybe",
			MixedPeriods: "all", PeriodSeconds: 7},
			`found use: "dashboard", expected target-tracking or alarm or graph` + "\n" +
				`found fill_empty: "zeros", expected filled or empty` + "\n" +
				`found ambiguity: "maybe", expected usual or refuse` + "\n" +
				`found mixed_periods: "all", expected refuse or own-timestamps or longest` +
				"\nfound period_seconds: 7, expected 1, 5, 10, 20, 30 or a multiple of 60 seconds up to a day"},
	} {
		t.Run(r.name, func(t *testing.T) {
			if _, err := metricmath.Compile(r.list, r.options); err == nil || err.Error() != r.want {
				t.Errorf("found    %v\nexpected %s", err, r.want)
			}
		})
	}
}

func TestWhichPointsComeOut(t *testing.T) {
	silent := func(q metricmath.Query) metricmath.Query { q.ReturnData = nil; return q }
	e := expression("e", "m")
	for _, r := range []struct {
		name    string
		list    []metricmath.Query
		options metricmath.Options
		want    []string
	}{
		{"one written true, the others not written", []metricmath.Query{silent(metric("m")), returning(e)},
			metricmath.Options{}, []string{"e"}},
		{"all others written false", []metricmath.Query{quiet(metric("m")), silent(e)}, metricmath.Options{},
			[]string{"e"}},
		{"one alone", []metricmath.Query{silent(metric("m"))}, metricmath.Options{}, []string{"m"}},
		{"a metric, while others are computed from it", []metricmath.Query{returning(metric("m")), quiet(e)},
			metricmath.Options{}, []string{"m"}},
		{"a graph shows what is not written", []metricmath.Query{silent(metric("m")), returning(e)},
			metricmath.Options{Use: metricmath.ForGraph}, []string{"m", "e"}},
	} {
		t.Run(r.name, func(t *testing.T) {
			p, err := metricmath.Compile(r.list, r.options)
			if err != nil || !slices.Equal(p.Returned(), r.want) {
				t.Errorf("found %v, %v, expected %v", p.Returned(), err, r.want)
			}
		})
	}
}

func TestExpressionsAreComputedAfterWhatTheyNeed(t *testing.T) {
	list := []metricmath.Query{returning(expression("last", "b * 2")), expression("b", "a + m"),
		expression("a", "m + 1"), quiet(metric("m"))}
	p, err := metricmath.Compile(list, metricmath.Options{})
	if err != nil || !slices.Equal(p.Order(), []string{"a", "b", "last"}) {
		t.Fatalf("found %v, %v", p.Order(), err)
	}
	v, reason := p.Evaluate(metricmath.Inputs{Series: map[string]metricmath.Series{"m": row(t, "3")}},
		monday.Add(time.Minute))
	if shown(v) != "14" {
		t.Errorf("found %s, %s", shown(v), reason)
	}
	if x, found := p.Expression("b"); !found || x.String() != "a + m" {
		t.Errorf("found %s", x)
	}
	if _, found := p.Expression("m"); found {
		t.Error("a metric has no expression")
	}
	if m := p.Metrics(); len(m) != 1 || m[0].ID != "m" || m[0].MetricStat.PeriodSeconds != 60 ||
		list[3].MetricStat.PeriodSeconds != 0 {
		t.Errorf("found %+v", m)
	}
}

func TestChangingTheListLaterChangesNoProgram(t *testing.T) {
	short, long := quiet(metric("short")), quiet(metric("long"))
	long.MetricStat.PeriodSeconds, short.MetricStat.Stat = 120, "Sum"
	short.MetricStat.Metric.Dimensions = []metricmath.Dimension{{Name: "a", Value: "b"}}
	p := compiled(t, metricmath.Options{MixedPeriods: metricmath.LongestPeriod}, short, long,
		returning(expression("e", "short + 0")))
	short.MetricStat.Stat = "Maximum"
	p.Metrics()[0].MetricStat.Stat = "Minimum"
	p.Metrics()[0].MetricStat.Metric.Dimensions[0].Value = "c"
	v, _ := p.Evaluate(metricmath.Inputs{Series: map[string]metricmath.Series{"short": row(t, "1 2"), "long": {}}},
		monday.Add(2*time.Minute))
	if m := p.Metrics()[0].MetricStat; shown(v) != "3" || m.Stat != "Sum" || m.Metric.Dimensions[0].Value != "b" ||
		p.Period() != 2*time.Minute {
		t.Errorf("found %s, %+v", shown(v), m)
	}
}

func TestSeveralPeriods(t *testing.T) {
	short, long := quiet(metric("short")), quiet(metric("long"))
	short.MetricStat.PeriodSeconds, long.MetricStat.PeriodSeconds = 60, 180
	in := metricmath.Inputs{Series: map[string]metricmath.Series{
		"short": metricmath.Row(monday, time.Minute, 1, metricmath.Missing(), 3, 4, 5, 6, 7),
		"long":  metricmath.Row(monday, 3*time.Minute, 100, 200, 300),
	}}
	for _, r := range []struct {
		name, stat string
		mixed      metricmath.MixedPeriods
		expression string
		want       string
	}{
		{"own timestamps: the long one has holes", "Sum", metricmath.OwnTimestamps, "short + long",
			"101 - 3 204 5 6 307"},
		{"own timestamps, filled", "Sum", metricmath.OwnTimestamps, "FILL(long, REPEAT)",
			"100 100 100 200 200 200 300"},
		{"PERIOD is each metric's own", "Sum", metricmath.OwnTimestamps, "TIME_SERIES(PERIOD(long) + PERIOD(short))",
			"240 240 240 240 240 240 240"},
		{"the longest: sums are added", "Sum", metricmath.LongestPeriod, "short + long", "104 215"},
		{"counts are added", "SampleCount", metricmath.LongestPeriod, "short + 0", "4 15"},
		{"maxima are compared", "Maximum", metricmath.LongestPeriod, "short + 0", "3 6"},
		{"minima are compared", "Minimum", metricmath.LongestPeriod, "short + 0", "1 4"},
		{"averages are averaged over what exists", "Average", metricmath.LongestPeriod, "short + 0", "2 5"},
	} {
		t.Run(r.name, func(t *testing.T) {
			short.MetricStat.Stat = r.stat
			p, err := metricmath.Compile([]metricmath.Query{short, long, {ID: "e", Expression: r.expression}},
				metricmath.Options{MixedPeriods: r.mixed})
			if err != nil {
				t.Fatal(err)
			}
			if v, reason := p.Evaluate(in, monday.Add(7*time.Minute)); shown(v) != r.want {
				t.Errorf("found %s (%s), expected %s", shown(v), reason, r.want)
			}
		})
	}
}

func TestShortPeriodsThatAddUpToTooMuchAreDropped(t *testing.T) {
	a, b := quiet(metric("a")), quiet(metric("b"))
	a.MetricStat.Stat, b.MetricStat.PeriodSeconds = "Sum", 120
	p := compiled(t, metricmath.Options{MixedPeriods: metricmath.LongestPeriod}, a, b,
		returning(expression("e", "FILL(a, REPEAT)")))
	in := metricmath.Inputs{Series: map[string]metricmath.Series{"a": row(t, "3 4 1.7e308 1.7e308 -1e308 -"), "b": {}}}
	v, reason := p.Evaluate(in, monday.Add(6*time.Minute))
	if shown(v) != "7 7 -1e+308" {
		t.Errorf("found %s, %s", shown(v), reason)
	}
	sound(t, v, reason)
}

func TestThePercentileOfTheLongestPeriodIsItsOwn(t *testing.T) {
	a, b := quiet(metric("a")), quiet(metric("b"))
	a.MetricStat.Stat, a.MetricStat.PeriodSeconds = "p99", 300
	p := compiled(t, metricmath.Options{MixedPeriods: metricmath.LongestPeriod}, a, b,
		returning(expression("e", "a + b")))
	in := metricmath.Inputs{Series: map[string]metricmath.Series{"a": metricmath.Row(monday, 5*time.Minute, 7),
		"b": row(t, "1 2 3 2 1")}}
	if v, reason := p.Evaluate(in, monday.Add(5*time.Minute)); shown(v) != "10" {
		t.Errorf("found %s, %s", shown(v), reason)
	}
}

func TestNotes(t *testing.T) {
	m := quiet(metric("m"))
	var eleven []metricmath.Query
	for i := range 11 {
		eleven = append(eleven, quiet(metric(fmt.Sprintf("m%d", i))))
	}
	aws := metricmath.Query{ID: "s", MetricStat: stat("AWS/SQS", "NumberOfMessagesSent", "Sum"),
		ReturnData: said(false)}
	for _, r := range []struct {
		name string
		list []metricmath.Query
		want string
	}{
		{"nothing to say", []metricmath.Query{m, returning(expression("e", "FILL(m, REPEAT)"))}, ""},
		{"a sum that AWS publishes is right", []metricmath.Query{aws, returning(expression("e", "s"))}, ""},
		{"a number of one series in an alarm",
			[]metricmath.Query{m, returning(expression("e", "m - AVG(m) / MAX(m) + AVG(m)"))},
			"An alarm may look at more points than it evaluates, and AVG then gives something else: AWS advises " +
				"against it in alarms."},
		{"of an array it is no such thing", []metricmath.Query{m, returning(expression("e", "AVG([m, m])"))}, ""},
		{"a running sum", []metricmath.Query{m, returning(expression("e", "RUNNING_SUM(m)"))},
			"and RUNNING_SUM then gives something else"},
		{"what CloudWatch alone computes", []metricmath.Query{m, returning(expression("e", "SERVICE_QUOTA(m)"))},
			"SERVICE_QUOTA is computed by CloudWatch alone; it is unknown here unless its series are given."},
		{"text too long for AWS", []metricmath.Query{m, returning(expression("e", strings.Repeat("m + ", 512)+"m"))},
			"The expression has 2049 characters; AWS takes 2048."},
		{"metrics too many for an alarm", append(eleven, returning(expression("e", "SUM(METRICS())"))),
			"The list reads 11 metrics; an alarm of AWS takes 10, and target tracking rests on alarms."},
	} {
		t.Run(r.name, func(t *testing.T) {
			p, err := metricmath.Compile(r.list, metricmath.Options{})
			if err != nil {
				t.Fatal(err)
			}
			notes := p.Notes()
			if r.want == "" && len(notes) > 0 || r.want != "" &&
				(len(notes) == 0 || !strings.Contains(notes[0].Text, r.want)) {
				t.Errorf("found %q, expected %q", notes, r.want)
			}
		})
	}
}

func TestAListIsWrittenAsAWSWritesIt(t *testing.T) {
	const text = `[{"Id":"workers","MetricStat":{"Metric":{"Namespace":"App","MetricName":"Workers","Dimensions":[{"Name":"Queue","Value":"q"}]},"Period":60,"Stat":"Maximum","Unit":"Count"},"Label":"all workers","ReturnData":false},{"Id":"e","Expression":"workers * 2","ReturnData":true}]`
	var list []metricmath.Query
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	if back, err := json.Marshal(list); err != nil || string(back) != text {
		t.Errorf("found %s, %v", back, err)
	}
	if _, err := metricmath.Compile(list, metricmath.Options{}); err != nil {
		t.Error(err)
	}
}
