package cloud_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/containers"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
)

// jobs is a world with a cluster jobs and a service workers.
type jobs struct {
	testing.TB
	*cloud.World
	ecs *containers.ECS
}

var network = &containers.NetworkConfiguration{AwsvpcConfiguration: &containers.AwsvpcConfiguration{Subnets: []string{
	"subnet-1"}}}

func newJobs(t testing.TB, s cloud.Settings, desired int, change ...func(*containers.CreateServiceInput)) jobs {
	t.Helper()
	s.Start = start
	w := cloud.New(s)
	j := jobs{TB: t, World: w, ecs: w.ECS()}
	must(j.ecs.CreateCluster(containers.CreateClusterInput{ClusterName: "jobs",
		CapacityProviders: []string{containers.Fargate, containers.FargateSpot}}))(t)
	j.define("worker")
	in := containers.CreateServiceInput{Cluster: "jobs", ServiceName: "workers", TaskDefinition: "worker",
		DesiredCount: &desired, LaunchType: containers.Fargate, NetworkConfiguration: network}
	for _, c := range change {
		c(&in)
	}
	must(j.ecs.CreateService(in))(t)
	return j
}

func (j jobs) define(family string) containers.TaskDefinition {
	j.Helper()
	return must(j.ecs.RegisterTaskDefinition(containers.TaskDefinition{Family: family, Cpu: "1024", Memory: "2048",
		ContainerDefinitions: []containers.ContainerDefinition{{Name: "worker", Image: "worker:1"}}}))(j).TaskDefinition
}

func (j jobs) pass(d time.Duration) { j.Advance(j.Now().Add(d)) }

func (j jobs) service() containers.Service {
	j.Helper()
	return must(j.ecs.DescribeServices(containers.DescribeServicesInput{Cluster: "jobs",
		Services: []string{"workers"}}))(j).Services[0]
}

func (j jobs) update(change func(*containers.UpdateServiceInput)) {
	j.Helper()
	in := containers.UpdateServiceInput{Cluster: "jobs", Service: "workers"}
	change(&in)
	must(j.ecs.UpdateService(in))(j)
}

func (j jobs) resize(n int) {
	j.Helper()
	j.update(func(in *containers.UpdateServiceInput) { in.DesiredCount = &n })
}

// tasks are the ARNs of those that should run, in the order of their creation.
func (j jobs) tasks() []string {
	j.Helper()
	return must(j.ecs.ListTasks(containers.ListTasksInput{Cluster: "jobs", ServiceName: "workers"}))(j).TaskArns
}

func (j jobs) task(arn string) containers.Task {
	j.Helper()
	out := must(j.ecs.DescribeTasks(containers.DescribeTasksInput{Cluster: "jobs", Tasks: []string{arn}}))(j)
	if len(out.Tasks) == 0 {
		return containers.Task{LastStatus: "forgotten"}
	}
	return out.Tasks[0]
}

// protect protects tasks and returns the reason of the first failure.
func (j jobs) protect(on bool, minutes int, arns ...string) string {
	j.Helper()
	out := must(j.ecs.UpdateTaskProtection(containers.ProtectTasks{Cluster: "jobs", Tasks: arns, ProtectionEnabled: on,
		ExpiresInMinutes: &minutes}))(j)
	if len(out.Failures) > 0 {
		return out.Failures[0].Reason
	}
	return ""
}

func TestATaskGoesThroughItsStates(t *testing.T) {
	j := newJobs(t, cloud.Settings{}, 1)
	j.pass(2 * time.Second)
	arn := j.tasks()[0]
	seen := func(d time.Duration) (all []string) {
		for until := j.Now().Add(d); j.Now().Before(until); j.pass(500 * time.Millisecond) {
			if s := j.task(arn).LastStatus; len(all) == 0 || all[len(all)-1] != s {
				all = append(all, s)
			}
		}
		return all
	}
	same(t, "up", seen(time.Minute), []string{"PROVISIONING", "PENDING", "ACTIVATING", "RUNNING"})
	j.resize(0)
	same(t, "down", seen(time.Minute), []string{"RUNNING", "STOPPING", "DEPROVISIONING", "STOPPED"})
	x := j.task(arn)
	expect(t, "why", x.StopCode, "ServiceSchedulerInitiated")
	expect(t, "its times", x.CreatedAt.Before(x.PullStartedAt) && x.PullStartedAt.Before(x.StartedAt) &&
		x.StartedAt.Before(x.StoppingAt) && x.StoppingAt.Before(x.StoppedAt), true)
	j.pass(time.Hour)
	expect(t, "after an hour", j.task(arn).LastStatus, "forgotten")
}

