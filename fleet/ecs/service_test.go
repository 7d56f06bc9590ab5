package ecs_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/fleet/ecs"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/containers"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
	"github.com/muster-scale/muster/sim/cloud/scaling"
)

func TestTheTasksOfAServiceAreItsMembers(t *testing.T) {
	inTime(t, model.Settings{}, func(s stage) {
		f := s.service(3, ecs.ServiceOptions{Protect: true})
		l := s.list(f)
		if len(l.Members) != 3 || l.Service == nil || l.Service.Desired != 3 || l.At.Location() != time.UTC {
			s.t.Fatalf("listed %+v, want 3 members of a service of 3", l)
		}
		for _, m := range l.Members {
			if m.Ended || !m.Exposed || len(m.ID) != 32 || m.LaunchedAt.IsZero() {
				s.t.Errorf("listed %+v, want one that lives, and that ECS may stop", m)
			}
		}
		s.must(f.Protect(s.t.Context(), s.living(f)[:1]))
		if l := s.list(f); slices.IndexFunc(l.Members, func(m muster.Member) bool { return m.Exposed }) != 1 {
			s.t.Errorf("listed %+v, want the first protected and the others exposed", l.Members)
		}
		pass(45 * time.Minute)
		if !s.list(f).Members[0].Exposed {
			s.t.Error("a protection that ends in 15 minutes is not renewed")
		}
	})
}

func TestASizeIsSetOnceAndNeverBelowWhatLives(t *testing.T) {
	inTime(t, model.Settings{}, func(s stage) {
		f := s.service(3, ecs.ServiceOptions{})
		s.must(f.SetDesired(s.t.Context(), order(5, "a", "b")))
		s.must(f.SetDesired(s.t.Context(), order(5, "a", "b")))
		if n := s.called("UpdateService"); n != 1 {
			s.t.Errorf("an order given twice made %d updates, want 1", n)
		}
		pass(2 * time.Minute)
		if n := len(s.living(f)); n != 5 {
			s.t.Errorf("%d tasks live, want 5", n)
		}
		s.must(f.SetDesired(s.t.Context(), order(1)))
		if n := s.shown().DesiredCount; n != 5 {
			s.t.Errorf("a size below what lives has set the count to %d: ECS ends tasks that nobody released", n)
		}
	})
}

func TestAServiceWhoseWorkersDoNotReportShrinksByItself(t *testing.T) {
	inTime(t, model.Settings{}, func(s stage) {
		f := s.service(4, ecs.ServiceOptions{})
		s.must(f.Protect(s.t.Context(), s.living(f)[:3])) // as busy workers do themselves
		for _, m := range s.list(f).Members {
			if !m.Serving {
				s.t.Errorf("%s runs and does not serve", m.ID)
			}
		}
		busy := s.living(f)[:3]
		s.must(f.SetDesired(s.t.Context(), muster.Order{ID: "x", Desired: 1, Total: 1, Shrink: true}))
		pass(2 * time.Minute)
		if left := s.living(f); !slices.Equal(left, busy) || s.shown().DesiredCount != 1 {
			s.t.Errorf("%v live with a count of %d, want the protected %v until they are not", left,
				s.shown().DesiredCount, busy)
		}
	})
}

func TestOnlyReleasedTasksEnd(t *testing.T) {
	for _, released := range [][]int{{0}, {2}, {1, 3}, {0, 1, 2, 3, 4}} {
		inTime(t, model.Settings{}, func(s stage) {
			f := s.service(5, ecs.ServiceOptions{})
			all := s.living(f)
			var going []string
			for _, i := range released {
				going = append(going, all[i])
			}
			s.must(f.End(s.t.Context(), going))
			s.must(f.End(s.t.Context(), going)) // the same call, made again before ECS has acted
			pass(3 * time.Minute)
			s.must(f.End(s.t.Context(), going)) // and after
			if left, want := s.living(f), without(all, going...); !slices.Equal(left, want) {
				s.t.Errorf("released %v: %v live, want %v", released, left, want)
			}
			if n := s.shown().DesiredCount; n != 5-len(going) {
				s.t.Errorf("the count is %d, want %d", n, 5-len(going))
			}
			for _, why := range ended(s.list(f)) {
				if why != "" {
					s.t.Errorf("a released task ended as a failure: %s", why)
				}
			}
		})
	}
}

func TestATaskThatEndsInPlaceOfAReleasedOneSavesItForOneLook(t *testing.T) {
	inTime(t, model.Settings{}, func(s stage) {
		f := s.service(4, ecs.ServiceOptions{})
		all := s.living(f)
		s.must(f.End(s.t.Context(), all[1:2]))
		s.do(func(w *model.World) error {
			_, err := w.ECS().StopTask(containers.StopTaskInput{Cluster: "prod", Task: all[2], Reason: "by hand"})
			return err
		})
		pass(3 * time.Minute)
		// The count fits again without the released task, so ECS has let it live; the controller asks for its end once
		// more.
		s.must(f.End(s.t.Context(), all[1:2]))
		pass(3 * time.Minute)
		if left := s.living(f); !slices.Equal(left, []string{all[0], all[3]}) {
			s.t.Errorf("%v live of %v, want the first and the last", left, all)
		}
	})
}

