package containers

import (
	"cmp"
	"time"
)

// This file has the settings of tasks, and the inputs and answers of the API's actions. Names are those of the API.
// Pointers are members that may be absent; times are zero where the API shows none.

// Tasks says how tasks behave. A zero field means its default, given in brackets. Durations are in virtual time.
type Tasks struct {
	// React is the time until a service acts on a difference between its tasks and its desired count (1s).
	React time.Duration
	// Provision is the time in PROVISIONING on Fargate (10s). Pull is the time in PENDING on Fargate, where no image
	// is cached (25s); HostPull is that of the first task of a definition on a host (15s). Activate is the time in
	// ACTIVATING (2s), which is all that a start takes where the image is cached.
	Provision, Pull, HostPull, Activate time.Duration
	// Exit is the time that a container takes to end after SIGTERM (2s); it is killed after StopTimeout (30s).
	// Deprovision is the time from the end of the container until STOPPED (3s).
	Exit, StopTimeout, Deprovision time.Duration
	// Join is the time from the start of service of an instance until it is registered in its cluster (5s).
	Join time.Duration
	// Spread is the relative spread of all these times, from 0 to 1: each is uniform within ±Spread of its value.
	Spread float64
	// StartFails is the share of starts that end before RUNNING, 0 to 1.
	StartFails float64
	// ServicePace is the number of tasks that a service starts in a minute at most (500).
	ServicePace int
	// FargateBurst and FargateRate are the token bucket of Fargate launches: 100 at once and 20 in a second. Fargate
	// Spot has a bucket of the same size.
	FargateBurst, FargateRate float64
	// Lag is how long ListTasks and DescribeTasks do not show a new task (0s).
	Lag time.Duration
	// HostCPU and HostMemoryMiB are the resources of a host, in CPU units and MiB (2048 and 7680).
	HostCPU, HostMemoryMiB int
}

// withDefaults fills zero fields with their defaults. Shares and the lag have none: zero is a meaning of its own.
func (t Tasks) withDefaults() Tasks {
	for _, d := range []struct {
		of        *time.Duration
		otherwise time.Duration
	}{
		{&t.React, time.Second}, {&t.Provision, 10 * time.Second}, {&t.Pull, 25 * time.Second},
		{&t.HostPull, 15 * time.Second},
		{&t.Activate, 2 * time.Second}, {&t.Exit, 2 * time.Second}, {&t.StopTimeout, 30 * time.Second},
		{&t.Deprovision, 3 * time.Second},
		{&t.Join, 5 * time.Second},
	} {
		*d.of = cmp.Or(*d.of, d.otherwise)
	}
	t.ServicePace = cmp.Or(t.ServicePace, 500)
	t.FargateBurst, t.FargateRate = cmp.Or(t.FargateBurst, 100), cmp.Or(t.FargateRate, 20)
	t.HostCPU, t.HostMemoryMiB = cmp.Or(t.HostCPU, 2048), cmp.Or(t.HostMemoryMiB, 7680)
	return t
}

// The states of a task, in the order in which it passes them.
const (
	Provisioning   = "PROVISIONING"
	TaskPending    = "PENDING"
	Activating     = "ACTIVATING"
	Running        = "RUNNING"
	Deactivating   = "DEACTIVATING"
	Stopping       = "STOPPING"
	Deprovisioning = "DEPROVISIONING"
	Stopped        = "STOPPED"
)

// The launch types, and the capacity providers without a group. FARGATE is both.
const (
	Fargate     = "FARGATE"
	FargateSpot = "FARGATE_SPOT"
	EC2         = "EC2"
)

// Cluster is a cluster as the API shows it.
type Cluster struct {
	ClusterName, ClusterArn, Status                      string
	ActiveServicesCount, RunningTasksCount               int
	PendingTasksCount, RegisteredContainerInstancesCount int
	CapacityProviders                                    []string
	DefaultCapacityProviderStrategy                      []StrategyPart
}

// ClusterSetting is a setting such as containerInsights.
type ClusterSetting struct {
	Name, Value string
}

