package containers

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-scale/muster/sim/cloud/account"
)

// This file has the API itself: clusters, task definitions, the actions on services, and the choice of a capacity
// provider. The scheduler of services is in service.go, tasks are in task.go, hosts in hosts.go.

// The bounds of the model. AWS has higher ones for some; what goes beyond is refused.
const (
	// MaxClusters is the number of clusters that an account may have.
	MaxClusters = 100
	// MaxServices is the number of services that a cluster may have.
	MaxServices = 500
	// MaxServiceTasks is the largest desired count of a service.
	MaxServiceTasks = 5_000
	// MaxTasks is the number of tasks that a cluster may have, those that stopped in the last hour included.
	MaxTasks = 20_000
	// MaxProviders is the number of capacity providers of groups that an account may have.
	MaxProviders = 500
	// MaxTaskDefinitions is the number of task definitions that an account may have; every revision counts.
	MaxTaskDefinitions = 1_000

	// maxServiceEvents is the number of events that a service keeps; AWS shows the last 100.
	maxServiceEvents = 100
	maxWaitingTasks  = 500              // in PROVISIONING for the capacity of a group, per cluster
	maxPlacementWait = 30 * time.Minute // how long such a task waits
	stoppedRetention = time.Hour        // how long stopped tasks and deleted services are shown
)

// ECS is the API of Amazon ECS. Methods bear the names of the actions. An error is a *account.Fault, as the API would
// answer it; what fails for one of several tasks or services is a Failure in the answer. It is not safe for
// concurrent use.
type ECS struct {
	acc         *account.Account
	settings    Tasks
	groups      Groups
	publish     account.Publish
	tokens      account.ClientTokens         // of RunTask
	clusters    map[string]*cluster          // by name
	definitions []*TaskDefinition            // oldest first
	providers   map[string]*CapacityProvider // of groups, by name
	fargate     map[string]*account.Bucket   // of launches, by capacity provider
}

// New returns ECS without clusters. Tasks behave as t says, where zero fields are defaults.
func New(a *account.Account, t Tasks, groups Groups, publish account.Publish) *ECS {
	t = t.withDefaults()
	launches := func() *account.Bucket {
		return account.NewBucket(account.Rate{Burst: t.FargateBurst, PerSecond: t.FargateRate}, a.Now())
	}
	return &ECS{acc: a, settings: t, groups: groups, publish: publish, clusters: map[string]*cluster{},
		providers: map[string]*CapacityProvider{},
		fargate:   map[string]*account.Bucket{Fargate: launches(), FargateSpot: launches()}}
}

// cluster is a cluster with everything that runs in it. The embedded Cluster has its settings; show adds the counts.
type cluster struct {
	Cluster
	insights  bool                // Container Insights publishes counts of its services
	services  map[string]*service // by name, deleted ones for an hour
	tasks     []*task             // in the order of their creation
	byID      map[string]*task    // the same tasks, by the last part of their ARN
	hosts     []*host             // in the order of their registration
	lowPoints map[string]int      // minutes in a row below the target, by provider
}

// invalidParameter returns the fault with which ECS refuses arguments.
func invalidParameter(format string, args ...any) *account.Fault {
	return refuse("InvalidParameterException", format, args...)
}

// refuse returns a fault of the caller, as account.Refuse does.
func refuse(code, format string, args ...any) *account.Fault {
	return account.Refuse(code, format, args...)
}

// last returns the name at the end of an ARN; a name is returned as it is. Actions take either.
func last(arn string) string { return arn[strings.LastIndexByte(arn, '/')+1:] }

// cluster finds a cluster by its name or ARN. As in the API, an absent name means the cluster "default".
func (w *ECS) cluster(name string) (*cluster, error) {
	c := w.clusters[last(cmp.Or(name, "default"))]
	if c == nil {
		return nil, refuse("ClusterNotFoundException", "Cluster not found.")
	}
	return c, nil
}

