package loop_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/loop"
	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/metrics"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/worker/protocol"
)

func TestALoopReadsStoredReportsWithEveryLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPorts()
		s.backlog = 1
		s.stored = func(context.Context) (all []protocol.Report, err error) {
			s.set(func() {
				if s.reads++; s.reads == 3 {
					err = errors.New("no such table")
				}
				for _, m := range s.members {
					all = append(all, protocol.Report{Fleet: "f", Member: m.ID, Worker: m.ID, Seq: int64(s.reads),
						At: time.Now().UTC(), State: protocol.Receiving, Slots: 1})
				}
			})
			return all, err
		}
		loop, stop := newLoop(t, s, loopSettings(t, time.Second))
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		said := false
		for range 40 {
			time.Sleep(50 * time.Millisecond)
			synctest.Wait()
			o, _ := loop.Last()
			said = said || slices.Equal(o.Observation.Notes, []string{"reports of workers are unknown: no such table"})
		}
		if !said {
			t.Error("nobody says that reports could not be read")
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if o, ok := loop.Last(); !ok || o.Observation.Capacity.Idle != 1 || len(o.Observation.Notes) > 0 {
			t.Errorf("found %+v and the notes %q, want the one member in service and no notes", o.Observation.Capacity,
				o.Observation.Notes)
		}
		s.set(func() {
			if s.reads < 5 {
				t.Errorf("read %d times in five seconds with a poll of one", s.reads)
			}
		})
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestTheLoopReadsTheTreesAtEveryLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPorts()
		set := loopSettings(t, time.Second)
		set.Trees = true
		s.trees = func(context.Context) muster.Expected {
			return muster.Expected{At: time.Now().UTC(), Known: true, Trees: 1, Open: 7}
		}
		l, stop := newLoop(t, s, set)
		defer stop()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if last, ok := l.Last(); !ok || last.Observation.Expected.None() || last.Observation.Expected.Open != 7 {
			t.Errorf("the loop saw %+v", last.Observation.Expected)
		}
	})
}

func reading(id, namespace, name string, dimensions ...metricmath.Dimension) metricmath.Query {
	return metricmath.Query{ID: id, ReturnData: new(false), MetricStat: &metricmath.MetricStat{Stat: "Maximum",
		Metric: metricmath.Metric{Namespace: namespace, MetricName: name, Dimensions: dimensions}}}
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
		s, k := newPorts(), &keeper{value: 90}
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
