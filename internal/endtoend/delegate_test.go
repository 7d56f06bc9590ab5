package endtoend_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/loop"
	"github.com/muster-scale/muster/fleet/asg"
	"github.com/muster-scale/muster/fleet/delegate"
	"github.com/muster-scale/muster/fleet/ecs"
	"github.com/muster-scale/muster/policy"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/containers"
	"github.com/muster-scale/muster/sim/cloud/scaling"
)

// delegateGroup hands the group workers over.
func (s *stage) delegateGroup(spec policy.Spec, o delegate.Options) {
	s.t.Helper()
	s.members, s.spared = func(w *model.World) []string { return instances(w, "workers") }, true
	spec.Delegate = &policy.Delegation{ChangePercent: 20, Every: 5 * time.Minute}
	f, err := asg.NewGroups(s.account).Fleet(asg.Options{Group: "workers", Max: 20})
	if err != nil {
		s.t.Fatal(err)
	}
	o.Account, o.Fleet, o.Group, o.Queues = s.account, "work", "workers", []string{"work"}
	d, err := delegate.New(o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.start(controller.Settings{Spec: spec, Limits: muster.Limits{Max: 20}, HandEvery: o.Period},
		loop.Options{Fleet: f, Releaser: f, Delegator: d, Expecters: []muster.Expecter{f}})
}

// target is that of the group's scaling policy.
func (s *stage) target() (v float64) {
	s.do(func(w *model.World) error {
		l, err := w.GroupPolicies().DescribePolicies(scaling.PolicyNames{AutoScalingGroupName: "workers"})
		if err == nil && len(l.ScalingPolicies) == 1 {
			v = *l.ScalingPolicies[0].TargetTrackingConfiguration.TargetValue
		}
		return err
	})
	return v
}

// peak lets time pass until the line is empty, and returns the most members that worked.
func (s *stage) peak(within time.Duration) (most int) {
	s.until("everything finished", within, func() bool { most = max(most, s.serving()); return s.line.left() == 0 })
	return most
}

// The two tests of the article on a dynamic target: 50 messages within 300 s, which take 25 s or 50 s each.
func TestTheTargetFollowsTheProcessingDuration(t *testing.T) {
	rows := []struct {
		takes     time.Duration
		target    float64
		instances int
	}{{25 * time.Second, 12, 4}, {50 * time.Second, 6, 8}}
	for _, row := range rows {
		t.Run(fmt.Sprint(row.takes), func(t *testing.T) {
			onAWS(t, func(s *stage) {
				s.takes = row.takes
				s.group("workers", 20)
				s.delegateGroup(policy.Spec{Name: "dynamic-backlog", Processing: row.takes},
					delegate.Options{Formula: delegate.BacklogPerWorker})
				pass(3 * time.Minute)
				if got := s.target(); got != row.target {
					s.t.Errorf("the target is %g, want %g", got, row.target)
				}
				s.send(50)
				most := s.peak(40 * time.Minute)
				s.t.Logf("at most %d instances, %s in all", most, time.Since(s.began))
				if most < row.instances || most > row.instances+2 {
					s.t.Errorf("at most %d instances worked, want about %d", most, row.instances)
				}
				if d, _ := s.loop.Last(); d.Decision.Verdict != muster.Delegate || d.Decision.Desired < row.instances {
					s.t.Errorf("the verdict is %s and the size %d, want AWS's", d.Decision.Verdict, d.Decision.Desired)
				}
				for _, action := range []string{"SetDesiredCapacity", "LaunchInstances",
					"TerminateInstanceInAutoScalingGroup"} {
					if n := s.cloud.Calls(action); n != 0 {
						s.t.Errorf("Muster called %s %d times although AWS decides", action, n)
					}
				}
			})
		})
	}
}

func TestATargetIsSetAgainOnlyWhenDurationsMove(t *testing.T) {
	onAWS(t, func(s *stage) {
		s.takes = 25 * time.Second
		s.group("workers", 20)
		s.delegateGroup(policy.Spec{Name: "dynamic-backlog", Processing: 25 * time.Second},
			delegate.Options{Formula: delegate.BacklogPerWorker})
		pass(time.Minute)
		s.send(60)
		s.peak(40 * time.Minute)
		if n := s.cloud.Calls("PutScalingPolicy"); n != 1 {
			s.t.Errorf("the policy was put %d times for durations that never moved, want once", n)
		}
		s.takes = 100 * time.Second
		s.send(60)
		s.until("a target near 3", 60*time.Minute, func() bool { v := s.target(); return v > 2.5 && v < 4 })
		if n := s.cloud.Calls("PutScalingPolicy"); n > 8 {
			s.t.Errorf("the policy was put %d times on the way from 12 to 3", n)
		}
	})
}

func TestWorkersThatOfferToLeaveAreKeptWhereAWSDecides(t *testing.T) {
	onAWS(t, func(s *stage) {
		s.idle = 20 * time.Second
		s.group("workers", 20)
		s.delegateGroup(policy.Spec{Name: "dynamic-backlog", Processing: 25 * time.Second},
			delegate.Options{Formula: delegate.BacklogPerWorker})
		pass(time.Minute)
		s.send(30)
		s.peak(40 * time.Minute)
		pass(2 * time.Minute) // longer than workers wait, and shorter than AWS does
		s.send(4)
		s.peak(2 * time.Minute)
	})
}

func TestBacklogPerInstanceNeedsNoPublishedMetric(t *testing.T) {
	onAWS(t, func(s *stage) {
		s.group("workers", 20)
		s.delegateGroup(policy.Spec{Name: "backlog-per-worker", Acceptable: 12},
			delegate.Options{Formula: delegate.BacklogPerWorker, Math: true})
		s.takes = 25 * time.Second
		pass(3 * time.Minute)
		s.send(50)
		if most := s.peak(60 * time.Minute); most < 4 || most > 6 {
			s.t.Errorf("at most %d instances worked, want about 4", most)
		}
		s.until("no instance left", 3*time.Hour, func() bool { return s.serving() == 0 })
	})
}

func TestUtilizationRisesFromNoInstance(t *testing.T) {
	for _, o := range []delegate.Options{
		{Formula: delegate.Utilization, Math: true}, {Formula: delegate.Utilization},
		{Formula: delegate.Utilization, Period: 10 * time.Second},
		{Formula: delegate.Utilization, Period: 30 * time.Second},
	} {
		t.Run(fmt.Sprintf("math %t period %s", o.Math, o.Period), func(t *testing.T) {
			onAWS(t, func(s *stage) {
				s.group("workers", 20)
				s.delegateGroup(policy.Spec{Name: "worker-utilization", Target: 0.7}, o)
				pass(10 * time.Minute)
				if n := s.serving(); n != 0 {
					s.t.Fatalf("%d instances work on nothing", n)
				}
				s.send(30)
				took := s.until("an instance at work", 20*time.Minute, func() bool { return s.serving() > 0 })
				s.t.Logf("the first instance works after %s", took)
				s.peak(60 * time.Minute)
				s.until("no instance left", 3*time.Hour, func() bool { return s.serving() == 0 })
			})
		})
	}
}

func TestUtilizationOfAServiceRisesFromNoTask(t *testing.T) {
	for _, math := range []bool{true, false} {
		t.Run(fmt.Sprintf("math %t", math), func(t *testing.T) {
			onAWS(t, func(s *stage) {
				s.spared = true
				s.cluster()
				s.service(containers.CreateServiceInput{LaunchType: containers.Fargate})
				f, err := ecs.NewClusters(s.account).Service(ecs.ServiceOptions{Cluster: "prod", Service: "web"})
				if err != nil {
					s.t.Fatal(err)
				}
				d, err := delegate.New(delegate.Options{
					Account: s.account, Fleet: "work", Cluster: "prod", Service: "web", Max: 20,
					Queues: []string{"work"}, Formula: delegate.Utilization, Math: math,
				})
				if err != nil {
					s.t.Fatal(err)
				}
				spec := policy.Spec{Name: "worker-utilization", Target: 0.7,
					Delegate: &policy.Delegation{ChangePercent: 20}}
				s.start(controller.Settings{Spec: spec, Limits: muster.Limits{Max: 20}},
					loop.Options{Fleet: f, Releaser: f, Delegator: d, Expecters: []muster.Expecter{f}})
				pass(10 * time.Minute)
				s.send(30)
				took := s.until("a task at work", 20*time.Minute, func() bool { return s.serving() > 0 })
				s.t.Logf("the first task works after %s", took)
				s.peak(60 * time.Minute)
				s.until("no task left", 3*time.Hour, func() bool { return s.serving() == 0 })
				if n := s.cloud.Calls("UpdateService"); n != 0 {
					s.t.Errorf("Muster called UpdateService %d times although AWS decides", n)
				}
			})
		})
	}
}

func TestUtilizationByMusterRisesFromNoInstance(t *testing.T) {
	onAWS(t, func(s *stage) {
		s.group("workers", 20)
		s.members = func(w *model.World) []string { return instances(w, "workers") }
		f, err := asg.NewGroups(s.account).Fleet(asg.Options{Group: "workers", Max: 20, Protect: true})
		if err != nil {
			s.t.Fatal(err)
		}
		s.start(controller.Settings{
			Spec: policy.Spec{Name: "worker-utilization", Target: 0.7}, Limits: muster.Limits{Max: 20}, Protect: true,
			BootPrior: time.Minute,
		}, loop.Options{Fleet: f, Releaser: f, Protector: f, Expecters: []muster.Expecter{f}})
		pass(10 * time.Minute)
		s.send(30)
		took := s.until("an instance at work", 10*time.Minute, func() bool { return s.serving() > 0 })
		s.t.Logf("the first instance works after %s", took)
		s.peak(40 * time.Minute)
		s.until("no instance left", time.Hour, func() bool { return s.serving() == 0 })
	})
}
