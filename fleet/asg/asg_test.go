package asg_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/fleet/asg"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/mustertest/fakeaws"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
	"github.com/muster-scale/muster/sim/cloud/groups"
)

// stage is a world with a group called web and a fleet of it, in virtual time.
type stage struct {
	t     *testing.T
	cloud *fakeaws.Server
	fleet *asg.Fleet
}

func num(n int) *int { return &n }

// inTime runs a test in a world with the group web, which has one zone, a minimum of 0 and a maximum of 10 unless
// change says otherwise.
func inTime(t *testing.T, change func(*groupapi.CreateGroup), o asg.Options, test func(s stage)) {
	t.Helper()
	mustertest.AWSEnvironment(t)
	synctest.Test(t, func(t *testing.T) {
		world := model.New(model.Settings{Start: time.Now(), Region: "eu-west-1", Seed: 1, WarmPoolsMayMix: true})
		server := fakeaws.New(world)
		server.Follow(time.Now)
		in := groupapi.CreateGroup{GroupSettings: groupapi.GroupSettings{
			AutoScalingGroupName: "web", MinSize: num(0), MaxSize: num(10), AvailabilityZones: []string{"eu-west-1a"},
			LaunchTemplate: &groupapi.LaunchTemplate{LaunchTemplateName: "web"},
		}}
		if change != nil {
			change(&in)
		}
		server.Do(func(w *model.World) {
			if _, err := w.AutoScaling().CreateAutoScalingGroup(in); err != nil {
				t.Fatal(err)
			}
		})
		account, err := awsapi.Open(t.Context(), awsapi.Options{HTTP: mustertest.InProcess{Handler: server}})
		if err != nil {
			t.Fatal(err)
		}
		if o.Group == "" {
			o.Group = "web"
		}
		if o.Max == 0 {
			o.Max = 10
		}
		f, err := asg.NewGroups(account).Fleet(o)
		if err != nil {
			t.Fatal(err)
		}
		test(stage{t, server, f})
		permitted(t, server)
	})
}

// permitted holds that the policy of muster up, or that of muster doctor, allows each call that arrived.
func permitted(t *testing.T, server *fakeaws.Server) {
	t.Helper()
	c := &asg.Config{Group: "web", WarmPool: &asg.WarmPool{}}
	allowed := map[string]bool{}
	for _, p := range c.Permissions(kind.Place{}, config.Fleet{Members: c}) {
		if !slices.Equal(p.Modes, []kind.Mode{kind.ModeWork}) {
			allowed[p.Action] = true
		}
	}
	for _, action := range server.Called() {
		if !allowed[action] {
			t.Errorf("%s is called, and no policy of a group allows it", action)
		}
	}
}

func (s stage) order(total int, launch ...string) error {
	s.t.Helper()
	return s.fleet.SetDesired(s.t.Context(), muster.Order{ID: fmt.Sprint("o", total, launch), Desired: total,
		Total: total, Launch: launch})
}

func (s stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s stage) list() muster.Listing {
	s.t.Helper()
	s.fleet.Expect()
	l, err := s.fleet.Members(s.t.Context())
	s.must(err)
	return l
}

