package asg

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
)

// survey is a described group with its instances sorted by state.
type survey struct {
	*types.AutoScalingGroup
	name string
	// living instances count towards the group's desired size. ending ones are terminating. aside ones are in standby
	// or retained, which the group does not count.
	living, ending, aside []types.Instance
	// units is the total weight of the living instances: their number if there are no weights.
	units int
	// weight is the assumed weight of the next instance: the smallest that the group may launch, at least 1.
	weight int
}

// surveyOf sorts the instances of a group by their lifecycle states. A state that is unknown here counts as living, so
// that no instance is overlooked when the size is computed.
func surveyOf(g *types.AutoScalingGroup) survey {
	s := survey{AutoScalingGroup: g, name: aws.ToString(g.AutoScalingGroupName), weight: weightOf(g)}
	for _, i := range g.Instances {
		switch state := string(i.LifecycleState); {
		case state == "Terminating:Retained" || state == "Standby" || state == "EnteringStandby":
			s.aside = append(s.aside, i)
		case strings.HasPrefix(state, "Warmed:"): // in the warm pool
		case strings.HasPrefix(state, "Terminat") || strings.HasPrefix(state, "Detach"):
			s.ending = append(s.ending, i)
		default:
			s.living = append(s.living, i)
			s.units += unitsOf(i)
		}
	}
	return s
}

// unitsOf returns the weight of an instance in the group's units; 1 without weights.
func unitsOf(i types.Instance) int {
	if w, err := strconv.Atoi(aws.ToString(i.WeightedCapacity)); err == nil && w > 0 {
		return w
	}
	return 1
}

// weightOf returns the smallest weight. A size that is too low is raised at the next reading; one that is too high
// starts needless instances.
func weightOf(g *types.AutoScalingGroup) int {
	weight := 0
	if m := g.MixedInstancesPolicy; m != nil && m.LaunchTemplate != nil {
		for _, o := range m.LaunchTemplate.Overrides {
			if w, err := strconv.Atoi(aws.ToString(o.WeightedCapacity)); err == nil && w > 0 &&
				(weight == 0 || w < weight) {
				weight = w
			}
		}
	}
	return max(1, weight)
}

func (s survey) desired() int { return int(aws.ToInt32(s.DesiredCapacity)) }
func (s survey) min() int     { return int(aws.ToInt32(s.MinSize)) }
func (s survey) max() int     { return int(aws.ToInt32(s.MaxSize)) }

// aim returns the group's desired size in members: the living ones, and the missing ones at the smallest weight.
func (s survey) aim() int {
	missing := s.desired() - s.units
	if missing >= 0 {
		return len(s.living) + (missing+s.weight-1)/s.weight
	}
	return max(0, len(s.living)-(-missing)/s.weight)
}

// unitsFor returns the desired size in units for total members. It is never below the weight of the living ones,
// because a lower size would end some.
func (s survey) unitsFor(total int) int {
	return s.units + max(0, total-len(s.living))*s.weight
}

// unitsBelow returns the desired size in units for fewer members than live: the group chooses which ones end.
func (s survey) unitsBelow(total int) int {
	return max(0, s.units-max(0, len(s.living)-total)*s.weight)
}

// find returns the living instance of that id.
func (s survey) find(id string) (types.Instance, bool) {
	i := slices.IndexFunc(s.living, func(i types.Instance) bool { return aws.ToString(i.InstanceId) == id })
	if i < 0 {
		return types.Instance{}, false
	}
	return s.living[i], true
}

// suspended tells whether a process of the group is suspended, such as Launch or AZRebalance.
func (s survey) suspended(process string) bool {
	return slices.ContainsFunc(s.SuspendedProcesses,
		func(p types.SuspendedProcess) bool { return aws.ToString(p.ProcessName) == process })
}

// operator names the service that operates the group; empty for none.
func (s survey) operator() string {
	if s.Operator == nil {
		return ""
	}
	return aws.ToString(s.Operator.Principal)
}

// mayChange returns an error if the group cannot be changed by Muster, or not now.
func (s survey) mayChange(what string) error {
	if o := s.operator(); o != "" {
		return fmt.Errorf("%s: found that %s operates the group, and only that service may change it; let it size the "+
			"group, or give the fleet its own group", what, o)
	}
	if status := aws.ToString(s.Status); status != "" {
		return fmt.Errorf("%s: found the group in the state %q; it can be changed when it is not being deleted", what,
			status)
	}
	switch unit := aws.ToString(s.DesiredCapacityType); unit {
	case "", "units":
	default:
		return fmt.Errorf("%s: found a group whose size counts %s; allowed is one that counts instances "+
			"(DesiredCapacityType units)", what, unit)
	}
	return nil
}

// notes list settings of the group that prevent sizing or have surprising effects.
func (s survey) notes(o Options, refreshing string) []string {
	var notes []string
	note := func(when bool, format string, args ...any) {
		if text := fmt.Sprintf(format, args...); when && len(notes) < muster.MaxNotes {
			notes = append(notes, text[:min(len(text), muster.MaxNoteBytes)])
		}
	}
	if err := s.mayChange("size the group " + s.name); err != nil {
		note(true, "%v", err)
	}
	note(s.suspended("Launch"), "launching is suspended in the group %s: no instance starts until it is resumed",
		s.name)
	note(s.suspended("Terminate"), "terminating is suspended in the group %s: released instances stay until it is "+
		"resumed", s.name)
	note(refreshing != "", "an instance refresh of the group %s is %s: it replaces instances, busy ones too unless "+
		"they are protected and it waits for them", s.name, refreshing)
	protected := aws.ToBool(s.NewInstancesProtectedFromScaleIn) || o.Protect
	zones := len(s.AvailabilityZones) > 1
	note(zones && !s.suspended("AZRebalance") && !protected, "the group %s may end busy instances to balance its "+
		"zones: suspend AZRebalance, or protect new instances from scale-in", s.name)
	life := aws.ToInt32(s.MaxInstanceLifetime)
	note(life > 0, "instances of the group %s live for %s at most: the group replaces older ones, busy or not", s.name,
		render.Seconds(float64(life)))
	note(aws.ToBool(s.CapacityRebalance), "the group %s replaces Spot instances that are at risk: a busy one gets "+
		"two minutes to return its message", s.name)
	note(!protected, "new instances of the group %s are not protected from scale-in: its own policies may end busy "+
		"ones", s.name)
	note(s.min() > o.Min, "the group %s keeps at least %d instances, and the fleet needs as few as %d: lower the "+
		"group's minimum", s.name, s.min(), o.Min)
	note(s.max() < o.Max*s.weight, "the group %s allows at most %d, and the fleet needs up to %d: raise the "+
		"group's maximum", s.name, s.max(), o.Max*s.weight)
	note(s.weight > 1, "instances of the group %s have weights: a further one is assumed to weigh %d, the least",
		s.name,
		s.weight)
	note(len(s.aside) > 0, "%s of the group %s in standby or retained: Muster does not change them",
		render.Plural(len(s.aside), "instance"), s.name)
	return notes
}
