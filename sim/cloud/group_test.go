package cloud_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
	"github.com/muster-scale/muster/sim/cloud/groups"
)

func TestSizesOutsideOfTheBoundsAreRefused(t *testing.T) {
	f := newFleet(t, cloud.Settings{}, 1, 5, 2)
	set := func(n int, honor bool) error {
		_, err := f.asg.SetDesiredCapacity(groupapi.SetDesired{AutoScalingGroupName: "g", DesiredCapacity: &n,
			HonorCooldown: &honor})
		return err
	}
	expect(t, "above max", code(set(6, false)), "ValidationError")
	expect(t, "below min", code(set(0, false)), "ValidationError")
	expect(t, "unchanged", f.group().DesiredCapacity, 2)
	f.pass(time.Second)
	expect(t, "with HonorCooldown while instances launch", code(set(3, true)), "ScalingActivityInProgress")
	f.pass(2 * time.Minute)
	expect(t, "with HonorCooldown while it cools down", code(set(3, true)), "ScalingActivityInProgress")
	f.pass(5 * time.Minute)
	expect(t, "with HonorCooldown afterwards", code(set(3, true)), "")
	must(f.asg.UpdateAutoScalingGroup(groupapi.GroupSettings{AutoScalingGroupName: "g", MinSize: ptr(4)}))(t)
	expect(t, "a new min raises desired", f.group().DesiredCapacity, 4)
	must(f.asg.UpdateAutoScalingGroup(groupapi.GroupSettings{AutoScalingGroupName: "g", MinSize: ptr(0),
		MaxSize: ptr(2)}))(t)
	expect(t, "a new max lowers desired", f.group().DesiredCapacity, 2)
}

func TestInstancesBootAsLongAsTheirMachinesSay(t *testing.T) {
	m := groups.Machines{React: time.Second, Boot: 90 * time.Second, Proceed: time.Second, WarmBoot: 20 * time.Second,
		RunningBoot: 3 * time.Second, Prepare: 10 * time.Second}
	for _, c := range []struct {
		name, pool string
		boots      time.Duration
	}{
		{"cold", "", 92 * time.Second}, {"out of a stopped pool", "Stopped", 22 * time.Second},
		{"out of a running pool", "Running", 5 * time.Second},
		{"out of a hibernated pool", "Hibernated", 22 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFleet(t, cloud.Settings{Machines: m}, 0, 1, 0)
			if c.pool != "" {
				must(f.asg.PutWarmPool(groupapi.PutWarm{AutoScalingGroupName: "g", PoolState: c.pool}))(t)
				f.pass(2 * time.Minute)
				expect(t, "prepared", len(f.in(groupapi.LifecycleState("Warmed:"+c.pool))), 1)
			}
			f.resize(1)
			f.pass(c.boots - time.Millisecond)
			expect(t, "in service too early", len(f.in(groupapi.InService)), 0)
			f.pass(time.Millisecond)
			expect(t, "in service", len(f.in(groupapi.InService)), 1)
		})
	}
}

