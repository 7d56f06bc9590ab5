package ecs

import (
	"strings"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/kind"
)

// Blueprint implements [kind.Templated]. Tasks on instances that the configuration does not name have a blueprint
// without a group.
func (c *Config) Blueprint(config.Fleet) kind.Blueprint {
	b := kind.Blueprint{Cluster: c.Cluster[strings.LastIndexByte(c.Cluster, '/')+1:], Service: c.Service,
		Fargate: c.Under == nil}
	if c.Under != nil {
		b.Group, b.TasksPerInstance = c.Under.Group, c.Under.TasksPerInstance
	}
	if c.Service != "" {
		return b
	}
	family := c.TaskDefinition[strings.LastIndexByte(c.TaskDefinition, '/')+1:]
	b.Family, _, _ = strings.Cut(family, ":")
	b.Fargate = c.LaunchType == "fargate" || len(c.Providers) > 0
	for _, p := range c.Providers {
		b.Fargate = b.Fargate && strings.HasPrefix(p.Name, "FARGATE")
		b.Providers = append(b.Providers, p.Name)
	}
	return b
}
