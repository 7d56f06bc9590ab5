package ecs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/fleet/asg"
	"github.com/muster-scale/muster/kind"
)

// This file has the keys of fleets on Amazon ECS and opens their ports. A fleet is a service or a task definition; most
// keys belong to one of them, and Check refuses them with the other.

// Config is a fleet on Amazon ECS: the tasks of a service, or tasks that are started without one. The tasks start their
// own workers.
type Config struct {
	// Cluster is the cluster's name or ARN. Region is its region; empty means that of the fleet's queue on SQS, or else
	// of the account.
	Cluster, Region string
	// Service is the service's name. TaskDefinition is for tasks without a service: FAMILY, FAMILY:REVISION or an ARN.
	// Exactly one of them is set.
	Service, TaskDefinition string
	// LaunchType is "fargate", "ec2", "external" or empty. Providers are capacity providers instead of a launch type.
	// Network is the tasks' network. All are for tasks without a service.
	LaunchType string
	Providers  []Provider
	Network    Network
	// Protect protects tasks of a service from scale-in; true by default.
	Protect bool
	// Reports is "required" (the default) if workers report to the controller, else "none".
	Reports string
	// Under is the Auto Scaling group on which a service's tasks run; nil on Fargate.
	Under *Under
}

// Under is the group of instances under a service.
type Under struct {
	// Group is the group's name. TasksPerInstance is how many tasks fit on one instance: 1 to 1,000.
	Group            string
	TasksPerInstance int
	// Shrink ends instances without a task; true by default.
	Shrink bool
}

// The bounds of lists, and of names in bytes.
const (
	maxProviders      = 20
	maxSubnets        = 16
	maxSecurityGroups = 5
	// maxCluster bounds the name or ARN of a cluster.
	maxCluster = 2048
)

// Kind is the row of the kind.
func Kind() kind.MembersRow {
	return kind.MembersRow{
		Key: "ecs", What: "a service or tasks on Amazon ECS that are the fleet, instead of processes on " +
			"this machine",
		New: func() kind.Members { return &Config{} },
		Adapters: []kind.Adapter{
			kind.AdapterFor[*Service]("services of Amazon ECS"),
			kind.AdapterFor[*Tasks]("tasks of Amazon ECS without a service"),
		},
	}
}

// Keys implements [config.Members].
func (c *Config) Keys() []keys.Key {
	isCluster := func(name string) bool { return len(name) >= 1 && len(name) <= maxCluster }
	return []keys.Key{
		keys.Text("cluster", &c.Cluster,
			"the name or ARN of the cluster").Required().Must("the name or ARN of a cluster", isCluster),
		keys.Text("region", &c.Region,
			"where the cluster is; by default where the fleet's queue is").Check(config.CheckRegion),
		keys.Text("service", &c.Service, "the service whose tasks are the fleet"),
		keys.Text("task_definition", &c.TaskDefinition, "the task definition to start, instead of a service: FAMILY, "+
			"FAMILY:REVISION or an ARN"),
		keys.Text("launch_type", &c.LaunchType, "where tasks without a service run; by default as the cluster says").
			OneOf("fargate", "ec2", "external"),
		keys.List("capacity_providers", &c.Providers, maxProviders, (*Provider).keys, "the capacity providers of "+
			"tasks without a service, in place of launch_type"),
		keys.Into("network", &c.Network, (*Network).keys, "where tasks without a service are; required on Fargate"),
		keys.Truth("protect", &c.Protect, "whether tasks of the service are protected from its scale-in; true by "+
			"default").
			DefaultOf(func() bool { return c.Service != "" && c.Reports != config.ReportsNone }),
		config.ReportsKey(&c.Reports, "task"),
		keys.Optional("capacity", &c.Under, (*Under).keys, "the Auto Scaling group that the service's tasks are "+
			"placed on; none on Fargate"),
	}
}

// keys declare a provider of a strategy. Their ranges are those of ECS.
func (p *Provider) keys() []keys.Key {
	return []keys.Key{
		keys.Text("name", &p.Name, "FARGATE, FARGATE_SPOT, or the name of one on a group").Required(),
		keys.Whole("base", &p.Base, "how many tasks it gets before others get any: 0 to 100000"),
		keys.Whole("weight", &p.Weight, "its share of the tasks beyond the base: 0 to 1000"),
	}
}

