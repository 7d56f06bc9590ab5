package cloud_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
	"github.com/muster-scale/muster/sim/cloud/groups"
)

// start is a whole hour, so that periods and hours are easy to count.
var start = time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

// must fails the test on an error.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// code is the code of a fault, empty for none.
func code(err error) string {
	if f, ok := errors.AsType[*account.Fault](err); ok {
		return f.Code
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// fleet is a world with a group named g.
type fleet struct {
	testing.TB
	*cloud.World
	asg *groups.AutoScaling
}

func newFleet(t testing.TB, s cloud.Settings, least, most, desired int, change ...func(*groupapi.CreateGroup)) fleet {
	t.Helper()
	s.Start = start
	w := cloud.New(s)
	in := groupapi.CreateGroup{GroupSettings: groupapi.GroupSettings{AutoScalingGroupName: "g", MinSize: &least,
		MaxSize: &most, DesiredCapacity: &desired,
		AvailabilityZones: []string{"us-east-1a"},
		LaunchTemplate:    &groupapi.LaunchTemplate{LaunchTemplateName: "worker"}}}
	for _, c := range change {
		c(&in)
	}
	must(w.AutoScaling().CreateAutoScalingGroup(in))(t)
	return fleet{TB: t, World: w, asg: w.AutoScaling()}
}

func (f fleet) pass(d time.Duration) { f.Advance(f.Now().Add(d)) }

func (f fleet) group() groupapi.Group {
	f.Helper()
	out := must(f.asg.DescribeAutoScalingGroups(groupapi.DescribeGroups{AutoScalingGroupNames: []string{"g"}}))(f)
	return out.AutoScalingGroups[0]
}

// in are the ids of the instances in a state, in the order of their launch.
func (f fleet) in(s groupapi.LifecycleState) (ids []string) {
	f.Helper()
	all := f.group().Instances
	for _, i := range append(all,
		must(f.asg.DescribeWarmPool(groupapi.DescribeWarm{AutoScalingGroupName: "g"}))(f).Instances...) {
		if i.LifecycleState == s {
			ids = append(ids, i.InstanceId)
		}
	}
	return ids
}

func (f fleet) resize(n int) {
	f.Helper()
	must(f.asg.SetDesiredCapacity(groupapi.SetDesired{AutoScalingGroupName: "g", DesiredCapacity: &n}))(f)
}

func (f fleet) protect(on bool, ids ...string) {
	f.Helper()
	must(f.asg.SetInstanceProtection(groupapi.SetProtection{AutoScalingGroupName: "g", InstanceIds: ids,
		ProtectedFromScaleIn: &on}))(f)
}

// activities are the descriptions and states of the group's activities, oldest first.
func (f fleet) activities() (all []groupapi.Activity) {
	f.Helper()
	all = must(f.asg.DescribeScalingActivities(groupapi.DescribeActivities{AutoScalingGroupName: "g"}))(f).Activities
	slices.Reverse(all)
	return all
}

// expect fails the test when two values differ.
func expect[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func mixed(d *groupapi.InstancesDistribution, overrides ...groupapi.Overrides) func(*groupapi.CreateGroup) {
	return func(in *groupapi.CreateGroup) {
		in.LaunchTemplate = nil
		in.MixedInstancesPolicy = &groupapi.MixedInstancesPolicy{InstancesDistribution: d,
			LaunchTemplate: &groupapi.MixedTemplate{LaunchTemplateSpecification: &groupapi.LaunchTemplate{
				LaunchTemplateName: "worker"},
				Overrides: overrides}}
	}
}

func zones(names ...string) func(*groupapi.CreateGroup) {
	return func(in *groupapi.CreateGroup) { in.AvailabilityZones = names }
}

func policies(names ...string) func(*groupapi.CreateGroup) {
	return func(in *groupapi.CreateGroup) { in.TerminationPolicies = names }
}