// CreateClusterInput is the input of CreateCluster.
type CreateClusterInput struct {
	ClusterName                     string
	CapacityProviders               []string
	DefaultCapacityProviderStrategy []StrategyPart
	Settings                        []ClusterSetting
}

// OneCluster is an answer with a cluster.
type OneCluster struct {
	Cluster Cluster
}

// ClusterNames is the input of DescribeClusters.
type ClusterNames struct {
	Clusters []string
}

// ClusterList is its answer.
type ClusterList struct {
	Clusters []Cluster
	Failures []Failure
}

// Failure says why an action failed for one of the things that it named.
type Failure struct {
	Arn, Reason, Detail string
}

// StrategyPart is one capacity provider of a strategy: Base tasks first, then a share by Weight.
type StrategyPart struct {
	CapacityProvider string
	Base, Weight     int
}

// ContainerDefinition is a container of a task definition.
type ContainerDefinition struct {
	Name, Image string
	// Cpu is in CPU units, Memory in MiB, StopTimeout in seconds; nil means the default of Tasks.
	Cpu         int
	Memory      *int
	StopTimeout *int
}

// TaskDefinition is a task definition as the API takes and shows it. The API numbers revisions and makes the ARN.
type TaskDefinition struct {
	Family            string
	TaskDefinitionArn string
	Revision          int
	Status            string
	// Cpu and Memory are for the whole task, in CPU units and MiB; empty means the sum over its containers.
	Cpu, Memory             string
	NetworkMode             string
	RequiresCompatibilities []string
	ContainerDefinitions    []ContainerDefinition
}

// OneTaskDefinition is an answer with a task definition.
type OneTaskDefinition struct {
	TaskDefinition TaskDefinition
}

// TaskDefinitionName is the input of DescribeTaskDefinition: FAMILY, FAMILY:REVISION or an ARN.
type TaskDefinitionName struct {
	TaskDefinition string
}

// NetworkConfiguration is the network of tasks with the network mode awsvpc.
type NetworkConfiguration struct {
	AwsvpcConfiguration *AwsvpcConfiguration
}

// AwsvpcConfiguration names subnets and security groups, which the model keeps and does nothing with.
type AwsvpcConfiguration struct {
	Subnets, SecurityGroups []string
	AssignPublicIp          string
}

// DeploymentConfiguration bounds the number of tasks during a deployment, in percent of the desired count.
type DeploymentConfiguration struct {
	MinimumHealthyPercent, MaximumPercent *int
}

// PlacementStrategy is binpack, spread or random. The model treats the last two alike.
type PlacementStrategy struct {
	Type, Field string
}

// CreateServiceInput is the input of CreateService. The only SchedulingStrategy of the model is REPLICA.
type CreateServiceInput struct {
	Cluster        string
	ServiceName    string
	TaskDefinition string
	DesiredCount   *int
	// LaunchType and CapacityProviderStrategy exclude each other; without both, the cluster's default strategy
	// counts.
	LaunchType               string
	CapacityProviderStrategy []StrategyPart
	NetworkConfiguration     *NetworkConfiguration
	DeploymentConfiguration  *DeploymentConfiguration
	PlacementStrategy        []PlacementStrategy
	SchedulingStrategy       string
}

// UpdateServiceInput is the input of UpdateService. Absent members stay as they are.
type UpdateServiceInput struct {
	Cluster        string
	Service        string
	DesiredCount   *int
	TaskDefinition string
	// ForceNewDeployment replaces all tasks even if nothing changes.
	ForceNewDeployment       bool
	CapacityProviderStrategy []StrategyPart
	DeploymentConfiguration  *DeploymentConfiguration
	PlacementStrategy        []PlacementStrategy
}

// OneService is an answer with a service.
type OneService struct {
	Service Service
}

// Service is a service as the API shows it.
type Service struct {
	ServiceName, ServiceArn, ClusterArn, Status string
	// RunningCount are tasks in RUNNING, PendingCount those on their way there; stopping tasks are in neither.
	DesiredCount, RunningCount, PendingCount int
	LaunchType                               string
	CapacityProviderStrategy                 []StrategyPart
	TaskDefinition                           string
	SchedulingStrategy                       string
	NetworkConfiguration                     *NetworkConfiguration
	DeploymentConfiguration                  *DeploymentConfiguration
	PlacementStrategy                        []PlacementStrategy
	Deployments                              []Deployment
	Events                                   []ServiceEvent
	CreatedAt                                time.Time
}