// keys declare the network of tasks in the mode awsvpc.
func (n *Network) keys() []keys.Key {
	return []keys.Key{
		keys.Texts("subnets", &n.Subnets, maxSubnets, "up to 16 subnets").Required(),
		keys.Texts("security_groups", &n.SecurityGroups, maxSecurityGroups, "up to 5 security groups"),
		keys.Truth("public_ip", &n.PublicIP, "whether each task gets a public address; false by default"),
	}
}

// keys declare the group under a service.
func (u *Under) keys() []keys.Key {
	return []keys.Key{
		keys.Text("group", &u.Group, "the name of the Auto Scaling group").Required(),
		keys.Whole("tasks_per_instance", &u.TasksPerInstance,
			"how many tasks fit on one instance: 1 to 1000").Required(),
		keys.Truth("shrink", &u.Shrink, "whether instances that hold no task are ended; true by default, false "+
			"leaves that to ECS's managed scaling").Default(true),
	}
}

// Facts implements [config.Members].
func (c *Config) Facts() config.Facts {
	facts := config.Facts{
		Key: "ecs", Reported: c.Reports == config.ReportsRequired, Protected: c.Protect, Region: c.Region, Remote: true,
		Boot: time.Minute, Around: config.Around{Cluster: c.Cluster},
	}
	if c.Under != nil {
		facts.Around.Hosts = c.Under.Group
	}
	// A definition is FAMILY, FAMILY:REVISION or an ARN that ends with one of them.
	definition := c.TaskDefinition[strings.LastIndexByte(c.TaskDefinition, '/')+1:]
	facts.Around.Family, _, _ = strings.Cut(definition, ":")
	if c.Service != "" {
		facts.Answered = facts.Reported
		facts.Sized = config.Sized{Key: "ecs.service", What: "service", Name: c.Cluster + "/" + c.Service}
		facts.Tracked = config.Tracked{Cluster: c.Cluster, Service: c.Service}
	}
	return facts
}

// Check implements [config.Members].
func (c *Config) Check(s *keys.Source, at string, f *config.Fleet) {
	switch {
	case (c.Service == "") == (c.TaskDefinition == ""):
		found := "neither service nor task_definition"
		if c.Service != "" {
			found = "service and task_definition"
		}
		s.Fault(at, "found "+found+", allowed is one of them",
			"a service keeps its tasks running; a task definition alone starts tasks that end by themselves")
	case c.Service != "":
		c.checkService(s, at)
	default:
		c.checkTasks(s, at)
	}
	f.CheckReports(s, at+".reports", c.Reports)
	f.CheckElsewhere(s, at, "on ECS", "its tasks")
}

func (c *Config) checkService(s *keys.Source, at string) {
	for _, key := range []string{"launch_type", "capacity_providers", "network"} {
		if s.Has(at + "." + key) {
			s.Fault(at+"."+key, "found "+key+" for a service, allowed is it with task_definition alone",
				"the service has its own")
		}
	}
	if c.Reports == config.ReportsNone && c.Protect {
		s.Fault(at+".protect", "found true with reports: none, allowed is false: without reports it is unknown when "+
			"the protection may end",
			"workers that do not report protect their own task while they are busy")
	}
	if u := c.Under; u != nil {
		if at := at + ".capacity.group"; !config.IsGroup(u.Group) {
			s.Fault(at, s.Missing(at, keys.Quote(u.Group), config.AGroup), "")
		}
		keys.WithinWhole(s, at+".capacity.tasks_per_instance", u.TasksPerInstance, 1, 1000)
	}
}

