package metricmath_test

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/metricmath"
)

func stat(namespace, name, statistic string) *metricmath.MetricStat {
	return &metricmath.MetricStat{Metric: metricmath.Metric{Namespace: namespace, MetricName: name,
		Dimensions: []metricmath.Dimension{{Name: "QueueName", Value: "orders"}}}, Stat: statistic}
}

// utilization is the published list for worker utilization, and withoutBacklog its variant, with ReturnData as
// published: true on the last, not written on the others.
func utilization() []metricmath.Query {
	return []metricmath.Query{
		{ID: "backlog", MetricStat: stat("AWS/SQS", "ApproximateNumberOfMessagesVisible", "Maximum")},
		{ID: "inFlight", MetricStat: stat("AWS/SQS", "ApproximateNumberOfMessagesNotVisible", "Maximum")},
		{ID: "workers", MetricStat: stat("YourApp", "TotalWorkers", "Sum")},
		{ID: "totalWork", Expression: "FILL(backlog, REPEAT) + FILL(inFlight, REPEAT)"},
		{ID: "utilizationRatio", Expression: "totalWork / workers"},
		{ID: "utilization", Expression: "IF(FILL(workers, 0) > 0, utilizationRatio, IF(totalWork > 0, 1, 0))",
			ReturnData: said(true)},
	}
}

func withoutBacklog() []metricmath.Query {
	return []metricmath.Query{
		{ID: "inFlight", MetricStat: stat("AWS/SQS", "ApproximateNumberOfMessagesNotVisible", "Maximum")},
		{ID: "workers", MetricStat: stat("YourApp", "TotalWorkers", "Sum")},
		{ID: "utilizationRatio", Expression: "FILL(inFlight, REPEAT) /workers"},
		{ID: "utilization", Expression: "IF(FILL (workers, 0) > 0, utilizationRatio, IF(FILL(inFlight, 0) > 0, 1, 0))",
			ReturnData: said(true)},
	}
}

func TestTheWorkerUtilizationFormula(t *testing.T) {
	const nothing = "unknown: utilization has no point from 2026-03-02T12:00:00Z to 2026-03-02T12:01:00Z: nothing " +
		"was published for "
	for _, r := range []struct {
		name                       string
		list                       []metricmath.Query
		backlog, inFlight, workers string
		want                       string
	}{
		{"the five minutes of the reference", utilization(), "0 20 - 5 0", "0 10 - 0 0", "10 10 10 - -", "0 3 3 1 0"},
		{"half of the workers busy", utilization(), "0", "5", "10", "0.5"},
		{"no workers published, and work: one", utilization(), "7", "0", "-", "1"},
		{"no workers published, and work in flight alone: one", utilization(), "0", "3", "-", "1"},
		{"zero workers published, and work: one", utilization(), "7", "0", "0", "1"},
		{"neither workers nor work: zero", utilization(), "0", "0", "-", "0"},
		{"zero workers and no work: zero", utilization(), "0", "0", "0", "0"},
		{"late metrics of the queue: the last ones count", utilization(), "40 - -", "10 - -", "10 10 20", "5 5 2.5"},
		{"late metrics of half of the queue", utilization(), "40 - 50", "10 10 -", "10 10 10", "5 5 6"},
		{"metrics of the queue that were never there have nothing to repeat, and workers make it zero", utilization(),
			"-", "-", "10", "0"},
		{"no metric has a point: unknown, not zero", utilization(), "-", "-", "-",
			nothing + "backlog, inFlight, workers"},
		{"a queue that was idle for hours, and no workers: unknown, not zero", utilization(), "-", "-", "0", nothing +
			"backlog, inFlight"},
		{"only one of the queue's metrics has points: the other counts as zero", utilization(), "-", "4", "8", "0.5"},

		{"without a backlog: the share of busy workers", withoutBacklog(), "", "5 - 8", "10 10 10", "0.5 0.5 0.8"},
		{"without a backlog: work and no workers", withoutBacklog(), "", "5", "-", "1"},
		{"without a backlog: neither", withoutBacklog(), "", "0", "-", "0"},
		{"without a backlog: nothing published at all reads as zero", withoutBacklog(), "", "-", "-", "0"},
		{"without a backlog: a late metric beside no workers is zero, not repeated", withoutBacklog(), "", "5 -", "- -",
			"1 0"},
	} {
		t.Run(r.name, func(t *testing.T) {
			p, err := metricmath.Compile(r.list, metricmath.Options{})
			if err != nil {
				t.Fatal(err)
			}
			in := metricmath.Inputs{Since: monday, Series: map[string]metricmath.Series{
				"backlog": row(t, r.backlog), "inFlight": row(t, r.inFlight), "workers": row(t, r.workers)}}
			v, reason := p.Evaluate(in, monday.Add(time.Duration(len(in.Series["workers"].Points))*time.Minute))
			got := shown(v)
			if reason != "" {
				got = "unknown: " + reason
			}
			if got != r.want {
				t.Errorf("found    %s\nexpected %s", got, r.want)
			}
		})
	}
}

