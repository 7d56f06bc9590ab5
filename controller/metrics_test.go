package controller_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/metrics"
	"github.com/muster-scale/muster/policy"
)

func reading(id, namespace, name string, dimensions ...metricmath.Dimension) metricmath.Query {
	return metricmath.Query{ID: id, ReturnData: new(false), MetricStat: &metricmath.MetricStat{Stat: "Maximum",
		Metric: metricmath.Metric{Namespace: namespace, MetricName: name, Dimensions: dimensions}}}
}

// smoothed is a policy whose value depends on what was seen in the past minutes.
func smoothed() policy.Spec {
	return policy.Spec{Name: "metric-math", Target: 2, Queries: []metricmath.Query{
		reading("backlog", "AWS/SQS", "ApproximateNumberOfMessagesVisible",
			metricmath.Dimension{Name: "QueueName", Value: "q"}),
		reading("members", "Muster", "InService"),
		{ID: "e", Expression: "IF(members > 0, (AVG(FILL(backlog, REPEAT)) + FILL(backlog, REPEAT) + DIFF(backlog)) " +
			"/ members, backlog)"},
	}}
}

// A restart at any time remembers the same: what a metric was in the past is what the records tell.
func TestMetricsRememberTheSameAfterARestart(t *testing.T) {
	if raced {
		t.Skip("it only computes: make test runs it without the race detector")
	}
	rapid.Check(t, func(rt *rapid.T) {
		set := settings(t, smoothed(), 50)
		w := newWorld(t, set)
		for i := range rapid.IntRange(5, 60).Draw(rt, "steps") {
			w.backlog, w.blind = rapid.IntRange(0, 40).Draw(rt, "backlog"), rapid.IntRange(0, 9).Draw(rt, "blind") == 0
			w.now = w.now.Add(time.Duration(rapid.SampledFrom([]int{1, 5, 20, 55, 130}).Draw(rt,
				"later")) * time.Second)
			again, err := set.Restore(w.state.Position, w.records)
			if err != nil {
				rt.Fatal(err)
			}
			in := append(w.look(), w.receiving()...)
			after := set.Step(again, w.now, in).Observation.Metrics
			if d := cmp.Diff(w.stepOn(in...).Observation.Metrics, after); d != "" {
				rt.Fatalf("step %d: after a restart the metrics are others (-without +with):\n%s", i, d)
			}
			w.obey()
		}
		if n, skipped, err := audit.Verify(w.records); err != nil || n == 0 || skipped != 0 {
			rt.Fatalf("verified %d, skipped %d: %v", n, skipped, err)
		}
	})
}

func TestEachPeriodOfAMetricHasItsPoint(t *testing.T) {
	w := newWorld(t, settings(t, smoothed(), 50))
	for range 40 * 60 / 7 {
		w.step(7 * time.Second) // nothing changes, and a hold is recorded every 63 s
	}
	for _, s := range w.last.Observation.Metrics {
		if len(s.Points) != metrics.MaxPoints-1 {
			t.Errorf("%s has %d points in half an hour, expected one for each minute that is over", s.Key,
				len(s.Points))
		}
	}
	if len(w.last.Observation.Metrics) != 2 {
		t.Errorf("found %d series, expected 2", len(w.last.Observation.Metrics))
	}
}
