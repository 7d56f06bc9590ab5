package ecs_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/fleet/ecs"
	model "github.com/muster-scale/muster/sim/cloud"
)

func TestTheGroupRisesWithTheService(t *testing.T) {
	rows := []struct {
		tasks, instances int
		fails            bool
	}{{3, 2, false}, {4, 2, false}, {5, 3, false}, {8, 4, false}, {9, 4, true}}
	for _, row := range rows {
		inTime(t, model.Settings{}, func(s stage) {
			f, group := s.hosted(2, "DISABLED")
			if n := len(s.living(group)); n != 1 {
				s.t.Fatalf("%d instances for 2 tasks at the start, want 1", n)
			}
			err := f.SetDesired(s.t.Context(), order(row.tasks, names(row.tasks-2)...))
			if row.fails != (err != nil) || row.fails && !strings.Contains(err.Error(), "maximum 4") {
				s.t.Errorf("%d tasks: got %v, and more than the group allows is %t", row.tasks, err, row.fails)
			}
			pass(5 * time.Minute)
			if n := len(s.living(group)); n != row.instances {
				s.t.Errorf("%d tasks have %d instances, want %d", row.tasks, n, row.instances)
			}
			if n := s.shown(); n.DesiredCount != row.tasks || n.RunningCount != min(row.tasks, 8) {
				s.t.Errorf("%d of %d tasks run, want as many of %d as there is room for", n.RunningCount,
					n.DesiredCount, row.tasks)
			}
		})
	}
}

func TestOnlyInstancesWithoutTasksEnd(t *testing.T) {
	for _, managed := range []string{"DISABLED", "ENABLED"} {
		t.Run("managed scaling "+managed, func(t *testing.T) {
			inTime(t, model.Settings{}, func(s stage) {
				f, group := s.hosted(6, managed)
				at := s.where()
				if len(at) != 6 || len(s.living(group)) != 3 {
					s.t.Fatalf("%d tasks run on %d instances, want 6 on 3", len(at), len(s.living(group)))
				}
				// The two tasks of one instance go, and one of another: only the first of them is idle then.
				idle, other := "", ""
				var going []string
				for _, task := range slices.Sorted(maps.Keys(at)) {
					if idle == "" || at[task] == idle {
						idle = at[task]
						going = append(going, task)
					} else if other == "" {
						other = at[task]
						going = append(going, task)
					}
				}
				s.must(f.End(s.t.Context(), going))
				pass(time.Minute)
				if n := s.list(f).Service.Spare; n != 1 {
					s.t.Errorf("%d instances to spare, want 1 of 3 for 3 tasks", n)
				}
				s.must(f.Trim(s.t.Context()))
				s.must(f.Trim(s.t.Context()))
				pass(3 * time.Minute)
				left := s.living(group)
				if len(left) != 2 || slices.Contains(left, idle) {
					s.t.Errorf("the instances %v are left, want the two that hold tasks and not %s", left, idle)
				}
				now := s.where()
				for task := range now {
					if at[task] != now[task] {
						s.t.Errorf("the task %s is on %s, and was on %s", task, now[task], at[task])
					}
				}
				if l := s.list(f); len(now) != 3 || l.Service.Spare != 0 {
					s.t.Errorf("%d tasks run and %d instances are to spare, want 3 and none", len(now), l.Service.Spare)
				}
			})
		})
	}
}

func TestTheLastTaskTakesTheLastInstanceWithIt(t *testing.T) {
	inTime(t, model.Settings{}, func(s stage) {
		f, group := s.hosted(2, "DISABLED")
		s.must(f.End(s.t.Context(), s.living(f)))
		pass(time.Minute)
		s.must(f.Trim(s.t.Context()))
		pass(3 * time.Minute)
		if left := s.living(group); len(left) != 0 {
			s.t.Errorf("the instances %v are left for no task", left)
		}
	})
}

func TestAnInstanceThatIsAwaitedIsNotEnded(t *testing.T) {
	inTime(t, model.Settings{}, func(s stage) {
		f, group := s.hosted(2, "DISABLED")
		s.must(f.SetDesired(s.t.Context(), order(4, "a", "b")))
		for range 30 {
			pass(10 * time.Second)
			s.must(f.Trim(s.t.Context()))
		}
		if v := s.shown(); v.RunningCount != 4 || len(s.living(group)) != 2 {
			s.t.Errorf("%d tasks run on %d instances, want 4 on 2", v.RunningCount, len(s.living(group)))
		}
	})
}

func TestAnInstanceThatTheServiceCouldNeedIsKept(t *testing.T) {
	inTime(t, model.Settings{}, func(s stage) {
		_, group := s.hosted(2, "DISABLED")
		s.must(group.SetDesired(s.t.Context(), order(4, "a", "b", "c")))
		pass(3 * time.Minute)
		for per, spare := range map[int]int{1: 2, 2: 3} { // both tasks are on one of four instances
			f, err := ecs.NewClusters(s.account).Service(ecs.ServiceOptions{Cluster: "prod", Service: "web",
				Capacity: &ecs.Capacity{TasksPerInstance: per, Group: group, Ender: group}})
			s.must(err)
			if n := s.list(f).Service.Spare; n != spare {
				s.t.Errorf("with %d tasks for each instance %d of 4 are to spare, want %d", per, n, spare)
			}
			kept, err := ecs.NewClusters(s.account).Service(ecs.ServiceOptions{Cluster: "prod", Service: "web",
				Capacity: &ecs.Capacity{TasksPerInstance: per, Group: group, Ender: group, Keep: true}})
			s.must(err)
			if n := s.list(kept).Service.Spare; n != 0 {
				s.t.Errorf("%d are to spare although they are left to ECS", n)
			}
		}
		f, err := ecs.NewClusters(s.account).Service(ecs.ServiceOptions{Cluster: "prod", Service: "web",
			Capacity: &ecs.Capacity{TasksPerInstance: 2, Group: group, Ender: group}})
		s.must(err)
		s.must(f.SetDesired(s.t.Context(), order(3, "d")))
		pass(3 * time.Second) // the third task is on its way
		if v, n := s.shown(), s.list(f).Service.Spare; v.PendingCount != 1 || n != 0 {
			s.t.Errorf("%d are to spare while %d tasks are on their way, want none", n, v.PendingCount)
		}
		pass(2 * time.Minute)
		if n := s.list(f).Service.Spare; n != 2 {
			s.t.Errorf("%d of 4 are to spare for 3 tasks, want 2", n)
		}
	})
}

func TestManagedScalingIsNoted(t *testing.T) {
	for managed, says := range map[string]string{"ENABLED": "ECS sizes the group hosts too",
		"DISABLED": "managed scaling of the capacity provider hosts is off"} {
		inTime(t, model.Settings{}, func(s stage) {
			f, _ := s.hosted(2, managed)
			if notes := strings.Join(s.list(f).Service.Notes, "\n"); !strings.Contains(notes, says) {
				s.t.Errorf("with managed scaling %s the notes are %q", managed, notes)
			}
		})
	}
}