// living returns the members that have not ended.
func (s stage) living() (ids []string) {
	s.t.Helper()
	for _, m := range s.list().Members {
		if !m.Ended {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

func (s stage) group() (g groupapi.Group) {
	s.t.Helper()
	s.cloud.Until(time.Now())
	s.cloud.Do(func(w *model.World) {
		l,
			err := w.AutoScaling().DescribeAutoScalingGroups(groupapi.DescribeGroups{AutoScalingGroupNames: []string{
			"web"}})
		s.must(err)
		g = l.AutoScalingGroups[0]
	})
	return g
}

func (s stage) do(f func(a *groups.AutoScaling) error) {
	s.t.Helper()
	s.cloud.Until(time.Now())
	s.cloud.Do(func(w *model.World) { s.must(f(w.AutoScaling())) })
}

// writes is how many calls came that change something.
func (s stage) writes() (n int) {
	for _, action := range []string{"SetDesiredCapacity", "LaunchInstances", "TerminateInstanceInAutoScalingGroup",
		"SetInstanceProtection", "PutWarmPool", "DeleteWarmPool"} {
		n += s.cloud.Calls(action)
	}
	return n
}

func TestConformance(t *testing.T) {
	for _, launch := range []asg.Launching{asg.BySize, asg.ByName} {
		t.Run(string(launch), func(t *testing.T) {
			mustertest.ServiceConformance(t, func(t *testing.T, test func(*testing.T, muster.Fleet, func())) {
				inTime(t, nil, asg.Options{Launch: launch}, func(s stage) {
					test(s.t, s.fleet, func() { time.Sleep(3 * time.Minute) })
				})
			})
		})
	}
}

func TestAnOrderIsAbsoluteAndTheSecondTimeNothing(t *testing.T) {
	for _, launch := range []asg.Launching{asg.BySize, asg.ByName, asg.Auto} {
		t.Run(string(launch), func(t *testing.T) {
			inTime(t, nil, asg.Options{Launch: launch}, func(s stage) {
				s.must(s.order(3, "a", "b", "c"))
				time.Sleep(2 * time.Minute)
				if n := len(s.living()); n != 3 || s.group().DesiredCapacity != 3 {
					s.t.Fatalf("%d instances live and %d are desired, want 3", n, s.group().DesiredCapacity)
				}
				before := s.writes()
				s.must(s.order(3, "a", "b", "c"))
				s.must(s.order(2))
				if s.writes() != before || s.group().DesiredCapacity != 3 {
					s.t.Errorf("the second order and a smaller one made %d writes, and %d are desired",
						s.writes()-before, s.group().DesiredCapacity)
				}
				if (s.cloud.Calls("LaunchInstances") > 0) != (launch != asg.BySize) {
					s.t.Errorf("launched by name %d times with %s", s.cloud.Calls("LaunchInstances"), launch)
				}
			})
		})
	}
}

func TestInstancesAreMembersFromPendingUntilTheyEnd(t *testing.T) {
	hook := func(in *groupapi.CreateGroup) {
		in.LifecycleHookSpecificationList = []groupapi.LifecycleHook{{LifecycleHookName: "bye",
			LifecycleTransition: "autoscaling:EC2_INSTANCE_TERMINATING", HeartbeatTimeout: num(300)}}
	}
	inTime(t, hook, asg.Options{}, func(s stage) {
		s.must(s.order(2, "a", "b"))
		time.Sleep(5 * time.Second)
		if n := len(s.living()); n != 2 {
			s.t.Errorf("%d members while they boot, want 2", n)
		}
		at := s.list().Members[0].LaunchedAt
		time.Sleep(2 * time.Minute)
		l := s.list()
		if !l.Members[0].LaunchedAt.Equal(at) || l.Service == nil || l.Service.Desired != 2 ||
			l.At.Location() != time.UTC {
			s.t.Errorf("found %+v, want the launch instants as first seen, and a service that aims at 2", l)
		}
		id := l.Members[0].ID
		s.must(s.fleet.End(s.t.Context(), []string{id}))
		time.Sleep(10 * time.Second)
		for _, m := range s.list().Members {
			if m.ID == id && (!m.Ended || !strings.Contains(m.Failure, "Terminating:Wait")) {
				s.t.Errorf("found %+v while its hook waits, want ended and why", m)
			}
		}
		if n := len(s.living()); n != 1 {
			s.t.Errorf("%d members live, want 1", n)
		}
	})
}

func TestEndingLowersTheSizeWithTheInstance(t *testing.T) {
	inTime(t, nil, asg.Options{}, func(s stage) {
		s.must(s.order(4, "a", "b", "c", "d"))
		time.Sleep(2 * time.Minute)
		ids := s.living()
		s.must(s.fleet.End(s.t.Context(), []string{ids[1], ids[2], "i-never"}))
		time.Sleep(3 * time.Minute)
		if left := s.living(); !slices.Equal(left, []string{ids[0], ids[3]}) || s.group().DesiredCapacity != 2 {
			s.t.Errorf("left are %v of %v with %d desired, want the first and last and 2", left, ids,
				s.group().DesiredCapacity)
		}
		before := s.writes()
		s.must(s.fleet.End(s.t.Context(), []string{ids[1], ids[2]}))
		if s.writes() != before {
			s.t.Error("ending what has ended called something")
		}
	})
}

func TestASizeThatSomebodyLoweredIsNotLoweredTwice(t *testing.T) {
	protect := func(in *groupapi.CreateGroup) {
		in.NewInstancesProtectedFromScaleIn = new(bool)
		*in.NewInstancesProtectedFromScaleIn = true
	}
	inTime(t, protect, asg.Options{}, func(s stage) {
		s.must(s.order(4, "a", "b", "c", "d"))
		time.Sleep(2 * time.Minute)
		s.do(func(a *groups.AutoScaling) error {
			_, err := a.SetDesiredCapacity(groupapi.SetDesired{AutoScalingGroupName: "web", DesiredCapacity: num(2)})
			return err
		})
		time.Sleep(time.Minute)
		ids := s.living()
		if len(ids) != 4 || s.list().Service.Desired != 2 {
			s.t.Fatalf("%d live and the service aims at %d, want all 4 protected ones and 2", len(ids),
				s.list().Service.Desired)
		}
		s.must(s.fleet.End(s.t.Context(), ids[:2]))
		time.Sleep(2 * time.Minute)
		if n := len(s.living()); n != 2 || s.group().DesiredCapacity != 2 {
			s.t.Errorf("%d live with %d desired, want 2 and 2", n, s.group().DesiredCapacity)
		}
	})
}

func TestTheGroupsMinimumIsExplainedAndNothingIsEndedForNothing(t *testing.T) {
	inTime(t, func(in *groupapi.CreateGroup) { in.MinSize = num(2) }, asg.Options{}, func(s stage) {
		time.Sleep(2 * time.Minute)
		ids := s.living()
		err := s.fleet.End(s.t.Context(), ids[:1])
		if err == nil || !strings.Contains(err.Error(), "minimum 2") || !strings.Contains(err.Error(), "lower it") {
			s.t.Errorf("End = %v, want what to do about the minimum", err)
		}
		if n := s.cloud.Calls("TerminateInstanceInAutoScalingGroup"); n != 0 || len(s.living()) != 2 {
			s.t.Errorf("%d instances were ended, which the group would have replaced", n)
		}
		if notes := strings.Join(s.list().Service.Notes, "\n"); !strings.Contains(notes, "keeps at least 2") {
			s.t.Errorf("the notes are %q", notes)
		}
	})
}

func TestASizeAboveTheGroupsMaximumIsClampedAndExplained(t *testing.T) {
	inTime(t, func(in *groupapi.CreateGroup) { in.MaxSize = num(2) }, asg.Options{Launch: asg.BySize}, func(s stage) {
		err := s.order(5, "a", "b", "c", "d", "e")
		if err == nil || !strings.Contains(err.Error(), "maximum 2") || !strings.Contains(err.Error(), "raise that") {
			s.t.Errorf("SetDesired = %v, want what to do about the maximum", err)
		}
		time.Sleep(2 * time.Minute)
		if n := len(s.living()); n != 2 {
			s.t.Errorf("%d live, want what the group allows", n)
		}
		protectAll(s)
		s.do(func(a *groups.AutoScaling) error {
			_, err := a.UpdateAutoScalingGroup(groupapi.GroupSettings{AutoScalingGroupName: "web", MaxSize: num(1)})
			return err
		})
		before := s.writes()
		if err := s.order(2); err == nil || s.writes() != before {
			s.t.Errorf("SetDesired with a maximum below what lives = %v after %d writes, want an error and none", err,
				s.writes()-before)
		}
	})
}

func protectAll(s stage) {
	s.t.Helper()
	s.must(s.fleet.Protect(s.t.Context(), s.living()))
}

func TestALackOfCapacityIsKnownAtOnceWhenLaunchingByName(t *testing.T) {
	inTime(t, nil, asg.Options{}, func(s stage) {
		limit(s, 2)
		err := s.order(4, "a", "b", "c", "d")
		if err == nil || !strings.Contains(err.Error(), "InsufficientInstanceCapacity") ||
			!strings.Contains(err.Error(), "2 of 4 started") {
			s.t.Errorf("SetDesired = %v, want the lack of capacity", err)
		}
		if g := s.group(); g.DesiredCapacity != 2 || len(s.living()) != 2 {
			s.t.Errorf("%d desired and %d live, want 2: the group shall not go on trying", g.DesiredCapacity,
				len(s.living()))
		}
	})
}

// limit leaves so many instances of the group's only type.
func limit(s stage, n int) {
	s.t.Helper()
	kind := ""
	s.cloud.Do(func(w *model.World) {
		a := w.AutoScaling()
		in := groupapi.GroupSettings{AutoScalingGroupName: "probe", MinSize: num(1), MaxSize: num(1),
			AvailabilityZones: []string{"eu-west-1a"},
			LaunchTemplate:    &groupapi.LaunchTemplate{LaunchTemplateName: "web"}}
		_, err := a.CreateAutoScalingGroup(groupapi.CreateGroup{GroupSettings: in})
		s.must(err)
	})
	s.cloud.Advance(time.Second)
	time.Sleep(3 * time.Second)
	s.cloud.Until(time.Now())
	s.cloud.Do(func(w *model.World) {
		l,
			err := w.AutoScaling().DescribeAutoScalingGroups(groupapi.DescribeGroups{AutoScalingGroupNames: []string{
			"probe"}})
		s.must(err)
		kind = l.AutoScalingGroups[0].Instances[0].InstanceType
		yes := true
		_, err = w.AutoScaling().DeleteAutoScalingGroup(groupapi.DeleteGroup{AutoScalingGroupName: "probe",
			ForceDelete: &yes})
		s.must(err)
		w.LimitCapacity(account.Pool{InstanceType: kind, AvailabilityZone: "eu-west-1a", Market: account.OnDemand}, n)
	})
}

func TestAFailedLaunchBySizeIsToldWithItsReason(t *testing.T) {
	inTime(t, nil, asg.Options{Launch: asg.BySize}, func(s stage) {
		limit(s, 1)
		s.must(s.order(3, "a", "b", "c"))
		var failed []string
		for range 40 {
			time.Sleep(time.Second)
			failed = nil
			for _, m := range s.list().Members {
				if m.Ended && strings.Contains(m.Failure, "could not launch") {
					failed = append(failed, m.ID)
				}
			}
		}
		if !slices.Equal(failed, []string{"b", "c"}) {
			s.t.Errorf("failed are %v, want the two that have no place", failed)
		}
	})
}

func TestLaunchingByNameIsLeftWhereItCannotBe(t *testing.T) {
	rows := []struct {
		name   string
		change func(*groupapi.CreateGroup)
		before func(s stage)
	}{
		{"a missing permission", nil, func(s stage) {
			s.cloud.Do(func(w *model.World) {
				w.Inject(account.Injection{Trouble: account.AccessDenied, Action: "LaunchInstances"})
			})
		}},
		{"a warm pool", nil, func(s stage) { s.must(s.fleet.SetWarm(s.t.Context(), 1)) }},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			inTime(t, row.change, asg.Options{}, func(s stage) {
				if row.before != nil {
					row.before(s)
				}
				s.must(s.order(2, "a", "b"))
				if g := s.group(); g.DesiredCapacity != 2 {
					s.t.Errorf("%d are desired, want 2", g.DesiredCapacity)
				}
				if n := s.cloud.Calls("SetDesiredCapacity"); n != 1 {
					s.t.Errorf("the size was set %d times, want once", n)
				}
			})
		})
	}
}

func TestReleasedInstancesGoBackIntoTheWarmPool(t *testing.T) {
	inTime(t, nil, asg.Options{Warm: asg.Warm{Reuse: true}}, func(s stage) {
		s.must(s.fleet.SetWarm(s.t.Context(), 2))
		s.must(s.fleet.SetWarm(s.t.Context(), 2))
		if n := s.cloud.Calls("PutWarmPool"); n != 1 {
			s.t.Errorf("the pool was put %d times, want once", n)
		}
		time.Sleep(5 * time.Minute)
		if g := s.group(); *g.WarmPoolSize != 2 || len(s.living()) != 0 {
			s.t.Fatalf("the pool has %d and the group %d, want 2 and none", *g.WarmPoolSize, len(s.living()))
		}
		s.must(s.order(3, "a", "b", "c"))
		time.Sleep(5 * time.Minute)
		protectAll(s)
		ids := s.living()
		s.must(s.fleet.End(s.t.Context(), ids[:1]))
		time.Sleep(5 * time.Minute)
		if left := s.living(); !slices.Equal(left, ids[1:]) ||
			s.cloud.Calls("TerminateInstanceInAutoScalingGroup") != 0 {
			s.t.Errorf("left are %v of %v, want all but the first, which went back into the pool", left, ids)
		}
		s.must(s.fleet.SetWarm(s.t.Context(), 0))
		time.Sleep(5 * time.Minute)
		s.must(s.fleet.SetWarm(s.t.Context(), 0))
		if n := s.cloud.Calls("DeleteWarmPool"); n != 1 || s.group().WarmPoolSize != nil {
			s.t.Errorf("the pool was removed %d times and is %v", n, s.group().WarmPoolSize)
		}
	})
}

func TestAReuseThatCouldTakeABusyOneIsNotLeftToTheGroup(t *testing.T) {
	inTime(t, nil, asg.Options{Warm: asg.Warm{Reuse: true}}, func(s stage) {
		s.must(s.fleet.SetWarm(s.t.Context(), 1))
		s.must(s.order(3, "a", "b", "c"))
		time.Sleep(5 * time.Minute)
		ids := s.living() // none is protected
		s.must(s.fleet.End(s.t.Context(), ids[:1]))
		time.Sleep(5 * time.Minute)
		if left := s.living(); !slices.Equal(left, ids[1:]) ||
			s.cloud.Calls("TerminateInstanceInAutoScalingGroup") != 1 {
			s.t.Errorf("left are %v of %v, want all but the first, ended by name", left, ids)
		}
	})
}

func TestExposedInstancesAreProtectedFiftyAtATime(t *testing.T) {
	inTime(t, func(in *groupapi.CreateGroup) { in.MaxSize = num(200) }, asg.Options{Launch: asg.BySize}, func(s stage) {
		s.must(s.order(120, "a"))
		time.Sleep(5 * time.Second)
		for _, m := range s.list().Members {
			if m.Exposed {
				s.t.Fatalf("%s is said to be exposed before it is in service, when it cannot be protected", m.ID)
			}
		}
		time.Sleep(3 * time.Minute)
		var exposed []string
		for _, m := range s.list().Members {
			if m.Exposed {
				exposed = append(exposed, m.ID)
			}
		}
		if len(exposed) != 120 {
			s.t.Fatalf("%d are exposed, want 120", len(exposed))
		}
		s.must(s.fleet.Protect(s.t.Context(), append(exposed, "i-gone")))
		if n := s.cloud.Calls("SetInstanceProtection"); n != 3 {
			s.t.Errorf("%d calls, want 3", n)
		}
		for _, m := range s.list().Members {
			if m.Exposed {
				s.t.Fatalf("%s is still exposed", m.ID)
			}
		}
	})
}

func TestWeightsAreCountedInMembers(t *testing.T) {
	mixed := func(in *groupapi.CreateGroup) {
		in.LaunchTemplate, in.MaxSize = nil, num(40)
		in.MixedInstancesPolicy = &groupapi.MixedInstancesPolicy{LaunchTemplate: &groupapi.MixedTemplate{
			LaunchTemplateSpecification: &groupapi.LaunchTemplate{LaunchTemplateName: "web"},
			Overrides:                   []groupapi.Overrides{{InstanceType: "c7g.xlarge", WeightedCapacity: "4"}},
		}}
	}
	inTime(t, mixed, asg.Options{}, func(s stage) {
		s.must(s.order(3, "a", "b", "c"))
		time.Sleep(2 * time.Minute)
		ids := s.living()
		if g := s.group(); len(ids) != 3 || g.DesiredCapacity != 12 || s.list().Service.Desired != 3 {
			s.t.Fatalf("%d live with %d desired in units and an aim of %d, want 3, 12 and 3", len(ids),
				g.DesiredCapacity, s.list().Service.Desired)
		}
		s.must(s.fleet.End(s.t.Context(), ids[:1]))
		time.Sleep(2 * time.Minute)
		if g := s.group(); len(s.living()) != 2 || g.DesiredCapacity != 8 {
			s.t.Errorf("%d live with %d desired, want 2 and 8", len(s.living()), g.DesiredCapacity)
		}
	})
}

func TestWhatStandsInTheWayIsNoted(t *testing.T) {
	yes := true
	rows := []struct {
		name   string
		change func(*groupapi.CreateGroup)
		then   func(a *groups.AutoScaling) error
		says   string
	}{
		{"another operator", func(in *groupapi.CreateGroup) {
			in.Operator = &groupapi.Operator{Principal: "eks.amazonaws.com"}
		}, nil, "eks.amazonaws.com operates the group"},
		{"launching is suspended", nil, func(a *groups.AutoScaling) error {
			_, err := a.SuspendProcesses(groupapi.Processes{AutoScalingGroupName: "web",
				ScalingProcesses: []string{"Launch"}})
			return err
		}, "launching is suspended"},
		{"zones are balanced", func(in *groupapi.CreateGroup) {
			in.AvailabilityZones = []string{"eu-west-1a",
				"eu-west-1b"}
		}, nil, "suspend AZRebalance"},
		{"Spot instances are replaced", func(in *groupapi.CreateGroup) { in.CapacityRebalance = &yes }, nil,
			"two minutes"},
		{"nothing protects new instances", nil, nil, "not protected from scale-in"},
		{"an instance refresh", func(in *groupapi.CreateGroup) { in.MinSize = num(1) },
			func(a *groups.AutoScaling) error {
				_, err := a.StartInstanceRefresh(groupapi.StartRefresh{AutoScalingGroupName: "web"})
				return err
			}, "an instance refresh"},
		{"a maximum below the fleet's", func(in *groupapi.CreateGroup) { in.MaxSize = num(4) }, nil,
			"allows at most 4"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			inTime(t, row.change, asg.Options{}, func(s stage) {
				time.Sleep(2 * time.Minute)
				if row.then != nil {
					s.do(row.then)
				}
				if notes := strings.Join(s.list().Service.Notes, "\n"); !strings.Contains(notes, row.says) {
					s.t.Errorf("the notes are %q, want %q among them", notes, row.says)
				}
			})
		})
	}
}

