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

// The bounds of ECS.
const (
	// MaxClusters is how many clusters there may be.
	MaxClusters = 100
	// MaxServices is how many services a cluster may have.
	MaxServices = 500
	// MaxServiceTasks is the largest desired count of a service.
	MaxServiceTasks = 5_000
	// MaxTasks is how many tasks a cluster may have, those that stopped lately included.
	MaxTasks = 20_000
	// MaxProviders is how many capacity providers of groups there may be.
	MaxProviders = 500
	// MaxTaskDefinitions is how many task definitions there may be, revisions counted.
	MaxTaskDefinitions = 1_000

	maxServiceEvents = 100
	maxWaitingTasks  = 500              // in PROVISIONING for a group's capacity, per cluster
	mostPlacement    = 30 * time.Minute // how long they wait
	keptStopped      = time.Hour
)

// ECS is the API of Amazon ECS. Its methods bear the names of the actions; errors are a *Fault.
type ECS struct {
	acc         *account.Account
	settings    Tasks
	groups      Groups
	publish     account.Publish
	tokens      account.ClientTokens
	clusters    map[string]*cluster
	definitions []*TaskDefinition
	providers   map[string]*CapacityProvider
	fargate     map[string]*account.Bucket // by capacity provider
}

// New is ECS without clusters. Tasks behave as the settings say.
func New(a *account.Account, t Tasks, groups Groups, publish account.Publish) *ECS {
	t = t.withDefaults()
	launches := func() *account.Bucket {
		return account.NewBucket(account.Rate{Burst: t.FargateBurst, PerSecond: t.FargateRate}, a.Now())
	}
	return &ECS{acc: a, settings: t, groups: groups, publish: publish, clusters: map[string]*cluster{},
		providers: map[string]*CapacityProvider{},
		fargate:   map[string]*account.Bucket{Fargate: launches(), FargateSpot: launches()}}
}

// cluster is a cluster with what runs in it.
type cluster struct {
	Cluster
	insights bool
	services map[string]*service
	tasks    []*task // in the order of their creation
	byID     map[string]*task
	hosts    []*host // in the order of their registration
	lows     map[string]int
}

func ecsFault(code, format string, args ...any) *account.Fault {
	return account.Refuse(code, format, args...)
}

func invalidParameter(format string, args ...any) *account.Fault {
	return account.Refuse("InvalidParameterException", format, args...)
}

// last is the name at the end of an ARN, or the name itself.
func last(arn string) string { return arn[strings.LastIndexByte(arn, '/')+1:] }

func (w *ECS) cluster(name string) (*cluster, error) {
	c := w.clusters[last(cmp.Or(name, "default"))]
	if c == nil {
		return nil, ecsFault("ClusterNotFoundException", "Cluster not found.")
	}
	return c, nil
}

