package groupapi

import "time"

// LifecycleState is the state of an instance of a group, in the words of EC2 Auto Scaling.
type LifecycleState string

// The states that instances of a model go through. Those of a warm pool begin with Warmed.
const (
	Pending             LifecycleState = "Pending"
	PendingWait         LifecycleState = "Pending:Wait"
	PendingProceed      LifecycleState = "Pending:Proceed"
	InService           LifecycleState = "InService"
	Terminating         LifecycleState = "Terminating"
	TerminatingWait     LifecycleState = "Terminating:Wait"
	TerminatingProceed  LifecycleState = "Terminating:Proceed"
	TerminatingRetained LifecycleState = "Terminating:Retained"
	EnteringStandby     LifecycleState = "EnteringStandby"
	Standby             LifecycleState = "Standby"
	WarmedPending       LifecycleState = "Warmed:Pending"
	WarmedPendingWait   LifecycleState = "Warmed:Pending:Wait"
	WarmedPendingGo     LifecycleState = "Warmed:Pending:Proceed"
	WarmedStopped       LifecycleState = "Warmed:Stopped"
	WarmedRunning       LifecycleState = "Warmed:Running"
	WarmedHibernated    LifecycleState = "Warmed:Hibernated"
	WarmedTerminating   LifecycleState = "Warmed:Terminating"
	WarmedEndWait       LifecycleState = "Warmed:Terminating:Wait"
	WarmedEndProceed    LifecycleState = "Warmed:Terminating:Proceed"
)

// Tag is a tag of a group.
type Tag struct {
	Key, Value, ResourceId, ResourceType string
	PropagateAtLaunch                    *bool
}

// LaunchTemplate names a launch template.
type LaunchTemplate struct {
	LaunchTemplateId, LaunchTemplateName, Version string
}

// Overrides is one instance type that a mixed group may launch.
type Overrides struct {
	InstanceType string
	// WeightedCapacity is a number from 1 to 999; 1 when empty.
	WeightedCapacity string
	// InstanceRequirements stand for types that the model does not look up: they launch the launch template's type.
	InstanceRequirements        *InstanceRequirements
	LaunchTemplateSpecification *LaunchTemplate
}

// InstanceRequirements describe instance types. They are kept and shown and choose nothing.
type InstanceRequirements struct {
	VCpuCount *Range
	MemoryMiB *Range
}

// Range is a lower and an upper bound, both included.
type Range struct {
	Min, Max *int
}

// MixedInstancesPolicy says which types and markets a group launches.
type MixedInstancesPolicy struct {
	LaunchTemplate        *MixedTemplate
	InstancesDistribution *InstancesDistribution
}

// MixedTemplate is a launch template and what overrides it.
type MixedTemplate struct {
	LaunchTemplateSpecification *LaunchTemplate
	Overrides                   []Overrides
}

// InstancesDistribution splits a group between the markets.
type InstancesDistribution struct {
	OnDemandAllocationStrategy          string
	OnDemandBaseCapacity                *int
	OnDemandPercentageAboveBaseCapacity *int
	SpotAllocationStrategy              string
	SpotInstancePools                   *int
	SpotMaxPrice                        string
}

// Operator names the only principal that may change a group.
type Operator struct {
	Principal string
}

// InstanceLifecyclePolicy says what happens to an instance whose termination hook was abandoned.
type InstanceLifecyclePolicy struct {
	RetentionTriggers *RetentionTriggers
}

// RetentionTriggers hold the word retain or terminate.
type RetentionTriggers struct {
	TerminateHookAbandon string
}

// GroupSettings are the members that CreateAutoScalingGroup and UpdateAutoScalingGroup have in common.
type GroupSettings struct {
	AutoScalingGroupName             string
	MinSize, MaxSize                 *int
	DesiredCapacity                  *int
	DefaultCooldown                  *int
	DefaultInstanceWarmup            *int
	AvailabilityZones                []string
	VPCZoneIdentifier                string
	NewInstancesProtectedFromScaleIn *bool
	TerminationPolicies              []string
	LaunchTemplate                   *LaunchTemplate
	LaunchConfigurationName          string
	MixedInstancesPolicy             *MixedInstancesPolicy
	CapacityRebalance                *bool
	HealthCheckType                  string
	HealthCheckGracePeriod           *int
	InstanceLifecyclePolicy          *InstanceLifecyclePolicy
	Operator                         *Operator
	DeletionProtection               string
	ShownSettings
}

// ShownSettings are settings of a group that the model keeps and shows, and does nothing with.
type ShownSettings struct {
	MaxInstanceLifetime          *int
	DesiredCapacityType          string
	PlacementGroup               string
	ServiceLinkedRoleARN         string
	TargetGroupARNs              []string
	InstanceMaintenancePolicy    *InstanceMaintenancePolicy
	AvailabilityZoneDistribution *ZoneDistribution
}

// InstanceMaintenancePolicy bounds how far a group may go below and above its desired capacity while it replaces
// instances.
type InstanceMaintenancePolicy struct {
	MinHealthyPercentage, MaxHealthyPercentage *int
}

// ZoneDistribution says how strictly a group keeps its zones level.
type ZoneDistribution struct {
	CapacityDistributionStrategy string
}

// CreateGroup is the input of CreateAutoScalingGroup.
type CreateGroup struct {
	GroupSettings
	Tags                           []Tag
	LifecycleHookSpecificationList []LifecycleHook
}

// GroupName is the input of actions that need no more.
type GroupName struct {
	AutoScalingGroupName string
}

// DeleteGroup is the input of DeleteAutoScalingGroup.
type DeleteGroup struct {
	AutoScalingGroupName string
	ForceDelete          *bool
}