func TestTheSchedulerReplacesWhatStops(t *testing.T) {
	j := newJobs(t, cloud.Settings{}, 2)
	j.pass(time.Minute)
	ids := j.tasks()
	if err := j.ECS().ExitTask(ids[0]); err != nil {
		t.Fatal(err)
	}
	j.pass(time.Minute)
	expect(t, "running", j.service().RunningCount, 2)
	expect(t, "why the first ended", j.task(ids[0]).StopCode, "EssentialContainerExited")
	expect(t, "its place was taken", slices.Contains(j.tasks(), ids[0]), false)
	must(j.ecs.StopTask(containers.StopTaskInput{Cluster: "jobs", Task: ids[1], Reason: "idle"}))(t)
	j.resize(1)
	j.pass(time.Minute)
	expect(t, "stopped by itself and desired lowered before the scheduler looked", len(j.tasks()), 1)
	expect(t, "reason", j.task(ids[1]).StoppedReason, "idle")
}

func TestProtectedTasksOutliveScaleInUntilProtectionIsOver(t *testing.T) {
	j := newJobs(t, cloud.Settings{}, 4)
	j.pass(time.Minute)
	ids := j.tasks()
	expect(t, "protected", j.protect(true, 30, ids[1], ids[3]), "")
	j.resize(1)
	j.pass(5 * time.Minute)
	same(t, "left", j.tasks(), []string{ids[1], ids[3]})
	e := j.service().Events
	expect(t, "an event says why", strings.Contains(e[0].Message, "unable to scale in"), true)
	expect(t, "one that is protected already may be protected for longer", j.protect(true, 30, ids[1]), "")
	j.pass(26 * time.Minute)
	expect(t, "when it is over", len(j.tasks()), 1)
}

func TestProtectionIsBlockedBeyondTheDesiredCount(t *testing.T) {
	j := newJobs(t, cloud.Settings{}, 3)
	j.pass(time.Minute)
	ids := j.tasks()
	j.resize(1) // lowered first: the wrong order
	expect(t, "the first", j.protect(true, 10, ids[0]), "")
	expect(t, "the second", j.protect(true, 10, ids[1]), "DEPLOYMENT_BLOCKED")
	expect(t, "one that is not there", j.protect(true, 10, "none"), "MISSING")
	_, err := j.ecs.UpdateTaskProtection(containers.ProtectTasks{Cluster: "jobs", Tasks: ids[:1],
		ProtectionEnabled: true,
		ExpiresInMinutes:  ptr(2881)})
	expect(t, "too long", code(err), "InvalidParameterException")
	got := must(j.ecs.GetTaskProtection(containers.ProtectTasks{Cluster: "jobs", Tasks: ids[:2]}))(t).ProtectedTasks
	expect(t, "shown", got[0].ProtectionEnabled && !got[1].ProtectionEnabled, true)
}

func TestADeploymentReplacesTasksButNotProtectedOnes(t *testing.T) {
	j := newJobs(t, cloud.Settings{}, 3)
	j.pass(time.Minute)
	old := j.tasks()
	j.protect(true, 60, old[0])
	d := j.define("worker")
	j.update(func(in *containers.UpdateServiceInput) { in.TaskDefinition = "worker:2" })
	least, most := 99, 0
	for range 300 {
		j.pass(time.Second)
		s := j.service()
		least, most = min(least, s.RunningCount), max(most, s.RunningCount+s.PendingCount)
	}
	expect(t, "never fewer than all", least, 3)
	expect(t, "never more than twice", most <= 6, true)
	s := j.service()
	expect(t, "deployments while one is protected", len(s.Deployments), 2)
	expect(t, "the primary runs", s.Deployments[0].RunningCount, 3)
	expect(t, "the old one", slices.Contains(j.tasks(), old[0]), true)
	j.protect(false, 1, old[0])
	j.pass(time.Minute)
	s = j.service()
	expect(t, "in the end", len(s.Deployments), 1)
	expect(t, "rollout", s.Deployments[0].RolloutState, "COMPLETED")
	for _, arn := range j.tasks() {
		expect(t, "definition", j.task(arn).TaskDefinitionArn, d.TaskDefinitionArn)
	}
	j.resize(5)
	expect(t, "a new count starts no deployment", len(j.service().Deployments), 1)
}