func TestScaleInChoosesAsTheRulesSay(t *testing.T) {
	hour := 56 * time.Minute
	for _, c := range []struct {
		name    string
		change  []func(*groupapi.CreateGroup)
		build   func(f fleet) []string // brings up instances, oldest first
		to      int
		remains []int
	}{
		{"the fullest zone first", []func(*groupapi.CreateGroup){zones("us-east-1a", "us-east-1b"),
			policies("NewestInstance")}, grow(3), 2, []int{0, 1}},
		{"the newest by its policy", []func(*groupapi.CreateGroup){policies("NewestInstance")}, grow(1, 1, 1), 2,
			[]int{0, 1}},
		{"the oldest by its policy", []func(*groupapi.CreateGroup){policies("OldestInstance")}, grow(1, 1, 1), 2,
			[]int{1, 2}},
		{"by default the one whose next hour is closest", nil, func(f fleet) []string {
			ids := grow(1)(f)
			f.pass(hour) // the first is near the end of its hour
			f.resize(2)
			f.pass(2 * time.Minute)
			return append(ids, f.in(groupapi.InService)[1])
		}, 1, []int{1}},
		{"the oldest launch template before the newest instance",
			[]func(*groupapi.CreateGroup){policies("OldestLaunchTemplate", "NewestInstance")}, func(f fleet) []string {
				grow(2)(f)
				must(f.asg.UpdateAutoScalingGroup(groupapi.GroupSettings{AutoScalingGroupName: "g",
					LaunchTemplate: &groupapi.LaunchTemplate{LaunchTemplateName: "worker", Version: "2"}}))(f)
				f.resize(3)
				f.pass(2 * time.Minute)
				return f.in(groupapi.InService)
			}, 2, []int{0, 2}},
		{"what is protected stays", []func(*groupapi.CreateGroup){policies("OldestInstance")}, func(f fleet) []string {
			ids := grow(1, 1, 1)(f)
			f.protect(true, ids[0], ids[1])
			return ids
		}, 1, []int{0, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFleet(t, cloud.Settings{}, 0, 10, 0, c.change...)
			ids := c.build(f)
			var want []string
			for _, k := range c.remains {
				want = append(want, ids[k])
			}
			f.resize(c.to)
			f.pass(5 * time.Minute)
			same(t, "in service", f.in(groupapi.InService), want)
		})
	}
}

// grow brings up instances in several rounds, a minute or so apart.
func grow(rounds ...int) func(fleet) []string {
	return func(f fleet) []string {
		n := 0
		for _, r := range rounds {
			n += r
			f.resize(n)
			f.pass(90 * time.Second)
		}
		return f.in(groupapi.InService)
	}
}

func TestAGroupWhoseSurplusIsProtectedSaysSoAndEndsItLater(t *testing.T) {
	f := newFleet(t, cloud.Settings{}, 0, 10, 3)
	f.pass(2 * time.Minute)
	ids := f.in(groupapi.InService)
	f.protect(true, ids...)
	f.resize(1)
	f.pass(time.Hour)
	g := f.group()
	expect(t, "desired", g.DesiredCapacity, 1)
	expect(t, "in service", len(g.Instances), 3)
	last := f.activities()[3]
	expect(t, "activities", len(f.activities()), 4)
	expect(t, "the message", strings.Contains(last.Description, "protected from scale in") &&
		last.StatusCode == "Cancelled", true)
	f.protect(false, ids[1])
	f.pass(time.Minute)
	same(t, "when one is free again", f.in(groupapi.InService), []string{ids[0], ids[2]})
}

func TestAnInstanceThatBootsIsNotEnded(t *testing.T) {
	f := newFleet(t, cloud.Settings{}, 0, 10, 2)
	f.pass(10 * time.Second)
	f.resize(0)
	f.pass(10 * time.Second)
	expect(t, "pending", len(f.in(groupapi.Pending)), 2)
	f.pass(5 * time.Minute)
	expect(t, "in the end", len(f.group().Instances), 0)
}

func TestAMixedGroupKeepsItsShares(t *testing.T) {
	f := newFleet(t, cloud.Settings{}, 0, 20, 11,
		mixed(&groupapi.InstancesDistribution{OnDemandBaseCapacity: ptr(1),
			OnDemandPercentageAboveBaseCapacity: ptr(30),
			SpotAllocationStrategy:              "price-capacity-optimized"},
			groupapi.Overrides{InstanceType: "m7g.large"}, groupapi.Overrides{InstanceType: "c7g.large"}))
	f.LimitCapacity(account.Pool{InstanceType: "m7g.large", AvailabilityZone: "us-east-1a", Market: account.Spot}, 2)
	f.pass(2 * time.Minute)
	n := map[string]int{}
	for _, i := range f.group().Instances {
		n[i.InstanceType]++
	}
	// 1 + 30 % of 10 on demand of the first type; Spot of the type of which most is left.
	expect(t, "m7g.large", n["m7g.large"], 4)
	expect(t, "c7g.large", n["c7g.large"], 7)
	f.resize(6)
	f.pass(2 * time.Minute)
	n = map[string]int{}
	for _, i := range f.group().Instances {
		n[i.InstanceType]++
	}
	expect(t, "on demand after scale-in: 1 + 30 % of 5, rounded up", n["m7g.large"], 3)
}

