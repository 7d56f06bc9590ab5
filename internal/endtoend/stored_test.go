package endtoend_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/fleet/asg"
	"github.com/muster-scale/muster/fleet/ecs"
	"github.com/muster-scale/muster/policy"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/worker/dynamoreport"
)

// unanswered has the workers write into the table alone, and returns what reads it for the controller.
func (s *stage) unanswered() func(context.Context) []muster.Report {
	s.t.Helper()
	cfg, err := s.account.Region(region)
	if err != nil {
		s.t.Fatal(err)
	}
	if s.table, err = dynamoreport.New(dynamodb.NewFromConfig(cfg), "reports"); err != nil {
		s.t.Fatal(err)
	}
	f := dynamoreport.NewReader(s.table, region).Follow("work")
	return func(ctx context.Context) []muster.Report {
		reports, _ := f.Reports(ctx, time.Now())
		return reports
	}
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
			Spec: policy.Spec{Name: "dynamic-backlog", Acceptable: 12, In: policy.Shape{Stabilization: 10 * time.Minute}}, Limits: muster.Limits{Max: 20}, Unreported: true, BootPrior: time.Minute,
		}, controller.LoopOptions{Fleet: f, Releaser: f, Expecters: []muster.Expecter{f}, Stored: stored})
		pass(time.Minute)
		s.send(60)
		last := func() muster.Observation { o, _ := s.loop.Last(); return o.Observation }
		s.until("durations known from the table", 10*time.Minute, func() bool { p := last().Processing; return p.Known && !p.Prior })
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
			s.t.Errorf("found %+v while the table cannot be read, want the five instances that the group says are in service", c)
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
		s.cluster()
		f, err := ecs.NewClusters(s.account).Tasks(ecs.TaskOptions{
			Fleet: "work", Cluster: "prod", Definition: "work", LaunchType: "FARGATE", Network: ecs.Network{Subnets: []string{"subnet-1"}, SecurityGroups: []string{"sg-1"}},
		})
		if err != nil {
			s.t.Fatal(err)
		}
		s.exits = func(w *model.World, member string) {
			if err := w.ExitTask(member); err != nil {
				s.t.Error(err)
			}
		}
		stored := s.unanswered()
		s.start(controller.Settings{Spec: policy.Spec{Name: "exact"}, Limits: muster.Limits{Max: 30}, BootPrior: time.Minute},
			controller.LoopOptions{Fleet: f, Releaser: f, Expecters: []muster.Expecter{f}, Stored: stored})
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