// SetDesired is the input of SetDesiredCapacity.
type SetDesired struct {
	AutoScalingGroupName string
	DesiredCapacity      *int
	HonorCooldown        *bool
}

// DescribeGroups is the input of DescribeAutoScalingGroups.
type DescribeGroups struct {
	AutoScalingGroupNames []string
	IncludeInstances      *bool
	MaxRecords            *int
	NextToken             string
	Filters               []Filter
}

// Filter is a name, and the values of which one must hold.
type Filter struct {
	Name   string
	Values []string
}

// GroupList is the answer of DescribeAutoScalingGroups.
type GroupList struct {
	AutoScalingGroups []Group
	NextToken         string
}

// Group is an Auto Scaling group as the API shows it.
type Group struct {
	AutoScalingGroupName             string
	AutoScalingGroupARN              string
	MinSize, MaxSize                 int
	DesiredCapacity                  int
	DefaultCooldown                  int
	DefaultInstanceWarmup            *int
	AvailabilityZones                []string
	VPCZoneIdentifier                string
	HealthCheckType                  string
	HealthCheckGracePeriod           int
	CreatedTime                      time.Time
	Status                           string
	NewInstancesProtectedFromScaleIn bool
	TerminationPolicies              []string
	CapacityRebalance                *bool
	LaunchTemplate                   *LaunchTemplate
	LaunchConfigurationName          string
	MixedInstancesPolicy             *MixedInstancesPolicy
	InstanceLifecyclePolicy          *InstanceLifecyclePolicy
	Operator                         *Operator
	DeletionProtection               string
	WarmPoolConfiguration            *WarmPoolConfiguration
	WarmPoolSize                     *int
	SuspendedProcesses               []SuspendedProcess
	EnabledMetrics                   []EnabledMetric
	Tags                             []Tag
	Instances                        []Instance
	ShownSettings
}

// Instance is an instance of a group as the API shows it. Only DescribeAutoScalingInstances names the group.
type Instance struct {
	InstanceId              string
	AutoScalingGroupName    string
	InstanceType            string
	AvailabilityZone        string
	LifecycleState          LifecycleState
	HealthStatus            string
	ProtectedFromScaleIn    bool
	WeightedCapacity        string
	LaunchTemplate          *LaunchTemplate
	LaunchConfigurationName string
}

// DescribeInstances is the input of DescribeAutoScalingInstances.
type DescribeInstances struct {
	InstanceIds []string
	MaxRecords  *int
	NextToken   string
}

// InstanceList is the answer of DescribeAutoScalingInstances.
type InstanceList struct {
	AutoScalingInstances []Instance
	NextToken            string
}

// LaunchInstances is the input of the action of that name.
type LaunchInstances struct {
	AutoScalingGroupName string
	RequestedCapacity    *int
	ClientToken          string
	AvailabilityZones    []string
	AvailabilityZoneIds  []string
	SubnetIds            []string
	RetryStrategy        string
}

// Launched is the answer of LaunchInstances.
type Launched struct {
	AutoScalingGroupName string
	ClientToken          string
	Instances            []LaunchedInstances
	Errors               []LaunchError
}

// LaunchedInstances are instances of one pool.
type LaunchedInstances struct {
	InstanceType     string
	MarketType       string
	AvailabilityZone string
	InstanceIds      []string
}

// LaunchError says why a pool launched nothing.
type LaunchError struct {
	InstanceType     string
	MarketType       string
	AvailabilityZone string
	ErrorCode        string
	ErrorMessage     string
}

// SetProtection is the input of SetInstanceProtection.
type SetProtection struct {
	AutoScalingGroupName string
	InstanceIds          []string
	ProtectedFromScaleIn *bool
}

// EndInstance is the input of TerminateInstanceInAutoScalingGroup.
type EndInstance struct {
	InstanceId                     string
	ShouldDecrementDesiredCapacity *bool
}

// OneActivity is an answer with an activity.
type OneActivity struct {
	Activity Activity
}

// Activity is one scaling activity of a group.
type Activity struct {
	ActivityId           string
	AutoScalingGroupName string
	AutoScalingGroupARN  string
	Description          string
	Cause                string
	StartTime            time.Time
	EndTime              time.Time
	StatusCode           string
	StatusMessage        string
	Progress             int
}

// DescribeActivities is the input of DescribeScalingActivities.
type DescribeActivities struct {
	AutoScalingGroupName string
	ActivityIds          []string
	MaxRecords           *int
	NextToken            string
}

// ActivityList is its answer, newest first.
type ActivityList struct {
	Activities []Activity
	NextToken  string
}

// Processes is the input of SuspendProcesses and ResumeProcesses. Without names it is for all processes.
type Processes struct {
	AutoScalingGroupName string
	ScalingProcesses     []string
}

// SuspendedProcess is a process of a group that is suspended.
type SuspendedProcess struct {
	ProcessName, SuspensionReason string
}

// GroupMetrics is the input of EnableMetricsCollection and DisableMetricsCollection. Without names it is for all
// metrics.
type GroupMetrics struct {
	AutoScalingGroupName string
	Metrics              []string
	Granularity          string
}

// EnabledMetric is a metric that a group publishes.
type EnabledMetric struct {
	Metric, Granularity string
}

// SetHealth is the input of SetInstanceHealth.
type SetHealth struct {
	InstanceId, HealthStatus string
}

// MoveInstances is the input of EnterStandby, ExitStandby and DetachInstances.
type MoveInstances struct {
	AutoScalingGroupName           string
	InstanceIds                    []string
	ShouldDecrementDesiredCapacity *bool
}

// Moved is their answer.
type Moved struct {
	Activities []Activity
}