// CreateCluster makes a cluster; one that exists stays.
func (w *ECS) CreateCluster(in CreateClusterInput) (OneCluster, error) {
	name := cmp.Or(in.ClusterName, "default")
	if c := w.clusters[name]; c != nil {
		return OneCluster{c.show()}, nil
	}
	if len(w.clusters) >= MaxClusters {
		return OneCluster{}, ecsFault("LimitExceededException", "The model keeps at most %d clusters.", MaxClusters)
	}
	c := &cluster{services: map[string]*service{}, byID: map[string]*task{}, lows: map[string]int{}}
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

// DescribeClusters shows clusters.
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

// RegisterTaskDefinition adds a revision of a family.
func (w *ECS) RegisterTaskDefinition(in TaskDefinition) (OneTaskDefinition, error) {
	if in.Family == "" || len(in.ContainerDefinitions) == 0 {
		return OneTaskDefinition{}, ecsFault("ClientException", "A task definition needs a family and a container.")
	}
	if len(w.definitions) >= MaxTaskDefinitions {
		return OneTaskDefinition{}, ecsFault("LimitExceededException", "The model keeps at most %d task definitions.",
			MaxTaskDefinitions)
	}
	for _, d := range in.ContainerDefinitions {
		if n := account.Or(d.StopTimeout, 0); n < 0 || n > account.MaxSeconds || d.Cpu < 0 || account.Or(d.Memory,
			0) < 0 {
			return OneTaskDefinition{}, ecsFault("ClientException", "A container's cpu, memory and stopTimeout must "+
				"not be below 0.")
		}
	}
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

// definition finds a task definition: the newest of a family, a revision, or an ARN.
func (w *ECS) definition(name string) (*TaskDefinition, error) {
	for _, d := range slices.Backward(w.definitions) {
		if n := last(name); n == d.Family || n == d.Family+":"+strconv.Itoa(d.Revision) {
			return d, nil
		}
	}
	return nil, ecsFault("ClientException", "Unable to describe task definition. The task definition '%s' does not "+
		"exist.", name)
}

// DescribeTaskDefinition shows a task definition.
func (w *ECS) DescribeTaskDefinition(in TaskDefinitionName) (OneTaskDefinition, error) {
	d, err := w.definition(in.TaskDefinition)
	if err != nil {
		return OneTaskDefinition{}, err
	}
	return OneTaskDefinition{*d}, nil
}

// needs are the CPU units and the MiB of memory that a task takes.
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

// CreateService makes a service, which starts its tasks.
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
		return OneService{}, ecsFault("LimitExceededException", "The model keeps at most %d services in a cluster.",
			MaxServices)
	case n < 0 || n > MaxServiceTasks:
		return OneService{}, invalidParameter("desiredCount must be from 0 to %d.", MaxServiceTasks)
	case cmp.Or(in.SchedulingStrategy, "REPLICA") != "REPLICA":
		return OneService{}, invalidParameter("The model has no scheduling strategy %s; it has REPLICA.",
			in.SchedulingStrategy)
	}
	way, err := c.way(in.LaunchType, in.CapacityProviderStrategy, in.NetworkConfiguration)
	if err != nil {
		return OneService{}, err
	}
	if err := in.DeploymentConfiguration.check(); err != nil {
		return OneService{}, err
	}
	s := &service{cluster: c, way: way}
	s.ServiceName, s.ClusterArn, s.Status, s.CreatedAt = in.ServiceName, c.ClusterArn, "ACTIVE", w.acc.Now()
	s.ServiceArn = w.acc.ARN("ecs", "service/"+c.ClusterName+"/"+in.ServiceName)
	s.DesiredCount, s.SchedulingStrategy, s.NetworkConfiguration = n, "REPLICA", in.NetworkConfiguration
	s.LaunchType, s.CapacityProviderStrategy, s.PlacementStrategy = way.launchType, way.strategy, in.PlacementStrategy
	if s.DeploymentConfiguration = in.DeploymentConfiguration; s.DeploymentConfiguration == nil {
		s.DeploymentConfiguration = &DeploymentConfiguration{account.Ptr(100), account.Ptr(200)}
	}
	c.services[in.ServiceName] = s
	w.deploy(s, d)
	w.attend(s)
	return OneService{s.show()}, nil
}

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

// service finds a service by its name or ARN.
func (c *cluster) service(name string) (*service, error) {
	switch s := c.services[last(name)]; {
	case s == nil:
		return nil, ecsFault("ServiceNotFoundException", "Service not found.")
	case s.Status != "ACTIVE":
		return nil, ecsFault("ServiceNotActiveException", "Service was not ACTIVE.")
	default:
		return s, nil
	}
}

// UpdateService changes a service. A new desired count alone starts no deployment.
func (w *ECS) UpdateService(in UpdateServiceInput) (OneService, error) {
	c, err := w.cluster(in.Cluster)
	if err != nil {
		return OneService{}, err
	}
	s, err := c.service(in.Service)
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
		if s.way, err = c.way("", in.CapacityProviderStrategy, s.NetworkConfiguration); err != nil {
			return OneService{}, err
		}
		s.LaunchType, s.CapacityProviderStrategy = s.way.launchType, s.way.strategy
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
	s.failures, s.notBefore = 0, time.Time{}
	w.attend(s)
	return OneService{s.show()}, nil
}

// DescribeServices shows up to ten services.
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

