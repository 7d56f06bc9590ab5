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

// This file has the table of actions. An action is in the table once its method exists in the model;
// docs/aws-model.md lists the same actions, which a test holds.

// action runs one action on a world. It returns the result, and the members that the model does not have.
type action func(w *model.World, members tree) (result any, ignored []string, err error)

// membersError says that the members of a request do not fit the action.
type membersError struct{ error }

// actionOf makes an action of a method of the model: it fills the method's input from the members and calls it.
func actionOf[API, In, Out any](api func(*model.World) API, method func(API, In) (Out, error)) action {
	return func(w *model.World, members tree) (any, []string, error) {
		var in In
		f := filler{}
		if err := f.fill(reflect.ValueOf(&in).Elem(), members, ""); err != nil {
			return nil, nil, membersError{err}
		}
		out, err := method(api(w), in)
		return out, f.ignored, err
	}
}

// actions returns the actions of a service by name; nil for a service that the model does not have.
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

// autoScaling has the actions of EC2 Auto Scaling. The model keeps its scaling policies apart, the API does not.
var autoScaling = map[string]action{
	"CreateAutoScalingGroup":    actionOf((*model.World).AutoScaling, (*groups.AutoScaling).CreateAutoScalingGroup),
	"UpdateAutoScalingGroup":    actionOf((*model.World).AutoScaling, (*groups.AutoScaling).UpdateAutoScalingGroup),
	"DeleteAutoScalingGroup":    actionOf((*model.World).AutoScaling, (*groups.AutoScaling).DeleteAutoScalingGroup),
	"DescribeAutoScalingGroups": actionOf((*model.World).AutoScaling, (*groups.AutoScaling).DescribeAutoScalingGroups),
	"DescribeAutoScalingInstances": actionOf((*model.World).AutoScaling,
		(*groups.AutoScaling).DescribeAutoScalingInstances),
	"SetDesiredCapacity": actionOf((*model.World).AutoScaling, (*groups.AutoScaling).SetDesiredCapacity),
	"LaunchInstances":    actionOf((*model.World).AutoScaling, (*groups.AutoScaling).LaunchInstances),
	"TerminateInstanceInAutoScalingGroup": actionOf((*model.World).AutoScaling,
		(*groups.AutoScaling).TerminateInstanceInAutoScalingGroup),
	"SetInstanceProtection":   actionOf((*model.World).AutoScaling, (*groups.AutoScaling).SetInstanceProtection),
	"SetInstanceHealth":       actionOf((*model.World).AutoScaling, (*groups.AutoScaling).SetInstanceHealth),
	"EnterStandby":            actionOf((*model.World).AutoScaling, (*groups.AutoScaling).EnterStandby),
	"ExitStandby":             actionOf((*model.World).AutoScaling, (*groups.AutoScaling).ExitStandby),
	"DetachInstances":         actionOf((*model.World).AutoScaling, (*groups.AutoScaling).DetachInstances),
	"PutWarmPool":             actionOf((*model.World).AutoScaling, (*groups.AutoScaling).PutWarmPool),
	"DescribeWarmPool":        actionOf((*model.World).AutoScaling, (*groups.AutoScaling).DescribeWarmPool),
	"DeleteWarmPool":          actionOf((*model.World).AutoScaling, (*groups.AutoScaling).DeleteWarmPool),
	"PutLifecycleHook":        actionOf((*model.World).AutoScaling, (*groups.AutoScaling).PutLifecycleHook),
	"DescribeLifecycleHooks":  actionOf((*model.World).AutoScaling, (*groups.AutoScaling).DescribeLifecycleHooks),
	"DeleteLifecycleHook":     actionOf((*model.World).AutoScaling, (*groups.AutoScaling).DeleteLifecycleHook),
	"CompleteLifecycleAction": actionOf((*model.World).AutoScaling, (*groups.AutoScaling).CompleteLifecycleAction),
	"RecordLifecycleActionHeartbeat": actionOf((*model.World).AutoScaling,
		(*groups.AutoScaling).RecordLifecycleActionHeartbeat),
	"SuspendProcesses":          actionOf((*model.World).AutoScaling, (*groups.AutoScaling).SuspendProcesses),
	"ResumeProcesses":           actionOf((*model.World).AutoScaling, (*groups.AutoScaling).ResumeProcesses),
	"DescribeScalingActivities": actionOf((*model.World).AutoScaling, (*groups.AutoScaling).DescribeScalingActivities),
	"PutScalingPolicy":          actionOf((*model.World).GroupPolicies, (*scaling.GroupPolicies).PutScalingPolicy),
	"DescribePolicies":          actionOf((*model.World).GroupPolicies, (*scaling.GroupPolicies).DescribePolicies),
	"DeletePolicy":              actionOf((*model.World).GroupPolicies, (*scaling.GroupPolicies).DeletePolicy),
	"StartInstanceRefresh":      actionOf((*model.World).AutoScaling, (*groups.AutoScaling).StartInstanceRefresh),
	"CancelInstanceRefresh":     actionOf((*model.World).AutoScaling, (*groups.AutoScaling).CancelInstanceRefresh),
	"DescribeInstanceRefreshes": actionOf((*model.World).AutoScaling, (*groups.AutoScaling).DescribeInstanceRefreshes),
	"EnableMetricsCollection":   actionOf((*model.World).AutoScaling, (*groups.AutoScaling).EnableMetricsCollection),
	"DisableMetricsCollection":  actionOf((*model.World).AutoScaling, (*groups.AutoScaling).DisableMetricsCollection),
}