// CreateCluster creates a cluster. An existing one is returned unchanged.
func (w *ECS) CreateCluster(in CreateClusterInput) (OneCluster, error) {
	name := cmp.Or(in.ClusterName, "default")
	if c := w.clusters[name]; c != nil {
		return OneCluster{c.show()}, nil
	}
	if len(w.clusters) >= MaxClusters {
		return OneCluster{}, refuse("LimitExceededException", "The model keeps at most %d clusters.", MaxClusters)
	}
	c := &cluster{services: map[string]*service{}, byID: map[string]*task{}, lowPoints: map[string]int{}}
	c.ClusterName, c.ClusterArn, c.Status = name, w.acc.ARN("ecs", "cluster/"+name), "ACTIVE"
	c.insights = slices.ContainsFunc(in.Settings, func(s ClusterSetting) bool {
		return s.Name == "containerInsights" &&
			s.Value != "disabled"
	})
	w.clusters[name] = c
	if len(in.CapacityProviders) > 0 || len(in.DefaultCapacityProviderStrategy) > 0 {
		return w.PutClusterCapacityProviders(ClusterProviders{name, in.CapacityProviders,
			in.DefaultCapacityProviderStrategy})
	}
	return OneCluster{c.show()}, nil
}

// DescribeClusters returns clusters with their counts; the default one when none is named.
func (w *ECS) DescribeClusters(in ClusterNames) (ClusterList, error) {
	var out ClusterList
	names := in.Clusters
	if len(names) == 0 {
		names = []string{"default"}
	}
	for _, n := range names {
		if c := w.clusters[last(n)]; c != nil {
			out.Clusters = append(out.Clusters, c.show())
		} else {
			out.Failures = append(out.Failures, Failure{Arn: n, Reason: "MISSING"})
		}
	}
	return out, nil
}

// show returns the cluster as the API shows it, with its counts of now.
func (c *cluster) show() Cluster {
	s := c.Cluster
	s.RegisteredContainerInstancesCount = len(c.hosts)
	for _, x := range c.services { // a sum: the order does not matter
		if x.Status == "ACTIVE" {
			s.ActiveServicesCount++
		}
	}
	for _, t := range c.tasks {
		switch {
		case t.LastStatus == Running:
			s.RunningTasksCount++
		case t.DesiredStatus == Running:
			s.PendingTasksCount++
		}
	}
	return s
}

// RegisterTaskDefinition adds the next revision of a family, beginning with 1.
func (w *ECS) RegisterTaskDefinition(in TaskDefinition) (OneTaskDefinition, error) {
	if in.Family == "" || len(in.ContainerDefinitions) == 0 {
		return OneTaskDefinition{}, refuse("ClientException", "A task definition needs a family and a container.")
	}
	if len(w.definitions) >= MaxTaskDefinitions {
		return OneTaskDefinition{}, refuse("LimitExceededException", "The model keeps at most %d task definitions.",
			MaxTaskDefinitions)
	}
	for _, d := range in.ContainerDefinitions {
		if n := account.Or(d.StopTimeout, 0); n < 0 || n > account.MaxSeconds || d.Cpu < 0 || account.Or(d.Memory,
			0) < 0 {
			return OneTaskDefinition{}, refuse("ClientException", "A container's cpu, memory and stopTimeout must "+
				"not be below 0.")
		}
	}
	// Revisions of a family count up; none is ever deregistered in the model.
	in.Revision, in.Status = 1, "ACTIVE"
	for _, d := range w.definitions {
		if d.Family == in.Family {
			in.Revision = d.Revision + 1
		}
	}
	in.TaskDefinitionArn = w.acc.ARN("ecs", "task-definition/"+in.Family+":"+strconv.Itoa(in.Revision))
	in.ContainerDefinitions = slices.Clone(in.ContainerDefinitions)
	w.definitions = append(w.definitions, &in)
	return OneTaskDefinition{in}, nil
}

// definition finds a task definition by FAMILY (the newest revision), FAMILY:REVISION, or ARN.
func (w *ECS) definition(name string) (*TaskDefinition, error) {
	for _, d := range slices.Backward(w.definitions) {
		if n := last(name); n == d.Family || n == d.Family+":"+strconv.Itoa(d.Revision) {
			return d, nil
		}
	}
	return nil, refuse("ClientException", "Unable to describe task definition. The task definition '%s' does not "+
		"exist.", name)
}

// DescribeTaskDefinition returns a task definition.
func (w *ECS) DescribeTaskDefinition(in TaskDefinitionName) (OneTaskDefinition, error) {
	d, err := w.definition(in.TaskDefinition)
	if err != nil {
		return OneTaskDefinition{}, err
	}
	return OneTaskDefinition{*d}, nil
}

