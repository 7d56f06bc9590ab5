package ecs

import (
	"strings"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/fleet/asg"
	"github.com/muster-scale/muster/kind"
)

// This file has the permissions that fleets on ECS need.

// Permissions implements [kind.Permitted].
func (c *Config) Permissions(at kind.Place, f config.Fleet) []kind.Permission {
	all := c.permissions(at, kind.HomeOf(f), f.Sizer != nil)
	if c.Service == "" {
		return all
	}
	// The agent changes the protection of its own task with the role of the task.
	protect := kind.AllowWrites([]kind.Mode{kind.ModeWork}, []string{c.resource(at, kind.HomeOf(f), "task", "*")},
		"ecs:UpdateTaskProtection")
	protect[0].For = "the agent's endpoint for task protection"
	return append(all, protect...)
}

// resource returns the ARN of something in the cluster. A cluster that is stated by ARN says where it is.
func (c *Config) resource(at kind.Place, region, what, name string) string {
	if parts := strings.Split(c.Cluster, ":"); len(parts) == 6 {
		return strings.Join(append(parts[:5:5], what+"/"+last(c.Cluster)+"/"+name), ":")
	}
	return at.ARN("ecs", region, what+"/"+c.Cluster+"/"+name)
}

// cluster returns the ARN of the cluster.
func (c *Config) cluster(at kind.Place, region string) string {
	if strings.Contains(c.Cluster, ":") {
		return c.Cluster
	}
	return at.ARN("ecs", region, "cluster/"+c.Cluster)
}

// permissions returns what Muster itself needs.
func (c *Config) permissions(at kind.Place, region string, delegated bool) []kind.Permission {
	tasks := []string{c.resource(at, region, "task", "*")}
	all := kind.Allow(kind.Reading(), nil, "ecs:ListTasks")
	all[0].When = []kind.Condition{{Test: "ArnEquals", Key: "ecs:cluster", Value: c.cluster(at, region)}}
	all = append(all, kind.Allow(kind.Reading(), tasks, "ecs:DescribeTasks")...)
	if c.Service == "" {
		return append(all, c.runPermissions(at, region, tasks)...)
	}
	up, protects := []kind.Mode{kind.ModeUp}, kind.Reading()
	if !c.Protect {
		protects = up // only to end tasks
	}
	all = append(all, kind.Allow(protects, tasks, "ecs:GetTaskProtection")...)
	service := []string{c.resource(at, region, "service", last(c.Service))}
	all = append(all, kind.Allow(kind.Reading(), service, "ecs:DescribeServices")...)
	all = append(all, kind.Allow(kind.Reading(), nil, "application-autoscaling:DescribeScalableTargets",
		"application-autoscaling:DescribeScalingPolicies")...)
	if c.Under != nil {
		all = append(all, c.underPermissions(at, region, delegated)...)
	}
	if delegated {
		return all
	}
	all = append(all, kind.AllowWrites(up, service, "ecs:UpdateService")...)
	return append(all, kind.AllowWrites(up, tasks, "ecs:UpdateTaskProtection")...)
}

// runPermissions are those for tasks without a service. ECS takes the roles of the task definition in the name of the
// caller, so it checks that the caller may pass them.
func (c *Config) runPermissions(at kind.Place, region string, tasks []string) []kind.Permission {
	up := []kind.Mode{kind.ModeUp}
	definition := c.TaskDefinition
	if !strings.Contains(definition, "/") {
		if !strings.Contains(definition, ":") {
			definition += ":*" // its newest revision
		}
		definition = at.ARN("ecs", region, "task-definition/"+definition)
	}
	pass := kind.Permission{
		Action: "iam:PassRole", On: []string{at.ARN("iam", region, "role/*")}, Modes: up, Write: true,
		When: []kind.Condition{{Test: "StringEquals", Key: "iam:PassedToService", Value: "ecs-tasks.amazonaws.com"}},
		For:  "ecs:RunTask",
	}
	run := kind.AllowWrites(up, []string{definition}, "ecs:RunTask")
	return append(append(run, kind.AllowWrites(up, tasks, "ecs:StopTask")...), pass)
}

// underPermissions are those for the instances under the service.
func (c *Config) underPermissions(at kind.Place, region string, delegated bool) []kind.Permission {
	all := asg.ReadPermissions()
	all = append(all, kind.Allow(kind.Reading(), []string{c.cluster(at, region)}, "ecs:ListContainerInstances")...)
	all = append(all, kind.Allow(kind.Reading(), []string{c.resource(at, region, "container-instance", "*")},
		"ecs:DescribeContainerInstances")...)
	all = append(all, kind.Allow(kind.Reading(), []string{at.ARN("ecs", region, "capacity-provider/*")},
		"ecs:DescribeCapacityProviders")...)
	if delegated {
		return all
	}
	group := []string{asg.GroupARN(at, region, c.Under.Group)}
	return append(all, kind.AllowWrites([]kind.Mode{kind.ModeUp}, group, "autoscaling:SetDesiredCapacity",
		"autoscaling:TerminateInstanceInAutoScalingGroup")...)
}
