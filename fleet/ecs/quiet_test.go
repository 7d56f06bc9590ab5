package ecs_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/fleet/ecs"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/containers"
)

// reads are the calls that look at services and tasks.
var reads = []string{
	"DescribeServices", "ListTasks", "DescribeTasks", "GetTaskProtection", "ListContainerInstances",
	"DescribeContainerInstances", "DescribeCapacityProviders",
	"DescribeScalableTargets", "DescribeScalingPolicies", "DescribeAutoScalingGroups",
}

// looked lets so much time pass with a look every five seconds, and returns the last.
func (s stage) looked(f muster.Fleet, d time.Duration) (l muster.Listing) {
	s.t.Helper()
	for until := time.Now().Add(d); time.Now().Before(until); time.Sleep(5 * time.Second) {
		var err error
		l, err = f.Members(s.t.Context())
		s.must(err)
	}
	synctest.Wait()
	return l
}

// A fleet has six reads a minute while nothing happens, two for its queue and one for the metrics of that.
func TestAQuietFleetReadsThreeTimesAMinuteAtMost(t *testing.T) {
	for _, row := range []struct {
		name  string
		fleet func(s stage) muster.Fleet
	}{
		{"a service", func(s stage) muster.Fleet {
			f := s.service(3, ecs.ServiceOptions{Protect: true})
			pass(3 * time.Minute)
			s.must(f.Protect(s.t.Context(), s.living(f)))
			return f
		}},
		{"a service on instances", func(s stage) muster.Fleet {
			f, _ := s.hosted(3, "ENABLED")
			return f
		}},
		{"tasks", func(s stage) muster.Fleet {
			f, err := ecs.NewClusters(s.account).Tasks(ecs.TaskOptions{Fleet: "web", Cluster: "prod",
				Definition: "work", LaunchType: "FARGATE", Network: ecs.Network{Subnets: []string{"subnet-1"}}})
			s.must(err)
			s.must(f.SetDesired(s.t.Context(), order(3, "a", "b", "c")))
			return f
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			inTime(t, model.Settings{}, func(s stage) {
				f := row.fleet(s)
				s.looked(f, 15*time.Minute)
				before := s.called(reads...)
				l := s.looked(f, 20*time.Minute)
				if n := s.called(reads...) - before; n > 3*20+3 {
					s.t.Errorf("in twenty minutes it was looked at with %d reads, want three a minute at most", n)
				}
				if len(l.Members) != 3 || time.Since(l.At) > time.Minute {
					s.t.Errorf("listed %+v", l)
				}
			})
		})
	}
}

func TestWhatHappensInACalmServiceIsSeenAtTheNextLook(t *testing.T) {
	inTime(t, model.Settings{}, func(s stage) {
		f := s.service(3, ecs.ServiceOptions{})
		s.looked(f, 15*time.Minute)
		ids := s.living(f)
		s.looked(f, 3*time.Minute)
		s.do(func(w *model.World) error { // a task dies, and ECS starts another in its place
			_, err := w.ECS().StopTask(containers.StopTaskInput{Cluster: "prod", Task: ids[0]})
			return err
		})
		l := s.looked(f, 40*time.Second)
		gone := false
		for _, m := range l.Members {
			gone = gone || m.ID == ids[0] && m.Ended
		}
		if !gone {
			s.t.Errorf("forty seconds after %s was stopped the members are %+v", ids[0], l.Members)
		}
	})
}