func TestTasksThatNeverRunAreStartedEverMoreSlowly(t *testing.T) {
	j := newJobs(t, cloud.Settings{Tasks: containers.Tasks{StartFails: 1}}, 1)
	j.pass(10 * time.Minute)
	early := j.service().Deployments[0].FailedTasks
	j.pass(5 * time.Hour)
	late := j.service().Deployments[0].FailedTasks - early
	if early < 5 || late > 22 {
		t.Errorf("%d starts in the first ten minutes and %d in five hours more, want one in 15 minutes in the end",
			early, late)
	}
	expect(t, "an event says so",
		strings.Contains(fmt.Sprint(j.service().Events), "unable to consistently start tasks"), true)
}

func TestFargateLaunchesAtItsRate(t *testing.T) {
	j := newJobs(t, cloud.Settings{Tasks: containers.Tasks{FargateBurst: 20, FargateRate: 2}}, 0)
	run := func(token string) (containers.TaskList, error) {
		return j.ecs.RunTask(containers.RunTaskInput{Cluster: "jobs", TaskDefinition: "worker", Count: ptr(10),
			LaunchType: containers.Fargate, NetworkConfiguration: network, ClientToken: token})
	}
	expect(t, "ten", len(must(run("a"))(t).Tasks), 10)
	expect(t, "ten more", len(must(run("b"))(t).Tasks), 10)
	_, err := run("c")
	expect(t, "beyond the burst", code(err), "ThrottlingException")
	j.pass(3 * time.Second)
	out := must(run("c"))(t)
	expect(t, "after three seconds", len(out.Tasks), 6)
	expect(t, "failures", len(out.Failures), 4)
	expect(t, "the same token starts nothing more", len(must(run("c"))(t).Tasks), 6)
}

func TestAServiceStartsNoMoreThanItsPace(t *testing.T) {
	j := newJobs(t, cloud.Settings{Tasks: containers.Tasks{ServicePace: 60, FargateBurst: 1000}}, 100)
	j.pass(31 * time.Second)
	if n := len(j.tasks()); n < 14 || n > 32 {
		t.Errorf("%d tasks after half a minute at 60 in a minute", n)
	}
	j.pass(5 * time.Minute)
	expect(t, "in the end", j.service().RunningCount, 100)
}

func TestNewTasksAreUnseenForAWhile(t *testing.T) {
	j := newJobs(t, cloud.Settings{Tasks: containers.Tasks{Lag: 3 * time.Second}}, 0)
	out := must(j.ecs.RunTask(containers.RunTaskInput{Cluster: "jobs", TaskDefinition: "worker",
		LaunchType:           containers.Fargate,
		NetworkConfiguration: network}))(t)
	expect(t, "at once", j.task(out.Tasks[0].TaskArn).LastStatus, "forgotten")
	j.pass(3 * time.Second)
	expect(t, "later", j.task(out.Tasks[0].TaskArn).LastStatus, "PROVISIONING")
}