func TestWeightsCountTowardsDesired(t *testing.T) {
	f := newFleet(t, cloud.Settings{}, 0, 20, 10,
		mixed(nil, groupapi.Overrides{InstanceType: "m7g.2xlarge", WeightedCapacity: "4"}))
	f.pass(2 * time.Minute)
	expect(t, "instances for a desired 10", len(f.in(groupapi.InService)), 3)
	expect(t, "weight", f.group().Instances[0].WeightedCapacity, "4")
	f.resize(9)
	f.pass(2 * time.Minute)
	expect(t, "one fewer would be below 9", len(f.in(groupapi.InService)), 3)
	f.resize(8)
	f.pass(2 * time.Minute)
	expect(t, "two are 8", len(f.in(groupapi.InService)), 2)
}

func TestLaunchesWithoutCapacityFailAndAreTriedAgain(t *testing.T) {
	f := newFleet(t, cloud.Settings{}, 0, 5, 3)
	p := account.Pool{InstanceType: "m7g.large", AvailabilityZone: "us-east-1a", Market: account.OnDemand}
	f.LimitCapacity(p, 1)
	f.pass(2 * time.Minute)
	expect(t, "in service", len(f.in(groupapi.InService)), 1)
	all := f.activities()
	last := all[len(all)-1]
	expect(t, "status", last.StatusCode, "Failed")
	expect(t, "reason", strings.Contains(last.StatusMessage, "do not have sufficient m7g.large capacity"), true)
	f.LimitCapacity(p, -1)
	f.pass(2 * time.Minute)
	expect(t, "with capacity", len(f.in(groupapi.InService)), 3)
	expect(t, "tried about every half minute", len(all) < 8, true)
}

func TestATerminationPolicyDecidesWithinTwoSeconds(t *testing.T) {
	const arn = "arn:aws:lambda:us-east-1:000000000000:function:idle"
	for _, c := range []struct {
		name    string
		offered bool
		answer  func(groupapi.TerminationRequest) groupapi.TerminationAnswer
		left    int
		asked   bool
	}{
		{"what it names goes", true, func(q groupapi.TerminationRequest) groupapi.TerminationAnswer {
			return groupapi.TerminationAnswer{InstanceIDs: []string{q.Instances[2].InstanceId}, Took: time.Second}
		}, 3, true},
		{"an empty answer delays", true,
			func(groupapi.TerminationRequest) groupapi.TerminationAnswer { return groupapi.TerminationAnswer{} }, 4,
			true},
		{"a late answer counts for nothing", true, func(q groupapi.TerminationRequest) groupapi.TerminationAnswer {
			return groupapi.TerminationAnswer{InstanceIDs: []string{q.Instances[0].InstanceId},
				Took: 2100 * time.Millisecond}
		}, 4, true},
		{"an error counts for nothing", true, func(q groupapi.TerminationRequest) groupapi.TerminationAnswer {
			return groupapi.TerminationAnswer{InstanceIDs: []string{q.Instances[0].InstanceId}, Failed: true}
		}, 4, true},
		{"of too many some go", true, func(q groupapi.TerminationRequest) groupapi.TerminationAnswer {
			var ids []string
			for _, i := range q.Instances {
				ids = append(ids, i.InstanceId)
			}
			return groupapi.TerminationAnswer{InstanceIDs: ids}
		}, 3, true},
		{"a function that is not there delays", false, nil, 4, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFleet(t, cloud.Settings{}, 0, 10, 4, policies(arn))
			var asked groupapi.TerminationRequest
			if c.offered {
				f.AutoScaling().OfferTerminationPolicy(arn,
					func(q groupapi.TerminationRequest) groupapi.TerminationAnswer {
						asked = q
						return c.answer(q)
					})
			}
			f.pass(2 * time.Minute)
			ids := f.in(groupapi.InService)
			f.resize(3)
			f.pass(2 * time.Minute)
			expect(t, "desired is lowered at once", f.group().DesiredCapacity, 3)
			expect(t, "in service", len(f.in(groupapi.InService)), c.left)
			if c.name == "what it names goes" {
				same(t, "in service", f.in(groupapi.InService), []string{ids[0], ids[1], ids[3]})
			}
			expect(t, "asked", asked.Cause == "SCALE_IN" && len(asked.Instances) == 4 &&
				asked.CapacityToTerminate[0].Capacity == 1, c.asked)
		})
	}
}

