package fakeaws_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	aas "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	aastypes "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/containers"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
	"github.com/muster-scale/muster/sim/cloud/monitoring"
)

func (w world) ecs() *ecs.Client {
	return ecs.New(ecs.Options{BaseEndpoint: &w.url, Region: "us-east-1", Credentials: keys(), RetryMaxAttempts: 1,
		APIOptions: plain})
}

func (w world) aas() *aas.Client {
	return aas.New(aas.Options{BaseEndpoint: &w.url, Region: "us-east-1", Credentials: keys(), RetryMaxAttempts: 1,
		APIOptions: plain})
}

func subnets() *ecstypes.NetworkConfiguration {
	return &ecstypes.NetworkConfiguration{
		AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{Subnets: []string{"subnet-1"}},
	}
}

// onFargate makes a cluster with a service of workers.
func onFargate(t *testing.T, w world, desired int32) *ecs.Client {
	t.Helper()
	c := w.ecs()
	must(c.CreateCluster(t.Context(), &ecs.CreateClusterInput{ClusterName: aws.String("jobs")}))(t)
	must(c.RegisterTaskDefinition(t.Context(), &ecs.RegisterTaskDefinitionInput{Family: aws.String("worker"),
		Cpu: aws.String("1024"), Memory: aws.String("2048"),
		ContainerDefinitions: []ecstypes.ContainerDefinition{{Name: aws.String("worker"),
			Image: aws.String("worker:1")}}}))(t)
	must(c.CreateService(t.Context(),
		&ecs.CreateServiceInput{Cluster: aws.String("jobs"), ServiceName: aws.String("workers"),
			TaskDefinition: aws.String("worker"),
			DesiredCount:   &desired, LaunchType: ecstypes.LaunchTypeFargate, NetworkConfiguration: subnets()}))(t)
	return c
}

func service(t *testing.T, c *ecs.Client) ecstypes.Service {
	t.Helper()
	out := must(c.DescribeServices(t.Context(), &ecs.DescribeServicesInput{Cluster: aws.String("jobs"),
		Services: []string{"workers"}}))(t)
	if len(out.Services) != 1 {
		t.Fatalf("services: %+v, failures %+v", out.Services, out.Failures)
	}
	return out.Services[0]
}

func listed(t *testing.T, c *ecs.Client) []string {
	t.Helper()
	return must(c.ListTasks(t.Context(),
		&ecs.ListTasksInput{Cluster: aws.String("jobs"), ServiceName: aws.String("workers")}))(t).TaskArns
}

func TestAServiceOverTheWireStartsProtectsAndStopsTasks(t *testing.T) {
	w := serve(t, model.Settings{})
	c := onFargate(t, w, 3)
	w.Advance(5 * time.Second)
	if s := service(t, c); s.PendingCount != 3 || s.RunningCount != 0 || s.DesiredCount != 3 {
		t.Fatalf("after 5 s: %d running, %d pending of %d", s.RunningCount, s.PendingCount, s.DesiredCount)
	}
	w.Advance(time.Minute)
	if s := service(t, c); s.RunningCount != 3 ||
		s.Deployments[0].RolloutState != ecstypes.DeploymentRolloutStateCompleted {
		t.Fatalf("after a minute: %d running, rollout %s", s.RunningCount, s.Deployments[0].RolloutState)
	}
	tasks := listed(t, c)
	protect := must(c.UpdateTaskProtection(t.Context(), &ecs.UpdateTaskProtectionInput{Cluster: aws.String("jobs"),
		Tasks: tasks[:2], ProtectionEnabled: true, ExpiresInMinutes: aws.Int32(15)}))(t)
	if len(protect.ProtectedTasks) != 2 ||
		!protect.ProtectedTasks[0].ExpirationDate.Equal(w.Now().Add(15*time.Minute)) {
		t.Fatalf("protected: %+v, failures %+v", protect.ProtectedTasks, protect.Failures)
	}
	must(c.UpdateService(t.Context(),
		&ecs.UpdateServiceInput{Cluster: aws.String("jobs"), Service: aws.String("workers"),
			DesiredCount: aws.Int32(0)}))(t)
	w.Advance(time.Minute)
	if left := listed(t, c); !slices.Equal(left, tasks[:2]) {
		t.Fatalf("scale-in to 0 left %v, want the protected %v", left, tasks[:2])
	}
	gone := must(c.DescribeTasks(t.Context(),
		&ecs.DescribeTasksInput{Cluster: aws.String("jobs"), Tasks: []string{tasks[2], "none"}}))(t)
	if len(gone.Tasks) != 1 || *gone.Tasks[0].LastStatus != "STOPPED" ||
		gone.Tasks[0].StopCode != ecstypes.TaskStopCodeServiceSchedulerInitiated || len(gone.Failures) != 1 {
		t.Fatalf("the third: %+v, failures %+v", gone.Tasks, gone.Failures)
	}
	w.Advance(15 * time.Minute)
	if left := listed(t, c); len(left) != 0 {
		t.Errorf("protection is over and %v run on", left)
	}
	if u := w.Unmodelled(); len(u) != 0 {
		t.Errorf("members without a model: %v", u)
	}
}