func TestAStrategySplitsByBaseAndWeight(t *testing.T) {
	j := newJobs(t, cloud.Settings{}, 9, func(in *containers.CreateServiceInput) {
		in.LaunchType = ""
		in.CapacityProviderStrategy = []containers.StrategyPart{{CapacityProvider: containers.Fargate, Base: 3,
			Weight: 1},
			{CapacityProvider: containers.FargateSpot, Weight: 2}}
	})
	j.pass(2 * time.Minute)
	n := map[string]int{}
	for _, arn := range j.tasks() {
		n[j.task(arn).CapacityProviderName]++
	}
	expect(t, "on Fargate: 3 and a third of 6", n[containers.Fargate], 5)
	expect(t, "on Fargate Spot", n[containers.FargateSpot], 4)
	spot := j.tasks()[slices.IndexFunc(j.tasks(),
		func(arn string) bool { return j.task(arn).CapacityProviderName == containers.FargateSpot })]
	j.protect(true, 10, spot)
	if err := j.ECS().InterruptTask(spot); err != nil {
		t.Fatal(err)
	}
	j.pass(time.Minute)
	expect(t, "an interruption takes protected ones too", j.task(spot).StopCode, "SpotInterruption")
	expect(t, "and is replaced", j.service().RunningCount, 9)
}

// hosted is a service on the instances of a group of the given size.
func hosted(t testing.TB, instances, desired int, change func(*containers.GroupProvider),
	shape ...func(*groupapi.CreateGroup)) (fleet, jobs) {
	t.Helper()
	f := newFleet(t, cloud.Settings{}, 0, 10, instances, shape...)
	j := jobs{TB: t, World: f.World, ecs: f.ECS()}
	p := &containers.GroupProvider{AutoScalingGroupArn: f.group().AutoScalingGroupARN,
		ManagedScaling: &containers.ManagedScaling{Status: "DISABLED"}}
	change(p)
	must(j.ecs.CreateCapacityProvider(containers.CreateProvider{Name: "hosts", AutoScalingGroupProvider: p}))(t)
	must(j.ecs.CreateCluster(containers.CreateClusterInput{ClusterName: "jobs", CapacityProviders: []string{"hosts"},
		DefaultCapacityProviderStrategy: []containers.StrategyPart{{CapacityProvider: "hosts", Weight: 1}}}))(t)
	j.define("worker") // 1024 of 2048 CPU units: two on an instance
	f.pass(2 * time.Minute)
	must(j.ecs.CreateService(containers.CreateServiceInput{Cluster: "jobs", ServiceName: "workers",
		TaskDefinition:    "worker",
		DesiredCount:      &desired,
		PlacementStrategy: []containers.PlacementStrategy{{Type: "binpack", Field: "memory"}}}))(t)
	return f, j
}

func (j jobs) hosts() []containers.ContainerInstance {
	j.Helper()
	arns := must(j.ecs.ListContainerInstances(containers.ListHosts{Cluster: "jobs"}))(j).ContainerInstanceArns
	return must(j.ecs.DescribeContainerInstances(containers.HostNames{Cluster: "jobs",
		ContainerInstances: arns}))(j).ContainerInstances
}

func TestWithoutManagedScalingTasksWithoutRoomFailAtOnce(t *testing.T) {
	_, j := hosted(t, 2, 0, func(*containers.GroupProvider) {})
	out := must(j.ecs.RunTask(containers.RunTaskInput{Cluster: "jobs", TaskDefinition: "worker", Count: ptr(5)}))(t)
	expect(t, "placed", len(out.Tasks), 4)
	expect(t, "reason", out.Failures[0].Reason, "RESOURCE:CPU")
	_, err := j.ecs.RunTask(containers.RunTaskInput{Cluster: "jobs", TaskDefinition: "worker",
		CapacityProviderStrategy: []containers.StrategyPart{{CapacityProvider: "others"}}})
	expect(t, "a provider that the cluster does not have", code(err), "InvalidParameterException")
}

func TestBinpackFillsInstancesAndEmptiesThemAgain(t *testing.T) {
	f, j := hosted(t, 3, 3, func(*containers.GroupProvider) {})
	j.pass(time.Minute)
	counts := func() (all []int) {
		for _, h := range j.hosts() {
			all = append(all, h.RunningTasksCount)
		}
		return all
	}
	if got := counts(); !slices.Equal(got, []int{2, 1, 0}) {
		t.Fatalf("tasks on the instances: %v, want 2, 1, 0", got)
	}
	j.resize(2)
	j.pass(time.Minute)
	if got := counts(); !slices.Equal(got, []int{2, 0, 0}) {
		t.Errorf("after scale-in: %v, want the instance that was emptiest empty", got)
	}
	full := j.hosts()[0].Ec2InstanceId
	must(f.asg.TerminateInstanceInAutoScalingGroup(groupapi.EndInstance{InstanceId: full,
		ShouldDecrementDesiredCapacity: ptr(true)}))(t)
	ids := j.tasks()
	j.pass(2 * time.Minute)
	expect(t, "tasks end with their instance", j.task(ids[0]).StopCode, "InfrastructureHealth")
	expect(t, "and start on another", j.service().RunningCount, 2)
	expect(t, "instances", len(j.hosts()), 2)
}

