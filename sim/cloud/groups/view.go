package groups

import (
	"slices"
	"time"

	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
)

// Listeners are told what happens to instances and groups. All are needed.
type Listeners struct {
	// Serves is told of an instance that came into service, Leaves of the id of one that leaves it or ends.
	Serves func(Machine)
	Leaves func(instance string)
	// Deleted is told the name of a group that is deleted.
	Deleted func(group string)
}

// Connect says who is told what happens.
func (w *AutoScaling) Connect(l Listeners) { w.listeners = l }

// Machine is an instance in service, as others know it.
type Machine struct {
	ID, Zone string
	// Group is the name of its group, GroupARN its ARN.
	Group, GroupARN string
	// Serves tells whether it has been in service since.
	Serves func() bool
}

// machine shows an instance to others.
func (i *instance) machine() Machine {
	turn := i.turn
	return Machine{i.id, i.pool.AvailabilityZone, i.group.AutoScalingGroupName, i.group.AutoScalingGroupARN,
		func() bool { return i.turn == turn }}
}

// Size is what a group looks like from outside.
type Size struct {
	Name, ARN         string
	Min, Max, Desired int
	// InService is the capacity in service, in weights.
	InService int
	// Weighted tells that its instances have weights, Protects that new ones are protected from scale-in.
	Weighted, Protects bool
	// Warmup is the group's default warm-up, nil for none; Cooldown its default cooldown.
	Warmup   *time.Duration
	Cooldown time.Duration
	// Alarms tells that it scales when alarms say so.
	Alarms bool
}

// size shows a group to others.
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

// SizeOf shows a group, found by its name or ARN, to others.
func (w *AutoScaling) SizeOf(nameOrARN string) (Size, bool) {
	for _, name := range account.Sorted(w.groups) {
		if g := w.groups[name]; nameOrARN == g.AutoScalingGroupARN || nameOrARN == name {
			return g.size(), true
		}
	}
	return Size{}, false
}

// MayChange says why the caller may not change a group, nil if it may.
func (w *AutoScaling) MayChange(name string) error {
	_, err := w.change(name)
	return err
}

// SetDesired sets the desired capacity of a group, for an autoscaler.
func (w *AutoScaling) SetDesired(name string, n int) { w.resize(w.groups[name], n) }

// Serving are the instances of a group in service, in the order of their launch.
func (w *AutoScaling) Serving(name string) (all []Machine) {
	for _, i := range w.groups[name].instances {
		if i.state == groupapi.InService {
			all = append(all, i.machine())
		}
	}
	return all
}

// Protect protects an instance in service from scale-in, or takes that back.
func (w *AutoScaling) Protect(id string, on bool) {
	if i := w.instances[id]; i != nil && i.state == groupapi.InService && i.protected != on {
		i.protected = on
		w.look(i.group)
	}
}

// Warming tells whether an instance of a group is on its way into service, or has been there for less than a warm-up.
func (w *AutoScaling) Warming(name string, warmup time.Duration) bool {
	return slices.ContainsFunc(w.groups[name].instances, func(i *instance) bool {
		return i.counted() && (i.state != groupapi.InService || w.acc.Now().Before(i.inService.Add(warmup)))
	})
}
