package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// groups is a stand-in for Auto Scaling: one group, whose hook for instances that end has the timeout of a minute.
type groups struct {
	mu      sync.Mutex
	actions []string
}

func (g *groups) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	action := r.FormValue("Action")
	g.mu.Lock()
	g.actions = append(g.actions, action)
	g.mu.Unlock()
	result := map[string]string{
		"DescribeAutoScalingInstances": "<AutoScalingInstances><member><AutoScalingGroupName>workers</AutoScalingGroupName></member></AutoScalingInstances>",
		"DescribeLifecycleHooks": "<LifecycleHooks><member><LifecycleHookName>finish</LifecycleHookName><HeartbeatTimeout>60</HeartbeatTimeout>" +
			"<LifecycleTransition>autoscaling:EC2_INSTANCE_TERMINATING</LifecycleTransition></member></LifecycleHooks>",
	}[action]
	fmt.Fprintf(w, `<%[1]sResponse xmlns="http://autoscaling.amazonaws.com/doc/2011-01-01/"><%[1]sResult>%[2]s</%[1]sResult></%[1]sResponse>`, action, result)
}

// seen returns the actions so far, without repeats in a row.
func (g *groups) seen() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Join(g.actions, " ")
}
