package metricmath_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/metricmath"
)

// monday is when the range of a test begins: noon, 2 March 2026.
var monday = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// row is a series of minutes from words: numbers, and dashes for missing points.
func row(t testing.TB, words string) metricmath.Series {
	t.Helper()
	s := metricmath.Series{Start: monday, Period: time.Minute}
	for _, w := range strings.Fields(words) {
		var p metricmath.Point
		if w != "-" {
			v, err := strconv.ParseFloat(w, 64)
			if err != nil {
				t.Fatal(err)
			}
			p = metricmath.Known(v)
		}
		s.Points = append(s.Points, p)
	}
	return s
}

// metric is a query for a metric of its own name.
func metric(id string) metricmath.Query {
	return metricmath.Query{ID: id, MetricStat: &metricmath.MetricStat{
		Metric: metricmath.Metric{Namespace: "Test", MetricName: id}, Stat: "Maximum"}}
}

func said(b bool) *bool { return &b }

// given reads metrics such as "a 1 2 -; b 3 - 5" into queries that return nothing, and inputs.
func given(t testing.TB, words string) (queries []metricmath.Query, in metricmath.Inputs, end time.Time) {
	t.Helper()
	in = metricmath.Inputs{Series: map[string]metricmath.Series{}, Since: monday}
	end = monday
	for _, m := range strings.Split(words, ";") {
		id, points, _ := strings.Cut(strings.TrimSpace(m), " ")
		if id == "" {
			continue
		}
		q := metric(id)
		q.ReturnData = said(false)
		queries = append(queries, q)
		s := row(t, points)
		in.Series[id] = s
		if e := monday.Add(time.Duration(len(s.Points)) * time.Minute); e.After(end) {
			end = e
		}
	}
	return queries, in, end
}

// shown is a value as words: series apart by bars, points by spaces.
func shown(v metricmath.Value) string {
	all := make([]string, len(v.Series))
	for i, s := range v.Series {
		points := make([]string, len(s.Points))
		for j, p := range s.Points {
			points[j] = p.String()
		}
		all[i] = strings.Join(points, " ")
	}
	return strings.Join(all, " | ")
}

// computed is an expression over given metrics as words: its points, or why there are none, or why it is refused.
func computed(t testing.TB, metrics, expression string, o metricmath.Options) string {
	t.Helper()
	if o.Use == "" {
		o.Use = metricmath.ForGraph
	}
	queries, in, end := given(t, metrics)
	p, err := metricmath.Compile(append(queries, metricmath.Query{ID: "result", Expression: expression}), o)
	if err != nil {
		return "refused: " + err.Error()
	}
	v, reason := p.Evaluate(in, end)
	if reason != "" && len(v.Series) == 0 {
		return "unknown: " + reason
	}
	return shown(v)
}

// holds is a row of most tests here.
type holds struct {
	name, given, expression, want string
}

func check(t *testing.T, rows []holds, o metricmath.Options) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if got := computed(t, r.given, r.expression, o); got != r.want {
				t.Errorf("%s of %s:\nfound    %s\nexpected %s", r.expression, r.given, got, r.want)
			}
		})
	}
}

func ExampleProgram_Evaluate() {
	stat := func(namespace, name, stat string) *metricmath.MetricStat {
		return &metricmath.MetricStat{Metric: metricmath.Metric{Namespace: namespace, MetricName: name}, Stat: stat}
	}
	no := false
	p, err := metricmath.Compile([]metricmath.Query{
		{ID: "backlog", MetricStat: stat("AWS/SQS", "ApproximateNumberOfMessagesVisible", "Maximum"), ReturnData: &no},
		{ID: "workers", MetricStat: stat("App", "Workers", "Maximum"), ReturnData: &no},
		{ID: "perWorker", Expression: "FILL(backlog, REPEAT) / workers"},
	}, metricmath.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	at := time.Date(2026, 3, 2, 12, 3, 20, 0, time.UTC)
	v, reason := p.Evaluate(metricmath.Inputs{Series: map[string]metricmath.Series{
		"backlog": metricmath.Row(at.Add(-3*time.Minute), time.Minute, 60, metricmath.Missing(), 90),
		"workers": metricmath.Row(at.Add(-3*time.Minute), time.Minute, 6, 6, 9),
	}}, at)
	newest, began := v.Newest()
	fmt.Printf("%s from %s on %q\n", newest, began.Format("15:04"), reason)
	// Output: 10 from 12:02 on ""
}
