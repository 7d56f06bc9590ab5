package cloud

import (
	"time"

	"github.com/muster-scale/muster/sim/cloud/containers"
	"github.com/muster-scale/muster/sim/cloud/groups"
	"github.com/muster-scale/muster/sim/cloud/scaling"
)

// This file translates between services: what containers and scaling need of groups is an interface of theirs, and
// the types here implement it. So neither of them imports groups.

// provided shows groups to ECS, as the source of a cluster's instances.
type provided struct{ of *groups.AutoScaling }

// Group implements containers.Groups.
func (p provided) Group(nameOrARN string) (containers.Group, bool) {
	s, found := p.of.SizeOf(nameOrARN)
	if !found {
		return containers.Group{}, false
	}
	g := containers.Group{Name: s.Name, Min: s.Min, Max: s.Max, Desired: s.Desired, Weighted: s.Weighted,
		Protects: s.Protects}
	for _, i := range p.of.Serving(s.Name) {
		g.Serving = append(g.Serving, containers.Host(i))
	}
	return g, true
}

// Resize implements containers.Groups.
func (p provided) Resize(group string, desired int) { p.of.SetDesired(group, desired) }

// Protect implements containers.Groups.
func (p provided) Protect(instance string, on bool) { p.of.Protect(instance, on) }

// tracked shows groups to scaling policies, which find a group by its name alone.
type tracked struct{ of *groups.AutoScaling }

// MayChange implements scaling.Groups.
func (t tracked) MayChange(name string) error { return t.of.MayChange(name) }

// Group implements scaling.Groups.
func (t tracked) Group(name string) (scaling.Tracked, bool) {
	s, found := t.of.SizeOf(name)
	if !found || s.Name != name {
		return scaling.Tracked{}, false
	}
	return scaling.Tracked{Min: s.Min, Max: s.Max, Desired: s.Desired, InService: s.InService, Warmup: s.Warmup,
		Cooldown: s.Cooldown, Alarms: s.Alarms,
		Warming: func(warmup time.Duration) bool { return t.of.Warming(name, warmup) }}, true
}

// Resize implements scaling.Groups.
func (t tracked) Resize(name string, desired int) { t.of.SetDesired(name, desired) }
