package stack

import (
	"fmt"
	"net/url"
	"path"
	"time"
)

// This file makes the queue of events and its rules. An event only wakes the controller, so a rule may send more than
// is needed, and a lost event costs one poll.

// events makes the queue with the given URL and the rules for the fleet's members.
func (m *maker) events(address string) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("events.queue: %w", err)
	}
	e := &Events{Queue: m.queue(path.Base(u.Path), 30*time.Second)}
	if c := m.Cluster; c != nil {
		arn := m.at.ARN("ecs", m.Region, "cluster/"+c.Name)
		e.Rules = append(e.Rules, Rule{Name: "TaskEvents", About: "Tasks of the cluster start and stop.",
			Source: "aws.ecs", Types: []string{"ECS Task State Change"},
			Member: "clusterArn", Value: arn})
		if c.Service != "" {
			e.Rules = append(e.Rules, Rule{Name: "DeploymentEvents", About: "Deployments of services begin and end.",
				Source: "aws.ecs", Types: []string{"ECS Deployment State Change"}})
		}
	}
	if g := m.Group; g != nil {
		e.Rules = append(e.Rules, Rule{Name: "GroupEvents", About: "Instances of the group are launched and end.",
			Source: "aws.autoscaling", Types: []string{"EC2 Instance Launch Successful",
				"EC2 Instance Launch Unsuccessful", "EC2 Instance Terminate Successful",
				"EC2 Instance-terminate Lifecycle Action"},
			Member: "AutoScalingGroupName", Value: g.Name},
			Rule{Name: "SpotEvents", About: "Spot instances get a notice. It names no group, so those of all come.",
				Source: "aws.ec2", Types: []string{"EC2 Spot Instance Interruption Warning",
					"EC2 Instance Rebalance Recommendation"}})
	}
	m.Events = e
	return nil
}