// cloudWatch has the actions of CloudWatch.
var cloudWatch = map[string]action{
	"PutMetricData":       actionOf((*model.World).CloudWatch, (*monitoring.CloudWatch).PutMetricData),
	"GetMetricData":       actionOf((*model.World).CloudWatch, (*monitoring.CloudWatch).GetMetricData),
	"GetMetricStatistics": actionOf((*model.World).CloudWatch, (*monitoring.CloudWatch).GetMetricStatistics),
	"ListMetrics":         actionOf((*model.World).CloudWatch, (*monitoring.CloudWatch).ListMetrics),
	"PutMetricAlarm":      actionOf((*model.World).CloudWatch, (*monitoring.CloudWatch).PutMetricAlarm),
	"DescribeAlarms":      actionOf((*model.World).CloudWatch, (*monitoring.CloudWatch).DescribeAlarms),
	"DeleteAlarms":        actionOf((*model.World).CloudWatch, (*monitoring.CloudWatch).DeleteAlarms),
}

// queueActions has the actions of SQS on queues; actions on messages exist only behind Messages.
var queueActions = map[string]action{
	"CreateQueue":        actionOf((*model.World).SQS, (*queues.SQS).CreateQueue),
	"DeleteQueue":        actionOf((*model.World).SQS, (*queues.SQS).DeleteQueue),
	"GetQueueUrl":        actionOf((*model.World).SQS, (*queues.SQS).GetQueueUrl),
	"ListQueues":         actionOf((*model.World).SQS, (*queues.SQS).ListQueues),
	"GetQueueAttributes": actionOf((*model.World).SQS, (*queues.SQS).GetQueueAttributes),
}

// containerActions has the actions of Amazon ECS.
var containerActions = map[string]action{
	"CreateCluster":                 actionOf((*model.World).ECS, (*containers.ECS).CreateCluster),
	"DescribeClusters":              actionOf((*model.World).ECS, (*containers.ECS).DescribeClusters),
	"RegisterTaskDefinition":        actionOf((*model.World).ECS, (*containers.ECS).RegisterTaskDefinition),
	"DescribeTaskDefinition":        actionOf((*model.World).ECS, (*containers.ECS).DescribeTaskDefinition),
	"CreateService":                 actionOf((*model.World).ECS, (*containers.ECS).CreateService),
	"UpdateService":                 actionOf((*model.World).ECS, (*containers.ECS).UpdateService),
	"DescribeServices":              actionOf((*model.World).ECS, (*containers.ECS).DescribeServices),
	"DeleteService":                 actionOf((*model.World).ECS, (*containers.ECS).DeleteService),
	"ListServices":                  actionOf((*model.World).ECS, (*containers.ECS).ListServices),
	"RunTask":                       actionOf((*model.World).ECS, (*containers.ECS).RunTask),
	"DescribeTasks":                 actionOf((*model.World).ECS, (*containers.ECS).DescribeTasks),
	"ListTasks":                     actionOf((*model.World).ECS, (*containers.ECS).ListTasks),
	"StopTask":                      actionOf((*model.World).ECS, (*containers.ECS).StopTask),
	"UpdateTaskProtection":          actionOf((*model.World).ECS, (*containers.ECS).UpdateTaskProtection),
	"GetTaskProtection":             actionOf((*model.World).ECS, (*containers.ECS).GetTaskProtection),
	"CreateCapacityProvider":        actionOf((*model.World).ECS, (*containers.ECS).CreateCapacityProvider),
	"UpdateCapacityProvider":        actionOf((*model.World).ECS, (*containers.ECS).UpdateCapacityProvider),
	"DescribeCapacityProviders":     actionOf((*model.World).ECS, (*containers.ECS).DescribeCapacityProviders),
	"PutClusterCapacityProviders":   actionOf((*model.World).ECS, (*containers.ECS).PutClusterCapacityProviders),
	"ListContainerInstances":        actionOf((*model.World).ECS, (*containers.ECS).ListContainerInstances),
	"DescribeContainerInstances":    actionOf((*model.World).ECS, (*containers.ECS).DescribeContainerInstances),
	"UpdateContainerInstancesState": actionOf((*model.World).ECS, (*containers.ECS).UpdateContainerInstancesState),
}

