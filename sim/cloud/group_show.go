package cloud

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// DescribeAutoScalingGroups shows groups, all of them when none is named.
func (w *AutoScaling) DescribeAutoScalingGroups(in DescribeGroups) (GroupList, error) {
	n := or(in.MaxRecords, 50)
	switch {
	case n < 1 || n > 100:
		return GroupList{}, invalid("MaxRecords %d must be from 1 to 100.", n)
	case len(in.AutoScalingGroupNames) > 50:
		return GroupList{}, invalid("At most 50 group names may be given, got %d.", len(in.AutoScalingGroupNames))
	}
	var found []Group
	for _, name := range sorted(w.groups) {
		g := w.groups[name]
		if (len(in.AutoScalingGroupNames) == 0 || slices.Contains(in.AutoScalingGroupNames, name)) &&
			g.matches(in.Filters) {
			found = append(found, g.show(or(in.IncludeInstances, true)))
		}
	}
	groups, next, err := page(found, in.NextToken, n)
	return GroupList{groups, next}, err
}

// matches tells whether a group has the tags that filters ask for: tag-key, tag-value or tag:KEY.
func (g *group) matches(filters []Filter) bool {
	for _, f := range filters {
		if !slices.ContainsFunc(g.Tags, func(t Tag) bool {
			switch f.Name {
			case "tag-key":
				return slices.Contains(f.Values, t.Key)
			case "tag-value":
				return slices.Contains(f.Values, t.Value)
			}
			return f.Name == "tag:"+t.Key && slices.Contains(f.Values, t.Value)
		}) {
			return false
		}
	}
	return true
}

func (g *group) show(instances bool) Group {
	s := g.Group
	s.DesiredCapacity = g.desired
	s.AvailabilityZones, s.TerminationPolicies, s.Tags = slices.Clone(g.AvailabilityZones),
		slices.Clone(g.TerminationPolicies), slices.Clone(g.Tags)
	for _, p := range sorted(g.suspended) {
		s.SuspendedProcesses = append(s.SuspendedProcesses, SuspendedProcess{p, "User suspended"})
	}
	for _, m := range sorted(g.metrics) {
		s.EnabledMetrics = append(s.EnabledMetrics, EnabledMetric{m, "1Minute"})
	}
	if g.pool != nil {
		s.WarmPoolConfiguration, s.WarmPoolSize = ptr(*g.pool), ptr(g.warm())
	}
	if instances {
		for _, i := range g.instances {
			if !i.warmed() {
				s.Instances = append(s.Instances, i.show())
			}
		}
	}
	return s
}

func (i *instance) show() Instance {
	s := Instance{
		InstanceId: i.id, InstanceType: i.pool.InstanceType, AvailabilityZone: i.pool.AvailabilityZone,
		LifecycleState: i.state, HealthStatus: "Healthy", ProtectedFromScaleIn: i.protected,
		LaunchTemplate: i.group.LaunchTemplate, LaunchConfigurationName: i.group.LaunchConfigurationName,
	}
	if m := i.group.MixedInstancesPolicy; m != nil {
		s.LaunchTemplate = m.LaunchTemplate.LaunchTemplateSpecification
		if i.group.weighted() {
			s.WeightedCapacity = strconv.Itoa(i.weight)
		}
	}
	if i.unhealthy {
		s.HealthStatus = "Unhealthy"
	}
	return s
}

// weighted tells whether the overrides have weights.
func (g *group) weighted() bool {
	return g.MixedInstancesPolicy != nil && slices.ContainsFunc(g.MixedInstancesPolicy.LaunchTemplate.Overrides,
		func(o Overrides) bool {
			return o.WeightedCapacity != ""
		})
}

// DescribeAutoScalingInstances shows instances of all groups and warm pools.
func (w *AutoScaling) DescribeAutoScalingInstances(in DescribeInstances) (InstanceList, error) {
	n := or(in.MaxRecords, 50)
	if n < 1 || n > 50 || len(in.InstanceIds) > 50 {
		return InstanceList{}, invalid("MaxRecords must be from 1 to 50, and at most 50 instance ids may be given.")
	}
	var found []Instance
	for _, id := range sorted(w.instances) {
		if len(in.InstanceIds) == 0 || slices.Contains(in.InstanceIds, id) {
			i := w.instances[id].show()
			i.AutoScalingGroupName = w.instances[id].group.AutoScalingGroupName
			found = append(found, i)
		}
	}
	instances, next, err := page(found, in.NextToken, n)
	return InstanceList{instances, next}, err
}

// begin writes an activity down.
func (w *AutoScaling) begin(g *group, description, cause string) *Activity {
	a := &Activity{
		ActivityId: w.acc.uuid(), AutoScalingGroupName: g.AutoScalingGroupName, AutoScalingGroupARN: g.AutoScalingGroupARN,
		Description: description, Cause: "At " + w.acc.Now().UTC().Format(time.RFC3339) + " " + cause, StartTime: w.acc.Now(),
		StatusCode: "InProgress", Progress: 50,
	}
	if strings.HasPrefix(description, "Launching") {
		a.StatusCode, a.Progress = "PreInService", 30
	}
	g.activities = append(g.activities, a)
	if n := len(g.activities) - MaxActivities; n > 0 {
		g.activities = slices.Delete(g.activities, 0, n)
	}
	return a
}

// end closes an activity.
func (w *AutoScaling) end(g *group, a *Activity, status, message string) {
	if a == nil || !a.EndTime.IsZero() {
		return
	}
	a.StatusCode, a.StatusMessage, a.EndTime, a.Progress = status, message, w.acc.Now(), 100
	if status == "Successful" {
		g.cooledAt = w.acc.Now()
	}
}

// DescribeScalingActivities shows the activities of a group, newest first.
func (w *AutoScaling) DescribeScalingActivities(in DescribeActivities) (ActivityList, error) {
	n := or(in.MaxRecords, 100)
	if n < 1 || n > 100 {
		return ActivityList{}, invalid("MaxRecords %d must be from 1 to 100.", n)
	}
	var found []Activity
	for _, name := range sorted(w.groups) {
		if in.AutoScalingGroupName != "" && name != in.AutoScalingGroupName {
			continue
		}
		for _, x := range slices.Backward(w.groups[name].activities) {
			if len(in.ActivityIds) == 0 || slices.Contains(in.ActivityIds, x.ActivityId) {
				found = append(found, *x)
			}
		}
	}
	if in.AutoScalingGroupName != "" && w.groups[in.AutoScalingGroupName] == nil {
		_, err := w.group(in.AutoScalingGroupName)
		return ActivityList{}, err
	}
	slices.SortStableFunc(found, func(x, y Activity) int { return y.StartTime.Compare(x.StartTime) })
	activities, next, err := page(found, in.NextToken, n)
	return ActivityList{activities, next}, err
}

// Census counts the instances that a group ever had.
type Census struct {
	// Launched is how many were launched or attached, Ended how many are gone, detached ones included.
	Launched, Ended int
	// States is how many are in each state now, those of the warm pool included.
	States map[LifecycleState]int
}

// Census counts the instances of a group: what was launched is there or has ended.
func (w *AutoScaling) Census(name string) (Census, error) {
	g, err := w.group(name)
	if err != nil {
		return Census{}, err
	}
	c := Census{g.launched, g.ended, map[LifecycleState]int{}}
	for _, i := range g.instances {
		c.States[i.state]++
	}
	return c, nil
}
