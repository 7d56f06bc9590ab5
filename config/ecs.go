package config

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// ECS is what a fleet on Amazon ECS consists of, in place of processes on this machine: the tasks of a service, or tasks that are
// started without one. The tasks start their workers themselves.
type ECS struct {
	// Cluster is the cluster's name or ARN. Region is where it is; empty means that of the fleet's queue on SQS, or else of [AWS].
	Cluster, Region string
	// Service is the service's name; TaskDefinition is what is started without one: FAMILY, FAMILY:REVISION or an ARN. One of them is
	// stated.
	Service, TaskDefinition string
	// LaunchType is "fargate", "ec2", "external" or empty, Providers the capacity providers in its place, and Network where tasks are:
	// all for tasks without a service.
	LaunchType string
	Providers  []Provider
	Network    Network
	// Protect has tasks of a service protected from scale-in; true by default.
	Protect bool
	// Reports is "required" (the default) where workers report to the controller, "none" where they do not.
	Reports string
	// Capacity is the Auto Scaling group that a service's tasks are placed on; nil on Fargate.
	Capacity *Capacity
}

// Provider is one capacity provider of a strategy.
type Provider struct {
	// Name is FARGATE, FARGATE_SPOT or that of one on a group; Base 0 to 100,000, Weight 0 to 1,000.
	Name         string
	Base, Weight int
}

// Network is where tasks are: up to 16 subnets and 5 security groups.
type Network struct {
	Subnets, SecurityGroups []string
	PublicIP                bool
}

// Capacity is a group of instances under a service.
type Capacity struct {
	// Group is the group's name, TasksPerInstance how many tasks fit on one instance: 1 to 1,000.
	Group            string
	TasksPerInstance int
	// Shrink has instances ended that hold no task; true by default.
	Shrink bool
}

// The bounds of lists of a fleet on ECS.
const (
	maxProviders      = 20
	maxSubnets        = 16
	maxSecurityGroups = 5
)

func ecsKeys() []key {
	return []key{
		{name: "cluster", kind: kindText, required: true, what: "the name or ARN of the cluster"},
		{name: "region", kind: kindText, what: "where the cluster is; by default where the fleet's queue is"},
		{name: "service", kind: kindText, what: "the service whose tasks are the fleet"},
		{name: "task_definition", kind: kindText, what: "what is started, in place of a service: FAMILY, FAMILY:REVISION or an ARN"},
		{name: "launch_type", kind: kindText, enum: launchTypes(), what: "where tasks without a service run; by default as the cluster says"},
		{name: "capacity_providers", kind: kindMapping, list: true, of: providerKeys(), what: "the capacity providers of tasks without a service, in place of launch_type"},
		{name: "network", kind: kindMapping, of: networkKeys(), what: "where tasks without a service are; required on Fargate"},
		{name: "protect", kind: kindTruth, what: "whether tasks of the service are protected from its scale-in; true by default"},
		{name: "reports", kind: kindText, enum: reportings(), what: "whether the workers report to the controller: required (the default), or none for workers of your own that protect their task while they are busy"},
		{name: "capacity", kind: kindMapping, of: capacityKeys(), what: "the Auto Scaling group that the service's tasks are placed on; none on Fargate"},
	}
}

func providerKeys() []key {
	return []key{
		{name: "name", kind: kindText, required: true, what: "FARGATE, FARGATE_SPOT, or the name of one on a group"},
		{name: "base", kind: kindWhole, what: "how many tasks are its own before others get any: 0 to 100000"},
		{name: "weight", kind: kindWhole, what: "its share of the tasks beyond the base: 0 to 1000"},
	}
}

func networkKeys() []key {
	return []key{
		{name: "subnets", kind: kindText, list: true, required: true, what: "up to 16 subnets"},
		{name: "security_groups", kind: kindText, list: true, what: "up to 5 security groups"},
		{name: "public_ip", kind: kindTruth, what: "whether each task gets a public address; false by default"},
	}
}

func capacityKeys() []key {
	return []key{
		{name: "group", kind: kindText, required: true, what: "the name of the Auto Scaling group"},
		{name: "tasks_per_instance", kind: kindWhole, required: true, what: "how many tasks fit on one instance: 1 to 1000"},
		{name: "shrink", kind: kindTruth, what: "whether instances that hold no task are ended; true by default, false leaves that to ECS's managed scaling"},
	}
}

func launchTypes() []string { return []string{"fargate", "ec2", "external"} }

