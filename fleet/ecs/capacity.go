package ecs

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
)

// This file sizes the instances under a service. Two sizes follow each other: instances rise before tasks, and fall
// only after the last task has left them.

// Capacity is the Auto Scaling group on whose instances the tasks of a service run.
type Capacity struct {
	// TasksPerInstance is how many tasks fit on one instance, at least 1.
	TasksPerInstance int
	// Group sizes the group, as package fleet/asg does: its orders count instances and respect the group's maximum.
	// Ender ends instances by name and lowers the group's size by as many.
	Group muster.Fleet
	Ender muster.Releaser
	// Name is the group's name, for messages.
	Name string
	// Keep leaves idle instances to another system, such as ECS's managed scaling.
	Keep bool
}

// expect makes the next reading of the group a fresh one.
func (c *Capacity) expect() {
	if e, ok := c.Group.(muster.Expecter); ok {
		e.Expect()
	}
}

// instances returns how many instances that many tasks need. The last one may have room for more.
func (c *Capacity) instances(tasks int) int {
	return (tasks + c.TasksPerInstance - 1) / c.TasksPerInstance
}

// raise makes the group large enough for that many tasks. It never lowers its size.
func (c *Capacity) raise(ctx context.Context, p place, id string, tasks int) error {
	need := c.instances(tasks)
	l, err := c.Group.Members(ctx)
	if err != nil {
		return fmt.Errorf("find instances for %s: %w", p.what, err)
	}
	have := len(l.Members)
	if l.Service != nil {
		have = l.Service.Desired
	}
	if have >= need {
		return nil
	}
	order := muster.Order{ID: id, Desired: need, Total: need}
	for i := range need - have {
		order.Launch = append(order.Launch, fmt.Sprintf("%s.host.%d", id, i+1))
	}
	if err := c.Group.SetDesired(ctx, order); err != nil {
		return fmt.Errorf("find instances for %s: %d are needed for %s: %w", p.what, need, render.Plural(tasks, "task"),
			err)
	}
	return nil
}

// hosts is one reading of the instances of a group.
type hosts struct {
	// living is the number of the group's instances; idle are the ids of those without a task.
	living int
	idle   []string
}

// hosts reads the instances and finds those without a task.
func (c *Capacity) hosts(ctx context.Context, p place) (hosts, error) {
	l, err := c.Group.Members(ctx)
	if err != nil {
		return hosts{}, fmt.Errorf("find idle instances of %s: %w", p.what, err)
	}
	var all []string
	for _, m := range l.Members {
		if !m.Ended {
			all = append(all, m.ID)
		}
	}
	h := hosts{living: len(all)}
	in := &ecs.ListContainerInstancesInput{Cluster: aws.String(p.cluster)}
	for range maxPages {
		out, err := p.ecs.ListContainerInstances(ctx, in)
		if err != nil {
			return hosts{}, p.explain("list the instances under", err)
		}
		if err := c.idle(ctx, p, &h, all, out.ContainerInstanceArns); err != nil {
			return hosts{}, err
		}
		if in.NextToken = out.NextToken; in.NextToken == nil {
			slices.Sort(h.idle)
			return h, nil
		}
	}
	return hosts{}, fmt.Errorf("list the instances under %s: found more than the %d pages that are allowed", p.what,
		maxPages)
}

// idle adds to h the instances that belong to the group and have no task.
func (c *Capacity) idle(ctx context.Context, p place, h *hosts, group, arns []string) error {
	if len(arns) == 0 {
		return nil
	}
	out, err := p.ecs.DescribeContainerInstances(ctx,
		&ecs.DescribeContainerInstancesInput{Cluster: aws.String(p.cluster), ContainerInstances: arns})
	if err != nil {
		return p.explain("describe the instances under", err)
	}
	for _, i := range out.ContainerInstances {
		if id := aws.ToString(i.Ec2InstanceId); i.RunningTasksCount+i.PendingTasksCount == 0 &&
			slices.Contains(group, id) {
			h.idle = append(h.idle, id)
		}
	}
	return nil
}

// spare returns the instances to end: the idle ones beyond what the service needs. It returns none while tasks wait for
// placement, because ECS may place them on these instances, and none with Keep.
func (c *Capacity) spare(h hosts, svc types.Service, living int) []string {
	if c.Keep || int(svc.RunningCount+svc.PendingCount) < int(svc.DesiredCount) || svc.PendingCount > 0 {
		return nil
	}
	more := h.living - c.instances(max(int(svc.DesiredCount), living))
	return h.idle[:max(0, min(more, len(h.idle)))]
}