// needs returns the CPU units (1024 are one virtual CPU) and the MiB of memory that a task takes. A size stated for
// the task counts instead of the sum over its containers. A text that is no number counts as 0.
func (d *TaskDefinition) needs() (cpu, memory int) {
	cpu, _ = strconv.Atoi(d.Cpu)
	memory, _ = strconv.Atoi(d.Memory)
	for _, c := range d.ContainerDefinitions {
		if d.Cpu == "" {
			cpu += c.Cpu
		}
		if d.Memory == "" {
			memory += account.Or(c.Memory, 0)
		}
	}
	return cpu, memory
}

// CreateService creates a service, which then starts its tasks. A name may be used again once its service is deleted.
func (w *ECS) CreateService(in CreateServiceInput) (OneService, error) {
	c, err := w.cluster(in.Cluster)
	if err != nil {
		return OneService{}, err
	}
	d, err := w.definition(in.TaskDefinition)
	if err != nil {
		return OneService{}, err
	}
	n := account.Or(in.DesiredCount, 0)
	switch {
	case in.ServiceName == "" || len(in.ServiceName) > 255:
		return OneService{}, invalidParameter("Service name must have 1 to 255 characters.")
	case c.services[in.ServiceName] != nil && c.services[in.ServiceName].Status == "ACTIVE":
		return OneService{}, invalidParameter("Creation of service was not idempotent.")
	case len(c.services) >= MaxServices:
		return OneService{}, refuse("LimitExceededException", "The model keeps at most %d services in a cluster.",
			MaxServices)
	case n < 0 || n > MaxServiceTasks:
		return OneService{}, invalidParameter("desiredCount must be from 0 to %d.", MaxServiceTasks)
	case cmp.Or(in.SchedulingStrategy, "REPLICA") != "REPLICA":
		return OneService{}, invalidParameter("The model has no scheduling strategy %s; it has REPLICA.",
			in.SchedulingStrategy)
	}
	how, err := c.checkLaunch(in.LaunchType, in.CapacityProviderStrategy, in.NetworkConfiguration)
	if err != nil {
		return OneService{}, err
	}
	if err := in.DeploymentConfiguration.check(); err != nil {
		return OneService{}, err
	}
	s := &service{cluster: c, launch: how}
	s.ServiceName, s.ClusterArn, s.Status, s.CreatedAt = in.ServiceName, c.ClusterArn, "ACTIVE", w.acc.Now()
	s.ServiceArn = w.acc.ARN("ecs", "service/"+c.ClusterName+"/"+in.ServiceName)
	s.DesiredCount, s.SchedulingStrategy, s.NetworkConfiguration = n, "REPLICA", in.NetworkConfiguration
	s.LaunchType, s.CapacityProviderStrategy, s.PlacementStrategy = how.launchType, how.strategy, in.PlacementStrategy
	if s.DeploymentConfiguration = in.DeploymentConfiguration; s.DeploymentConfiguration == nil {
		s.DeploymentConfiguration = &DeploymentConfiguration{account.Ptr(100), account.Ptr(200)}
	}
	c.services[in.ServiceName] = s
	w.deploy(s, d)
	w.reconcileSoon(s)
	return OneService{s.show()}, nil
}

// check says what is wrong with the percentages; nil when nothing is. Absent ones are 100 and 200. The least must be
// below the most where the most is below 100.
func (d *DeploymentConfiguration) check() error {
	if d == nil {
		return nil
	}
	if least, most := account.Or(d.MinimumHealthyPercent, 100), account.Or(d.MaximumPercent, 200); least < 0 ||
		most < 1 ||
		least > 1000 || most > 1000 || least >= most && most < 100 {
		return invalidParameter("minimumHealthyPercent %d and maximumPercent %d must be in order, up to 1000.", least,
			most)
	}
	return nil
}

// service finds an active service of a cluster, both by name or ARN.
func (w *ECS) service(clusterName, name string) (*service, error) {
	c, err := w.cluster(clusterName)
	if err != nil {
		return nil, err
	}
	switch s := c.services[last(name)]; {
	case s == nil:
		return nil, refuse("ServiceNotFoundException", "Service not found.")
	case s.Status != "ACTIVE":
		return nil, refuse("ServiceNotActiveException", "Service was not ACTIVE.")
	default:
		return s, nil
	}
}