// Deployment is one deployment of a service. Status is PRIMARY for the newest and ACTIVE for older ones.
type Deployment struct {
	Id, Status, TaskDefinition string
	// DesiredCount is that of the service for the primary deployment, and 0 for older ones.
	DesiredCount, RunningCount, PendingCount, FailedTasks int
	// RolloutState is IN_PROGRESS or COMPLETED.
	RolloutState, RolloutStateReason string
	LaunchType                       string
	CreatedAt, UpdatedAt             time.Time
}

// ServiceEvent is an entry in the log of a service.
type ServiceEvent struct {
	Id, Message string
	CreatedAt   time.Time
}

// DescribeServicesInput is the input of DescribeServices.
type DescribeServicesInput struct {
	Cluster  string
	Services []string
	Include  []string
}

// ServiceList is its answer.
type ServiceList struct {
	Services []Service
	Failures []Failure
}

// DeleteServiceInput is the input of DeleteService.
type DeleteServiceInput struct {
	Cluster, Service string
	Force            *bool
}

// ListServicesInput is the input of ListServices.
type ListServicesInput struct {
	Cluster    string
	LaunchType string
	MaxResults *int
	NextToken  string
}

// ServiceArns is its answer.
type ServiceArns struct {
	ServiceArns []string
	NextToken   string
}

// KeyValue is a variable of the environment.
type KeyValue struct {
	Name, Value string
}

// ContainerOverride changes a container of a task.
type ContainerOverride struct {
	Name        string
	Command     []string
	Environment []KeyValue
}

// TaskOverride changes a task.
type TaskOverride struct {
	ContainerOverrides []ContainerOverride
	Cpu, Memory        string
}

// RunTaskInput is the input of RunTask. Count is 1 when absent.
type RunTaskInput struct {
	Cluster                  string
	TaskDefinition           string
	Count                    *int
	LaunchType               string
	CapacityProviderStrategy []StrategyPart
	// ClientToken makes the call idempotent: a repeated call with the same token starts nothing.
	ClientToken string
	Group       string
	// StartedBy is a mark of the caller's, which ListTasks can select by.
	StartedBy            string
	ReferenceId          string
	NetworkConfiguration *NetworkConfiguration
	PlacementStrategy    []PlacementStrategy
	Overrides            *TaskOverride
}

// TaskList is an answer with tasks, and with the reasons why others are missing.
type TaskList struct {
	Tasks    []Task
	Failures []Failure
}

// Container is a container of a task. ExitCode is nil until the task has stopped.
type Container struct {
	Name, LastStatus, TaskArn string
	ExitCode                  *int
}

// Task is a task as the API shows it. The times are zero until the task gets there.
type Task struct {
	TaskArn, TaskDefinitionArn, ClusterArn string
	Group, StartedBy                       string
	LastStatus, DesiredStatus              string
	LaunchType, CapacityProviderName       string
	ContainerInstanceArn, AvailabilityZone string
	Cpu, Memory                            string
	// StopCode is TaskFailedToStart, EssentialContainerExited, UserInitiated, ServiceSchedulerInitiated,
	// SpotInterruption or InfrastructureHealth.
	StopCode, StoppedReason string
	// Connectivity is always CONNECTED: the model loses no agent.
	Connectivity string
	// Version counts changes of state, so that events of a task can be put in order.
	Version    int
	Overrides  *TaskOverride
	Containers []Container
	// StoppingAt is the order to stop, ExecutionStoppedAt the end of the container, StoppedAt the end of the task.
	CreatedAt, PullStartedAt             time.Time
	PullStoppedAt, StartedAt, StoppingAt time.Time
	ExecutionStoppedAt, StoppedAt        time.Time
}

// DescribeTasksInput is the input of DescribeTasks.
type DescribeTasksInput struct {
	Cluster string
	Tasks   []string
	Include []string
}