func TestRunTaskIsIdempotentByItsClientToken(t *testing.T) {
	w := serve(t, model.Settings{})
	c := onFargate(t, w, 0)
	run := func(count int32) (*ecs.RunTaskOutput, error) {
		return c.RunTask(t.Context(),
			&ecs.RunTaskInput{Cluster: aws.String("jobs"), TaskDefinition: aws.String("worker"), Count: &count,
				ClientToken: aws.String("order-1"),
				LaunchType:  ecstypes.LaunchTypeFargate, NetworkConfiguration: subnets(),
				StartedBy: aws.String("muster")})
	}
	first, second := must(run(4))(t), must(run(4))(t)
	if len(first.Tasks) != 4 || *first.Tasks[3].TaskArn != *second.Tasks[3].TaskArn {
		t.Fatalf("the same token gave %d tasks, then others", len(first.Tasks))
	}
	if all := must(c.ListTasks(t.Context(),
		&ecs.ListTasksInput{Cluster: aws.String("jobs"), StartedBy: aws.String("muster")}))(t); len(all.TaskArns) != 4 {
		t.Errorf("%d tasks run, want 4", len(all.TaskArns))
	}
	_, err := run(5)
	if _, ok := errors.AsType[*ecstypes.ConflictException](err); !ok {
		t.Errorf("the same token with another count: %v", err)
	}
	if _, err := run(11); code(err) != "InvalidParameterException" {
		t.Errorf("eleven at once: %v", err)
	}
	_, err = c.DescribeServices(t.Context(), &ecs.DescribeServicesInput{Cluster: aws.String("none"),
		Services: []string{"workers"}})
	if _, ok := errors.AsType[*ecstypes.ClusterNotFoundException](err); !ok {
		t.Errorf("a cluster that is not there: %v", err)
	}
	out := must(c.UpdateTaskProtection(t.Context(), &ecs.UpdateTaskProtectionInput{Cluster: aws.String("jobs"),
		Tasks: []string{*first.Tasks[0].TaskArn}, ProtectionEnabled: true}))(t)
	if len(out.Failures) != 1 || *out.Failures[0].Reason != "TASK_NOT_VALID" {
		t.Errorf("protection of a task without a service: %+v", out)
	}
}

func TestTasksWithoutCapacityAreFailuresInTheAnswer(t *testing.T) {
	w := serve(t, model.Settings{})
	c := onFargate(t, w, 0)
	w.Do(func(m *model.World) {
		m.LimitCapacity(account.Pool{InstanceType: containers.Fargate, Market: account.OnDemand}, 2)
	})
	out := must(c.RunTask(t.Context(),
		&ecs.RunTaskInput{Cluster: aws.String("jobs"), TaskDefinition: aws.String("worker"), Count: aws.Int32(3),
			LaunchType: ecstypes.LaunchTypeFargate, NetworkConfiguration: subnets()}))(t)
	if len(out.Tasks) != 2 || len(out.Failures) != 1 {
		t.Fatalf("%d tasks and failures %+v, want 2 and 1", len(out.Tasks), out.Failures)
	}
	_, err := c.RunTask(t.Context(),
		&ecs.RunTaskInput{Cluster: aws.String("jobs"), TaskDefinition: aws.String("worker")})
	if _, ok := errors.AsType[*ecstypes.InvalidParameterException](err); !ok {
		t.Errorf("on EC2 without instances: %v", err)
	}
}

