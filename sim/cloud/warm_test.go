package cloud_test

import (
	"slices"
	"testing"
	"time"

	"github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
)

func TestAWarmPoolIsAsLargeAsItsRuleSays(t *testing.T) {
	for _, c := range []struct {
		name                   string
		desired, most          int
		least, prepared, wants int // prepared -1 is the group's max
	}{
		{"up to the max size", 2, 6, 0, -1, 4}, {"up to the prepared capacity", 2, 6, 0, 3, 1},
		{"never below its min size", 3, 6, 2, 3, 2}, {"none", 3, 6, 0, 3, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFleet(t, cloud.Settings{}, 0, c.most, c.desired)
			must(f.asg.PutWarmPool(groupapi.PutWarm{AutoScalingGroupName: "g", MinSize: &c.least,
				MaxGroupPreparedCapacity: &c.prepared}))(t)
			f.pass(10 * time.Minute)
			expect(t, "prepared", len(f.in(groupapi.WarmedStopped)), c.wants)
			expect(t, "WarmPoolSize", *f.group().WarmPoolSize, c.wants)
			expect(t, "in service", len(f.in(groupapi.InService)), c.desired)
		})
	}
}

func TestAWarmPoolIsUsedFirstAndFilledAgain(t *testing.T) {
	f := newFleet(t, cloud.Settings{}, 0, 10, 0)
	must(f.asg.PutWarmPool(groupapi.PutWarm{AutoScalingGroupName: "g", MinSize: ptr(2),
		MaxGroupPreparedCapacity: ptr(2)}))(t)
	f.pass(5 * time.Minute)
	warm := f.in(groupapi.WarmedStopped)
	f.resize(3)
	f.pass(25 * time.Second)
	same(t, "from the pool", f.in(groupapi.InService), warm)
	expect(t, "cold, as the pool was empty", len(f.in(groupapi.Pending)), 1)
	f.pass(5 * time.Minute)
	expect(t, "in service", len(f.in(groupapi.InService)), 3)
	expect(t, "filled again", len(f.in(groupapi.WarmedStopped)), 2)
}

func TestReuseOnScaleInSendsInstancesBackToThePool(t *testing.T) {
	for _, reuse := range []bool{true, false} {
		f := newFleet(t, cloud.Settings{}, 0, 4, 4)
		must(f.asg.PutWarmPool(groupapi.PutWarm{AutoScalingGroupName: "g",
			InstanceReusePolicy: &groupapi.InstanceReusePolicy{ReuseOnScaleIn: &reuse}}))(t)
		f.pass(5 * time.Minute)
		before := f.in(groupapi.InService)
		f.resize(1)
		f.pass(10 * time.Minute)
		warm := f.in(groupapi.WarmedStopped)
		expect(t, "in the pool", len(warm), 3)
		expect(t, "the same instances", slices.Contains(before, warm[0]), reuse)
		c := must(f.AutoScaling().Census("g"))(t)
		expect(t, "ended", c.Ended, map[bool]int{true: 0, false: 3}[reuse])
	}
}

func TestWhatATerminationPolicyNamesGoesBackToThePool(t *testing.T) {
	const arn = "arn:aws:lambda:us-east-1:000000000000:function:idle"
	f := newFleet(t, cloud.Settings{}, 0, 4, 3, policies(arn))
	must(f.asg.PutWarmPool(groupapi.PutWarm{AutoScalingGroupName: "g",
		InstanceReusePolicy: &groupapi.InstanceReusePolicy{ReuseOnScaleIn: ptr(true)}}))(t)
	f.pass(5 * time.Minute)
	idle := f.in(groupapi.InService)[1]
	f.AutoScaling().OfferTerminationPolicy(arn, func(groupapi.TerminationRequest) groupapi.TerminationAnswer {
		return groupapi.TerminationAnswer{InstanceIDs: []string{idle}}
	})
	f.resize(2)
	f.pass(5 * time.Minute)
	expect(t, "in the pool", slices.Contains(f.in(groupapi.WarmedStopped), idle), true)
	expect(t, "in service", len(f.in(groupapi.InService)), 2)
}