// DeleteService ends a service: one with a desired count above 0 only by force.
func (w *ECS) DeleteService(in DeleteServiceInput) (OneService, error) {
	c, err := w.cluster(in.Cluster)
	if err != nil {
		return OneService{}, err
	}
	s, err := c.service(in.Service)
	if err != nil {
		return OneService{}, err
	}
	if s.DesiredCount > 0 && !account.Or(in.Force, false) {
		return OneService{}, invalidParameter("The service cannot be stopped while it is scaled above 0.")
	}
	s.Status, s.DesiredCount = "INACTIVE", 0
	w.acc.After(keptStopped, func() {
		if c.services[s.ServiceName] == s {
			delete(c.services, s.ServiceName)
		}
	})
	for _, t := range s.tasks() {
		w.stop(t, "ServiceSchedulerInitiated", "The service was deleted.")
	}
	return OneService{s.show()}, nil
}

// ListServices lists the ARNs of a cluster's services.
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

// Minute puts the metrics of ECS out: what managed scaling follows, and the counts of Container Insights.
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

// way is how tasks are launched.
type way struct {
	launchType string // empty with a strategy
	strategy   []StrategyPart
}

// way checks how tasks are to be launched.
func (c *cluster) way(launchType string, strategy []StrategyPart, net *NetworkConfiguration) (way, error) {
	if launchType != "" && len(strategy) > 0 {
		return way{}, invalidParameter("Specifying both a launch type and capacity provider strategy is not " +
			"supported. Remove one and try again.")
	}
	if launchType == "" && len(strategy) == 0 {
		if strategy = c.DefaultCapacityProviderStrategy; len(strategy) == 0 {
			launchType = EC2
		}
	}
	if launchType != "" && launchType != EC2 && launchType != Fargate {
		return way{}, invalidParameter("The model has no launch type %s; it has EC2 and FARGATE.", launchType)
	}
	fargate, bases, weights := launchType == Fargate, 0, 0
	for _, p := range strategy {
		if !slices.Contains(c.CapacityProviders, p.CapacityProvider) {
			return way{}, invalidParameter("The specified capacity provider strategy cannot contain a capacity "+
				"provider that is not associated with the cluster: %s.", p.CapacityProvider)
		}
		fargate = fargate || p.CapacityProvider == Fargate || p.CapacityProvider == FargateSpot
		if p.Weight < 0 || p.Weight > 1000 || p.Base < 0 || p.Base > 100_000 {
			return way{},
				invalidParameter("A weight must be from 0 to 1000 and a base from 0 to 100000, got %d and %d.",
					p.Weight, p.Base)
		}
		if weights += p.Weight; p.Base > 0 {
			bases++
		}
	}
	switch {
	case bases > 1 || len(strategy) > 20:
		return way{}, invalidParameter("A capacity provider strategy has at most 20 providers, and one of them may " +
			"have a base.")
	case len(strategy) > 1 && weights == 0:
		return way{}, invalidParameter("A capacity provider strategy needs a weight above 0.")
	case fargate && (net == nil || net.AwsvpcConfiguration == nil || len(net.AwsvpcConfiguration.Subnets) == 0):
		return way{}, invalidParameter("Network Configuration must be provided when networkMode 'awsvpc' is specified.")
	}
	return way{launchType, strategy}, nil
}

// next chooses the provider of the next task: bases first, then whoever is furthest below its weight.
func (y way) next(counts map[string]int) string {
	if len(y.strategy) == 0 {
		return y.launchType
	}
	for _, p := range y.strategy {
		if counts[p.CapacityProvider] < p.Base {
			return p.CapacityProvider
		}
	}
	best := y.strategy[0]
	if len(y.strategy) > 1 && best.Weight == 0 {
		best = y.strategy[slices.IndexFunc(y.strategy, func(p StrategyPart) bool { return p.Weight > 0 })]
	}
	for _, p := range y.strategy {
		if (counts[p.CapacityProvider]-p.Base)*best.Weight < (counts[best.CapacityProvider]-best.Base)*p.Weight {
			best = p
		}
	}
	return best.CapacityProvider
}

// say writes an event of a service, not the same twice in a row.
func (w *ECS) say(s *service, format string, args ...any) {
	text := "(service " + s.ServiceName + ") " + fmt.Sprintf(format, args...)
	if n := len(s.Events); n > 0 && s.Events[n-1].Message == text {
		return
	}
	s.Events = append(s.Events, ServiceEvent{w.acc.UUID(), text, w.acc.Now()})
	if n := len(s.Events) - maxServiceEvents; n > 0 {
		s.Events = slices.Delete(s.Events, 0, n)
	}
}
