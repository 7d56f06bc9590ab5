package ecs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/fleet/ecs"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/containers"
)

func (s stage) tasks(fleet string) *ecs.Tasks {
	s.t.Helper()
	f, err := ecs.NewClusters(s.account).Tasks(ecs.TaskOptions{
		Fleet: fleet, Cluster: "prod", Definition: "work", LaunchType: "FARGATE",
		Network: ecs.Network{Subnets: []string{"subnet-1"}, SecurityGroups: []string{"sg-1"}},
	})
	s.must(err)
	return f
}

func names(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("web.1.7.%d", i+1))
	}
	return all
}

func TestTasksStartInTensAndOnce(t *testing.T) {
	inTime(t, model.Settings{Tasks: containers.Tasks{Lag: 10 * time.Second}}, func(s stage) {
		f := s.tasks("web")
		s.must(f.SetDesired(s.t.Context(), order(23, names(23)...)))
		if n := s.called("RunTask"); n != 3 {
			s.t.Errorf("23 tasks took %d calls, want 3", n)
		}
		if n := len(s.living(f)); n != 23 {
			s.t.Errorf("%d are listed at once, want all 23, although ECS shows none yet", n)
		}
		s.must(f.SetDesired(s.t.Context(), order(23, names(23)...)))
		pass(2 * time.Minute)
		if n := len(s.living(f)); n != 23 {
			s.t.Errorf("the order given twice has %d tasks, want 23", n)
		}
		again := s.tasks("web") // another controller, which remembers nothing
		if a, b := s.living(again), s.living(f); len(a) != 23 || !slices.Equal(a, b) {
			s.t.Errorf("another controller finds %d tasks, want the same 23", len(a))
		}
		s.must(again.SetDesired(s.t.Context(), order(23, names(23)...)))
		if n := len(s.living(again)); n != 23 {
			s.t.Errorf("an order repeated after a restart has %d tasks, want 23", n)
		}
		if l := s.list(s.tasks("other.fleet")); len(l.Members) != 0 {
			s.t.Errorf("another fleet finds %d tasks of this one", len(l.Members))
		}
	})
}

func TestAWorkerThatExitsByItselfLeavesNothingBehind(t *testing.T) {
	inTime(t, model.Settings{}, func(s stage) {
		f := s.tasks("web")
		s.must(f.SetDesired(s.t.Context(), order(3, names(3)...)))
		pass(2 * time.Minute)
		for _, id := range s.living(f) {
			s.do(func(w *model.World) error { return w.ECS().ExitTask(id) })
		}
		pass(time.Minute)
		l := s.list(f)
		if why := ended(l); len(s.living(f)) != 0 || !slices.Equal(why, []string{"", "", ""}) ||
			l.Service.Desired != 0 {
			s.t.Errorf("listed %+v, want three that ended in order", l)
		}
		pass(15 * time.Minute)
		if l := s.list(f); len(l.Members) != 0 {
			s.t.Errorf("listed %+v, want nothing any more", l.Members)
		}
	})
}

func TestANamedTaskIsStoppedAndNoOther(t *testing.T) {
	inTime(t, model.Settings{}, func(s stage) {
		f := s.tasks("web")
		s.must(f.SetDesired(s.t.Context(), order(3, names(3)...)))
		pass(2 * time.Minute)
		all := s.living(f)
		for range 2 {
			s.must(f.End(s.t.Context(), all[1:2]))
		}
		pass(time.Minute)
		if left := s.living(f); !slices.Equal(left, without(all, all[1])) {
			s.t.Errorf("%v live of %v", left, all)
		}
		s.must(f.SetDesired(s.t.Context(), muster.Order{ID: "smaller", Desired: 1, Total: 2}))
		if n := s.called("StopTask"); n != 1 || len(s.living(f)) != 2 {
			s.t.Errorf("%d tasks were stopped, want the one that was named", n)
		}
	})
}

func TestWhatECSRefusesToStartIsExplained(t *testing.T) {
	inTime(t, model.Settings{}, func(s stage) { // the service fills its one instance
		s.hosted(2, "DISABLED")
		f, err := ecs.NewClusters(s.account).Tasks(ecs.TaskOptions{Fleet: "web", Cluster: "prod", Definition: "half",
			LaunchType: "EC2"})
		s.must(err)
		err = f.SetDesired(s.t.Context(), order(2, "a", "b"))
		if err == nil || !strings.Contains(err.Error(), "0 of 2 started: RESOURCE:CPU: no instance of the cluster "+
			"has that much CPU free") {
			s.t.Errorf("got %v, want the reason in words", err)
		}
	})
	rows := []struct {
		name    string
		prepare func(w *model.World)
		says    []string
	}{
		{"no room in the cluster", func(w *model.World) {}, []string{"the cluster has no instances"}},
		{"a missing permission", func(w *model.World) {
			w.Inject(account.Injection{Trouble: account.AccessDenied, Action: "RunTask"})
		}, []string{"ecs:RunTask"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			inTime(t, model.Settings{}, func(s stage) {
				f, err := ecs.NewClusters(s.account).Tasks(ecs.TaskOptions{Fleet: "web", Cluster: "prod",
					Definition: "work", LaunchType: "EC2", Network: ecs.Network{Subnets: []string{"subnet-1"}}})
				s.must(err)
				s.do(func(w *model.World) error { row.prepare(w); return nil })
				err = f.SetDesired(s.t.Context(), order(2, "a", "b"))
				if err == nil {
					s.t.Fatal("tasks started that cannot")
				}
				for _, says := range row.says {
					if !strings.Contains(err.Error(), says) {
						s.t.Errorf("%v does not say %q", err, says)
					}
				}
			})
		})
	}
}