func TestAGroupOfAnotherOperatorIsLeftAlone(t *testing.T) {
	operated := func(in *groupapi.CreateGroup) { in.Operator = &groupapi.Operator{Principal: "eks.amazonaws.com"} }
	inTime(t, operated, asg.Options{}, func(s stage) {
		if err := s.order(3, "a", "b", "c"); err == nil ||
			!strings.Contains(err.Error(), "eks.amazonaws.com operates") || s.writes() != 0 {
			s.t.Errorf("SetDesired = %v after %d writes, want who operates it and no write", err, s.writes())
		}
	})
}

func TestAGroupThatDoesNotExistIsAnError(t *testing.T) {
	inTime(t, nil, asg.Options{Group: "wep"}, func(s stage) {
		for name, err := range map[string]error{
			"Members":    func() error { _, err := s.fleet.Members(s.t.Context()); return err }(),
			"SetDesired": s.order(1, "a"), "End": s.fleet.End(s.t.Context(), []string{"i-1"}),
		} {
			if err == nil || !strings.Contains(err.Error(), "group wep") ||
				!strings.Contains(err.Error(), "eu-west-1") {
				s.t.Errorf("%s = %v, want that there is no such group there", name, err)
			}
		}
	})
}

func TestALostAnswerLaunchesNothingTwice(t *testing.T) {
	for _, launch := range []asg.Launching{asg.BySize, asg.ByName} {
		t.Run(string(launch), func(t *testing.T) {
			inTime(t, nil, asg.Options{Launch: launch}, func(s stage) {
				s.cloud.Do(func(w *model.World) {
					w.Inject(account.Injection{Trouble: account.LostAnswer, Action: "LaunchInstances", Times: 1})
					w.Inject(account.Injection{Trouble: account.LostAnswer, Action: "SetDesiredCapacity", Times: 1})
				})
				err := s.order(2, "a", "b")
				time.Sleep(time.Minute)
				if err != nil {
					s.must(s.order(2, "a", "b"))
				}
				time.Sleep(2 * time.Minute)
				if n := len(s.living()); n != 2 || s.group().DesiredCapacity != 2 {
					s.t.Errorf("%d live with %d desired, want 2 and 2", n, s.group().DesiredCapacity)
				}
			})
		})
	}
}