func TestAGroupAsCapacityProviderFollowsItsTasks(t *testing.T) {
	w := serve(t, model.Settings{})
	asg := workers(t, w, 0, 10)
	g := group(t, asg)
	c := w.ecs()
	must(c.CreateCapacityProvider(t.Context(), &ecs.CreateCapacityProviderInput{Name: aws.String("hosts"),
		AutoScalingGroupProvider: &ecstypes.AutoScalingGroupProvider{
			AutoScalingGroupArn: g.AutoScalingGroupARN,
			ManagedScaling: &ecstypes.ManagedScaling{Status: ecstypes.ManagedScalingStatusEnabled,
				TargetCapacity: aws.Int32(100)}}}))(t)
	must(c.CreateCluster(t.Context(), &ecs.CreateClusterInput{ClusterName: aws.String("jobs"),
		CapacityProviders: []string{"hosts"},
		DefaultCapacityProviderStrategy: []ecstypes.CapacityProviderStrategyItem{{CapacityProvider: aws.String("hosts"),
			Weight: 1}}}))(t)
	must(c.RegisterTaskDefinition(t.Context(), &ecs.RegisterTaskDefinitionInput{Family: aws.String("worker"),
		ContainerDefinitions: []ecstypes.ContainerDefinition{{Name: aws.String("worker"), Image: aws.String("worker:1"),
			Cpu: 1024, Memory: aws.Int32(1024)}}}))(t)
	must(c.CreateService(t.Context(),
		&ecs.CreateServiceInput{Cluster: aws.String("jobs"), ServiceName: aws.String("workers"),
			TaskDefinition: aws.String("worker"), DesiredCount: aws.Int32(6),
			PlacementStrategy: []ecstypes.PlacementStrategy{{Type: ecstypes.PlacementStrategyTypeBinpack,
				Field: aws.String("memory")}}}))(t)
	w.Advance(30 * time.Second)
	if s := service(t, c); s.PendingCount != 6 {
		t.Fatalf("%d tasks wait in PROVISIONING, want 6", s.PendingCount)
	}
	w.Advance(4 * time.Minute)
	if s, n := service(t, c), *group(t, asg).DesiredCapacity; s.RunningCount != 6 || n != 3 {
		t.Fatalf("%d of 6 tasks run on %d instances, want 6 on 3", s.RunningCount, n)
	}
	hosts := must(c.ListContainerInstances(t.Context(),
		&ecs.ListContainerInstancesInput{Cluster: aws.String("jobs")}))(t).ContainerInstanceArns
	described := must(c.DescribeContainerInstances(t.Context(),
		&ecs.DescribeContainerInstancesInput{Cluster: aws.String("jobs"), ContainerInstances: hosts}))(t)
	for _, h := range described.ContainerInstances {
		if h.RunningTasksCount != 2 || h.RemainingResources[0].IntegerValue != 0 ||
			*h.CapacityProviderName != "hosts" || !slices.Contains(in(group(t, asg), "InService"), *h.Ec2InstanceId) {
			t.Errorf("instance %+v", h)
		}
	}
	must(c.UpdateService(t.Context(),
		&ecs.UpdateServiceInput{Cluster: aws.String("jobs"), Service: aws.String("workers"),
			DesiredCount: aws.Int32(2)}))(t)
	w.Advance(5 * time.Minute)
	if n := *group(t, asg).DesiredCapacity; n != 3 {
		t.Errorf("after 5 minutes desired is %d: a provider scales in after 15", n)
	}
	w.Advance(40 * time.Minute)
	if n := *group(t, asg).DesiredCapacity; n != 1 {
		t.Errorf("desired is %d, want the 1 that two tasks need", n)
	}
}

