package groups

import (
	"slices"
	"strings"

	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
)

// This file has the metrics of groups in the namespace AWS/AutoScaling, which a group publishes once enabled. Counts
// are numbers of instances; GroupDesiredCapacity, GroupMinSize and GroupMaxSize are in weights.

// Minute publishes the enabled metrics of every group, in the order of the groups' names. The world calls it once a
// minute.
func (w *AutoScaling) Minute() {
	for _, name := range account.Sorted(w.groups) {
		g := w.groups[name]
		if len(g.metrics) == 0 {
			continue
		}
		in := map[groupapi.LifecycleState]int{}
		for _, i := range g.instances {
			in[i.state]++
		}
		pending := in[groupapi.Pending] + in[groupapi.PendingWait] + in[groupapi.PendingProceed]
		ending := in[groupapi.Terminating] + in[groupapi.TerminatingWait] + in[groupapi.TerminatingProceed] +
			in[groupapi.TerminatingRetained]
		values := map[string]int{
			"GroupMinSize": g.MinSize, "GroupMaxSize": g.MaxSize, "GroupDesiredCapacity": g.desired,
			"GroupInServiceInstances": in[groupapi.InService],
			"GroupPendingInstances":   pending, "GroupStandbyInstances": in[groupapi.Standby],
			"GroupTerminatingInstances": ending,
			"GroupTotalInstances":       pending + ending + in[groupapi.InService] + in[groupapi.Standby],
			"WarmPoolDesiredCapacity":   g.poolSize(), "WarmPoolWarmedCapacity": g.warmCount(),
		}
		for _, m := range account.Sorted(g.metrics) {
			w.publish("AWS/AutoScaling", m, float64(values[m]), "AutoScalingGroupName", name)
		}
	}
}

// EnableMetricsCollection starts publishing metrics of a group once a minute, all of them when none is named.
func (w *AutoScaling) EnableMetricsCollection(in groupapi.GroupMetrics) (account.Nothing, error) {
	if in.Granularity != "1Minute" {
		return account.Nothing{}, account.Invalid("Granularity '%s' must be 1Minute.", in.Granularity)
	}
	return w.collect(in, true)
}

// DisableMetricsCollection stops publishing metrics of a group, all of them when none is named.
func (w *AutoScaling) DisableMetricsCollection(in groupapi.GroupMetrics) (account.Nothing, error) {
	return w.collect(in, false)
}

// collect turns metrics of a group on or off. An unknown name changes none.
func (w *AutoScaling) collect(in groupapi.GroupMetrics, on bool) (account.Nothing, error) {
	g, err := w.changeable(in.AutoScalingGroupName)
	if err != nil {
		return account.Nothing{}, err
	}
	names := in.Metrics
	if len(names) == 0 {
		names = groupapi.MetricNames()
	}
	for _, m := range names {
		if !slices.Contains(groupapi.MetricNames(), m) {
			return account.Nothing{}, account.Invalid("'%s' is no group metric of the model; they are %s.", m,
				strings.Join(groupapi.MetricNames(), ", "))
		}
	}
	for _, m := range names {
		if on {
			g.metrics[m] = true
		} else {
			delete(g.metrics, m)
		}
	}
	return account.Nothing{}, nil
}
