package fakeaws

import (
	"errors"
	"reflect"

	model "github.com/muster-scale/muster/sim/cloud"
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
func actions(s model.API) map[string]action {
	switch s {
	case model.AutoScalingService:
		return autoScaling
	case model.CloudWatchService:
		return cloudWatch
	case model.SQSService:
		return queues
	case model.ECSService:
		return containers
	case model.ApplicationScalingService:
		return applicationScaling
	}
	return nil
}

var autoScaling = map[string]action{
	"CreateAutoScalingGroup":    act((*model.World).AutoScaling, (*model.AutoScaling).CreateAutoScalingGroup),
	"UpdateAutoScalingGroup":    act((*model.World).AutoScaling, (*model.AutoScaling).UpdateAutoScalingGroup),
	"DeleteAutoScalingGroup":    act((*model.World).AutoScaling, (*model.AutoScaling).DeleteAutoScalingGroup),
	"DescribeAutoScalingGroups": act((*model.World).AutoScaling, (*model.AutoScaling).DescribeAutoScalingGroups),
	"DescribeAutoScalingInstances": act((*model.World).AutoScaling,
		(*model.AutoScaling).DescribeAutoScalingInstances),
	"SetDesiredCapacity": act((*model.World).AutoScaling, (*model.AutoScaling).SetDesiredCapacity),
	"LaunchInstances":    act((*model.World).AutoScaling, (*model.AutoScaling).LaunchInstances),
	"TerminateInstanceInAutoScalingGroup": act((*model.World).AutoScaling,
		(*model.AutoScaling).TerminateInstanceInAutoScalingGroup),
	"SetInstanceProtection":   act((*model.World).AutoScaling, (*model.AutoScaling).SetInstanceProtection),
	"SetInstanceHealth":       act((*model.World).AutoScaling, (*model.AutoScaling).SetInstanceHealth),
	"EnterStandby":            act((*model.World).AutoScaling, (*model.AutoScaling).EnterStandby),
	"ExitStandby":             act((*model.World).AutoScaling, (*model.AutoScaling).ExitStandby),
	"DetachInstances":         act((*model.World).AutoScaling, (*model.AutoScaling).DetachInstances),
	"PutWarmPool":             act((*model.World).AutoScaling, (*model.AutoScaling).PutWarmPool),
	"DescribeWarmPool":        act((*model.World).AutoScaling, (*model.AutoScaling).DescribeWarmPool),
	"DeleteWarmPool":          act((*model.World).AutoScaling, (*model.AutoScaling).DeleteWarmPool),
	"PutLifecycleHook":        act((*model.World).AutoScaling, (*model.AutoScaling).PutLifecycleHook),
	"DescribeLifecycleHooks":  act((*model.World).AutoScaling, (*model.AutoScaling).DescribeLifecycleHooks),
	"DeleteLifecycleHook":     act((*model.World).AutoScaling, (*model.AutoScaling).DeleteLifecycleHook),
	"CompleteLifecycleAction": act((*model.World).AutoScaling, (*model.AutoScaling).CompleteLifecycleAction),
	"RecordLifecycleActionHeartbeat": act((*model.World).AutoScaling,
		(*model.AutoScaling).RecordLifecycleActionHeartbeat),
	"SuspendProcesses":          act((*model.World).AutoScaling, (*model.AutoScaling).SuspendProcesses),
	"ResumeProcesses":           act((*model.World).AutoScaling, (*model.AutoScaling).ResumeProcesses),
	"DescribeScalingActivities": act((*model.World).AutoScaling, (*model.AutoScaling).DescribeScalingActivities),
	"PutScalingPolicy":          act((*model.World).GroupPolicies, (*model.GroupPolicies).PutScalingPolicy),
	"DescribePolicies":          act((*model.World).GroupPolicies, (*model.GroupPolicies).DescribePolicies),
	"DeletePolicy":              act((*model.World).GroupPolicies, (*model.GroupPolicies).DeletePolicy),
	"StartInstanceRefresh":      act((*model.World).AutoScaling, (*model.AutoScaling).StartInstanceRefresh),
	"CancelInstanceRefresh":     act((*model.World).AutoScaling, (*model.AutoScaling).CancelInstanceRefresh),
	"DescribeInstanceRefreshes": act((*model.World).AutoScaling, (*model.AutoScaling).DescribeInstanceRefreshes),
	"EnableMetricsCollection":   act((*model.World).AutoScaling, (*model.AutoScaling).EnableMetricsCollection),
	"DisableMetricsCollection":  act((*model.World).AutoScaling, (*model.AutoScaling).DisableMetricsCollection),
}

var cloudWatch = map[string]action{
	"PutMetricData":       act((*model.World).CloudWatch, (*model.CloudWatch).PutMetricData),
	"GetMetricData":       act((*model.World).CloudWatch, (*model.CloudWatch).GetMetricData),
	"GetMetricStatistics": act((*model.World).CloudWatch, (*model.CloudWatch).GetMetricStatistics),
	"ListMetrics":         act((*model.World).CloudWatch, (*model.CloudWatch).ListMetrics),
	"PutMetricAlarm":      act((*model.World).CloudWatch, (*model.CloudWatch).PutMetricAlarm),
	"DescribeAlarms":      act((*model.World).CloudWatch, (*model.CloudWatch).DescribeAlarms),
	"DeleteAlarms":        act((*model.World).CloudWatch, (*model.CloudWatch).DeleteAlarms),
}

var queues = map[string]action{
	"CreateQueue":        act((*model.World).SQS, (*model.SQS).CreateQueue),
	"DeleteQueue":        act((*model.World).SQS, (*model.SQS).DeleteQueue),
	"GetQueueUrl":        act((*model.World).SQS, (*model.SQS).GetQueueUrl),
	"ListQueues":         act((*model.World).SQS, (*model.SQS).ListQueues),
	"GetQueueAttributes": act((*model.World).SQS, (*model.SQS).GetQueueAttributes),
}

var containers = map[string]action{
	"CreateCluster":                 act((*model.World).ECS, (*model.ECS).CreateCluster),
	"DescribeClusters":              act((*model.World).ECS, (*model.ECS).DescribeClusters),
	"RegisterTaskDefinition":        act((*model.World).ECS, (*model.ECS).RegisterTaskDefinition),
	"DescribeTaskDefinition":        act((*model.World).ECS, (*model.ECS).DescribeTaskDefinition),
	"CreateService":                 act((*model.World).ECS, (*model.ECS).CreateService),
	"UpdateService":                 act((*model.World).ECS, (*model.ECS).UpdateService),
	"DescribeServices":              act((*model.World).ECS, (*model.ECS).DescribeServices),
	"DeleteService":                 act((*model.World).ECS, (*model.ECS).DeleteService),
	"ListServices":                  act((*model.World).ECS, (*model.ECS).ListServices),
	"RunTask":                       act((*model.World).ECS, (*model.ECS).RunTask),
	"DescribeTasks":                 act((*model.World).ECS, (*model.ECS).DescribeTasks),
	"ListTasks":                     act((*model.World).ECS, (*model.ECS).ListTasks),
	"StopTask":                      act((*model.World).ECS, (*model.ECS).StopTask),
	"UpdateTaskProtection":          act((*model.World).ECS, (*model.ECS).UpdateTaskProtection),
	"GetTaskProtection":             act((*model.World).ECS, (*model.ECS).GetTaskProtection),
	"CreateCapacityProvider":        act((*model.World).ECS, (*model.ECS).CreateCapacityProvider),
	"UpdateCapacityProvider":        act((*model.World).ECS, (*model.ECS).UpdateCapacityProvider),
	"DescribeCapacityProviders":     act((*model.World).ECS, (*model.ECS).DescribeCapacityProviders),
	"PutClusterCapacityProviders":   act((*model.World).ECS, (*model.ECS).PutClusterCapacityProviders),
	"ListContainerInstances":        act((*model.World).ECS, (*model.ECS).ListContainerInstances),
	"DescribeContainerInstances":    act((*model.World).ECS, (*model.ECS).DescribeContainerInstances),
	"UpdateContainerInstancesState": act((*model.World).ECS, (*model.ECS).UpdateContainerInstancesState),
}

var applicationScaling = map[string]action{
	"RegisterScalableTarget": act((*model.World).ApplicationScaling,
		(*model.ApplicationScaling).RegisterScalableTarget),
	"DeregisterScalableTarget": act((*model.World).ApplicationScaling,
		(*model.ApplicationScaling).DeregisterScalableTarget),
	"DescribeScalableTargets": act((*model.World).ApplicationScaling,
		(*model.ApplicationScaling).DescribeScalableTargets),
	"PutScalingPolicy": act((*model.World).ApplicationScaling, (*model.ApplicationScaling).PutScalingPolicy),
	"DescribeScalingPolicies": act((*model.World).ApplicationScaling,
		(*model.ApplicationScaling).DescribeScalingPolicies),
	"DeleteScalingPolicy": act((*model.World).ApplicationScaling, (*model.ApplicationScaling).DeleteScalingPolicy),
	"DescribeScalingActivities": act((*model.World).ApplicationScaling,
		(*model.ApplicationScaling).DescribeScalingActivities),
}

// faultOf is an error as the wire shows it.
func faultOf(s model.API, err error) *model.Fault {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*model.Fault](err); ok {
		return f
	}
	return malformed(s, err)
}

// speaksQuery tells whether a service words its errors in the manner of the Query protocol.
func speaksQuery(s model.API) bool {
	return s == model.AutoScalingService || s == model.CloudWatchService || s == ""
}

func malformed(s model.API, err error) *model.Fault {
	if speaksQuery(s) {
		return &model.Fault{Code: "MalformedInput", Message: "The request cannot be read: " + err.Error(), Status: 400}
	}
	return &model.Fault{Code: "SerializationException", Message: "The request cannot be read: " + err.Error(),
		Status: 400}
}

// unknown is the answer to an action that the model does not have.
func unknown(c call) *model.Fault {
	if speaksQuery(c.service) {
		return &model.Fault{Code: "InvalidAction", Message: "Could not find operation " + c.action +
			" in the model of " + string(c.service) + ".", Status: 400}
	}
	return &model.Fault{Code: "UnknownOperationException", Message: "The model of " + string(c.service) +
		" has no operation " + c.action + ".", Status: 400}
}

// shape is the name of an error's type where the protocol wants that and not the code.
func shape(s model.API, code string) string {
	prefix := map[model.API]string{model.SQSService: "com.amazonaws.sqs#",
		model.CloudWatchService: "com.amazonaws.cloudwatch#"}[s]
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
