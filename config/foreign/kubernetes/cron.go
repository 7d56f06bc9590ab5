package kubernetes

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/draft"
	"github.com/muster-scale/muster/config/foreign/nodes"
	"github.com/muster-scale/muster/policy"
)

// This file reads triggers of the type cron, which become intervals of one schedule.

// cron reads a trigger of the type cron: a number of replicas between two times of day.
func (d *workload) cron(n *yaml.Node) {
	m := nodes.Get(n, "metadata")
	replicas, ok := nodes.Number(nodes.Plain(nodes.Get(m, "desiredReplicas")))
	start, end := nodes.Get(m, "start"), nodes.Get(m, "end")
	from, days, why := draft.TimeOfDay(nodes.Plain(start))
	if why == "" {
		to, last, reason := draft.TimeOfDay(nodes.Plain(end))
		// Start and end are two cron expressions; together they are an interval only on matching days.
		if why = reason; why == "" && !slices.Equal(days, last) && !nextDay(days, last, from, to) {
			why = "it ends on other days than it begins"
		}
		// Fewer than one replica would be an interval without effect.
		if why == "" && (!ok || replicas < 1 || replicas > draft.MostWorkers || replicas != float64(int(replicas))) {
			why = "found " + nodes.Brief(nodes.Plain(nodes.Get(m, "desiredReplicas"))) + " for desiredReplicas"
		}
		if why == "" {
			d.interval(
				n,
				policy.Interval{
					Days:    days,
					From:    from,
					To:      to,
					Zone:    nodes.Plain(nodes.Get(m, "timezone")),
					Workers: int(replicas),
				},
			)
			d.Rest(m, "the trigger", "timezone", "start", "end", "desiredReplicas")
			return
		}
	}
	d.Note(nodes.Or(nodes.Get(n, "type"), n), "a trigger of the type cron is not carried over: %s", why)
}

// nextDay tells whether an interval over midnight ends on the days after those on which it begins.
func nextDay(days, last []string, from, to string) bool {
	// An interval that ends later on the same day needs no next day.
	if to > from || len(days) != len(last) {
		return false
	}
	for _, day := range days {
		i := slices.Index(draft.Weekdays(), day)
		if i < 0 || !slices.Contains(last, draft.Weekdays()[(i+1)%7]) {
			return false
		}
	}
	return true
}

// interval adds an interval to the fleet's schedule. All cron triggers share one schedule, because a configuration
// has one.
func (d *workload) interval(n *yaml.Node, i policy.Interval) {
	// Two triggers of the type cron share one policy, because two schedules would hide each other.
	at := slices.IndexFunc(d.Policies, func(s policy.Spec) bool { return s.Name == "schedule" })
	spec := policy.Spec{Name: "schedule"}
	if at >= 0 {
		spec = d.Policies[at]
	}
	spec.Intervals = append(slices.Clone(spec.Intervals), i)
	// Of overlapping intervals the first counts here and the largest in KEDA, so the largest comes first.
	slices.SortStableFunc(spec.Intervals, func(a, b policy.Interval) int { return b.Workers - a.Workers })
	switch err := spec.Check(); {
	case err != nil:
		d.Note(n, "a trigger of the type cron is not carried over: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
	case at >= 0:
		d.Policies[at] = spec
	default:
		d.Add(n, spec)
	}
}
