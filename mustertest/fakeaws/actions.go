package fakeaws

import (
	"errors"
	"reflect"

	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/containers"
	"github.com/muster-scale/muster/sim/cloud/groups"
	"github.com/muster-scale/muster/sim/cloud/monitoring"
	"github.com/muster-scale/muster/sim/cloud/queues"
	"github.com/muster-scale/muster/sim/cloud/scaling"
)

// action carries one action out on a world.
type action func(w *model.World, members tree) (result any, ignored []string, err error)

// malformedError says that members do not fit the action.
type malformedError struct{ error }

// act makes an action of a method of the model.
func act[API, In, Out any](api func(*model.World) API, method func(API, In) (Out, error)) action {
	return func(w *model.World, members tree) (any, []string, error) {
		var in In
		f := filler{}
		if err := f.fill(reflect.ValueOf(&in).Elem(), members, ""); err != nil {
			return nil, nil, malformedError{err}
		}
		out, err := method(api(w), in)
		return out, f.ignored, err
	}
}

// actions are those of a service, nil for one that the model does not have.
func actions(s account.API) map[string]action {
	switch s {
	case account.AutoScalingService:
		return autoScaling
	case account.CloudWatchService:
		return cloudWatch
	case account.SQSService:
		return queueActions
	case account.ECSService:
		return containerActions
	case account.ApplicationScalingService:
		return applicationScaling
	}
	return nil
}

var autoScaling = map[string]action{
	"CreateAutoScalingGroup":    act((*model.World).AutoScaling, (*groups.AutoScaling).CreateAutoScalingGroup),
	"UpdateAutoScalingGroup":    act((*model.World).AutoScaling, (*groups.AutoScaling).UpdateAutoScalingGroup),
	"DeleteAutoScalingGroup":    act((*model.World).AutoScaling, (*groups.AutoScaling).DeleteAutoScalingGroup),
	"DescribeAutoScalingGroups": act((*model.World).AutoScaling, (*groups.AutoScaling).DescribeAutoScalingGroups),
	"DescribeAutoScalingInstances": act((*model.World).AutoScaling,
		(*groups.AutoScaling).DescribeAutoScalingInstances),
	"SetDesiredCapacity": act((*model.World).AutoScaling, (*groups.AutoScaling).SetDesiredCapacity),
	"LaunchInstances":    act((*model.World).AutoScaling, (*groups.AutoScaling).LaunchInstances),
	"TerminateInstanceInAutoScalingGroup": act((*model.World).AutoScaling,
		(*groups.AutoScaling).TerminateInstanceInAutoScalingGroup),
	"SetInstanceProtection":   act((*model.World).AutoScaling, (*groups.AutoScaling).SetInstanceProtection),
	"SetInstanceHealth":       act((*model.World).AutoScaling, (*groups.AutoScaling).SetInstanceHealth),
	"EnterStandby":            act((*model.World).AutoScaling, (*groups.AutoScaling).EnterStandby),
	"ExitStandby":             act((*model.World).AutoScaling, (*groups.AutoScaling).ExitStandby),
	"DetachInstances":         act((*model.World).AutoScaling, (*groups.AutoScaling).DetachInstances),
	"PutWarmPool":             act((*model.World).AutoScaling, (*groups.AutoScaling).PutWarmPool),
	"DescribeWarmPool":        act((*model.World).AutoScaling, (*groups.AutoScaling).DescribeWarmPool),
	"DeleteWarmPool":          act((*model.World).AutoScaling, (*groups.AutoScaling).DeleteWarmPool),
	"PutLifecycleHook":        act((*model.World).AutoScaling, (*groups.AutoScaling).PutLifecycleHook),
	"DescribeLifecycleHooks":  act((*model.World).AutoScaling, (*groups.AutoScaling).DescribeLifecycleHooks),
	"DeleteLifecycleHook":     act((*model.World).AutoScaling, (*groups.AutoScaling).DeleteLifecycleHook),
	"CompleteLifecycleAction": act((*model.World).AutoScaling, (*groups.AutoScaling).CompleteLifecycleAction),
	"RecordLifecycleActionHeartbeat": act((*model.World).AutoScaling,
		(*groups.AutoScaling).RecordLifecycleActionHeartbeat),
	"SuspendProcesses":          act((*model.World).AutoScaling, (*groups.AutoScaling).SuspendProcesses),
	"ResumeProcesses":           act((*model.World).AutoScaling, (*groups.AutoScaling).ResumeProcesses),
	"DescribeScalingActivities": act((*model.World).AutoScaling, (*groups.AutoScaling).DescribeScalingActivities),
	"PutScalingPolicy":          act((*model.World).GroupPolicies, (*scaling.GroupPolicies).PutScalingPolicy),
	"DescribePolicies":          act((*model.World).GroupPolicies, (*scaling.GroupPolicies).DescribePolicies),
	"DeletePolicy":              act((*model.World).GroupPolicies, (*scaling.GroupPolicies).DeletePolicy),
	"StartInstanceRefresh":      act((*model.World).AutoScaling, (*groups.AutoScaling).StartInstanceRefresh),
	"CancelInstanceRefresh":     act((*model.World).AutoScaling, (*groups.AutoScaling).CancelInstanceRefresh),
	"DescribeInstanceRefreshes": act((*model.World).AutoScaling, (*groups.AutoScaling).DescribeInstanceRefreshes),
	"EnableMetricsCollection":   act((*model.World).AutoScaling, (*groups.AutoScaling).EnableMetricsCollection),
	"DisableMetricsCollection":  act((*model.World).AutoScaling, (*groups.AutoScaling).DisableMetricsCollection),
}