func TestAWarmPoolGoesWithItsInstances(t *testing.T) {
	f := newFleet(t, cloud.Settings{}, 0, 4, 1)
	must(f.asg.PutWarmPool(groupapi.PutWarm{AutoScalingGroupName: "g"}))(t)
	f.pass(5 * time.Minute)
	must(f.asg.DeleteWarmPool(groupapi.DeleteWarm{AutoScalingGroupName: "g"}))(t)
	expect(t, "status",
		must(f.asg.DescribeWarmPool(groupapi.DescribeWarm{AutoScalingGroupName: "g"}))(t).WarmPoolConfiguration.Status,
		"PendingDelete")
	f.pass(5 * time.Minute)
	expect(t, "no pool", f.group().WarmPoolConfiguration == nil, true)
	expect(t, "the group stays", len(f.in(groupapi.InService)), 1)
}

func TestAWarmPoolWithMixedInstancesIsRefusedUnlessTheWorldAllowsIt(t *testing.T) {
	for _, allowed := range []bool{false, true} {
		f := newFleet(t, cloud.Settings{WarmPoolsMayMix: allowed}, 0, 4, 1,
			mixed(nil, groupapi.Overrides{InstanceType: "m7g.large"}))
		_, err := f.asg.PutWarmPool(groupapi.PutWarm{AutoScalingGroupName: "g"})
		expect(t, "refused", code(err) == "ValidationError", !allowed)
	}
}

// hooked is a group of one with a hook of two minutes.
func hooked(t *testing.T, transition, otherwise string, change ...func(*groupapi.CreateGroup)) fleet {
	f := newFleet(t, cloud.Settings{}, 0, 5, 1, append(change, func(in *groupapi.CreateGroup) {
		in.LifecycleHookSpecificationList = []groupapi.LifecycleHook{{LifecycleHookName: "h",
			LifecycleTransition: transition, HeartbeatTimeout: ptr(120), DefaultResult: otherwise}}
	})...)
	f.pass(70 * time.Second)
	return f
}

func (f fleet) complete(id, result string) string {
	_, err := f.asg.CompleteLifecycleAction(groupapi.LifecycleAction{AutoScalingGroupName: "g", LifecycleHookName: "h",
		InstanceId: id, LifecycleActionResult: result})
	return code(err)
}

func TestALaunchHookHoldsUntilItIsDone(t *testing.T) {
	f := hooked(t, groupapi.Launching, "ABANDON")
	id := f.in(groupapi.PendingWait)[0]
	expect(t, "continued", f.complete(id, "CONTINUE"), "")
	f.pass(2 * time.Second)
	same(t, "in service", f.in(groupapi.InService), []string{id})
	expect(t, "twice", f.complete(id, "CONTINUE"), "ValidationError")
}

func TestALaunchHookThatIsAbandonedEndsTheInstance(t *testing.T) {
	f := hooked(t, groupapi.Launching, "ABANDON")
	id := f.in(groupapi.PendingWait)[0]
	f.pass(110 * time.Second)
	expect(t, "before its heartbeat is over", len(f.in(groupapi.PendingWait)), 1)
	f.pass(2 * time.Second)
	expect(t, "it ends", len(f.in(groupapi.Terminating)), 1)
	f.pass(2 * time.Minute)
	expect(t, "another was launched", len(f.in(groupapi.PendingWait)), 1)
	expect(t, "and is another", f.in(groupapi.PendingWait)[0] == id, false)
}

