package containers

import (
	"cmp"
	"time"
)

// Tasks are how tasks of ECS behave. Zero fields are defaults, which stand in brackets.
type Tasks struct {
	// React is how long a service takes to notice that it has too few or too many tasks (1s).
	React time.Duration
	// Provision is the time in PROVISIONING on Fargate (10s), Pull the time in PENDING on Fargate (25s), where nothing
	// is cached, and HostPull that of the first task of a definition on an instance (15s). Activate is the time in
	// ACTIVATING (2s), and on an instance that has the image all that a start takes.
	Provision, Pull, HostPull, Activate time.Duration
	// Exit is how long a container takes to end after SIGTERM (2s); it is killed after StopTimeout (30s). Deprovision
	// is the time after that until STOPPED (3s).
	Exit, StopTimeout, Deprovision time.Duration
	// Join is how long an instance in service takes until it is registered in its cluster (5s).
	Join time.Duration
	// Spread is the relative spread of all of these, 0 to 1, uniform.
	Spread float64
	// StartFails is the share of starts that end before RUNNING.
	StartFails float64
	// ServicePace is how many tasks a service starts in a minute at most (500).
	ServicePace int
	// FargateBurst and FargateRate are the token bucket of Fargate launches (100, and 20 in a second); Fargate Spot has
	// the same again.
	FargateBurst, FargateRate float64
	// Lag is how long a new task stays unseen by ListTasks and DescribeTasks (0s).
	Lag time.Duration
	// HostCPU and HostMemoryMiB are the resources of an instance in a cluster (2048 and 7680).
	HostCPU, HostMemoryMiB int
}

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

// The states of a task.
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

// The launch types and the capacity providers that are not a group.
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

// Failure says why one of several could not be done.
type Failure struct {
	Arn, Reason, Detail string
}

// StrategyPart is one capacity provider of a strategy.
type StrategyPart struct {
	CapacityProvider string
	Base, Weight     int
}

// ContainerDefinition is a container of a task definition.
type ContainerDefinition struct {
	Name, Image string
	Cpu         int
	Memory      *int
	StopTimeout *int
}

// TaskDefinition is a task definition as the API takes and shows it.
type TaskDefinition struct {
	Family                  string
	TaskDefinitionArn       string
	Revision                int
	Status                  string
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

// NetworkConfiguration is where tasks of the network mode awsvpc are.
type NetworkConfiguration struct {
	AwsvpcConfiguration *AwsvpcConfiguration
}

// AwsvpcConfiguration are subnets and security groups.
type AwsvpcConfiguration struct {
	Subnets, SecurityGroups []string
	AssignPublicIp          string
}

// DeploymentConfiguration bounds how many tasks there are during a deployment, in percent of the desired count.
type DeploymentConfiguration struct {
	MinimumHealthyPercent, MaximumPercent *int
}

// PlacementStrategy is binpack, spread or random.
type PlacementStrategy struct {
	Type, Field string
}

// CreateServiceInput is the input of CreateService.
type CreateServiceInput struct {
	Cluster                  string
	ServiceName              string
	TaskDefinition           string
	DesiredCount             *int
	LaunchType               string
	CapacityProviderStrategy []StrategyPart
	NetworkConfiguration     *NetworkConfiguration
	DeploymentConfiguration  *DeploymentConfiguration
	PlacementStrategy        []PlacementStrategy
	SchedulingStrategy       string
}

// UpdateServiceInput is the input of UpdateService.
type UpdateServiceInput struct {
	Cluster                  string
	Service                  string
	DesiredCount             *int
	TaskDefinition           string
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
	DesiredCount, RunningCount, PendingCount    int
	LaunchType                                  string
	CapacityProviderStrategy                    []StrategyPart
	TaskDefinition                              string
	SchedulingStrategy                          string
	NetworkConfiguration                        *NetworkConfiguration
	DeploymentConfiguration                     *DeploymentConfiguration
	PlacementStrategy                           []PlacementStrategy
	Deployments                                 []Deployment
	Events                                      []ServiceEvent
	CreatedAt                                   time.Time
}

// Deployment is one deployment of a service.
type Deployment struct {
	Id, Status, TaskDefinition                            string
	DesiredCount, RunningCount, PendingCount, FailedTasks int
	RolloutState, RolloutStateReason                      string
	LaunchType                                            string
	CreatedAt, UpdatedAt                                  time.Time
}

// ServiceEvent is a line that a service wrote.
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

// RunTaskInput is the input of RunTask.
type RunTaskInput struct {
	Cluster                  string
	TaskDefinition           string
	Count                    *int
	LaunchType               string
	CapacityProviderStrategy []StrategyPart
	ClientToken              string
	Group                    string
	StartedBy                string
	ReferenceId              string
	NetworkConfiguration     *NetworkConfiguration
	PlacementStrategy        []PlacementStrategy
	Overrides                *TaskOverride
}

// TaskList is an answer with tasks, and why others are missing.
type TaskList struct {
	Tasks    []Task
	Failures []Failure
}

// Container is the container of a task.
type Container struct {
	Name, LastStatus, TaskArn string
	ExitCode                  *int
}

// Task is a task as the API shows it.
type Task struct {
	TaskArn, TaskDefinitionArn, ClusterArn string
	Group, StartedBy                       string
	LastStatus, DesiredStatus              string
	LaunchType, CapacityProviderName       string
	ContainerInstanceArn, AvailabilityZone string
	Cpu, Memory                            string
	StopCode, StoppedReason                string
	Connectivity                           string
	Version                                int
	Overrides                              *TaskOverride
	Containers                             []Container
	CreatedAt, PullStartedAt               time.Time
	PullStoppedAt, StartedAt, StoppingAt   time.Time
	ExecutionStoppedAt, StoppedAt          time.Time
}

// DescribeTasksInput is the input of DescribeTasks.
type DescribeTasksInput struct {
	Cluster string
	Tasks   []string
	Include []string
}

// ListTasksInput is the input of ListTasks.
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

// ProtectTasks is the input of UpdateTaskProtection and GetTaskProtection.
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

// ProtectedTask says whether a task is protected.
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
	AutoScalingGroupArn          string
	ManagedScaling               *ManagedScaling
	ManagedTerminationProtection string
	ManagedDraining              string
}

// ManagedScaling says whether and how ECS sizes the group.
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

// ClusterProviders is the input of PutClusterCapacityProviders.
type ClusterProviders struct {
	Cluster                         string
	CapacityProviders               []string
	DefaultCapacityProviderStrategy []StrategyPart
}

// Resource is a resource of an instance.
type Resource struct {
	Name, Type   string
	IntegerValue int
}

// ContainerInstance is an instance in a cluster as the API shows it.
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

// HostNames is the input of DescribeContainerInstances and UpdateContainerInstancesState.
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