func TestEndingANamedInstance(t *testing.T) {
	f := newFleet(t, cloud.Settings{}, 2, 5, 3)
	f.pass(2 * time.Minute)
	ids := f.in(groupapi.InService)
	f.protect(true, ids...)
	end := func(id string, decrement bool) error {
		_, err := f.asg.TerminateInstanceInAutoScalingGroup(groupapi.EndInstance{InstanceId: id,
			ShouldDecrementDesiredCapacity: &decrement})
		return err
	}
	expect(t, "protected or not, with decrement", code(end(ids[1], true)), "")
	expect(t, "desired", f.group().DesiredCapacity, 2)
	f.pass(2 * time.Minute)
	same(t, "in service", f.in(groupapi.InService), []string{ids[0], ids[2]})
	expect(t, "with decrement at min size", code(end(ids[0], true)), "ValidationError")
	expect(t, "without decrement", code(end(ids[0], false)), "")
	f.pass(2 * time.Minute)
	expect(t, "another took its place", len(f.in(groupapi.InService)), 2)
	expect(t, "one that is gone", code(end(ids[1], false)), "ValidationError")
}

func TestProtectionIsSetForAllOrNone(t *testing.T) {
	f := newFleet(t, cloud.Settings{}, 0, 60, 2)
	must(f.asg.PutWarmPool(groupapi.PutWarm{AutoScalingGroupName: "g", MaxGroupPreparedCapacity: ptr(3)}))(t)
	f.pass(5 * time.Minute)
	ids, warm := f.in(groupapi.InService), f.in(groupapi.WarmedStopped)
	set := func(all []string) string {
		_, err := f.asg.SetInstanceProtection(groupapi.SetProtection{AutoScalingGroupName: "g", InstanceIds: all,
			ProtectedFromScaleIn: ptr(true)})
		return code(err)
	}
	expect(t, "with one of the warm pool", set([]string{ids[0], warm[0]}), "ValidationError")
	expect(t, "nothing was set", f.group().Instances[0].ProtectedFromScaleIn, false)
	expect(t, "more than 50", set(slices.Repeat(ids[:1], 51)), "ValidationError")
	expect(t, "two in service", set(ids), "")
	expect(t, "set", f.group().Instances[0].ProtectedFromScaleIn, true)
}

func TestLaunchInstancesAnswersAtOnce(t *testing.T) {
	f := newFleet(t, cloud.Settings{}, 0, 10, 0)
	launch := func(n int, token string) (groupapi.Launched, error) {
		return f.asg.LaunchInstances(groupapi.LaunchInstances{AutoScalingGroupName: "g", RequestedCapacity: &n,
			ClientToken: token})
	}
	first := must(launch(3, "a"))(t)
	expect(t, "launched", len(first.Instances[0].InstanceIds), 3)
	expect(t, "desired", f.group().DesiredCapacity, 3)
	again := must(launch(3, "a"))(t)
	same(t, "the same token", again.Instances[0].InstanceIds, first.Instances[0].InstanceIds)
	expect(t, "nothing more", len(f.group().Instances), 3)
	_, err := launch(2, "a")
	expect(t, "the same token for another size", code(err), "IdempotentParameterMismatch")
	_, err = launch(8, "b")
	expect(t, "above max", code(err), "ValidationError")
	f.LimitCapacity(account.Pool{InstanceType: "m7g.large", AvailabilityZone: "us-east-1a", Market: account.OnDemand},
		4)
	short := must(launch(3, "c"))(t)
	expect(t, "partly", len(short.Instances[0].InstanceIds), 1)
	expect(t, "the error", short.Errors[0].ErrorCode, "InsufficientInstanceCapacity")
	expect(t, "desired counts what came", f.group().DesiredCapacity, 4)
}