func TestAHeartbeatBeginsTheTimeAgain(t *testing.T) {
	f := hooked(t, groupapi.Launching, "CONTINUE")
	id := f.in(groupapi.PendingWait)[0]
	token := f.AutoScaling().LifecycleToken(id, "h")
	for range 3 {
		f.pass(110 * time.Second)
		must(f.asg.RecordLifecycleActionHeartbeat(groupapi.LifecycleAction{AutoScalingGroupName: "g",
			LifecycleHookName: "h", LifecycleActionToken: token}))(t)
	}
	expect(t, "still held", len(f.in(groupapi.PendingWait)), 1)
	f.pass(121 * time.Second)
	expect(t, "the default result", len(f.in(groupapi.InService)), 1)
}

func TestATerminationHookHoldsAndMayRetain(t *testing.T) {
	retain := func(in *groupapi.CreateGroup) {
		in.InstanceLifecyclePolicy = &groupapi.InstanceLifecyclePolicy{RetentionTriggers: &groupapi.RetentionTriggers{
			TerminateHookAbandon: "retain"}}
	}
	f := hooked(t, groupapi.Ending, "ABANDON")
	id := f.in(groupapi.InService)[0]
	f.resize(0)
	f.pass(10 * time.Second)
	same(t, "held", f.in(groupapi.TerminatingWait), []string{id})
	expect(t, "completed", f.complete(id, "CONTINUE"), "")
	same(t, "goes on", f.in(groupapi.TerminatingProceed), []string{id})
	f.pass(time.Minute)
	expect(t, "gone", len(f.group().Instances), 0)

	f = hooked(t, groupapi.Ending, "ABANDON", retain)
	id = f.in(groupapi.InService)[0]
	f.resize(0)
	f.pass(10 * time.Minute)
	same(t, "abandoned and retained", f.in(groupapi.TerminatingRetained), []string{id})
	must(f.asg.TerminateInstanceInAutoScalingGroup(groupapi.EndInstance{InstanceId: id,
		ShouldDecrementDesiredCapacity: ptr(false)}))(t)
	f.pass(time.Minute)
	expect(t, "ended by name", len(f.group().Instances), 0)
}

func TestAHookIsCheckedAndDeletingItLetsGo(t *testing.T) {
	f := hooked(t, groupapi.Ending, "ABANDON")
	for _, bad := range []groupapi.LifecycleHook{
		{LifecycleHookName: "x", LifecycleTransition: "sometimes"},
		{LifecycleHookName: "x", LifecycleTransition: groupapi.Ending, HeartbeatTimeout: ptr(29)},
		{LifecycleHookName: "x", LifecycleTransition: groupapi.Ending, DefaultResult: "MAYBE"},
	} {
		bad.AutoScalingGroupName = "g"
		_, err := f.asg.PutLifecycleHook(bad)
		expect(t, "refused", code(err), "ValidationError")
	}
	f.resize(0)
	f.pass(10 * time.Second)
	must(f.asg.DeleteLifecycleHook(groupapi.HookName{AutoScalingGroupName: "g", LifecycleHookName: "h"}))(t)
	f.pass(time.Minute)
	expect(t, "gone", len(f.group().Instances), 0)
}

func TestARefusedHookLeavesTheFormerOneInPlace(t *testing.T) {
	f := newFleet(t, cloud.Settings{}, 0, 10, 0)
	hook := groupapi.LifecycleHook{AutoScalingGroupName: "g", LifecycleHookName: "drain",
		LifecycleTransition: groupapi.Ending, HeartbeatTimeout: ptr(60)}
	must(f.asg.PutLifecycleHook(hook))(t)
	hook.HeartbeatTimeout = ptr(29)
	_, err := f.asg.PutLifecycleHook(hook)
	expect(t, "too short a heartbeat", code(err), "ValidationError")
	kept := must(f.asg.DescribeLifecycleHooks(groupapi.HookNames{AutoScalingGroupName: "g"}))(t).LifecycleHooks
	expect(t, "hooks", len(kept), 1)
	if len(kept) == 1 {
		expect(t, "heartbeat", *kept[0].HeartbeatTimeout, 60)
	}
}
