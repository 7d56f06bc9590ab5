package groupapi

import "time"

// The transitions that hooks pause.
const (
	Launching = "autoscaling:EC2_INSTANCE_LAUNCHING"
	Ending    = "autoscaling:EC2_INSTANCE_TERMINATING"
)

// LifecycleHook is a hook as the API takes and shows it.
type LifecycleHook struct {
	AutoScalingGroupName  string
	LifecycleHookName     string
	LifecycleTransition   string
	HeartbeatTimeout      *int
	DefaultResult         string
	GlobalTimeout         *int
	NotificationMetadata  string
	NotificationTargetARN string
	RoleARN               string
}

// HookNames is the input of DescribeLifecycleHooks.
type HookNames struct {
	AutoScalingGroupName string
	LifecycleHookNames   []string
}

// HookList is its answer.
type HookList struct {
	LifecycleHooks []LifecycleHook
}

// HookName is the input of DeleteLifecycleHook.
type HookName struct {
	AutoScalingGroupName, LifecycleHookName string
}

// LifecycleAction is the input of CompleteLifecycleAction and RecordLifecycleActionHeartbeat.
type LifecycleAction struct {
	AutoScalingGroupName, LifecycleHookName string
	// InstanceId or LifecycleActionToken says which action is meant.
	InstanceId, LifecycleActionToken string
	// LifecycleActionResult is CONTINUE or ABANDON.
	LifecycleActionResult string
}

// PutWarm is the input of PutWarmPool.
type PutWarm struct {
	AutoScalingGroupName string
	// MaxGroupPreparedCapacity is -1 for the group's MaxSize.
	MaxGroupPreparedCapacity *int
	MinSize                  *int
	// PoolState is Stopped, Running or Hibernated.
	PoolState           string
	InstanceReusePolicy *InstanceReusePolicy
}

// InstanceReusePolicy says whether instances go back to the pool on scale-in.
type InstanceReusePolicy struct {
	ReuseOnScaleIn *bool
}

// WarmPoolConfiguration is a warm pool as the API shows it.
type WarmPoolConfiguration struct {
	MaxGroupPreparedCapacity *int
	MinSize                  *int
	PoolState                string
	Status                   string
	InstanceReusePolicy      *InstanceReusePolicy
}

// DescribeWarm is the input of DescribeWarmPool.
type DescribeWarm struct {
	AutoScalingGroupName string
	MaxRecords           *int
	NextToken            string
}

// WarmPool is its answer.
type WarmPool struct {
	WarmPoolConfiguration *WarmPoolConfiguration
	Instances             []Instance
	NextToken             string
}

// DeleteWarm is the input of DeleteWarmPool.
type DeleteWarm struct {
	AutoScalingGroupName string
	ForceDelete          *bool
}

// RefreshPreferences say how an instance refresh replaces instances.
type RefreshPreferences struct {
	MinHealthyPercentage *int
	SkipMatching         *bool
	// ScaleInProtectedInstances is Wait, Ignore or Refresh.
	ScaleInProtectedInstances string
}

// StartRefresh is the input of StartInstanceRefresh.
type StartRefresh struct {
	AutoScalingGroupName string
	Strategy             string
	Preferences          *RefreshPreferences
}

// RefreshID is the answer of StartInstanceRefresh and CancelInstanceRefresh.
type RefreshID struct {
	InstanceRefreshId string
}

// DescribeRefreshes is the input of DescribeInstanceRefreshes.
type DescribeRefreshes struct {
	AutoScalingGroupName string
	InstanceRefreshIds   []string
	MaxRecords           *int
	NextToken            string
}

// RefreshList is its answer, newest first.
type RefreshList struct {
	InstanceRefreshes []InstanceRefresh
	NextToken         string
}

// InstanceRefresh is a refresh as the API shows it.
type InstanceRefresh struct {
	InstanceRefreshId    string
	AutoScalingGroupName string
	Status               string
	StatusReason         string
	StartTime, EndTime   time.Time
	PercentageComplete   int
	InstancesToUpdate    int
	Preferences          *RefreshPreferences
}

// TerminationRequest is the input of a custom termination policy.
type TerminationRequest struct {
	AutoScalingGroupARN  string
	AutoScalingGroupName string
	CapacityToTerminate  []CapacityToTerminate
	Instances            []TerminationCandidate
	// Cause is SCALE_IN, INSTANCE_REFRESH or REBALANCE.
	Cause string
}

// CapacityToTerminate is the capacity that has to end in a zone and market.
type CapacityToTerminate struct {
	AvailabilityZone     string
	Capacity             int
	InstanceMarketOption string
}

// TerminationCandidate is an instance that may end.
type TerminationCandidate struct {
	AvailabilityZone, InstanceId, InstanceType, InstanceMarketOption string
}

// TerminationAnswer is the answer of a custom termination policy.
type TerminationAnswer struct {
	InstanceIDs []string
	// Took is how long the function ran. An answer after more than two seconds is ignored.
	Took time.Duration
	// Failed tells whether the function ended with an error.
	Failed bool
}

// TerminationPolicy is a Lambda function that chooses the instances to end. It must depend on nothing but its
// argument and what its owner changes between calls of Advance, and it must not call the world.
type TerminationPolicy func(TerminationRequest) TerminationAnswer