func TestAShrinkingSizeLeavesTheChoiceToTheGroupWhichSparesProtectedOnes(t *testing.T) {
	inTime(t, nil, asg.Options{Launch: asg.BySize}, func(s stage) {
		s.must(s.order(4, "a", "b", "c", "d"))
		time.Sleep(2 * time.Minute)
		ids := s.living()
		s.must(s.fleet.Protect(s.t.Context(), ids[1:3])) // their workers are busy
		s.must(s.fleet.SetDesired(s.t.Context(), muster.Order{ID: "less", Desired: 1, Total: 1, Shrink: true}))
		time.Sleep(3 * time.Minute)
		if left := s.living(); !slices.Equal(left, ids[1:3]) || s.group().DesiredCapacity != 1 ||
			s.list().Service.Desired != 1 {
			s.t.Errorf("left are %v of %v with %d desired, want the protected ones and 1", left, ids,
				s.group().DesiredCapacity)
		}
	})
}

func TestLooksAreRareWhileNothingHappensAndManyGroupsShareACall(t *testing.T) {
	mustertest.AWSEnvironment(t)
	synctest.Test(t, func(t *testing.T) {
		server := fakeaws.New(model.New(model.Settings{Start: time.Now(), Region: "eu-west-1"}))
		server.Follow(time.Now)
		account, err := awsapi.Open(t.Context(), awsapi.Options{HTTP: mustertest.InProcess{Handler: server}})
		if err != nil {
			t.Fatal(err)
		}
		groups := asg.NewGroups(account)
		var fleets []*asg.Fleet
		for i := range 100 {
			name := fmt.Sprint("web-", i)
			server.Do(func(w *model.World) {
				_,
					err = w.AutoScaling().CreateAutoScalingGroup(groupapi.CreateGroup{
					GroupSettings: groupapi.GroupSettings{
						AutoScalingGroupName: name, MinSize: num(0), MaxSize: num(10),
						AvailabilityZones: []string{"eu-west-1a"},
						LaunchTemplate:    &groupapi.LaunchTemplate{LaunchTemplateName: "web"},
					}})
			})
			f, openErr := groups.Fleet(asg.Options{Group: name, Max: 10})
			if err != nil || openErr != nil {
				t.Fatal(err, openErr)
			}
			fleets = append(fleets, f)
		}
		for range 300 {
			time.Sleep(time.Second)
			done := make(chan error, len(fleets))
			for _, f := range fleets {
				go func() { _, err := f.Members(t.Context()); done <- err }()
			}
			for range fleets {
				if err := <-done; err != nil {
					t.Fatal(err)
				}
			}
		}
		// The first minute is faster; then two calls twice a minute serve all hundred.
		if n := server.Calls("DescribeAutoScalingGroups"); n > 40 {
			t.Errorf("100 quiet fleets made %d calls in five minutes", n)
		}
	})
}
