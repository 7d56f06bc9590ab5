package endtoend_test

import (
	"context"
	"testing"
	"time"

	awscloudwatch "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/loop"
	"github.com/muster-scale/muster/fleet/asg"
	"github.com/muster-scale/muster/internal/awsmetrics"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/policy"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/source/cloudwatch"
	"github.com/muster-scale/muster/worker"
	published "github.com/muster-scale/muster/worker/cloudwatch"
	"github.com/muster-scale/muster/worker/dynamoreport"
	"github.com/muster-scale/muster/worker/protocol"
)

// unanswered has the workers write into the table alone, and returns what reads it for the controller.
func (s *stage) unanswered() func(context.Context) ([]protocol.Report, error) {
	s.t.Helper()
	cfg, err := s.account.Region(region)
	if err != nil {
		s.t.Fatal(err)
	}
	table, err := dynamoreport.New(dynamodb.NewFromConfig(cfg), "reports")
	if err != nil {
		s.t.Fatal(err)
	}
	s.destinations = []worker.Destination{{Sink: table, Name: "the table", Every: 10 * time.Second, Changes: true}}
	f := dynamoreport.NewReader(table, region).Follow("work")
	return func(ctx context.Context) ([]protocol.Report, error) { return f.Reports(ctx, time.Now()) }
}

func TestAGroupIsKnownByWhatItsWorkersKeepInATable(t *testing.T) {
	onAWS(t, func(s *stage) {
		s.group("workers", 20)
		s.members, s.spared = func(w *model.World) []string { return instances(w, "workers") }, true
		f, err := asg.NewGroups(s.account).Fleet(asg.Options{Group: "workers", Max: 20})
		if err != nil {
			s.t.Fatal(err)
		}
		stored := s.unanswered()
		s.start(controller.Settings{
			Spec: policy.Spec{Name: "dynamic-backlog", Acceptable: 12,
				In: policy.Shape{Stabilization: 10 * time.Minute}}, Limits: muster.Limits{Max: 20}, Unreported: true,
			BootPrior: time.Minute,
		}, loop.Options{Fleet: f, Releaser: f, Expecters: []muster.Expecter{f}, Stored: stored})
		pass(time.Minute)
		s.send(60)
		last := func() muster.Observation { o, _ := s.loop.Last(); return o.Observation }
		s.until("durations known from the table", 10*time.Minute,
			func() bool { p := last().Processing; return p.Known && !p.Prior })
		o := last()
		if mean := o.Processing.MeanSeconds; mean < 24.9 || mean > 25.1 {
			s.t.Errorf("a message takes %v s as far as is known, want 25", mean)
		}
		if c := o.Capacity; c.InService() != 5 || c.BusySlots != 5 || c.Lost != 0 {
			s.t.Errorf("found %+v, want all five instances in service and busy", c)
		}
		s.until("everything finished", 10*time.Minute, func() bool { return s.line.left() == 0 })
		s.reports.Refuse("AccessDeniedException")
		pass(5 * time.Minute)
		if c := last().Capacity; c.Lost != 0 || c.InService() != 5 || s.serving() != 5 {
			s.t.Errorf("found %+v while the table cannot be read, want the five instances that the group says are in "+
				"service", c)
		}
		s.reports.Refuse("")
		s.until("no instance left", 30*time.Minute, func() bool { return s.serving() == 0 })
		if n := s.cloud.Calls("TerminateInstanceInAutoScalingGroup"); n != 0 {
			s.t.Errorf("%d instances were ended by name, and nobody had said that they are idle", n)
		}
	})
}

func TestTasksThatNobodyAnswersLeaveByThemselvesDownToNone(t *testing.T) {
	onAWS(t, func(s *stage) {
		s.idle, s.takes = 20*time.Second, time.Minute
		f := s.tasks()
		stored := s.unanswered()
		s.start(controller.Settings{Spec: policy.Spec{Name: "exact"}, Limits: muster.Limits{Max: 30},
			BootPrior: time.Minute},
			loop.Options{Fleet: f, Releaser: f, Expecters: []muster.Expecter{f}, Stored: stored})
		pass(time.Minute)
		s.send(12)
		s.until("12 tasks at work", 3*time.Minute, func() bool { return s.serving() == 12 })
		s.until("no task left", 10*time.Minute, func() bool { return s.serving() == 0 })
		pass(10 * time.Minute)
		if s.line.finished != 12 || s.serving() != 0 {
			s.t.Errorf("%d of 12 messages finished, %d tasks are there", s.line.finished, s.serving())
		}
		if n := s.cloud.Calls("RunTask"); n != 2 {
			s.t.Errorf("12 tasks took %d calls to start, want 2: none in place of those that left", n)
		}
		if n := s.cloud.Calls("StopTask"); n != 0 {
			s.t.Errorf("%d tasks were stopped, and nobody had granted that", n)
		}
		s.send(1)
		s.until("one task at work", 3*time.Minute, func() bool { return s.serving() == 1 })
		s.until("no task left", 10*time.Minute, func() bool { return s.serving() == 0 })
	})
}

