package stack

import (
	"fmt"
	"strings"
	"time"

	"github.com/muster-scale/muster/config"
)

// This file makes the queue of events and its rules. An event only wakes the controller, so a rule may send more than
// is needed, and a lost event costs one poll.

// NoEvents is the name of an events queue for a stack without one.
const NoEvents = "none"

// eventQueue returns the queue of events that the stack makes: the named one, or else the first of the configuration.
// It returns nil for none.
func (m *maker) eventQueue(name string) (*config.QueueRef, error) {
	if name == NoEvents || name == "" && (len(m.c.Events) == 0 || m.Tracking != nil) {
		return nil, nil // target tracking is woken by nothing
	}
	var names []string
	for _, e := range m.c.Events {
		if e.Queue.Name == name || name == "" {
			if e.Queue.Region != m.Region || !strings.Contains(e.Queue.URL, "/"+m.Account+"/") {
				return nil, fmt.Errorf("the queue of events %s is not in %s of the account %s, where the fleet %s is",
					e.Queue.URL, m.Region, m.Account, m.Fleet)
			}
			return &e.Queue, nil
		}
		names = append(names, e.Queue.Name)
	}
	return nil, fmt.Errorf("found no queue %q in events of the configuration, allowed is %s", name,
		strings.Join(append(names, NoEvents), ", "))
}

// events makes the queue of events and the rules for the fleet's members.
func (m *maker) events(name string) error {
	q, err := m.eventQueue(name)
	if q == nil {
		return err
	}
	e := &Events{Queue: m.queue(q.Name, 30*time.Second)}
	e.Rules = append(e.Rules, Rule{Name: "ProgramEvents", Source: "muster", Member: "fleet", Value: m.Fleet,
		About: "Your programs ask for capacity, by PutEvents with the source muster."})
	if c := m.Cluster; c != nil {
		e.Rules = append(e.Rules, Rule{Name: "ClusterEvents", About: "Tasks and deployments of the cluster change.",
			Source: "aws.ecs", Types: []string{"ECS Task State Change", "ECS Service Action",
				"ECS Deployment State Change"},
			Member: "clusterArn", Value: m.at.ARN("ecs", m.Region, "cluster/"+c.Name)})
	}
	if g := m.Group; g != nil {
		e.Rules = append(e.Rules, Rule{Name: "GroupEvents", About: "Instances of the group are launched and end.",
			Source: "aws.autoscaling", Types: []string{"EC2 Instance Launch Successful",
				"EC2 Instance Launch Unsuccessful", "EC2 Instance Terminate Successful",
				"EC2 Instance Terminate Unsuccessful"},
			Member: "AutoScalingGroupName", Value: g.Name},
			Rule{Name: "SpotEvents", About: "Spot instances get a notice. It names no group, so those of all come.",
				Source: "aws.ec2", Types: []string{"EC2 Spot Instance Interruption Warning",
					"EC2 Instance Rebalance Recommendation"}})
	}
	m.Events = e
	return nil
}