func TestManagedTerminationProtectionShieldsInstancesWithTasks(t *testing.T) {
	protect := func(in *groupapi.CreateGroup) { in.NewInstancesProtectedFromScaleIn = ptr(true) }
	f, j := hosted(t, 3, 2, func(p *containers.GroupProvider) {
		p.ManagedScaling.Status, p.ManagedTerminationProtection = "ENABLED", "ENABLED"
	}, protect)
	j.pass(time.Minute)
	f.resize(0)
	j.pass(5 * time.Minute)
	expect(t, "the instance with both tasks stays", len(f.in(groupapi.InService)), 1)
	expect(t, "running", j.service().RunningCount, 2)
	_, err := j.ecs.UpdateCapacityProvider(containers.CreateProvider{Name: "hosts",
		AutoScalingGroupProvider: &containers.GroupProvider{ManagedScaling: &containers.ManagedScaling{
			Status: "DISABLED"}}})
	expect(t, "protection needs managed scaling", code(err), "ClientException")
}

func TestADrainingInstanceLosesItsServiceTasks(t *testing.T) {
	_, j := hosted(t, 2, 2, func(*containers.GroupProvider) {})
	must(j.ecs.RunTask(containers.RunTaskInput{Cluster: "jobs", TaskDefinition: "worker"}))(t)
	j.pass(time.Minute)
	h := j.hosts()[0]
	ids := j.tasks()
	out := must(j.ecs.UpdateContainerInstancesState(containers.HostNames{Cluster: "jobs",
		ContainerInstances: []string{h.ContainerInstanceArn, "none"}, Status: "DRAINING"}))(t)
	expect(t, "failures", len(out.Failures), 1)
	j.pass(time.Minute)
	h = j.hosts()[0]
	expect(t, "status", h.Status, "DRAINING")
	expect(t, "only the task without a service is left", h.RunningTasksCount, 1)
	expect(t, "the others moved, as far as there is room", j.service().RunningCount, 2)
	expect(t, "others", slices.Contains(j.tasks(), ids[0]) && slices.Contains(j.tasks(), ids[1]), false)
}

func TestTasksAreConservedAndProtectedOnesRunOn(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		j := newJobs(t, cloud.Settings{Seed: rapid.Uint64().Draw(r, "seed"),
			Tasks: containers.Tasks{Spread: 0.8, StartFails: rapid.Float64Range(0, 0.3).Draw(r, "fails")}}, 3)
		protected := map[string]time.Time{}
		for range rapid.IntRange(1, 30).Draw(r, "steps") {
			n := rapid.IntRange(0, 9).Draw(r, "n")
			ids := j.tasks()
			kind := rapid.SampledFrom([]string{"resize", "protect", "unprotect", "exit", "deploy"}).Draw(r, "kind")
			exited := ""
			switch {
			case kind == "resize":
				j.resize(n)
			case kind == "deploy":
				j.update(func(in *containers.UpdateServiceInput) { in.ForceNewDeployment = true })
			case len(ids) == 0:
			case kind == "exit":
				if exited = ids[n%len(ids)]; j.ECS().ExitTask(exited) == nil {
					delete(protected, exited)
				}
			default:
				arn := ids[n%len(ids)]
				if j.protect(kind == "protect", 1+n, arn) == "" {
					protected[arn] = j.Now().Add(time.Duration(1+n) * time.Minute)
				}
				if kind == "unprotect" {
					delete(protected, arn)
				}
			}
			for until := j.Now().Add(time.Duration(rapid.IntRange(0, 120).Draw(r,
				"after")) * time.Second); j.Now().Before(until); j.pass(5 * time.Second) {
				running := 0
				for arn, end := range protected {
					x := j.task(arn)
					if end.After(j.Now()) && x.DesiredStatus != containers.Running &&
						x.StopCode == "ServiceSchedulerInitiated" && x.StoppingAt.Before(end) {
						r.Fatalf("the scheduler stopped %s at %v, protected until %v", arn, x.StoppingAt, end)
					}
				}
				s := j.service()
				for _, arn := range j.tasks() {
					if j.task(arn).LastStatus == containers.Running {
						running++
					}
				}
				if s.RunningCount != running || s.RunningCount+s.PendingCount != len(j.tasks()) {
					r.Fatalf("%d running and %d pending of %d listed, of which %d run", s.RunningCount, s.PendingCount,
						len(j.tasks()), running)
				}
			}
		}
		for _, arn := range j.tasks() {
			j.protect(false, 1, arn)
		}
		j.pass(2 * time.Hour)
		if s := j.service(); s.RunningCount != s.DesiredCount || len(s.Deployments) != 1 {
			r.Fatalf("after two quiet hours %d of %d run, in %d deployments", s.RunningCount, s.DesiredCount,
				len(s.Deployments))
		}
	})
}