// The figures of the two articles, published by workers that report to nobody: the mean processing duration is read as
// metrics.processing is, the number of workers as a metric of a metric-math policy.
func TestFiguresThatWorkersPublishAreRead(t *testing.T) {
	onAWS(t, func(s *stage) {
		s.group("workers", 20)
		s.members, s.spared = func(w *model.World) []string { return instances(w, "workers") }, true
		cfg, err := s.account.Region(region)
		if err != nil {
			s.t.Fatal(err)
		}
		sink, err := published.New(awscloudwatch.NewFromConfig(cfg),
			published.Options{Namespace: "App", Fleet: "video"})
		if err != nil {
			s.t.Fatal(err)
		}
		s.destinations = []worker.Destination{{Sink: sink, Name: "CloudWatch", Every: time.Minute}}
		metric := func(id, name, stat string) metricmath.Query {
			return metricmath.Query{ID: id, MetricStat: &metricmath.MetricStat{Stat: stat, PeriodSeconds: 60,
				Metric: metricmath.Metric{
					Namespace: "App", MetricName: name,
					Dimensions: []metricmath.Dimension{{Name: "Fleet", Value: "video"}},
				}}}
		}
		reader := awsmetrics.NewReader(s.account)
		s.measured = func(base muster.Source) muster.Source {
			q := metric("m", "MPD", "Average")
			q.ReturnData = new(true)
			source, err := cloudwatch.New(cloudwatch.Options{
				Queue: "work", Region: region, Reader: reader, Base: base,
				Measures: []cloudwatch.Measure{{Quantity: kind.Processing, Queries: []metricmath.Query{q}}},
			})
			if err != nil {
				s.t.Fatal(err)
			}
			return source
		}
		f, err := asg.NewGroups(s.account).Fleet(asg.Options{Group: "workers", Max: 20})
		if err != nil {
			s.t.Fatal(err)
		}
		spec := policy.Spec{Name: "metric-math", Target: 10, In: policy.Shape{Stabilization: 10 * time.Minute},
			Queries: []metricmath.Query{
				{ID: "backlog", MetricStat: &metricmath.MetricStat{Stat: "Maximum", PeriodSeconds: 60,
					Metric: metricmath.Metric{
						Namespace: "AWS/SQS", MetricName: "ApproximateNumberOfMessagesVisible",
						Dimensions: []metricmath.Dimension{{Name: "QueueName", Value: "work"}},
					}}},
				metric("workers", "TotalWorkers", "Sum"),
				{ID: "each", Expression: "IF(FILL(workers, 0) > 0, backlog / workers, IF(backlog > 0, 1000, 0))",
					ReturnData: new(true)},
			}}
		s.start(controller.Settings{Spec: spec, Limits: muster.Limits{Max: 4}, Unreported: true,
			BootPrior: time.Minute},
			loop.Options{Fleet: f, Releaser: f, Expecters: []muster.Expecter{f},
				Meter: cloudwatch.Meter{Reader: reader, Region: region}})
		pass(time.Minute)
		s.send(60)
		last := func() muster.Observation { o, _ := s.loop.Last(); return o.Observation }
		s.until("the duration that is published", 10*time.Minute,
			func() bool { p := last().Processing; return p.Known && !p.Prior })
		if mean := last().Processing.MeanSeconds; mean < 24.9 || mean > 25.1 {
			s.t.Errorf("a message takes %v s as far as is known, want 25", mean)
		}
		s.until("the workers that are published", 10*time.Minute, func() bool {
			for _, m := range last().Metrics {
				if n := len(m.Points); m.Known && n > 0 && m.Points[n-1].Value == float64(s.serving()) &&
					s.serving() == 4 {
					return true
				}
			}
			return false
		})
	})
}