// UpdateService changes a service. A new desired count alone starts no deployment; a new task definition, strategy or
// ForceNewDeployment does. Any update ends the throttling of starts that failed.
func (w *ECS) UpdateService(in UpdateServiceInput) (OneService, error) {
	s, err := w.service(in.Cluster, in.Service)
	if err != nil {
		return OneService{}, err
	}
	if n := account.Or(in.DesiredCount, 0); n < 0 || n > MaxServiceTasks {
		return OneService{}, invalidParameter("desiredCount must be from 0 to %d.", MaxServiceTasks)
	}
	d, err := w.definition(cmp.Or(in.TaskDefinition, s.TaskDefinition))
	if err != nil {
		return OneService{}, err
	}
	if in.CapacityProviderStrategy != nil {
		if s.launch, err = s.cluster.checkLaunch("", in.CapacityProviderStrategy, s.NetworkConfiguration); err != nil {
			return OneService{}, err
		}
		s.LaunchType, s.CapacityProviderStrategy = s.launch.launchType, s.launch.strategy
	}
	s.DesiredCount = account.Or(in.DesiredCount, s.DesiredCount)
	if in.DeploymentConfiguration != nil {
		if err := in.DeploymentConfiguration.check(); err != nil {
			return OneService{}, err
		}
		s.DeploymentConfiguration = in.DeploymentConfiguration
	}
	if in.PlacementStrategy != nil {
		s.PlacementStrategy = in.PlacementStrategy
	}
	if in.ForceNewDeployment || d.TaskDefinitionArn != s.TaskDefinition || in.CapacityProviderStrategy != nil {
		w.deploy(s, d)
	}
	// A change may have repaired the service, so its starts are tried at once.
	s.failures, s.notBefore = 0, time.Time{}
	w.reconcileSoon(s)
	return OneService{s.show()}, nil
}

// DescribeServices returns up to ten services, deleted ones included for an hour.
func (w *ECS) DescribeServices(in DescribeServicesInput) (ServiceList, error) {
	c, err := w.cluster(in.Cluster)
	if err != nil {
		return ServiceList{}, err
	}
	if n := len(in.Services); n < 1 || n > 10 {
		return ServiceList{}, invalidParameter("1 to 10 services may be given, got %d.", n)
	}
	var out ServiceList
	for _, name := range in.Services {
		if s := c.services[last(name)]; s != nil {
			out.Services = append(out.Services, s.show())
		} else {
			arn := w.acc.ARN("ecs", "service/"+c.ClusterName+"/"+last(name))
			out.Failures = append(out.Failures, Failure{Arn: arn, Reason: "MISSING"})
		}
	}
	return out, nil
}

// DeleteService deletes a service and stops its tasks, protected ones too. A desired count above 0 needs Force.
func (w *ECS) DeleteService(in DeleteServiceInput) (OneService, error) {
	s, err := w.service(in.Cluster, in.Service)
	if err != nil {
		return OneService{}, err
	}
	if s.DesiredCount > 0 && !account.Or(in.Force, false) {
		return OneService{}, invalidParameter("The service cannot be stopped while it is scaled above 0.")
	}
	s.Status, s.DesiredCount = "INACTIVE", 0
	w.acc.After(stoppedRetention, func() {
		if s.cluster.services[s.ServiceName] == s {
			delete(s.cluster.services, s.ServiceName)
		}
	})
	for _, t := range s.tasks() {
		w.stop(t, "ServiceSchedulerInitiated", "The service was deleted.")
	}
	return OneService{s.show()}, nil
}

// ListServices returns the ARNs of a cluster's active services in pages, in the order of their names.
func (w *ECS) ListServices(in ListServicesInput) (ServiceArns, error) {
	c, err := w.cluster(in.Cluster)
	if err != nil {
		return ServiceArns{}, err
	}
	var all []string
	for _, name := range account.Sorted(c.services) {
		if s := c.services[name]; s.Status == "ACTIVE" && (in.LaunchType == "" || in.LaunchType == s.LaunchType) {
			all = append(all, s.ServiceArn)
		}
	}
	arns, next, err := account.Page(all, in.NextToken, min(max(account.Or(in.MaxResults, 10), 1), 100))
	return ServiceArns{arns, next}, err
}

// Minute sizes groups with managed scaling, and publishes the counts of services where a cluster has Container
// Insights. The world calls it once a minute.
func (w *ECS) Minute() {
	for _, name := range account.Sorted(w.clusters) {
		c := w.clusters[name]
		w.scaleProviders(c)
		if !c.insights {
			continue
		}
		for _, n := range account.Sorted(c.services) {
			s := c.services[n].show()
			dims := []string{"ClusterName", name, "ServiceName", n}
			w.publish("ECS/ContainerInsights", "RunningTaskCount", float64(s.RunningCount), dims...)
			w.publish("ECS/ContainerInsights", "PendingTaskCount", float64(s.PendingCount), dims...)
			w.publish("ECS/ContainerInsights", "DesiredTaskCount", float64(s.DesiredCount), dims...)
		}
	}
}

