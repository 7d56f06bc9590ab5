package cloud_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
	"github.com/muster-scale/muster/sim/cloud/groups"
)

// script is a list of things that happen to a group; what it draws does not hang on the world.
type script struct {
	settings cloud.Settings
	reuse    bool
	warm     bool
	steps    []step
}

type step struct {
	kind  string
	n     int
	after time.Duration
}

func drawScript(t *rapid.T) script {
	kinds := []string{"resize", "resize", "protect", "unprotect", "capacity", "enough", "suspend", "resume", "zones",
		"template", "unhealthy", "refresh", "complete", "standby", "back", "launch"}
	s := script{
		settings: cloud.Settings{Seed: rapid.Uint64().Draw(t, "seed"),
			Machines: groups.Machines{Spread: rapid.Float64Range(0, 0.9).Draw(t, "spread"),
				BootFails: rapid.Float64Range(0, 0.3).Draw(t, "fails")}},
		warm: rapid.Bool().Draw(t, "warm"), reuse: rapid.Bool().Draw(t, "reuse"),
	}
	for range rapid.IntRange(1, 40).Draw(t, "steps") {
		s.steps = append(s.steps, step{kind: rapid.SampledFrom(kinds).Draw(t, "kind"), n: rapid.IntRange(0, 9).Draw(t,
			"n"),
			after: time.Duration(rapid.IntRange(0, 200).Draw(t, "after")) * time.Second})
	}
	return s
}

// play carries a script out and calls check after every change of the world that it can see.
func (s script) play(t testing.TB, check func(f fleet, did step)) fleet {
	f := newFleet(t, s.settings, 0, 12, 3, zones("us-east-1a", "us-east-1b"))
	if s.warm {
		must(f.asg.PutWarmPool(groupapi.PutWarm{AutoScalingGroupName: "g", MaxGroupPreparedCapacity: ptr(8),
			InstanceReusePolicy: &groupapi.InstanceReusePolicy{ReuseOnScaleIn: &s.reuse}}))(t)
	}
	for _, x := range s.steps {
		x.do(f)
		check(f, x)
		for until := f.Now().Add(x.after); f.Now().Before(until); {
			f.pass(min(7*time.Second, until.Sub(f.Now())))
			check(f, step{})
		}
	}
	return f
}

// do carries a step out; what the API refuses changes nothing.
func (x step) do(f fleet) {
	name := "g"
	serving := f.in(groupapi.InService)
	one := func() []string { return serving[x.n%len(serving) : x.n%len(serving)+1] }
	if len(serving) == 0 {
		one = func() []string { return []string{"none"} }
	}
	switch x.kind {
	case "resize":
		f.resize(x.n)
	case "protect", "unprotect":
		f.asg.SetInstanceProtection(groupapi.SetProtection{AutoScalingGroupName: name, InstanceIds: one(),
			ProtectedFromScaleIn: ptr(x.kind == "protect")})
	case "capacity", "enough":
		n := x.n
		if x.kind == "enough" {
			n = -1
		}
		f.LimitCapacity(account.Pool{InstanceType: "m7g.large", AvailabilityZone: "us-east-1a",
			Market: account.OnDemand},
			n)
	case "suspend", "resume":
		processes := groupapi.Processes{AutoScalingGroupName: name,
			ScalingProcesses: []string{[]string{"Launch", "Terminate", "AZRebalance"}[x.n%3]}}
		if x.kind == "suspend" {
			f.asg.SuspendProcesses(processes)
		} else {
			f.asg.ResumeProcesses(groupapi.Processes{AutoScalingGroupName: name})
		}
	case "zones":
		f.asg.UpdateAutoScalingGroup(groupapi.GroupSettings{AutoScalingGroupName: name,
			AvailabilityZones: []string{"us-east-1a", "us-east-1b", "us-east-1c"}[x.n%2 : 2+x.n%2]})
	case "template":
		f.asg.UpdateAutoScalingGroup(groupapi.GroupSettings{AutoScalingGroupName: name,
			LaunchTemplate: &groupapi.LaunchTemplate{LaunchTemplateName: fmt.Sprint(x.n)}})
	case "unhealthy":
		f.asg.SetInstanceHealth(groupapi.SetHealth{InstanceId: one()[0], HealthStatus: "Unhealthy"})
	case "refresh":
		f.asg.StartInstanceRefresh(groupapi.StartRefresh{AutoScalingGroupName: name})
	case "standby", "back":
		in := groupapi.MoveInstances{AutoScalingGroupName: name, InstanceIds: one(),
			ShouldDecrementDesiredCapacity: ptr(x.n%2 == 0)}
		if x.kind == "back" {
			in.InstanceIds = f.in(groupapi.Standby)
			f.asg.ExitStandby(in)
		} else {
			f.asg.EnterStandby(in)
		}
	case "launch":
		f.asg.LaunchInstances(groupapi.LaunchInstances{AutoScalingGroupName: name, RequestedCapacity: ptr(1 + x.n%3),
			ClientToken: fmt.Sprint(x.n), AvailabilityZones: []string{"us-east-1b"}})
	}
}

