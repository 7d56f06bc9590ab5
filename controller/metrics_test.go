package controller_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/controller/loop"
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

// keeper keeps metrics as CloudWatch does.
type keeper struct {
	mu      sync.Mutex
	failure error
	asked   []metrics.Query
	value   float64
}

func (k *keeper) Metrics(_ context.Context, queries []metrics.Query) (all []metrics.Series, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked = queries
	if k.failure != nil {
		return nil, k.failure
	}
	open := metrics.PeriodAt(time.Now(), 60)
	for _, q := range queries {
		all = append(all, metrics.Series{Key: q.Key(), Known: true, Start: open.Add(-40 * time.Minute),
			PeriodSeconds: 60,
			Points:        []metrics.Point{{N: 2, Value: 1}, {N: 39, Value: k.value}}})
	}
	return all, nil
}

func TestMetricsThatOthersKeepAreReadAtEachLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k := newShell(), &keeper{value: 90}
		set := settings(t, policy.Spec{Name: "metric-math", Target: 50, Queries: []metricmath.Query{
			reading("cpu", "AWS/EC2", "CPUUtilization"), reading("members", "Muster", "InService"),
			{ID: "e", Expression: "IF(members > 0, cpu, cpu)"}}}, 10)
		set.Poll = 10 * time.Second
		loop := loop.New(loop.Options{Settings: set, Sources: []muster.Source{s}, Fleet: s,
			History: s, Meter: k, Logger: slog.New(slog.DiscardHandler)})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- loop.Run(ctx) }()
		look := func(later time.Duration) controller.Outcome {
			time.Sleep(later)
			o, _ := loop.Last()
			return o
		}
		o := look(time.Second)
		k.mu.Lock()
		if len(k.asked) != 1 || k.asked[0].Name != "CPUUtilization" || k.asked[0].PeriodSeconds != 60 {
			t.Errorf("asked for %v, expected the CPU alone, each minute", k.asked)
		}
		if x := o.Observation.Metrics[0]; len(x.Points) != 1 || x.Points[0] != (metrics.Point{N: 29, Value: 90}) ||
			!x.Start.Equal(metrics.PeriodAt(time.Now(), 60).Add(-30*time.Minute)) {
			t.Errorf("found %+v, expected the newest 30 minutes alone", x)
		}
		if o.Decision.Desired != 1 {
			t.Errorf("found %s", o.Decision.Sentence())
		}
		k.failure = errors.New("access denied")
		k.mu.Unlock()
		if o = look(100 * time.Second); !o.Observation.Metrics[0].Known || o.Decision.Reason == muster.UnknownMetric {
			t.Errorf("100 s after it was read last: %s", o.Decision.Sentence())
		}
		o = look(100 * time.Second)
		if x := o.Observation.Metrics[0]; x.Known || o.Decision.Reason != muster.UnknownMetric ||
			fmt.Sprint(x.Reason) == "" {
			t.Errorf("200 s after it was read last: %+v, %s", x, o.Decision.Sentence())
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
