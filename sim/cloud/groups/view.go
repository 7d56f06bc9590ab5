package groups

import (
	"slices"
	"time"

	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
)

// This file has how other services see groups: Size for a group, Machine for an instance in service.

// Listeners are functions that are called when instances and groups change. All are required. They run inside the
// change and must not change a group.
type Listeners struct {
	// Serves is called with an instance that came into service. Leaves is called with the id of an instance that
	// leaves the service or ends; it may be called twice for one instance.
	Serves func(Machine)
	Leaves func(instance string)
	// Deleted is called with the name of a group that is deleted.
	Deleted func(group string)
}

// Connect sets the functions that are called when instances and groups change.
func (w *AutoScaling) Connect(l Listeners) { w.listeners = l }

// Machine is an instance in service, as other services know it.
type Machine struct {
	ID, Zone string
	// Group is the name of its group, GroupARN the ARN.
	Group, GroupARN string
	// Serves tells whether the instance has stayed in service since this value was made.
	Serves func() bool
}

// machine returns an instance as other services know it. Its Serves turns false with the next change of state.
func (i *instance) machine() Machine {
	turn := i.turn
	return Machine{i.id, i.pool.AvailabilityZone, i.group.AutoScalingGroupName, i.group.AutoScalingGroupARN,
		func() bool { return i.turn == turn }}
}

// Size is the size of a group and the settings that other services need.
type Size struct {
	Name, ARN         string
	Min, Max, Desired int
	// InService is the capacity in service, in weights. The other sizes are in weights too.
	InService int
	// Weighted tells whether its instances have weights, Protects whether new ones are protected from scale-in.
	Weighted, Protects bool
	// Warmup is the group's default instance warm-up, nil for none; Cooldown is its default cooldown.
	Warmup   *time.Duration
	Cooldown time.Duration
	// Alarms tells whether alarms may scale the group: the process AlarmNotification is not suspended.
	Alarms bool
}

// size returns a group as other services see it.
func (g *group) size() Size {
	s := Size{Name: g.AutoScalingGroupName, ARN: g.AutoScalingGroupARN, Min: g.MinSize, Max: g.MaxSize,
		Desired: g.desired, Weighted: g.MixedInstancesPolicy.Weighted(), Protects: g.NewInstancesProtectedFromScaleIn,
		Cooldown: time.Duration(g.DefaultCooldown) * time.Second, Alarms: g.runs("AlarmNotification")}
	if g.DefaultInstanceWarmup != nil {
		s.Warmup = account.Ptr(time.Duration(*g.DefaultInstanceWarmup) * time.Second)
	}
	for _, i := range g.instances {
		if i.state == groupapi.InService {
			s.InService += i.weight
		}
	}
	return s
}

// SizeOf returns the size of the group with this name or ARN, and whether there is one.
func (w *AutoScaling) SizeOf(nameOrARN string) (Size, bool) {
	// Capacity providers may name a group by its ARN, and scaling policies by its name.
	for _, name := range account.Sorted(w.groups) {
		if g := w.groups[name]; nameOrARN == g.AutoScalingGroupARN || nameOrARN == name {
			return g.size(), true
		}
	}
	return Size{}, false
}

// MayChange returns why the caller may not change a group; nil when it may. A missing group is an error.
func (w *AutoScaling) MayChange(name string) error {
	_, err := w.changeable(name)
	return err
}

// SetDesired sets the desired capacity of a group for an autoscaler, which has found the group and kept its bounds.
// It checks neither; the name must be that of a group.
func (w *AutoScaling) SetDesired(name string, n int) { w.resize(w.groups[name], n) }

// Serving returns the instances of a group that are in service, in the order of their launch. The name must be that
// of a group.
func (w *AutoScaling) Serving(name string) (all []Machine) {
	for _, i := range w.groups[name].instances {
		if i.state == groupapi.InService {
			all = append(all, i.machine())
		}
	}
	return all
}

// Protect turns the scale-in protection of an instance in service on or off. Other instances are left alone.
func (w *AutoScaling) Protect(id string, on bool) {
	if i := w.instances[id]; i != nil && i.state == groupapi.InService && i.protected != on {
		i.protected = on
		w.reconcileSoon(i.group)
	}
}

// Warming tells whether a counted instance of a group is on its way into service, or came into service less than a
// warm-up ago. The name must be that of a group.
func (w *AutoScaling) Warming(name string, warmup time.Duration) bool {
	return slices.ContainsFunc(w.groups[name].instances, func(i *instance) bool {
		return i.counted() && (i.state != groupapi.InService || w.acc.Now().Before(i.inService.Add(warmup)))
	})
}