// launch is how tasks are launched: on a launch type, or by a strategy over capacity providers.
type launch struct {
	launchType string // empty with a strategy
	strategy   []StrategyPart
}

// checkLaunch returns how a service or RunTask launches tasks, and what is wrong with it. Without both, the cluster's
// default strategy counts, and without that the launch type EC2. Fargate needs subnets.
func (c *cluster) checkLaunch(launchType string, strategy []StrategyPart,
	net *NetworkConfiguration) (launch, error) {
	if launchType != "" && len(strategy) > 0 {
		return launch{}, invalidParameter("Specifying both a launch type and capacity provider strategy is not " +
			"supported. Remove one and try again.")
	}
	// The order of preference is that of the API: the call, the cluster, EC2.
	if launchType == "" && len(strategy) == 0 {
		if strategy = c.DefaultCapacityProviderStrategy; len(strategy) == 0 {
			launchType = EC2
		}
	}
	if launchType != "" && launchType != EC2 && launchType != Fargate {
		return launch{}, invalidParameter("The model has no launch type %s; it has EC2 and FARGATE.", launchType)
	}
	// A strategy may mix Fargate and Fargate Spot; one of them is enough to need a network configuration.
	fargate, bases, weights := launchType == Fargate, 0, 0
	for _, p := range strategy {
		if !slices.Contains(c.CapacityProviders, p.CapacityProvider) {
			return launch{}, invalidParameter("The specified capacity provider strategy cannot contain a capacity "+
				"provider that is not associated with the cluster: %s.", p.CapacityProvider)
		}
		fargate = fargate || p.CapacityProvider == Fargate || p.CapacityProvider == FargateSpot
		if p.Weight < 0 || p.Weight > 1000 || p.Base < 0 || p.Base > 100_000 {
			return launch{},
				invalidParameter("A weight must be from 0 to 1000 and a base from 0 to 100000, got %d and %d.",
					p.Weight, p.Base)
		}
		if weights += p.Weight; p.Base > 0 {
			bases++
		}
	}
	switch {
	case bases > 1 || len(strategy) > 20:
		return launch{}, invalidParameter("A capacity provider strategy has at most 20 providers, and one of them " +
			"may have a base.")
	case len(strategy) > 1 && weights == 0:
		return launch{}, invalidParameter("A capacity provider strategy needs a weight above 0.")
	case fargate && (net == nil || net.AwsvpcConfiguration == nil || len(net.AwsvpcConfiguration.Subnets) == 0):
		return launch{}, invalidParameter("Network Configuration must be provided when networkMode 'awsvpc' is " +
			"specified.")
	}
	return launch{launchType, strategy}, nil
}

// next chooses the capacity provider of the next task; counts are the tasks that each has already. Bases are filled
// first. Then the provider with the lowest count above its base, relative to its weight, is next:
//
//	(count - base) / weight
//
// Products are compared instead of quotients, because a weight may be 0. The launch type is returned without a
// strategy.
func (l launch) next(counts map[string]int) string {
	if len(l.strategy) == 0 {
		return l.launchType
	}
	for _, p := range l.strategy {
		if counts[p.CapacityProvider] < p.Base {
			return p.CapacityProvider
		}
	}
	best := l.strategy[0]
	if len(l.strategy) > 1 && best.Weight == 0 {
		best = l.strategy[slices.IndexFunc(l.strategy, func(p StrategyPart) bool { return p.Weight > 0 })]
	}
	for _, p := range l.strategy {
		if (counts[p.CapacityProvider]-p.Base)*best.Weight < (counts[best.CapacityProvider]-best.Base)*p.Weight {
			best = p
		}
	}
	return best.CapacityProvider
}

// addEvent adds an event to a service, as the console shows it. The same text in a row is added once, because the
// scheduler meets the same obstacle many times.
func (w *ECS) addEvent(s *service, format string, args ...any) {
	text := "(service " + s.ServiceName + ") " + fmt.Sprintf(format, args...)
	if n := len(s.Events); n > 0 && s.Events[n-1].Message == text {
		return
	}
	s.Events = append(s.Events, ServiceEvent{w.acc.UUID(), text, w.acc.Now()})
	if n := len(s.Events) - maxServiceEvents; n > 0 {
		s.Events = slices.Delete(s.Events, 0, n)
	}
}