func TestInstancesAreConservedAndProtectedOnesNeverEnd(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := drawScript(r)
		guarded := map[string]bool{}
		s.play(t, func(f fleet, did step) {
			g := f.group()
			c := must(f.AutoScaling().Census("g"))(t)
			here := 0
			for _, n := range c.States {
				here += n
			}
			if c.Launched != c.Ended+here {
				r.Fatalf("%d launched, %d ended, %d here", c.Launched, c.Ended, here)
			}
			if g.DesiredCapacity < g.MinSize || g.DesiredCapacity > g.MaxSize {
				r.Fatalf("desired %d outside of %d to %d", g.DesiredCapacity, g.MinSize, g.MaxSize)
			}
			now := map[string]groupapi.Instance{}
			for _, i := range g.Instances {
				now[i.InstanceId] = i
			}
			for id := range guarded {
				// Only what ignores protection ends a protected instance: a health check. (An instance refresh skips it
				// by default.)
				if i, ok := now[id]; did.kind != "unhealthy" &&
					(!ok || i.LifecycleState != groupapi.InService && i.LifecycleState != groupapi.Standby &&
						i.LifecycleState != groupapi.Pending && i.LifecycleState != groupapi.PendingProceed) {
					r.Fatalf("the protected %s is %q after %s", id, i.LifecycleState, did.kind)
				}
			}
			clear(guarded)
			for id, i := range now {
				if i.ProtectedFromScaleIn && i.LifecycleState == groupapi.InService {
					guarded[id] = true
				}
			}
		})
	})
}

func TestAGroupComesToRestAtItsDesiredSize(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := drawScript(r)
		s.settings.Machines.BootFails = 0
		f := s.play(t, func(fleet, step) {})
		f.asg.ResumeProcesses(groupapi.Processes{AutoScalingGroupName: "g"})
		f.LimitCapacity(account.Pool{InstanceType: "m7g.large", AvailabilityZone: "us-east-1a",
			Market: account.OnDemand},
			-1)
		if ids := f.in(groupapi.InService); len(ids) > 0 {
			f.protect(false, ids...)
		}
		f.pass(3 * time.Hour)
		g := f.group()
		if n := len(f.in(groupapi.InService)); n != g.DesiredCapacity {
			r.Fatalf("after three quiet hours %d are in service of %d", n, g.DesiredCapacity)
		}
		n := map[string]int{}
		for _, i := range g.Instances {
			if i.LifecycleState == groupapi.InService {
				n[i.AvailabilityZone]++
			}
		}
		for _, a := range g.AvailabilityZones {
			for _, b := range g.AvailabilityZones {
				if n[a]-n[b] > 1 {
					r.Fatalf("zones are not level: %v", n)
				}
			}
		}
	})
}

func TestTheSameScriptGivesTheSameWorld(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := drawScript(r)
		tell := func() string {
			f := s.play(t, func(fleet, step) {})
			text, err := json.Marshal([]any{f.group(), f.activities(), f.TakeEvents(),
				must(f.AutoScaling().Census("g"))(t)})
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		if a, b := tell(), tell(); a != b {
			r.Fatalf("twice the same script, and two worlds:\n%s\n%s", a, b)
		}
	})
}