func (c *Config) checkTasks(s *keys.Source, at string) {
	if s.Has(at+".protect") && c.Protect {
		s.Fault(at+".protect", "found true for tasks without a service, allowed is false: nothing ends them that "+
			"they would need protection from", "")
	}
	if c.Reports == config.ReportsNone {
		s.Fault(at+".reports", "found none for tasks without a service, allowed is required: only a worker can say "+
			"that it is idle", "")
	}
	if c.Under != nil {
		s.Fault(at+".capacity", "found capacity for tasks without a service, allowed is it with a service",
			"name a capacity provider with managed scaling in capacity_providers: it sizes its group by itself")
	}
	if c.LaunchType != "" && len(c.Providers) > 0 {
		s.Fault(at+".capacity_providers", "found launch_type and capacity_providers, allowed is one of them", "")
	}
	fargate := c.LaunchType == "fargate"
	for i, p := range c.Providers {
		path := keys.Element(at+".capacity_providers", i)
		if p.Name == "" {
			s.Fault(path+".name", s.Missing(path+".name", "no name", "FARGATE, FARGATE_SPOT, or the name of one on a "+
				"group"), "")
		}
		keys.WithinWhole(s, path+".base", p.Base, 0, 100_000)
		keys.WithinWhole(s, path+".weight", p.Weight, 0, 1000)
		fargate = fargate || strings.HasPrefix(p.Name, "FARGATE")
	}
	if len(c.Network.Subnets) == 0 && (fargate || s.Has(at+".network")) {
		s.Fault(at+".network", "found no subnets, allowed are 1 to 16: tasks on Fargate need to be told where they are",
			"")
	}
}

// Describe implements [kind.Members].
func (c *Config) Describe() string {
	if c.Service != "" {
		return fmt.Sprintf("the service %s of the cluster %s", c.Service, c.Cluster)
	}
	return fmt.Sprintf("tasks of %s in the cluster %s", c.TaskDefinition, c.Cluster)
}

// World implements [kind.Members]. It assumes half a second for a call to the service.
func (c *Config) World() kind.World {
	w := kind.World{Order: 500 * time.Millisecond}
	if c.Reports == config.ReportsNone {
		w.Silent = true
	}
	return w
}

// Writes implements [kind.Members].
func (c *Config) Writes(delegated bool) []string {
	return kind.WritesOf(c.permissions(kind.Place{}, "", delegated), kind.ModeUp)
}

// Open implements [kind.Members].
func (c *Config) Open(ctx context.Context, h *kind.Host, f config.Fleet, _ *kind.Ports) (*kind.Ports, error) {
	clusters, err := kind.SharedOnAWS(ctx, h, NewClusters)
	if err != nil {
		return nil, err
	}
	if c.Service == "" {
		return c.openTasks(clusters, f)
	}
	o := ServiceOptions{Cluster: c.Cluster, Service: c.Service, Region: kind.HomeOf(f), Protect: c.Protect,
		Every: f.Poll}
	if by := kind.SizerOf(f); by != nil {
		o.Owner = by.Owner(f)
	}
	if c.Under != nil {
		if o.Capacity, err = c.Under.open(ctx, h, f); err != nil {
			return nil, err
		}
	}
	service, err := clusters.Service(o)
	if err != nil {
		return nil, err
	}
	return &kind.Ports{Fleet: service, Releaser: service, Protector: service, Trimmer: service, Expecter: service}, nil
}

// open opens the group under a service, with the service's limits in instances. It launches by size, because the
// members are tasks, and no instance needs the name of an order. Limits round up: a part of an instance is one.
func (u *Under) open(ctx context.Context, h *kind.Host, f config.Fleet) (*Capacity, error) {
	groups, err := asg.GroupsOf(ctx, h)
	if err != nil {
		return nil, err
	}
	instances := func(tasks int) int { return (tasks + u.TasksPerInstance - 1) / u.TasksPerInstance }
	group, err := groups.Fleet(asg.Options{
		Group: u.Group, Region: kind.HomeOf(f), Min: instances(f.Limits.Min), Max: instances(f.Limits.Max),
		Launch:  asg.BySize,
		Protect: true, Every: f.Poll,
	})
	if err != nil {
		return nil, err
	}
	return &Capacity{TasksPerInstance: u.TasksPerInstance, Group: group, Ender: group, Name: u.Group,
		Keep: !u.Shrink}, nil
}

// openTasks opens tasks without a service, which need no protection: nothing but Muster stops them.
func (c *Config) openTasks(clusters *Clusters, f config.Fleet) (*kind.Ports, error) {
	tasks, err := clusters.Tasks(TaskOptions{
		Fleet: f.Name, Cluster: c.Cluster, Region: kind.HomeOf(f), Definition: c.TaskDefinition,
		LaunchType: strings.ToUpper(c.LaunchType), Every: f.Poll, Network: c.Network, Providers: c.Providers,
	})
	if err != nil {
		return nil, err
	}
	return &kind.Ports{Fleet: tasks, Releaser: tasks, Expecter: tasks}, nil
}
