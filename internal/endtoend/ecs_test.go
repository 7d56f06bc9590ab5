package endtoend_test

import (
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/loop"
	"github.com/muster-scale/muster/fleet/asg"
	"github.com/muster-scale/muster/fleet/ecs"
	"github.com/muster-scale/muster/policy"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/containers"
)

func (s *stage) driveService(most int, capacity *ecs.Capacity) {
	s.t.Helper()
	f, err := ecs.NewClusters(s.account).Service(ecs.ServiceOptions{Cluster: "prod", Service: "web", Protect: true,
		Capacity: capacity})
	if err != nil {
		s.t.Fatal(err)
	}
	s.start(controller.Settings{
		Spec: policy.Spec{Name: "exact"}, Limits: muster.Limits{Max: most}, Protect: true, BootPrior: time.Minute,
	}, loop.Options{Fleet: f, Releaser: f, Protector: f, Trimmer: f, Expecters: []muster.Expecter{f}, Listing: f})
}

func TestAServiceOnFargateRisesFallsAndStopsOnlyIdleTasks(t *testing.T) {
	onAWS(t, func(s *stage) {
		s.idle, s.takes = 30*time.Second, 3*time.Minute
		s.cluster()
		s.service(containers.CreateServiceInput{LaunchType: containers.Fargate})
		s.driveService(20, nil)
		pass(time.Minute)
		s.send(12)
		up := s.until("12 tasks at work", 3*time.Minute, func() bool { return s.serving() == 12 })
		s.until("everything finished", 6*time.Minute, func() bool { return s.line.left() == 0 })
		s.takeFromNow(20 * time.Minute)
		s.send(3) // three of the twelve are busy for long, the others become idle
		s.until("three tasks left", 5*time.Minute, func() bool { return s.serving() == 3 })
		s.until("no task left", 25*time.Minute, func() bool { return s.serving() == 0 })
		if s.line.left() != 0 || s.line.finished != 15 {
			s.t.Errorf("%d of 15 messages finished, %d left", s.line.finished, s.line.left())
		}
		pass(5 * time.Minute)
		if n := s.serving(); n != 0 {
			s.t.Errorf("%d tasks run without work: the service has started others in place of released ones", n)
		}
		s.t.Logf("12 tasks worked after %s, AWS's own tracking needs minutes to begin", up)
	})
}

// tasks is a fleet of tasks without a service, each of which exits when its worker has left.
func (s *stage) tasks() *ecs.Tasks {
	s.t.Helper()
	s.cluster()
	f, err := ecs.NewClusters(s.account).Tasks(ecs.TaskOptions{
		Fleet: "work", Cluster: "prod", Definition: "work", LaunchType: "FARGATE",
		Network: ecs.Network{Subnets: []string{"subnet-1"}, SecurityGroups: []string{"sg-1"}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.exits = func(w *model.World, member string) {
		if err := w.ECS().ExitTask(member); err != nil {
			s.t.Error(err)
		}
	}
	return f
}

func TestTasksWithoutAServiceEndByThemselvesDownToNone(t *testing.T) {
	onAWS(t, func(s *stage) {
		s.idle, s.takes = 20*time.Second, time.Minute
		f := s.tasks()
		s.start(controller.Settings{Spec: policy.Spec{Name: "exact"}, Limits: muster.Limits{Max: 30},
			BootPrior: time.Minute},
			loop.Options{Fleet: f, Releaser: f, Expecters: []muster.Expecter{f}})
		pass(time.Minute)
		s.send(25)
		s.until("25 tasks at work", 3*time.Minute, func() bool { return s.serving() == 25 })
		s.until("no task left", 10*time.Minute, func() bool { return s.serving() == 0 })
		if s.line.finished != 25 {
			s.t.Errorf("%d of 25 messages finished", s.line.finished)
		}
		if n := s.cloud.Calls("RunTask"); n != 3 {
			s.t.Errorf("25 tasks took %d calls to start, want 3", n)
		}
		pass(10 * time.Minute)
		s.send(1)
		s.until("one task at work", 3*time.Minute, func() bool { return s.serving() == 1 })
		s.until("no task left", 10*time.Minute, func() bool { return s.serving() == 0 })
	})
}

func TestInstancesFollowTheirServiceAndOnlyEmptyOnesEnd(t *testing.T) {
	for _, managed := range []string{"DISABLED", "ENABLED"} {
		t.Run("managed scaling "+managed, func(t *testing.T) {
			onAWS(t, func(s *stage) {
				s.idle, s.takes = 30*time.Second, 4*time.Minute
				s.cluster()
				s.group("hosts", 8)
				s.do(func(w *model.World) error {
					_, err := w.ECS().CreateCapacityProvider(containers.CreateProvider{Name: "hosts",
						AutoScalingGroupProvider: &containers.GroupProvider{
							AutoScalingGroupArn: "hosts",
							ManagedScaling: &containers.ManagedScaling{Status: managed,
								TargetCapacity: num(100)},
							ManagedTerminationProtection: "DISABLED",
						}})
					return err
				})
				s.do(func(w *model.World) error {
					_, err := w.ECS().PutClusterCapacityProviders(containers.ClusterProviders{Cluster: "prod",
						CapacityProviders: []string{"hosts"}})
					return err
				})
				s.service(containers.CreateServiceInput{
					CapacityProviderStrategy: []containers.StrategyPart{{CapacityProvider: "hosts", Weight: 1}},
					PlacementStrategy:        []containers.PlacementStrategy{{Type: "binpack", Field: "cpu"}},
				})
				group, err := asg.NewGroups(s.account).Fleet(asg.Options{Group: "hosts", Max: 8, Launch: asg.BySize,
					Protect: true})
				if err != nil {
					s.t.Fatal(err)
				}
				s.driveService(16, &ecs.Capacity{TasksPerInstance: 2, Group: group, Ender: group, Name: "hosts"})
				hosts := func() (n int) {
					s.do(func(w *model.World) error { n = len(instances(w, "hosts")); return nil })
					return n
				}
				pass(time.Minute)
				s.send(9)
				s.until("9 tasks at work", 8*time.Minute, func() bool { return s.serving() == 9 })
				if n := hosts(); n != 5 {
					s.t.Errorf("9 tasks have %d instances, want 5", n)
				}
				s.until("everything finished", 15*time.Minute, func() bool { return s.line.left() == 0 })
				s.until("no task left", 10*time.Minute, func() bool { return s.serving() == 0 })
				s.until("no instance left", 10*time.Minute, func() bool { return hosts() == 0 })
				if s.line.finished != 9 {
					s.t.Errorf("%d of 9 messages finished", s.line.finished)
				}
			})
		})
	}
}