var cloudWatch = map[string]action{
	"PutMetricData":       act((*model.World).CloudWatch, (*monitoring.CloudWatch).PutMetricData),
	"GetMetricData":       act((*model.World).CloudWatch, (*monitoring.CloudWatch).GetMetricData),
	"GetMetricStatistics": act((*model.World).CloudWatch, (*monitoring.CloudWatch).GetMetricStatistics),
	"ListMetrics":         act((*model.World).CloudWatch, (*monitoring.CloudWatch).ListMetrics),
	"PutMetricAlarm":      act((*model.World).CloudWatch, (*monitoring.CloudWatch).PutMetricAlarm),
	"DescribeAlarms":      act((*model.World).CloudWatch, (*monitoring.CloudWatch).DescribeAlarms),
	"DeleteAlarms":        act((*model.World).CloudWatch, (*monitoring.CloudWatch).DeleteAlarms),
}

var queueActions = map[string]action{
	"CreateQueue":        act((*model.World).SQS, (*queues.SQS).CreateQueue),
	"DeleteQueue":        act((*model.World).SQS, (*queues.SQS).DeleteQueue),
	"GetQueueUrl":        act((*model.World).SQS, (*queues.SQS).GetQueueUrl),
	"ListQueues":         act((*model.World).SQS, (*queues.SQS).ListQueues),
	"GetQueueAttributes": act((*model.World).SQS, (*queues.SQS).GetQueueAttributes),
}

var containerActions = map[string]action{
	"CreateCluster":                 act((*model.World).ECS, (*containers.ECS).CreateCluster),
	"DescribeClusters":              act((*model.World).ECS, (*containers.ECS).DescribeClusters),
	"RegisterTaskDefinition":        act((*model.World).ECS, (*containers.ECS).RegisterTaskDefinition),
	"DescribeTaskDefinition":        act((*model.World).ECS, (*containers.ECS).DescribeTaskDefinition),
	"CreateService":                 act((*model.World).ECS, (*containers.ECS).CreateService),
	"UpdateService":                 act((*model.World).ECS, (*containers.ECS).UpdateService),
	"DescribeServices":              act((*model.World).ECS, (*containers.ECS).DescribeServices),
	"DeleteService":                 act((*model.World).ECS, (*containers.ECS).DeleteService),
	"ListServices":                  act((*model.World).ECS, (*containers.ECS).ListServices),
	"RunTask":                       act((*model.World).ECS, (*containers.ECS).RunTask),
	"DescribeTasks":                 act((*model.World).ECS, (*containers.ECS).DescribeTasks),
	"ListTasks":                     act((*model.World).ECS, (*containers.ECS).ListTasks),
	"StopTask":                      act((*model.World).ECS, (*containers.ECS).StopTask),
	"UpdateTaskProtection":          act((*model.World).ECS, (*containers.ECS).UpdateTaskProtection),
	"GetTaskProtection":             act((*model.World).ECS, (*containers.ECS).GetTaskProtection),
	"CreateCapacityProvider":        act((*model.World).ECS, (*containers.ECS).CreateCapacityProvider),
	"UpdateCapacityProvider":        act((*model.World).ECS, (*containers.ECS).UpdateCapacityProvider),
	"DescribeCapacityProviders":     act((*model.World).ECS, (*containers.ECS).DescribeCapacityProviders),
	"PutClusterCapacityProviders":   act((*model.World).ECS, (*containers.ECS).PutClusterCapacityProviders),
	"ListContainerInstances":        act((*model.World).ECS, (*containers.ECS).ListContainerInstances),
	"DescribeContainerInstances":    act((*model.World).ECS, (*containers.ECS).DescribeContainerInstances),
	"UpdateContainerInstancesState": act((*model.World).ECS, (*containers.ECS).UpdateContainerInstancesState),
}

