package asg_test

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/fleet/asg"
	"github.com/muster-scale/muster/policy"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/account"
)

// tiers counts the members of each tier.
func tiers(l muster.Listing) map[muster.Tier]int {
	n := map[muster.Tier]int{}
	for _, m := range l.Members {
		if !m.Ended {
			n[m.Tier]++
		}
	}
	return n
}

func TestInstancesOfTheWarmPoolAreToldApart(t *testing.T) {
	inTime(t, nil, asg.Options{}, func(s stage) {
		s.must(s.order(1, "a"))
		s.pass(2 * time.Minute)
		s.must(s.fleet.SetWarm(s.t.Context(), 2))
		if l := s.list(); l.Ready == nil || *l.Ready != 0 || tiers(l)[""] != 1 {
			s.t.Errorf("a pool that is being filled has %v, want 0 that are ready; members are %+v, want one of "+
				"which nobody knows", l.Ready, l.Members)
		}
		s.pass(5 * time.Minute)
		if l := s.list(); l.Ready == nil || *l.Ready != 2 || len(l.Members) != 1 {
			s.t.Fatalf("found %+v, want 2 in the pool that are no members", l)
		}
		s.must(s.order(4, "b", "c", "d"))
		s.pass(30 * time.Second)
		l := s.list()
		if n := tiers(l); n[muster.Warm] != 2 || n[muster.Cold] != 1 || n[""] != 1 || l.Ready == nil || *l.Ready != 0 {
			s.t.Errorf("found %v and %v in the pool, want 2 that came from it, which is empty, a cold one, and the "+
				"first", n, *l.Ready)
		}
		s.pass(10 * time.Minute)
		if l := s.list(); tiers(l)[muster.Warm] != 2 || *l.Ready != 2 {
			s.t.Errorf("ten minutes later found %v and %v in the pool, want the same and 2", tiers(l), *l.Ready)
		}
		before := s.cloud.Calls("DescribeWarmPool")
		for range 60 {
			if _, err := s.fleet.Members(s.t.Context()); err != nil {
				s.t.Fatal(err)
			}
			s.pass(5 * time.Second)
		}
		if n := s.cloud.Calls("DescribeWarmPool") - before; n > 5 {
			s.t.Errorf("in five quiet minutes the pool was looked at %d times, want once a minute at most", n)
		}
	})
}

func TestAPoolThatMayNotBeReadIsUnknownAndNotEmpty(t *testing.T) {
	inTime(t, nil, asg.Options{}, func(s stage) {
		s.must(s.fleet.SetWarm(s.t.Context(), 2))
		s.cloud.Do(func(w *model.World) {
			w.Inject(account.Injection{Trouble: account.AccessDenied, Action: "DescribeWarmPool"})
		})
		s.pass(5 * time.Minute)
		s.must(s.order(1, "a"))
		s.pass(2 * time.Minute)
		l := s.list()
		if l.Ready != nil || tiers(l)[""] != 1 ||
			!strings.Contains(strings.Join(l.Service.Notes, "\n"), "autoscaling:DescribeWarmPool") {
			s.t.Errorf("found %+v (ready %v), want members of no tier and a note that names the permission", l.Service,
				l.Ready)
		}
		for range 24 {
			s.pass(5 * time.Second)
			s.list()
		}
		if n := s.cloud.Calls("DescribeWarmPool"); n > 3 {
			s.t.Errorf("it was tried %d times in nine minutes, want rarely", n)
		}
	})
}

// A batch on a group with a pool of two: the controller learns both boot times, across a restart too, and plans with
// them.
func TestTheControllerLearnsTheBootsOfThePoolApart(t *testing.T) {
	spec := policy.Spec{Name: "deadline", Processing: 25 * time.Second}
	var last controller.Outcome
	_, took := runPlant(t, day{spec: spec, messages: 50, mpd: 25 * time.Second, pool: 2, restart: 12 * time.Minute},
		func(p *plant) {
			last, _ = p.loop.Last()
			if len(p.started) < 4 {
				p.t.Errorf("%d instances worked, want some beyond the pool", len(p.started))
			}
		})
	pool, cold := last.Observation.Pool, last.Observation.Boot
	if pool == nil || pool.Ready != 2 || !pool.Boot.Known || pool.Boot.MeanSeconds > 45 || pool.Boot.Count < 1 {
		t.Errorf("the pool is %+v, want 2 ready that boot within half a minute", pool)
	}
	if !cold.Known || cold.Prior || cold.MeanSeconds < 85 {
		t.Errorf("cold boots are %+v, want the 90 s of others", cold)
	}
	if took > 6*time.Minute {
		t.Errorf("all was done after %v, want about the five minutes of the objective", took)
	}
	t.Logf("pool %+v, cold %+v, took %v", pool, cold, took)
}