func TestADeploymentStaysWithinItsPercentages(t *testing.T) {
	j := newJobs(t, cloud.Settings{}, 4, func(in *containers.CreateServiceInput) {
		in.DeploymentConfiguration = &containers.DeploymentConfiguration{MinimumHealthyPercent: ptr(50),
			MaximumPercent: ptr(100)}
	})
	j.pass(time.Minute)
	j.update(func(in *containers.UpdateServiceInput) { in.ForceNewDeployment = true })
	least, most := 99, 0
	for range 300 {
		j.pass(time.Second)
		s := j.service()
		least, most = min(least, s.RunningCount), max(most, s.RunningCount+s.PendingCount)
	}
	expect(t, "fewest running", least, 2)
	expect(t, "most at a time", most, 4)
	expect(t, "rollout", j.service().Deployments[0].RolloutState, "COMPLETED")
}

func TestProtectionThatIsShortenedEndsEarly(t *testing.T) {
	j := newJobs(t, cloud.Settings{}, 1)
	j.pass(time.Minute)
	ids := j.tasks()
	j.protect(true, 60, ids[0])
	j.resize(0)
	j.protect(true, 5, ids[0])
	j.pass(4 * time.Minute)
	expect(t, "protected", len(j.tasks()), 1)
	j.protect(true, 5, ids[0]) // renewed: five minutes from now
	j.pass(4 * time.Minute)
	expect(t, "renewed", len(j.tasks()), 1)
	j.pass(2 * time.Minute)
	expect(t, "over", len(j.tasks()), 0)
}

func TestADeletedServiceIsForgottenAndItsNameIsFree(t *testing.T) {
	j := newJobs(t, cloud.Settings{}, 2)
	j.pass(time.Minute)
	_, err := j.ecs.DeleteService(containers.DeleteServiceInput{Cluster: "jobs", Service: "workers"})
	expect(t, "with tasks", code(err), "InvalidParameterException")
	must(j.ecs.DeleteService(containers.DeleteServiceInput{Cluster: "jobs", Service: "workers", Force: ptr(true)}))(t)
	j.pass(time.Minute)
	expect(t, "tasks", len(j.tasks()), 0)
	expect(t, "status", j.service().Status, "INACTIVE")
	_, err = j.ecs.UpdateService(containers.UpdateServiceInput{Cluster: "jobs", Service: "workers",
		DesiredCount: ptr(1)})
	expect(t, "to change it", code(err), "ServiceNotActiveException")
	must(j.ecs.CreateService(containers.CreateServiceInput{Cluster: "jobs", ServiceName: "workers",
		TaskDefinition: "worker",
		DesiredCount:   ptr(1), LaunchType: containers.Fargate, NetworkConfiguration: network}))(t)
	j.pass(2 * time.Hour)
	expect(t, "the new one stays", j.service().RunningCount, 1)
	expect(t, "services",
		must(j.ecs.DescribeClusters(containers.ClusterNames{Clusters: []string{"jobs"}}))(
			t).Clusters[0].ActiveServicesCount,
		1)
}
