package cloud

import (
	"slices"
	"strings"
)

// publishGroups puts the group metrics out that were enabled.
func (w *AutoScaling) publishGroups() {
	for _, name := range sorted(w.groups) {
		g := w.groups[name]
		if len(g.metrics) == 0 {
			continue
		}
		in := map[LifecycleState]int{}
		for _, i := range g.instances {
			in[i.state]++
		}
		pending := in[Pending] + in[PendingWait] + in[PendingProceed]
		ending := in[Terminating] + in[TerminatingWait] + in[TerminatingProceed] + in[TerminatingRetained]
		values := map[string]int{
			"GroupMinSize": g.MinSize, "GroupMaxSize": g.MaxSize, "GroupDesiredCapacity": g.desired,
			"GroupInServiceInstances": in[InService],
			"GroupPendingInstances":   pending, "GroupStandbyInstances": in[Standby],
			"GroupTerminatingInstances": ending,
			"GroupTotalInstances":       pending + ending + in[InService] + in[Standby],
			"WarmPoolDesiredCapacity":   g.poolSize(), "WarmPoolWarmedCapacity": g.warm(),
		}
		for _, m := range sorted(g.metrics) {
			w.publish("AWS/AutoScaling", m, float64(values[m]), "AutoScalingGroupName", name)
		}
	}
}

// groupMetrics are the metrics that a group can publish.
func groupMetrics() []string {
	return []string{"GroupMinSize", "GroupMaxSize", "GroupDesiredCapacity", "GroupInServiceInstances",
		"GroupPendingInstances",
		"GroupStandbyInstances", "GroupTerminatingInstances", "GroupTotalInstances", "WarmPoolDesiredCapacity",
		"WarmPoolWarmedCapacity"}
}

// EnableMetricsCollection has a group publish metrics once a minute.
func (w *AutoScaling) EnableMetricsCollection(in GroupMetrics) (Nothing, error) {
	if in.Granularity != "1Minute" {
		return Nothing{}, invalid("Granularity '%s' must be 1Minute.", in.Granularity)
	}
	return w.collect(in, true)
}

// DisableMetricsCollection stops that.
func (w *AutoScaling) DisableMetricsCollection(in GroupMetrics) (Nothing, error) {
	return w.collect(in, false)
}

func (w *AutoScaling) collect(in GroupMetrics, on bool) (Nothing, error) {
	g, err := w.change(in.AutoScalingGroupName)
	if err != nil {
		return Nothing{}, err
	}
	names := in.Metrics
	if len(names) == 0 {
		names = groupMetrics()
	}
	for _, m := range names {
		if !slices.Contains(groupMetrics(), m) {
			return Nothing{}, invalid("'%s' is no group metric of the model; they are %s.", m,
				strings.Join(groupMetrics(), ", "))
		}
	}
	for _, m := range names {
		if on {
			g.metrics[m] = true
		} else {
			delete(g.metrics, m)
		}
	}
	return Nothing{}, nil
}