func TestWithoutBacklogNothingPublishedMayStayUnknown(t *testing.T) {
	p, err := metricmath.Compile(withoutBacklog(), metricmath.Options{FillEmpty: metricmath.EmptyKept})
	if err != nil {
		t.Fatal(err)
	}
	_, reason := p.Evaluate(metricmath.Inputs{Since: monday,
		Series: map[string]metricmath.Series{"inFlight": {}, "workers": {}}}, monday.Add(time.Minute))
	if !strings.Contains(reason, "nothing was published for inFlight, workers") {
		t.Errorf("found the reason %q", reason)
	}
}

func TestWhatWasNotReadIsNotZero(t *testing.T) {
	p, err := metricmath.Compile(utilization(), metricmath.Options{})
	if err != nil {
		t.Fatal(err)
	}
	in := metricmath.Inputs{Series: map[string]metricmath.Series{"backlog": row(t, "7"), "inFlight": row(t, "0")}}
	v, reason := p.Evaluate(in, monday.Add(time.Minute))
	if p, _ := v.Newest(); p.Known || reason != "utilization is unknown: the metric workers was not read" {
		t.Errorf("found %s, %q", p, reason)
	}
}

func TestThePublishedListIsRemarkedOn(t *testing.T) {
	p, err := metricmath.Compile(utilization(), metricmath.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []metricmath.Note{
		{Text: "ReturnData is not written on backlog, inFlight, workers, totalWork, utilizationRatio. AWS counts " +
			"that as true and allows one true alone: write ReturnData: false there before AWS is to read the list."},
		{Query: "workers", Text: "Sum adds up every publication within 60 s: of a count such as the number of " +
			"workers it is right only if each publishes exactly once in that time. Publishing n times makes it n " +
			"times as much."},
	}
	if got := p.Notes(); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("found %q", got)
	}
	_, err = metricmath.Compile(utilization(), metricmath.Options{StrictReturnData: true})
	if want := "found 6 queries that return their points (backlog, inFlight, workers, totalWork, utilizationRatio, " +
		"utilization), expected exactly one; the default of ReturnData is true: write ReturnData: false on every " +
		"query but the one to scale by"; err == nil || err.Error() != want {
		t.Errorf("found %v\nexpected %s", err, want)
	}
}

// A count of workers that is published every 20 s is three times as much as Sum: the utilization is a third of the
// truth.
func TestTheSumOfWorkersTrap(t *testing.T) {
	list := utilization()
	for i := range 3 {
		list[i].MetricStat.PeriodSeconds = 60
	}
	list[2].MetricStat.PeriodSeconds = 20
	in := metricmath.Inputs{Series: map[string]metricmath.Series{
		"backlog": row(t, "0"), "inFlight": row(t, "9"), "workers": metricmath.Row(monday, 20*time.Second, 10, 10, 10)}}
	for statistic, want := range map[string]string{"Sum": "0.3", "Maximum": "0.9"} {
		list[2].MetricStat.Stat = statistic
		p, err := metricmath.Compile(list, metricmath.Options{MixedPeriods: metricmath.LongestPeriod})
		if err != nil {
			t.Fatal(err)
		}
		if v, reason := p.Evaluate(in, monday.Add(time.Minute)); shown(v) != want {
			t.Errorf("with %s found %s (%s), expected %s", statistic, shown(v), reason, want)
		}
	}
}

func BenchmarkADayOfWorkerUtilization(b *testing.B) {
	p, err := metricmath.Compile(utilization(), metricmath.Options{})
	if err != nil {
		b.Fatal(err)
	}
	in := metricmath.Inputs{Series: map[string]metricmath.Series{}}
	for k, id := range []string{"backlog", "inFlight", "workers"} {
		s := metricmath.Row(monday, time.Minute, make([]float64, 1440)...)
		for i := range s.Points {
			if s.Points[i] = metricmath.Known(float64((i*7 + k*13) % 50)); (i+k)%17 == 0 {
				s.Points[i] = metricmath.Point{}
			}
		}
		in.Series[id] = s
	}
	at := monday.Add(24 * time.Hour)
	b.ReportAllocs()
	for b.Loop() {
		if _, reason := p.Evaluate(in, at); reason != "" {
			b.Fatal(reason)
		}
	}
}