var applicationScaling = map[string]action{
	"RegisterScalableTarget": act((*model.World).ApplicationScaling,
		(*scaling.ApplicationScaling).RegisterScalableTarget),
	"DeregisterScalableTarget": act((*model.World).ApplicationScaling,
		(*scaling.ApplicationScaling).DeregisterScalableTarget),
	"DescribeScalableTargets": act((*model.World).ApplicationScaling,
		(*scaling.ApplicationScaling).DescribeScalableTargets),
	"PutScalingPolicy": act((*model.World).ApplicationScaling, (*scaling.ApplicationScaling).PutScalingPolicy),
	"DescribeScalingPolicies": act((*model.World).ApplicationScaling,
		(*scaling.ApplicationScaling).DescribeScalingPolicies),
	"DeleteScalingPolicy": act((*model.World).ApplicationScaling, (*scaling.ApplicationScaling).DeleteScalingPolicy),
	"DescribeScalingActivities": act((*model.World).ApplicationScaling,
		(*scaling.ApplicationScaling).DescribeScalingActivities),
}

// faultOf is an error as the wire shows it.
func faultOf(s account.API, err error) *account.Fault {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*account.Fault](err); ok {
		return f
	}
	return malformed(s, err)
}

// speaksQuery tells whether a service words its errors in the manner of the Query protocol.
func speaksQuery(s account.API) bool {
	return s == account.AutoScalingService || s == account.CloudWatchService || s == ""
}

func malformed(s account.API, err error) *account.Fault {
	if speaksQuery(s) {
		return &account.Fault{Code: "MalformedInput", Message: "The request cannot be read: " + err.Error(),
			Status: 400}
	}
	return &account.Fault{Code: "SerializationException", Message: "The request cannot be read: " + err.Error(),
		Status: 400}
}

// unknown is the answer to an action that the model does not have.
func unknown(c call) *account.Fault {
	if speaksQuery(c.service) {
		return &account.Fault{Code: "InvalidAction", Message: "Could not find operation " + c.action +
			" in the model of " + string(c.service) + ".", Status: 400}
	}
	return &account.Fault{Code: "UnknownOperationException", Message: "The model of " + string(c.service) +
		" has no operation " + c.action + ".", Status: 400}
}

// shape is the name of an error's type where the protocol wants that and not the code.
func shape(s account.API, code string) string {
	prefix := map[account.API]string{account.SQSService: "com.amazonaws.sqs#",
		account.CloudWatchService: "com.amazonaws.cloudwatch#"}[s]
	if name, ok := shapes[code]; ok && prefix != "" {
		return prefix + name
	}
	return prefix + code
}

// shapes are the error types whose names are not their codes.
var shapes = map[string]string{
	"AWS.SimpleQueueService.NonExistentQueue": "QueueDoesNotExist",
	"InvalidParameterValue":                   "InvalidParameterValueException",
	"InvalidParameterCombination":             "InvalidParameterCombinationException",
	"MissingParameter":                        "MissingRequiredParameterException",
	"LimitExceeded":                           "LimitExceededFault",
}
