package fakeaws_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	autotypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/queues"
)

func TestAPolicyOverMetricMathComesThroughTheWireAndScales(t *testing.T) {
	w := serve(t, model.Settings{})
	c := workers(t, w, 1, 50)
	must(w.sqsQueue(t))(t)
	stat := func(id, namespace, name, dimension, value, stat string) autotypes.TargetTrackingMetricDataQuery {
		return autotypes.TargetTrackingMetricDataQuery{Id: &id, ReturnData: aws.Bool(false),
			MetricStat: &autotypes.TargetTrackingMetricStat{Stat: &stat,
				Metric: &autotypes.Metric{Namespace: &namespace, MetricName: &name,
					Dimensions: []autotypes.MetricDimension{{Name: &dimension, Value: &value}}}}}
	}
	put := must(c.PutScalingPolicy(t.Context(),
		&autoscaling.PutScalingPolicyInput{AutoScalingGroupName: aws.String("workers"),
			PolicyName: aws.String("backlog"),
			PolicyType: aws.String("TargetTrackingScaling"), EstimatedInstanceWarmup: aws.Int32(60),
			TargetTrackingConfiguration: &autotypes.TargetTrackingConfiguration{TargetValue: aws.Float64(10),
				CustomizedMetricSpecification: &autotypes.CustomizedMetricSpecification{
					Metrics: []autotypes.TargetTrackingMetricDataQuery{
						stat("visible", "AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", "jobs", "Sum"),
						stat("workers", "AWS/AutoScaling", "GroupInServiceInstances", "AutoScalingGroupName", "workers",
							"Average"),
						{Id: aws.String("each"), Expression: aws.String("visible / workers"),
							ReturnData: aws.Bool(true)},
					}}}}))(t)
	must(c.EnableMetricsCollection(t.Context(),
		&autoscaling.EnableMetricsCollectionInput{AutoScalingGroupName: aws.String("workers"),
			Granularity: aws.String("1Minute")}))(t)
	w.Advance(2 * time.Minute)
	w.Do(func(m *model.World) {
		if err := m.SQS().SetQueue("jobs", queues.QueueCounts{Visible: 73}, queues.Traffic{Sent: 73}); err != nil {
			t.Fatal(err)
		}
	})
	w.Advance(4*time.Minute + 5*time.Second)
	if n := *group(t, c).DesiredCapacity; n != 8 {
		t.Errorf("desired is %d, want 73/10 rounded up", n)
	}
	shown := must(c.DescribePolicies(t.Context(),
		&autoscaling.DescribePoliciesInput{AutoScalingGroupName: aws.String("workers")}))(t).ScalingPolicies[0]
	if got := shown.TargetTrackingConfiguration; *shown.PolicyARN != *put.PolicyARN || *got.TargetValue != 10 ||
		*got.CustomizedMetricSpecification.Metrics[2].Expression != "visible / workers" ||
		*got.CustomizedMetricSpecification.Metrics[0].MetricStat.Metric.Dimensions[0].Value != "jobs" ||
		*shown.EstimatedInstanceWarmup != 60 {
		t.Errorf("shown: %+v", shown)
	}
	alarms := must(w.cloudwatch().DescribeAlarms(t.Context(),
		&cloudwatch.DescribeAlarmsInput{AlarmNames: []string{*put.Alarms[0].AlarmName}}))(t).MetricAlarms
	if len(alarms) != 1 || alarms[0].StateValue != cwtypes.StateValueAlarm || *alarms[0].EvaluationPeriods != 3 ||
		len(alarms[0].Metrics) != 3 {
		t.Errorf("alarms: %+v", alarms)
	}
	if u := w.Unmodelled(); len(u) != 0 {
		t.Errorf("members without a model: %v", u)
	}
}

// sqsQueue makes the queue jobs.
func (w world) sqsQueue(t *testing.T) (out queues.QueueURL, err error) {
	w.Do(func(m *model.World) { out, err = m.SQS().CreateQueue(queues.CreateQueueInput{QueueName: "jobs"}) })
	return out, err
}

