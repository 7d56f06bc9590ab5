package app

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/fleet/asg"
	"github.com/muster-scale/muster/fleet/delegate"
	"github.com/muster-scale/muster/fleet/ecs"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/policy"
)

// homeOf is where a fleet's group or cluster is: as stated, or where its queue is.
func homeOf(c config.Fleet) string {
	if c.ASG != nil {
		return regionOf(c, c.ASG.Region)
	}
	return regionOf(c, c.ECS.Region)
}

// Members puts a fleet on AWS, with its abilities, into the options of its loop. It returns the Auto Scaling group that it is,
// or nil where it is something else.
func (w *AWS) Members(ctx context.Context, c config.Fleet, o *controller.LoopOptions) (group *asg.Fleet, err error) {
	switch {
	case c.ASG != nil:
		if group, err = w.group(ctx, c); err != nil {
			return nil, err
		}
		o.Fleet, o.Releaser, o.Protector, o.Expecters = group, group, group, append(o.Expecters, group)
	case c.ECS.Service != "":
		f, err := w.service(ctx, c)
		if err != nil {
			return nil, err
		}
		o.Fleet, o.Releaser, o.Protector, o.Trimmer, o.Expecters = f, f, f, f, append(o.Expecters, f)
	default:
		f, err := w.tasks(ctx, c)
		if err != nil {
			return nil, err
		}
		o.Fleet, o.Releaser, o.Expecters = f, f, append(o.Expecters, f)
	}
	if c.Delegate != nil {
		o.Delegator, err = w.Delegate(ctx, c, nil)
	}
	return group, err
}

// service returns the service of ECS that a fleet consists of.
func (w *AWS) service(ctx context.Context, c config.Fleet) (*ecs.Service, error) {
	if err := w.open(ctx); err != nil {
		return nil, err
	}
	o := ecs.ServiceOptions{Cluster: c.ECS.Cluster, Service: c.ECS.Service, Region: homeOf(c), Protect: c.ECS.Protect, Every: c.Poll}
	if c.Delegate != nil {
		o.Owner = delegate.PolicyName(c.Name)
	}
	if under := c.ECS.Capacity; under != nil {
		instances := func(tasks int) int { return (tasks + under.TasksPerInstance - 1) / under.TasksPerInstance }
		group, err := w.groups.Fleet(asg.Options{
			Group: under.Group, Region: o.Region, Min: instances(c.Limits.Min), Max: instances(c.Limits.Max), Launch: asg.BySize, Protect: true, Every: c.Poll,
		})
		if err != nil {
			return nil, err
		}
		o.Capacity = &ecs.Capacity{TasksPerInstance: under.TasksPerInstance, Group: group, Ender: group, Name: under.Group, Keep: !under.Shrink}
	}
	return w.clusters.Service(o)
}

// tasks returns the tasks without a service that a fleet consists of.
func (w *AWS) tasks(ctx context.Context, c config.Fleet) (*ecs.Tasks, error) {
	if err := w.open(ctx); err != nil {
		return nil, err
	}
	o := ecs.TaskOptions{
		Fleet: c.Name, Cluster: c.ECS.Cluster, Region: homeOf(c), Definition: c.ECS.TaskDefinition, LaunchType: strings.ToUpper(c.ECS.LaunchType), Every: c.Poll,
		Network: ecs.Network{Subnets: c.ECS.Network.Subnets, SecurityGroups: c.ECS.Network.SecurityGroups, PublicIP: c.ECS.Network.PublicIP},
	}
	for _, p := range c.ECS.Providers {
		o.Providers = append(o.Providers, ecs.Provider{Name: p.Name, Base: p.Base, Weight: p.Weight})
	}
	return w.clusters.Tasks(o)
}

// Delegate returns what hands a fleet over to AWS's target tracking. With lines its metrics go there in place of CloudWatch's API.
func (w *AWS) Delegate(ctx context.Context, c config.Fleet, lines io.Writer) (*delegate.Delegate, error) {
	if err := w.open(ctx); err != nil {
		return nil, err
	}
	o := delegate.Options{
		Account: w.account, Region: homeOf(c), Fleet: c.Name, Min: c.Limits.Min, Max: c.Limits.Max, Formula: formulaOf(c.Policy), Lines: lines,
		Math: c.Delegate.Metric == config.MetricMath, Namespace: c.Delegate.Namespace, Period: c.Delegate.Period, ChangePercent: c.Policy.Delegate.ChangePercent, KeepUp: !c.Delegate.ScaleIn,
		Cooldown: c.Delegate.Cooldown,
	}
	if c.ASG != nil {
		o.Group = c.ASG.Group
	} else {
		o.Cluster, o.Service = c.ECS.Cluster, c.ECS.Service
	}
	for _, q := range c.Queues {
		if r := awsapi.QueueRegion(q.URL); r != "" && r != o.Region {
			return nil, fmt.Errorf("delegate the fleet %s: found the queue %s in %s and the fleet in %s; target tracking reads metrics of its own region alone", c.Name, q.Name, r, o.Region)
		}
		o.Queues = append(o.Queues, q.Name)
	}
	return delegate.New(o)
}

// Publisher returns what publishes what is known of a fleet, for those who track it. With lines its metrics go there in place of
// CloudWatch's API.
func (w *AWS) Publisher(ctx context.Context, c config.Fleet, lines io.Writer) (*delegate.Publisher, error) {
	if err := w.open(ctx); err != nil {
		return nil, err
	}
	region := regionOf(c, "")
	if c.Away() {
		region = homeOf(c)
	}
	return delegate.NewPublisher(delegate.Options{
		Account: w.account, Region: region, Fleet: c.Name, Formula: formulaOf(c.Policy), Lines: lines,
	})
}

// formulaOf is what AWS tracks in place of a policy.
func formulaOf(s policy.Spec) delegate.Formula {
	switch {
	case s.Name != "worker-utilization":
		return delegate.BacklogPerWorker
	case s.Signal == policy.SignalInFlight:
		return delegate.InFlight
	}
	return delegate.Utilization
}