func (d *decoder) ecs(n *yaml.Node, path string) *ECS {
	e := &ECS{}
	m := d.mapping(n, path, names(ecsKeys())...)
	m.text("cluster", &e.Cluster)
	m.text("region", &e.Region)
	m.text("service", &e.Service)
	m.text("task_definition", &e.TaskDefinition)
	m.text("launch_type", &e.LaunchType)
	m.each("capacity_providers", maxProviders, func(n *yaml.Node, path string) {
		var p Provider
		m := d.mapping(n, path, names(providerKeys())...)
		m.text("name", &p.Name)
		m.whole("base", &p.Base)
		m.whole("weight", &p.Weight)
		e.Providers = append(e.Providers, p)
	})
	network := m.sub("network", names(networkKeys())...)
	network.each("subnets", maxSubnets, func(n *yaml.Node, path string) { e.Network.Subnets = append(e.Network.Subnets, d.text(n, path)) })
	network.each("security_groups", maxSecurityGroups, func(n *yaml.Node, path string) {
		e.Network.SecurityGroups = append(e.Network.SecurityGroups, d.text(n, path))
	})
	network.truth("public_ip", &e.Network.PublicIP)
	m.truth("protect", &e.Protect)
	m.text("reports", &e.Reports)
	if _, ok := m.values["capacity"]; ok {
		e.Capacity = &Capacity{}
		capacity := m.sub("capacity", names(capacityKeys())...)
		capacity.text("group", &e.Capacity.Group)
		capacity.whole("tasks_per_instance", &e.Capacity.TasksPerInstance)
		capacity.truth("shrink", &e.Capacity.Shrink)
	}
	return e
}

func (e *ECS) setDefaults(s *source, path string) {
	otherwise(s, path+".reports", &e.Reports, ReportsRequired)
	otherwise(s, path+".protect", &e.Protect, e.Service != "" && e.Reports == ReportsRequired)
	if e.Capacity != nil {
		otherwise(s, path+".capacity.shrink", &e.Capacity.Shrink, true)
	}
}

// validateECS checks what a fleet on ECS consists of, and that nothing is stated that only processes of this machine have.
func (f *Fleet) validateECS(s *source, path string) {
	e, at := f.ECS, path+".ecs"
	if f.ASG != nil {
		s.fault(at, "found ecs and asg, allowed is one of them", "a group that tasks are placed on is ecs.capacity.group")
	}
	if n := len(e.Cluster); n < 1 || n > 2048 {
		s.fault(at+".cluster", s.missing(at+".cluster", quote(e.Cluster), "the name or ARN of a cluster"), "")
	}
	checkRegion(s, at+".region", e.Region)
	if e.LaunchType != "" {
		oneOf(s, at+".launch_type", e.LaunchType, launchTypes())
	}
	oneOf(s, at+".reports", e.Reports, reportings())
	switch {
	case (e.Service == "") == (e.TaskDefinition == ""):
		s.fault(at, "found "+both(e.Service != "", "service and task_definition", "neither service nor task_definition")+", allowed is one of them",
			"a service keeps its tasks running; a task definition alone starts tasks that end by themselves")
	case e.Service != "":
		e.validateService(s, at)
	default:
		e.validateTasks(s, at)
	}
	f.validateReports(s, at+".reports", e.Reports)
	f.validateAway(s, path, "ecs", "on ECS", "its tasks")
}

func both(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

func (e *ECS) validateService(s *source, at string) {
	for _, key := range []string{"launch_type", "capacity_providers", "network"} {
		if s.has(at + "." + key) {
			s.fault(at+"."+key, "found "+key+" for a service, allowed is it with task_definition alone", "the service has its own")
		}
	}
	if e.Reports == ReportsNone && e.Protect {
		s.fault(at+".protect", "found true with reports: none, allowed is false: nobody could say when the protection may end",
			"workers that do not report protect their own task while they are busy")
	}
	if c := e.Capacity; c != nil {
		if n := len(c.Group); n < 1 || n > maxGroupName {
			s.fault(at+".capacity.group", s.missing(at+".capacity.group", quote(c.Group), "the name of an Auto Scaling group, 1 to 255 characters"), "")
		}
		within(s, at+".capacity.tasks_per_instance", c.TasksPerInstance, 1, 1000, strconv.Itoa)
	}
}

func (e *ECS) validateTasks(s *source, at string) {
	if s.has(at+".protect") && e.Protect {
		s.fault(at+".protect", "found true for tasks without a service, allowed is false: nothing ends them that they would need protection from", "")
	}
	if e.Reports == ReportsNone {
		s.fault(at+".reports", "found none for tasks without a service, allowed is required: only a worker can say that it is idle", "")
	}
	if e.Capacity != nil {
		s.fault(at+".capacity", "found capacity for tasks without a service, allowed is it with a service",
			"name a capacity provider with managed scaling in capacity_providers: it sizes its group by itself")
	}
	if e.LaunchType != "" && len(e.Providers) > 0 {
		s.fault(at+".capacity_providers", "found launch_type and capacity_providers, allowed is one of them", "")
	}
	fargate := e.LaunchType == "fargate"
	for i, p := range e.Providers {
		path := fmt.Sprintf("%s.capacity_providers[%d]", at, i)
		if p.Name == "" {
			s.fault(path+".name", s.missing(path+".name", "no name", "FARGATE, FARGATE_SPOT, or the name of one on a group"), "")
		}
		within(s, path+".base", p.Base, 0, 100_000, strconv.Itoa)
		within(s, path+".weight", p.Weight, 0, 1000, strconv.Itoa)
		fargate = fargate || strings.HasPrefix(p.Name, "FARGATE")
	}
	if len(e.Network.Subnets) == 0 && (fargate || s.has(at+".network")) {
		s.fault(at+".network", "found no subnets, allowed are 1 to 16: tasks on Fargate need to be told where they are", "")
	}
}
