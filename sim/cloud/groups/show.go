package groups

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
)

// This file has what the API shows: groups, instances and the log of activities; and the census that tests check.

// DescribeAutoScalingGroups returns groups in pages, in the order of their names; all of them when none is named.
func (w *AutoScaling) DescribeAutoScalingGroups(in groupapi.DescribeGroups) (groupapi.GroupList, error) {
	n := account.Or(in.MaxRecords, 50)
	switch {
	case n < 1 || n > 100:
		return groupapi.GroupList{}, account.Invalid("MaxRecords %d must be from 1 to 100.", n)
	case len(in.AutoScalingGroupNames) > 50:
		return groupapi.GroupList{}, account.Invalid("At most 50 group names may be given, got %d.",
			len(in.AutoScalingGroupNames))
	}
	var found []groupapi.Group
	for _, name := range account.Sorted(w.groups) {
		g := w.groups[name]
		if (len(in.AutoScalingGroupNames) == 0 || slices.Contains(in.AutoScalingGroupNames, name)) &&
			groupapi.Matches(g.Tags, in.Filters) {
			found = append(found, g.show(account.Or(in.IncludeInstances, true)))
		}
	}
	groups, next, err := account.Page(found, in.NextToken, n)
	return groupapi.GroupList{AutoScalingGroups: groups, NextToken: next}, err
}

// show returns the group as the API shows it. It copies every list, so that a caller cannot change the group.
func (g *group) show(instances bool) groupapi.Group {
	s := g.Group
	s.DesiredCapacity = g.desired
	s.AvailabilityZones, s.TerminationPolicies, s.Tags = slices.Clone(g.AvailabilityZones),
		slices.Clone(g.TerminationPolicies), slices.Clone(g.Tags)
	for _, p := range account.Sorted(g.suspended) {
		s.SuspendedProcesses = append(s.SuspendedProcesses, groupapi.SuspendedProcess{ProcessName: p,
			SuspensionReason: "User suspended"})
	}
	for _, m := range account.Sorted(g.metrics) {
		s.EnabledMetrics = append(s.EnabledMetrics, groupapi.EnabledMetric{Metric: m, Granularity: "1Minute"})
	}
	if g.pool != nil {
		s.WarmPoolConfiguration, s.WarmPoolSize = account.Ptr(*g.pool), account.Ptr(g.warmCount())
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

// show returns the instance as the API shows it. Only mixed groups with weights show a weight.
func (i *instance) show() groupapi.Instance {
	s := groupapi.Instance{
		InstanceId: i.id, InstanceType: i.pool.InstanceType, AvailabilityZone: i.pool.AvailabilityZone,
		LifecycleState: i.state, HealthStatus: "Healthy", ProtectedFromScaleIn: i.protected,
		LaunchTemplate: i.group.LaunchTemplate, LaunchConfigurationName: i.group.LaunchConfigurationName,
	}
	if m := i.group.MixedInstancesPolicy; m != nil {
		s.LaunchTemplate = m.LaunchTemplate.LaunchTemplateSpecification
		if i.group.MixedInstancesPolicy.Weighted() {
			s.WeightedCapacity = strconv.Itoa(i.weight)
		}
	}
	if i.unhealthy {
		s.HealthStatus = "Unhealthy"
	}
	return s
}

// DescribeAutoScalingInstances returns instances of all groups and their warm pools in pages, in the order of their
// ids.
func (w *AutoScaling) DescribeAutoScalingInstances(in groupapi.DescribeInstances) (groupapi.InstanceList, error) {
	n := account.Or(in.MaxRecords, 50)
	if n < 1 || n > 50 || len(in.InstanceIds) > 50 {
		return groupapi.InstanceList{},
			account.Invalid("MaxRecords must be from 1 to 50, and at most 50 instance ids may be given.")
	}
	var found []groupapi.Instance
	for _, id := range account.Sorted(w.instances) {
		if len(in.InstanceIds) == 0 || slices.Contains(in.InstanceIds, id) {
			i := w.instances[id].show()
			i.AutoScalingGroupName = w.instances[id].group.AutoScalingGroupName
			found = append(found, i)
		}
	}
	instances, next, err := account.Page(found, in.NextToken, n)
	return groupapi.InstanceList{AutoScalingInstances: instances, NextToken: next}, err
}

// begin records an activity that starts now. The caller closes it with end.
func (w *AutoScaling) begin(g *group, description, cause string) *groupapi.Activity {
	a := &groupapi.Activity{
		ActivityId: w.acc.UUID(), AutoScalingGroupName: g.AutoScalingGroupName,
		AutoScalingGroupARN: g.AutoScalingGroupARN,
		Description:         description, Cause: "At " + w.acc.Now().UTC().Format(time.RFC3339) + " " + cause,
		StartTime:  w.acc.Now(),
		StatusCode: "InProgress", Progress: 50,
	}
	if strings.HasPrefix(description, "Launching") {
		// AWS shows a launch as PreInService until the instance serves.
		a.StatusCode, a.Progress = "PreInService", 30
	}
	g.activities = append(g.activities, a)
	if n := len(g.activities) - MaxActivities; n > 0 {
		g.activities = slices.Delete(g.activities, 0, n)
	}
	return a
}

// end closes an activity, and does nothing when it is nil or closed. A successful one starts the group's cooldown.
func (w *AutoScaling) end(g *group, a *groupapi.Activity, status, message string) {
	if a == nil || !a.EndTime.IsZero() {
		return
	}
	a.StatusCode, a.StatusMessage, a.EndTime, a.Progress = status, message, w.acc.Now(), 100
	if status == "Successful" {
		g.cooledAt = w.acc.Now()
	}
}

// DescribeScalingActivities returns the activities of a group, or of all groups, newest first.
func (w *AutoScaling) DescribeScalingActivities(in groupapi.DescribeActivities) (groupapi.ActivityList, error) {
	n := account.Or(in.MaxRecords, 100)
	if n < 1 || n > 100 {
		return groupapi.ActivityList{}, account.Invalid("MaxRecords %d must be from 1 to 100.", n)
	}
	var found []groupapi.Activity
	for _, name := range account.Sorted(w.groups) {
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
		return groupapi.ActivityList{}, err
	}
	// Activities of several groups interleave; equal start times keep the order of the groups' names.
	slices.SortStableFunc(found, func(x, y groupapi.Activity) int { return y.StartTime.Compare(x.StartTime) })
	activities, next, err := account.Page(found, in.NextToken, n)
	return groupapi.ActivityList{Activities: activities, NextToken: next}, err
}

// Census counts the instances of a group over its whole life.
type Census struct {
	// Launched is the number of instances ever launched. Ended is the number that are gone, detached ones included.
	Launched, Ended int
	// States is the number of instances in each state now, those of the warm pool included.
	States map[groupapi.LifecycleState]int
}

// Census counts the instances of a group. Launched equals Ended plus the sum of States, whatever happens.
func (w *AutoScaling) Census(name string) (Census, error) {
	g, err := w.group(name)
	if err != nil {
		return Census{}, err
	}
	c := Census{g.launched, g.ended, map[groupapi.LifecycleState]int{}}
	for _, i := range g.instances {
		c.States[i.state]++
	}
	return c, nil
}