func TestNothingEndsWhileTheOthersCannotBeProtected(t *testing.T) {
	inTime(t, model.Settings{}, func(s stage) {
		f := s.service(3, ecs.ServiceOptions{})
		all := s.living(f)
		s.do(func(w *model.World) error {
			w.Inject(account.Injection{Trouble: account.AccessDenied, Action: "UpdateTaskProtection"})
			return nil
		})
		err := f.End(s.t.Context(), all[:1])
		if err == nil || !strings.Contains(err.Error(), "the others must be protected first") ||
			!strings.Contains(err.Error(), "ecs:UpdateTaskProtection") {
			s.t.Errorf("got %v, want an error that names the permission", err)
		}
		pass(time.Minute)
		if n := s.shown().DesiredCount; n != 3 || s.called("UpdateService") != 0 {
			s.t.Errorf("the count is %d, want 3 untouched", n)
		}
	})
}

func TestADeploymentIsLeftToReplaceTasks(t *testing.T) {
	inTime(t, model.Settings{}, func(s stage) {
		f := s.service(4, ecs.ServiceOptions{})
		s.must(f.Protect(s.t.Context(), s.living(f)))
		s.do(func(w *model.World) error {
			_, err := w.ECS().UpdateService(containers.UpdateServiceInput{Cluster: "prod", Service: "web",
				ForceNewDeployment: true})
			return err
		})
		pass(2 * time.Minute)
		l := s.list(f)
		if len(s.living(f)) != 8 ||
			!strings.Contains(strings.Join(l.Service.Notes, "\n"), "a deployment of the service web is under way") {
			s.t.Fatalf("%d tasks live and the notes are %q, want old and new ones and a word about it",
				len(s.living(f)), l.Service.Notes)
		}
		s.must(f.SetDesired(s.t.Context(), muster.Order{ID: "x", Desired: 4, Total: 8}))
		if n := s.shown().DesiredCount; n != 4 {
			s.t.Errorf("the count is %d in a deployment of 4, want 4: twice as many would stay when it is over", n)
		}
		old := s.living(f)[:4]
		s.must(f.End(s.t.Context(), old))
		pass(3 * time.Minute)
		if left := s.living(f); len(left) != 4 ||
			slices.ContainsFunc(left, func(id string) bool { return slices.Contains(old, id) }) {
			s.t.Errorf("%v live, want the four new ones", left)
		}
		if n := s.shown().DesiredCount; n != 4 {
			s.t.Errorf("the count is %d, want 4", n)
		}
	})
}

func TestWhatECSCannotPlaceIsAFailureWithItsReason(t *testing.T) {
	inTime(t, model.Settings{}, func(s stage) {
		f, _ := s.hosted(2, "DISABLED")
		s.do(func(w *model.World) error { // nobody adds instances
			_, err := w.AutoScaling().SuspendProcesses(groupapi.Processes{AutoScalingGroupName: "hosts",
				ScalingProcesses: []string{"Launch"}})
			return err
		})
		err := f.SetDesired(s.t.Context(), order(4, "a", "b"))
		if err == nil || !strings.Contains(err.Error(), "2 are needed for 4 tasks") {
			s.t.Errorf("got %v, want an error that says how many instances are needed", err)
		}
		pass(90 * time.Second)
		s.list(f)
		pass(30 * time.Second)
		l := s.list(f)
		i := slices.IndexFunc(l.Members, func(m muster.Member) bool { return m.ID == "b" })
		if i < 0 || !l.Members[i].Ended || !strings.Contains(l.Members[i].Failure, "ECS cannot place it") {
			s.t.Errorf("listed %+v with the notes %q, want the order b as one that ended with ECS's reason", l.Members,
				l.Service.Notes)
		}
	})
}

func TestWhatDoesNotExistIsSaid(t *testing.T) {
	inTime(t, model.Settings{}, func(s stage) {
		f, err := ecs.NewClusters(s.account).Service(ecs.ServiceOptions{Cluster: "prod", Service: "nothing"})
		s.must(err)
		if _, err := f.Members(s.t.Context()); err == nil ||
			!strings.Contains(err.Error(), "find the service nothing of the cluster prod: there is none in the "+
				"region eu-west-1") {
			s.t.Errorf("got %v", err)
		}
		if _, err := ecs.NewClusters(s.account).Service(ecs.ServiceOptions{Cluster: "prod"}); err == nil {
			s.t.Error("a fleet without a service was made")
		}
	})
}

func TestAnotherScalingPolicyIsNoted(t *testing.T) {
	inTime(t, model.Settings{}, func(s stage) {
		f := s.service(1, ecs.ServiceOptions{})
		s.do(func(w *model.World) error {
			_, err := w.ApplicationScaling().RegisterScalableTarget(scaling.RegisterTarget{
				ServiceNamespace: "ecs", ResourceId: "service/prod/web", ScalableDimension: "ecs:service:DesiredCount",
				MinCapacity: num(0), MaxCapacity: num(9),
			})
			return err
		})
		s.do(func(w *model.World) error {
			_, err := w.ApplicationScaling().PutScalingPolicy(scaling.PutTargetPolicy{
				ServiceNamespace: "ecs", ResourceId: "service/prod/web", ScalableDimension: "ecs:service:DesiredCount",
				PolicyName: "cpu50", PolicyType: "TargetTrackingScaling",
				TargetTrackingScalingPolicyConfiguration: &scaling.ServiceTracking{
					TargetTracking: scaling.TargetTracking{
						TargetValue: new(50.0), PredefinedMetricSpecification: &scaling.PredefinedMetric{
							PredefinedMetricType: "ECSServiceAverageCPUUtilization"},
					}},
			})
			return err
		})
		if notes := strings.Join(s.list(f).Service.Notes, "\n"); !strings.Contains(notes, "the scaling policy cpu50 "+
			"changes the count") {
			s.t.Errorf("the notes are %q", notes)
		}
	})
}