func TestSuspendedProcessesDoNothing(t *testing.T) {
	f := newFleet(t, cloud.Settings{}, 0, 10, 2)
	f.pass(2 * time.Minute)
	suspend := func(p ...string) {
		must(f.asg.SuspendProcesses(groupapi.Processes{AutoScalingGroupName: "g", ScalingProcesses: p}))(t)
	}
	suspend("Launch")
	f.resize(4)
	f.pass(10 * time.Minute)
	expect(t, "without Launch", len(f.group().Instances), 2)
	suspend("Terminate")
	f.resize(1)
	f.pass(10 * time.Minute)
	expect(t, "without Terminate", len(f.group().Instances), 2)
	expect(t, "shown", f.group().SuspendedProcesses[0].ProcessName, "Launch")
	must(f.asg.ResumeProcesses(groupapi.Processes{AutoScalingGroupName: "g"}))(t)
	f.pass(10 * time.Minute)
	expect(t, "again", len(f.group().Instances), 1)
	_, err := f.asg.SuspendProcesses(groupapi.Processes{AutoScalingGroupName: "g", ScalingProcesses: []string{"Sleep"}})
	expect(t, "an unknown process", code(err), "ValidationError")
}

func TestAGroupWithAnotherOperatorRefusesChanges(t *testing.T) {
	f := newFleet(t, cloud.Settings{}, 0, 10, 1,
		func(in *groupapi.CreateGroup) { in.Operator = &groupapi.Operator{Principal: "eks.amazonaws.com"} })
	_, err := f.asg.SetDesiredCapacity(groupapi.SetDesired{AutoScalingGroupName: "g", DesiredCapacity: ptr(2)})
	expect(t, "SetDesiredCapacity", code(err), "AccessDenied")
	f.pass(2 * time.Minute)
	_, err = f.asg.TerminateInstanceInAutoScalingGroup(groupapi.EndInstance{InstanceId: f.in(groupapi.InService)[0],
		ShouldDecrementDesiredCapacity: ptr(false)})
	expect(t, "TerminateInstanceInAutoScalingGroup", code(err), "AccessDenied")
	expect(t, "looking is allowed", f.group().Operator.Principal, "eks.amazonaws.com")
}

func TestASpotInterruptionEndsAfterItsNoticeAndIsReplaced(t *testing.T) {
	spot := mixed(&groupapi.InstancesDistribution{OnDemandPercentageAboveBaseCapacity: ptr(0)},
		groupapi.Overrides{InstanceType: "m7g.large"})
	for _, rebalance := range []bool{false, true} {
		f := newFleet(t, cloud.Settings{}, 0, 10, 2, spot,
			func(in *groupapi.CreateGroup) { in.CapacityRebalance = &rebalance })
		f.pass(2 * time.Minute)
		id := f.in(groupapi.InService)[0]
		f.protect(true, id)
		f.TakeEvents()
		if err := f.AutoScaling().InterruptSpot(id); err != nil {
			t.Fatal(err)
		}
		expect(t, "told on the instance", f.AutoScaling().Reclaim(id), f.Now().Add(2*time.Minute))
		expect(t, "told as an event", f.TakeEvents()[0].DetailType, "EC2 Spot Instance Interruption Warning")
		least := 2
		for range 119 {
			f.pass(time.Second)
			least = min(least, len(f.in(groupapi.InService)))
		}
		expect(t, "with capacity rebalancing a replacement serves and the old one is on its way out",
			slices.Contains(f.in(groupapi.InService), id), !rebalance)
		for range 120 {
			f.pass(time.Second)
			least = min(least, len(f.in(groupapi.InService)))
		}
		expect(t, "protection does not help", slices.Contains(f.in(groupapi.InService), id), false)
		expect(t, "fewest in service", least, map[bool]int{true: 2, false: 1}[rebalance])
		expect(t, "in service in the end", len(f.in(groupapi.InService)), 2)
	}
	// Drawn interruptions: two in an hour on average, each replaced.
	f := newFleet(t, cloud.Settings{Seed: 7, Machines: groups.Machines{SpotRate: 2}}, 0, 20, 20, spot)
	f.pass(6 * time.Hour)
	c := must(f.AutoScaling().Census("g"))(t)
	if c.Ended < 180 || c.Ended > 300 || c.Launched-c.Ended < 20 {
		t.Errorf("20 instances interrupted twice an hour for 6 hours: %d ended of %d launched, want about 240", c.Ended,
			c.Launched)
	}
}

