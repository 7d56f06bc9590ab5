package cloudwatch_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/internal/awsmetrics"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/source/cloudwatch"
)

func inTime(t *testing.T, test func(t *testing.T, r *awsmetrics.Reader, m *mustertest.Metrics)) {
	t.Helper()
	mustertest.AWSEnvironment(t)
	synctest.Test(t, func(t *testing.T) {
		m := &mustertest.Metrics{}
		account, err := awsapi.Open(t.Context(), awsapi.Options{HTTP: mustertest.InProcess{Handler: m}})
		if err != nil {
			t.Fatal(err)
		}
		test(t, awsmetrics.NewReader(account), m)
	})
}

func metric(id, name string) metricmath.Query {
	hidden := false
	return metricmath.Query{ID: id, ReturnData: &hidden,
		MetricStat: &metricmath.MetricStat{Metric: metricmath.Metric{Namespace: "App", MetricName: name}, Stat: "Sum",
			PeriodSeconds: 60}}
}

func shown(q metricmath.Query) metricmath.Query {
	returned := true
	q.ReturnData = &returned
	return q
}

func expression(id, text string) metricmath.Query { return metricmath.Query{ID: id, Expression: text} }

func TestSignalsAreMeasuredByMetricsAndExpressions(t *testing.T) {
	inTime(t, func(t *testing.T, r *awsmetrics.Reader, m *mustertest.Metrics) {
		s, err := cloudwatch.New(cloudwatch.Options{Queue: "work", Reader: r, Measures: []cloudwatch.Measure{
			{Quantity: kind.Backlog, Queries: []metricmath.Query{metric("a", "Waiting"), metric("b", "Parked"),
				shown(expression("e", "a + b"))}},
			{Quantity: kind.InFlight,
				Queries: []metricmath.Query{metric("a", "Running"), shown(expression("e", "FILL(a, 0)"))}},
			{Quantity: kind.Processing, Queries: []metricmath.Query{shown(metric("mpd", "MPD"))}},
			{Quantity: kind.OldestAge, ByAWS: true,
				Queries: []metricmath.Query{shown(expression("e", "SEARCH('{App} Age', 'Maximum', 60)"))}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		minute := time.Now().Truncate(time.Minute)
		m.Tell("App/Waiting Sum", minute, 5)
		m.Tell("App/Parked Sum", minute, 2)
		m.Tell("App/MPD Sum", minute, 25)
		m.Tell("SEARCH('{App} Age', 'Maximum', 60)", minute, 90)
		time.Sleep(80 * time.Second)
		q, err := s.Observe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		end := minute.Add(time.Minute).UTC()
		for name, row := range map[string]struct{ got, want muster.Sample }{
			"an expression":                   {q.Backlog, muster.Measured(end, 7)},
			"a metric":                        {q.Published.Value().ProcessingMean, muster.Measured(end, 25)},
			"an expression that AWS computes": {q.OldestAge, muster.Measured(end, 90)},
		} {
			if row.got != row.want {
				t.Errorf("%s gives %+v, want %+v", name, row.got, row.want)
			}
		}
		if q.InFlight.Known || !q.InFlight.Doubted || !strings.Contains(q.InFlight.Reason, "had no datapoint") {
			t.Errorf("a zero made of a metric that nobody publishes is %+v, want a doubt", q.InFlight)
		}
		if q.Delayed.Known || q.Delayed.Reason == "" {
			t.Errorf("what was not named is %+v", q.Delayed)
		}
		for range 30 {
			time.Sleep(time.Second)
			s.Observe(t.Context())
		}
		if calls := m.Calls(); len(calls) != 2 {
			t.Errorf("calls of %v queries within a minute, want one for the metrics and one for what AWS computes",
				calls)
		}
	})
}

// counts is a source that knows its counts, or fails.
type counts struct{ err error }

func (c counts) Observe(context.Context) (muster.QueueObservation, error) {
	now := time.Now().UTC()
	return muster.QueueObservation{Queue: "work", Backlog: muster.Measured(now, 9),
		InFlight: muster.Measured(now, 3)}, c.err
}

func TestMeasuresGoOverWhatTheQueueSaysOfItself(t *testing.T) {
	inTime(t, func(t *testing.T, r *awsmetrics.Reader, m *mustertest.Metrics) {
		m.Tell("App/MPD Sum", time.Now().Truncate(time.Minute), 25)
		time.Sleep(80 * time.Second)
		for _, err := range []error{nil, errors.New("no such queue")} {
			s, fault := cloudwatch.New(cloudwatch.Options{Queue: "work", Reader: r, Base: counts{err},
				Measures: []cloudwatch.Measure{
					{Quantity: kind.Processing, Queries: []metricmath.Query{shown(metric("mpd", "MPD"))}},
				}})
			if fault != nil {
				t.Fatal(fault)
			}
			q, fault := s.Observe(t.Context())
			if fault != nil || q.Published.Value().ProcessingMean.Value != 25 || q.LateSeconds != 0 {
				t.Errorf("found %+v, %v; want the published mean, whatever the queue says", q, fault)
			}
			if err == nil && (q.Backlog.Value != 9 || q.InFlight.Value != 3) || err != nil &&
				(q.Backlog.Known || q.Backlog.Reason != err.Error()) {
				t.Errorf("found a backlog of %v with a queue that says %v", q.Backlog, err)
			}
		}
	})
}

func TestAMeasureThatCannotWorkIsRefused(t *testing.T) {
	two := shown(metric("b", "B"))
	for _, row := range []struct {
		name     string
		measures []cloudwatch.Measure
		says     string
	}{
		{"none", nil, "at least one is needed"},
		{"a signal that does not exist",
			[]cloudwatch.Measure{{Quantity: "size", Queries: []metricmath.Query{shown(metric("a", "A"))}}},
			"allowed are backlog"},
		{"a signal twice", []cloudwatch.Measure{{Quantity: kind.Backlog, Queries: []metricmath.Query{two}},
			{Quantity: kind.Backlog, Queries: []metricmath.Query{two}}}, "twice"},
		{"an unknown id", []cloudwatch.Measure{{Quantity: kind.Backlog,
			Queries: []metricmath.Query{shown(expression("e", "x + 1"))}}}, "x"},
		{"two that return for AWS",
			[]cloudwatch.Measure{{Quantity: kind.Backlog, ByAWS: true,
				Queries: []metricmath.Query{two, shown(metric("c", "C"))}}}, "allowed is one"},
		{"none that returns for AWS",
			[]cloudwatch.Measure{{Quantity: kind.Backlog, ByAWS: true,
				Queries: []metricmath.Query{metric("a", "A"), metric("b", "B")}}}, "exactly one"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := cloudwatch.New(cloudwatch.Options{Queue: "work", Measures: row.measures})
			if err == nil || !strings.Contains(err.Error(), row.says) {
				t.Errorf("New = %v, want an error that says %q", err, row.says)
			}
		})
	}
}

func TestSourceKeepsTheContract(t *testing.T) {
	mustertest.SourceConformance(t, func(t *testing.T, test func(*testing.T, muster.Source, func(int))) {
		inTime(t, func(t *testing.T, r *awsmetrics.Reader, m *mustertest.Metrics) {
			s, fault := cloudwatch.New(cloudwatch.Options{Queue: "work", Reader: r, Measures: []cloudwatch.Measure{
				{Quantity: kind.Backlog, Queries: []metricmath.Query{shown(metric("waiting", "Waiting"))}},
			}})
			if fault != nil {
				t.Fatal(fault)
			}
			sent := 0
			send := func(messages int) {
				sent += messages
				for range 3 {
					m.Tell("App/Waiting Sum", time.Now().Truncate(time.Minute), float64(sent))
					time.Sleep(time.Minute)
				}
				time.Sleep(20 * time.Second)
				if _, err := s.Observe(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			send(0)
			test(t, s, send)
		})
	})
}