func TestAMixedGroupIsShownAsItWasMade(t *testing.T) {
	w := serve(t, model.Settings{})
	c := w.autoscaling()
	must(c.CreateAutoScalingGroup(t.Context(),
		&autoscaling.CreateAutoScalingGroupInput{AutoScalingGroupName: aws.String("workers"), MinSize: aws.Int32(0),
			MaxSize: aws.Int32(100), DesiredCapacity: aws.Int32(4),
			VPCZoneIdentifier:                aws.String("subnet-a,subnet-b"),
			TerminationPolicies:              []string{"OldestInstance", "Default"},
			NewInstancesProtectedFromScaleIn: aws.Bool(true),
			InstanceMaintenancePolicy: &autotypes.InstanceMaintenancePolicy{MinHealthyPercentage: aws.Int32(90),
				MaxHealthyPercentage: aws.Int32(120)},
			MixedInstancesPolicy: &autotypes.MixedInstancesPolicy{
				LaunchTemplate: &autotypes.LaunchTemplate{
					LaunchTemplateSpecification: &autotypes.LaunchTemplateSpecification{
						LaunchTemplateId: aws.String("lt-1"),
					},
					Overrides: []autotypes.LaunchTemplateOverrides{{
						InstanceRequirements: &autotypes.InstanceRequirements{
							VCpuCount: &autotypes.VCpuCountRequest{Min: aws.Int32(2), Max: aws.Int32(4)},
							MemoryMiB: &autotypes.MemoryMiBRequest{Min: aws.Int32(2048)}}}}},
				InstancesDistribution: &autotypes.InstancesDistribution{
					OnDemandPercentageAboveBaseCapacity: aws.Int32(50),
					SpotAllocationStrategy:              aws.String("capacity-optimized")},
			}}))(t)
	w.Advance(2 * time.Minute)
	g := group(t, c)
	o := g.MixedInstancesPolicy.LaunchTemplate.Overrides[0].InstanceRequirements
	if *o.VCpuCount.Max != 4 || *o.MemoryMiB.Min != 2048 || o.MemoryMiB.Max != nil ||
		*g.MixedInstancesPolicy.InstancesDistribution.OnDemandPercentageAboveBaseCapacity != 50 ||
		*g.InstanceMaintenancePolicy.MaxHealthyPercentage != 120 || len(g.AvailabilityZones) != 2 ||
		g.TerminationPolicies[0] != "OldestInstance" || !*g.Instances[0].ProtectedFromScaleIn {
		t.Errorf("shown: %+v", g)
	}
	if u := w.Unmodelled(); len(u) != 0 {
		t.Errorf("members without a model: %v", u)
	}
	must(c.UpdateAutoScalingGroup(t.Context(),
		&autoscaling.UpdateAutoScalingGroupInput{AutoScalingGroupName: aws.String("workers"),
			SkipZonalShiftValidation: aws.Bool(true)}))(t)
	if u := w.Unmodelled(); len(u) != 1 || u[0] != "UpdateAutoScalingGroup.SkipZonalShiftValidation" {
		t.Errorf("a member without a model is ignored and listed; the list is %v", u)
	}
}

func TestLaunchesRefreshesAndEndsOverTheWire(t *testing.T) {
	w := serve(t, model.Settings{})
	c := workers(t, w, 0, 10)
	name := aws.String("workers")
	w.Do(func(m *model.World) {
		m.LimitCapacity(account.Pool{InstanceType: "m7g.large", AvailabilityZone: "us-east-1a",
			Market: account.OnDemand},
			2)
	})
	out := must(c.LaunchInstances(t.Context(), &autoscaling.LaunchInstancesInput{AutoScalingGroupName: name,
		RequestedCapacity: aws.Int32(3), ClientToken: aws.String("order-1"),
		AvailabilityZones: []string{"us-east-1a"}}))(t)
	if len(out.Instances) != 1 || len(out.Instances[0].InstanceIds) != 2 ||
		*out.Instances[0].MarketType != "on-demand" || *out.Errors[0].ErrorCode != "InsufficientInstanceCapacity" {
		t.Fatalf("launched %+v, errors %+v", out.Instances, out.Errors)
	}
	w.Advance(2 * time.Minute)
	must(c.StartInstanceRefresh(t.Context(), &autoscaling.StartInstanceRefreshInput{AutoScalingGroupName: name,
		Preferences: &autotypes.RefreshPreferences{MinHealthyPercentage: aws.Int32(0)}}))(t)
	_, err := c.StartInstanceRefresh(t.Context(), &autoscaling.StartInstanceRefreshInput{AutoScalingGroupName: name})
	if _, ok := errors.AsType[*autotypes.InstanceRefreshInProgressFault](err); !ok {
		t.Errorf("a second refresh: %v", err)
	}
	w.Advance(10 * time.Minute)
	done := must(c.DescribeInstanceRefreshes(t.Context(),
		&autoscaling.DescribeInstanceRefreshesInput{AutoScalingGroupName: name}))(t).InstanceRefreshes[0]
	if done.Status != autotypes.InstanceRefreshStatusSuccessful || *done.PercentageComplete != 100 {
		t.Errorf("the refresh: %+v", done)
	}
	ids := in(group(t, c), autotypes.LifecycleStateInService)
	ended := must(c.TerminateInstanceInAutoScalingGroup(t.Context(),
		&autoscaling.TerminateInstanceInAutoScalingGroupInput{InstanceId: &ids[0],
			ShouldDecrementDesiredCapacity: aws.Bool(true)}))(t)
	if *ended.Activity.AutoScalingGroupName != "workers" ||
		ended.Activity.StatusCode != autotypes.ScalingActivityStatusCodeInProgress {
		t.Errorf("the activity: %+v", ended.Activity)
	}
	seen := must(c.DescribeAutoScalingInstances(t.Context(),
		&autoscaling.DescribeAutoScalingInstancesInput{InstanceIds: ids}))(t).AutoScalingInstances
	if len(seen) != 2 || *seen[0].AutoScalingGroupName != "workers" {
		t.Errorf("instances: %+v", seen)
	}
}