func TestZonesAreLevelledOneAtATime(t *testing.T) {
	f := newFleet(t, cloud.Settings{}, 0, 10, 4)
	f.pass(2 * time.Minute)
	must(f.asg.UpdateAutoScalingGroup(groupapi.GroupSettings{AutoScalingGroupName: "g",
		AvailabilityZones: []string{"us-east-1a", "us-east-1b"}}))(t)
	most := 0
	for range 600 {
		f.pass(time.Second)
		most = max(most, len(f.in(groupapi.InService))+len(f.in(groupapi.Pending)))
	}
	n := map[string]int{}
	for _, i := range f.group().Instances {
		n[i.AvailabilityZone]++
	}
	expect(t, "in a", n["us-east-1a"], 2)
	expect(t, "in b", n["us-east-1b"], 2)
	expect(t, "one above desired at most", most, 5)
}

func TestAnInstanceRefreshReplacesEverythingAndKeepsMostInService(t *testing.T) {
	f := newFleet(t, cloud.Settings{}, 0, 10, 4)
	f.pass(2 * time.Minute)
	old := f.in(groupapi.InService)
	begin := func(protected string) error {
		_, err := f.asg.StartInstanceRefresh(groupapi.StartRefresh{AutoScalingGroupName: "g",
			Preferences: &groupapi.RefreshPreferences{MinHealthyPercentage: ptr(75),
				ScaleInProtectedInstances: protected}})
		return err
	}
	f.protect(true, old[3])
	expect(t, "begun", code(begin("Wait")), "")
	expect(t, "another one", code(begin("Wait")), "InstanceRefreshInProgress")
	least := 4
	for range 900 {
		f.pass(time.Second)
		least = min(least, len(f.in(groupapi.InService)))
	}
	expect(t, "fewest in service", least, 3)
	refreshes := func() groupapi.InstanceRefresh {
		return must(f.asg.DescribeInstanceRefreshes(groupapi.DescribeRefreshes{AutoScalingGroupName: "g"}))(
			t).InstanceRefreshes[0]
	}
	expect(t, "waits for what is protected", refreshes().Status, "InProgress")
	expect(t, "done so far", refreshes().PercentageComplete, 75)
	f.protect(false, old[3])
	f.pass(5 * time.Minute)
	expect(t, "in the end", refreshes().Status, "Successful")
	for _, id := range old {
		expect(t, "replaced", slices.Contains(f.in(groupapi.InService), id), false)
	}
	must(f.asg.StartInstanceRefresh(groupapi.StartRefresh{AutoScalingGroupName: "g"}))(t)
	must(f.asg.CancelInstanceRefresh(groupapi.GroupName{AutoScalingGroupName: "g"}))(t)
	expect(t, "cancelled", refreshes().Status, "Cancelled")
}