// ListTasksInput is the input of ListTasks. All filters that are given must hold; StartedBy excludes the first three.
type ListTasksInput struct {
	Cluster           string
	ServiceName       string
	Family            string
	ContainerInstance string
	StartedBy         string
	DesiredStatus     string
	LaunchType        string
	MaxResults        *int
	NextToken         string
}

// TaskArns is its answer.
type TaskArns struct {
	TaskArns  []string
	NextToken string
}

// StopTaskInput is the input of StopTask.
type StopTaskInput struct {
	Cluster, Task, Reason string
}

// OneTask is an answer with a task.
type OneTask struct {
	Task Task
}

// ProtectTasks is the input of UpdateTaskProtection and GetTaskProtection. ExpiresInMinutes is 1 to 2880, 120 when
// absent.
type ProtectTasks struct {
	Cluster           string
	Tasks             []string
	ProtectionEnabled bool
	ExpiresInMinutes  *int
}

// Protections is their answer.
type Protections struct {
	ProtectedTasks []ProtectedTask
	Failures       []Failure
}

// ProtectedTask says whether a task is protected, and until when.
type ProtectedTask struct {
	TaskArn           string
	ProtectionEnabled bool
	ExpirationDate    time.Time
}

// CapacityProvider is a capacity provider as the API takes and shows it.
type CapacityProvider struct {
	Name, CapacityProviderArn, Status, Type string
	AutoScalingGroupProvider                *GroupProvider
}

// GroupProvider ties a capacity provider to a group.
type GroupProvider struct {
	// AutoScalingGroupArn is the group's ARN, or its name.
	AutoScalingGroupArn string
	ManagedScaling      *ManagedScaling
	// ManagedTerminationProtection is ENABLED or DISABLED: whether instances with tasks are protected from scale-in.
	ManagedTerminationProtection string
	// ManagedDraining is kept and shown; the model does not drain instances that end.
	ManagedDraining string
}

// ManagedScaling says whether and how ECS sizes the group. TargetCapacity is in percent of the instances.
type ManagedScaling struct {
	Status                                                               string
	TargetCapacity                                                       *int
	MinimumScalingStepSize, MaximumScalingStepSize, InstanceWarmupPeriod *int
}

// CreateProvider is the input of CreateCapacityProvider and UpdateCapacityProvider.
type CreateProvider struct {
	Name                     string
	AutoScalingGroupProvider *GroupProvider
}

// OneProvider is an answer with a capacity provider.
type OneProvider struct {
	CapacityProvider CapacityProvider
}

// ProviderNames is the input of DescribeCapacityProviders.
type ProviderNames struct {
	CapacityProviders []string
	MaxResults        *int
	NextToken         string
}

// ProviderList is its answer.
type ProviderList struct {
	CapacityProviders []CapacityProvider
	Failures          []Failure
	NextToken         string
}

// ClusterProviders is the input of PutClusterCapacityProviders, which replaces both lists.
type ClusterProviders struct {
	Cluster                         string
	CapacityProviders               []string
	DefaultCapacityProviderStrategy []StrategyPart
}

// Resource is CPU, in CPU units, or MEMORY, in MiB, of a host.
type Resource struct {
	Name, Type   string
	IntegerValue int
}

// ContainerInstance is a host as the API shows it. Remaining resources are those that no task has taken.
type ContainerInstance struct {
	ContainerInstanceArn, Ec2InstanceId, CapacityProviderName, Status string
	AgentConnected                                                    bool
	RunningTasksCount, PendingTasksCount                              int
	RegisteredResources, RemainingResources                           []Resource
	RegisteredAt                                                      time.Time
}

// ListHosts is the input of ListContainerInstances.
type ListHosts struct {
	Cluster    string
	Status     string
	MaxResults *int
	NextToken  string
}

// HostArns is its answer.
type HostArns struct {
	ContainerInstanceArns []string
	NextToken             string
}

// HostNames is the input of DescribeContainerInstances, and of UpdateContainerInstancesState, which reads Status.
type HostNames struct {
	Cluster            string
	ContainerInstances []string
	Status             string
	Include            []string
}

// HostList is their answer.
type HostList struct {
	ContainerInstances []ContainerInstance
	Failures           []Failure
}