func TestApplicationAutoScalingTracksAServiceInSixMinutes(t *testing.T) {
	w := serve(t, model.Settings{Metrics: monitoring.MetricDelays{Custom: time.Minute}})
	c := onFargate(t, w, 2)
	a := w.aas()
	target := "service/jobs/workers"
	must(a.RegisterScalableTarget(t.Context(),
		&aas.RegisterScalableTargetInput{ServiceNamespace: aastypes.ServiceNamespaceEcs, ResourceId: &target,
			ScalableDimension: aastypes.ScalableDimensionECSServiceDesiredCount, MinCapacity: aws.Int32(1),
			MaxCapacity: aws.Int32(20)}))(t)
	put := must(a.PutScalingPolicy(t.Context(),
		&aas.PutScalingPolicyInput{ServiceNamespace: aastypes.ServiceNamespaceEcs, ResourceId: &target,
			PolicyName:        aws.String("bpi"),
			ScalableDimension: aastypes.ScalableDimensionECSServiceDesiredCount,
			PolicyType:        aastypes.PolicyTypeTargetTrackingScaling,
			TargetTrackingScalingPolicyConfiguration: &aastypes.TargetTrackingScalingPolicyConfiguration{
				TargetValue: aws.Float64(10), ScaleInCooldown: aws.Int32(60),
				CustomizedMetricSpecification: &aastypes.CustomizedMetricSpecification{Namespace: aws.String("Muster"),
					MetricName: aws.String("BPI"), Statistic: aastypes.MetricStatisticAverage}}}))(t)
	if len(put.Alarms) != 2 {
		t.Fatalf("alarms: %+v", put.Alarms)
	}
	cw := w.cloudwatch()
	publish := func(v float64) {
		must(cw.PutMetricData(t.Context(), &cloudwatch.PutMetricDataInput{Namespace: aws.String("Muster"),
			MetricData: []cwtypes.MetricDatum{{MetricName: aws.String("BPI"), Value: &v}}}))(t)
	}
	minutes := 0
	for ; service(t, c).DesiredCount == 2 && minutes < 20; minutes++ {
		publish(25)
		w.Advance(time.Minute)
	}
	// Three points of a minute each, a minute of delay, and the minute in which the alarm looks.
	if n := service(t, c).DesiredCount; n != 5 || minutes < 4 || minutes > 6 {
		t.Fatalf("scaled from 2 to %d in %d minutes; 2 x 25/10 is 5, in 4 to 6", n, minutes)
	}
	for minutes = 0; service(t, c).DesiredCount == 5 && minutes < 40; minutes++ {
		publish(4)
		w.Advance(time.Minute)
	}
	if n := service(t, c).DesiredCount; n != 2 || minutes < 15 {
		t.Fatalf("scaled in to %d after %d minutes; 5 x 4/10 is 2, after 15 points", n, minutes)
	}
	activities := must(a.DescribeScalingActivities(t.Context(),
		&aas.DescribeScalingActivitiesInput{ServiceNamespace: aastypes.ServiceNamespaceEcs, ResourceId: &target}))(t)
	if len(activities.ScalingActivities) != 2 ||
		!activities.ScalingActivities[0].StartTime.After(*activities.ScalingActivities[1].StartTime) {
		t.Errorf("activities: %+v", activities.ScalingActivities)
	}
	_, err := a.DeregisterScalableTarget(t.Context(),
		&aas.DeregisterScalableTargetInput{ServiceNamespace: aastypes.ServiceNamespaceEcs,
			ResourceId:        aws.String("service/jobs/none"),
			ScalableDimension: aastypes.ScalableDimensionECSServiceDesiredCount})
	if _, ok := errors.AsType[*aastypes.ObjectNotFoundException](err); !ok {
		t.Errorf("a target that is not there: %v", err)
	}
}

func TestAWarmPoolAndAHookOverTheWire(t *testing.T) {
	w := serve(t, model.Settings{})
	c := workers(t, w, 0, 4)
	name := aws.String("workers")
	must(c.PutLifecycleHook(t.Context(), &autoscaling.PutLifecycleHookInput{AutoScalingGroupName: name,
		LifecycleHookName: aws.String("ready"), LifecycleTransition: aws.String(groupapi.Launching),
		HeartbeatTimeout: aws.Int32(120), DefaultResult: aws.String("CONTINUE")}))(t)
	must(c.PutWarmPool(t.Context(), &autoscaling.PutWarmPoolInput{AutoScalingGroupName: name,
		MaxGroupPreparedCapacity: aws.Int32(2)}))(t)
	pool := func() (states []string) {
		out := must(c.DescribeWarmPool(t.Context(), &autoscaling.DescribeWarmPoolInput{AutoScalingGroupName: name}))(t)
		for _, i := range out.Instances {
			states = append(states, string(i.LifecycleState))
		}
		return states
	}
	w.Advance(70 * time.Second)
	if s := pool(); !slices.Equal(s, []string{"Warmed:Pending:Wait", "Warmed:Pending:Wait"}) {
		t.Fatalf("the pool is %v: a launch hook pauses on the way into it", s)
	}
	out := must(c.DescribeWarmPool(t.Context(), &autoscaling.DescribeWarmPoolInput{AutoScalingGroupName: name}))(t)
	must(c.CompleteLifecycleAction(t.Context(), &autoscaling.CompleteLifecycleActionInput{AutoScalingGroupName: name,
		LifecycleHookName: aws.String("ready"),
		InstanceId:        out.Instances[0].InstanceId, LifecycleActionResult: aws.String("CONTINUE")}))(t)
	w.Advance(40 * time.Second)
	if s := pool(); !slices.Equal(s, []string{"Warmed:Stopped", "Warmed:Pending:Wait"}) {
		t.Fatalf("after the first was completed the pool is %v", s)
	}
	if size := group(t, c).WarmPoolSize; size == nil || *size != 2 {
		t.Errorf("WarmPoolSize %v", size)
	}
}