func TestStandbyAndDetachedInstancesCountNoMore(t *testing.T) {
	f := newFleet(t, cloud.Settings{}, 0, 10, 3)
	f.pass(2 * time.Minute)
	ids := f.in(groupapi.InService)
	must(f.asg.EnterStandby(groupapi.MoveInstances{AutoScalingGroupName: "g", InstanceIds: ids[:1],
		ShouldDecrementDesiredCapacity: ptr(true)}))(t)
	must(f.asg.DetachInstances(groupapi.MoveInstances{AutoScalingGroupName: "g", InstanceIds: ids[1:2],
		ShouldDecrementDesiredCapacity: ptr(false)}))(t)
	expect(t, "desired", f.group().DesiredCapacity, 2)
	f.pass(2 * time.Minute)
	expect(t, "the detached one is replaced, the one on standby not", len(f.in(groupapi.InService)), 2)
	must(f.asg.ExitStandby(groupapi.MoveInstances{AutoScalingGroupName: "g", InstanceIds: ids[:1]}))(t)
	f.pass(time.Minute)
	expect(t, "back", slices.Contains(f.in(groupapi.InService), ids[0]), true)
	expect(t, "desired with it", f.group().DesiredCapacity, 3)
}

func TestAGroupIsDeletedOnlyWhenItIsEmptyOrByForce(t *testing.T) {
	f := newFleet(t, cloud.Settings{}, 0, 10, 1)
	f.pass(2 * time.Minute)
	del := func(force bool) string {
		_, err := f.asg.DeleteAutoScalingGroup(groupapi.DeleteGroup{AutoScalingGroupName: "g", ForceDelete: &force})
		return code(err)
	}
	expect(t, "with an instance", del(false), "ResourceInUse")
	must(f.asg.UpdateAutoScalingGroup(groupapi.GroupSettings{AutoScalingGroupName: "g",
		DeletionProtection: "prevent-force-deletion"}))(t)
	expect(t, "by force, protected", del(true), "ValidationError")
	must(f.asg.UpdateAutoScalingGroup(groupapi.GroupSettings{AutoScalingGroupName: "g", DeletionProtection: "none"}))(t)
	expect(t, "by force", del(true), "")
	f.pass(time.Hour)
	_, err := f.AutoScaling().Census("g")
	expect(t, "gone", code(err), "ValidationError")
}

func TestNewInstancesAreProtectedWhereTheGroupSaysSo(t *testing.T) {
	f := newFleet(t, cloud.Settings{}, 0, 10, 2,
		func(in *groupapi.CreateGroup) { in.NewInstancesProtectedFromScaleIn = ptr(true) })
	f.pass(2 * time.Minute)
	ids := f.in(groupapi.InService)
	f.resize(0)
	f.pass(5 * time.Minute)
	same(t, "both stay", f.in(groupapi.InService), ids)
	must(f.asg.PutWarmPool(groupapi.PutWarm{AutoScalingGroupName: "g",
		InstanceReusePolicy:      &groupapi.InstanceReusePolicy{ReuseOnScaleIn: ptr(true)},
		MaxGroupPreparedCapacity: ptr(2)}))(t)
	f.protect(false, ids...)
	f.pass(5 * time.Minute)
	expect(t, "unprotected they go to the pool", len(f.in(groupapi.WarmedStopped)), 2)
	f.resize(1)
	f.pass(5 * time.Minute)
	expect(t, "and are protected when they come back", f.group().Instances[0].ProtectedFromScaleIn, true)
}

func TestANewOrderIsTriedAtOnceAfterAFailure(t *testing.T) {
	f := newFleet(t, cloud.Settings{Machines: groups.Machines{Retry: time.Hour}}, 0, 10, 0)
	p := account.Pool{InstanceType: "m7g.large", AvailabilityZone: "us-east-1a", Market: account.OnDemand}
	f.LimitCapacity(p, 0)
	f.resize(2)
	f.pass(time.Minute)
	f.LimitCapacity(p, -1)
	f.pass(10 * time.Minute)
	expect(t, "by itself only after its hour", len(f.group().Instances), 0)
	f.resize(3)
	f.pass(2 * time.Minute)
	expect(t, "with a new order", len(f.in(groupapi.InService)), 3)
}