// applicationScaling has the actions of Application Auto Scaling.
var applicationScaling = map[string]action{
	"RegisterScalableTarget": actionOf((*model.World).ApplicationScaling,
		(*scaling.ApplicationScaling).RegisterScalableTarget),
	"DeregisterScalableTarget": actionOf((*model.World).ApplicationScaling,
		(*scaling.ApplicationScaling).DeregisterScalableTarget),
	"DescribeScalableTargets": actionOf((*model.World).ApplicationScaling,
		(*scaling.ApplicationScaling).DescribeScalableTargets),
	"PutScalingPolicy": actionOf((*model.World).ApplicationScaling, (*scaling.ApplicationScaling).PutScalingPolicy),
	"DescribeScalingPolicies": actionOf((*model.World).ApplicationScaling,
		(*scaling.ApplicationScaling).DescribeScalingPolicies),
	"DeleteScalingPolicy": actionOf((*model.World).ApplicationScaling,
		(*scaling.ApplicationScaling).DeleteScalingPolicy),
	"DescribeScalingActivities": actionOf((*model.World).ApplicationScaling,
		(*scaling.ApplicationScaling).DescribeScalingActivities),
}

// faultOf returns an error of an action as a fault for the wire; nil for nil. An error that is no fault comes from
// the members.
func faultOf(s account.API, err error) *account.Fault {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*account.Fault](err); ok {
		return f
	}
	return malformed(s, err)
}

// speaksQuery tells whether a service words its errors in the manner of the Query protocol. A request without a
// service gets that manner too.
func speaksQuery(s account.API) bool {
	return s == account.AutoScalingService || s == account.CloudWatchService || s == ""
}

// malformed returns the fault for a request that cannot be read.
func malformed(s account.API, err error) *account.Fault {
	if speaksQuery(s) {
		return &account.Fault{Code: "MalformedInput", Message: "The request cannot be read: " + err.Error(),
			Status: 400}
	}
	return &account.Fault{Code: "SerializationException", Message: "The request cannot be read: " + err.Error(),
		Status: 400}
}

// unknown returns the fault for an action that the model does not have.
func unknown(c call) *account.Fault {
	if speaksQuery(c.service) {
		return &account.Fault{Code: "InvalidAction", Message: "Could not find operation " + c.action +
			" in the model of " + string(c.service) + ".", Status: 400}
	}
	return &account.Fault{Code: "UnknownOperationException", Message: "The model of " + string(c.service) +
		" has no operation " + c.action + ".", Status: 400}
}

// errorType returns the type of an error, which JSON and CBOR carry instead of the code. SDKs build their typed
// errors from it.
func errorType(s account.API, code string) string {
	prefix := map[account.API]string{account.SQSService: "com.amazonaws.sqs#",
		account.CloudWatchService: "com.amazonaws.cloudwatch#"}[s]
	if name, ok := errorTypes[code]; ok && prefix != "" {
		return prefix + name
	}
	return prefix + code
}

// errorTypes holds the error types whose names are not their codes.
var errorTypes = map[string]string{
	"AWS.SimpleQueueService.NonExistentQueue": "QueueDoesNotExist",
	"InvalidParameterValue":                   "InvalidParameterValueException",
	"InvalidParameterCombination":             "InvalidParameterCombinationException",
	"MissingParameter":                        "MissingRequiredParameterException",
	"LimitExceeded":                           "LimitExceededFault",
}
