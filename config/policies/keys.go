package policies

import (
	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/policy"
)

// The bounds of the lists in a policy: far more than anyone writes by hand.
const (
	maxLargest   = 8
	maxSteps     = 20
	maxIntervals = 100
	maxDays      = 7
)

// Decode decodes a policy: its name, or a mapping with its parameters. Only an outermost policy may combine
// others with largest, so policies nest at most two levels deep.
func Decode(d *keys.Decoder, n *yaml.Node, path string, p *policy.Spec, outermost bool) {
	if n.Kind == yaml.ScalarNode {
		p.Name = d.Text(n, path)
		return
	}
	d.Mapping(n, path, Keys(p, outermost))
}

// Keys declares the parameters of all policies in one mapping. Which of them a policy takes is checked by package
// policy, so that a parameter of another policy gets a better message than "unknown key".
func Keys(p *policy.Spec, outermost bool) []keys.Key {
	rows := []keys.Key{
		keys.Custom("name", keys.TextForm, "the policy", func(d *keys.Decoder, n *yaml.Node, path string) {
			p.Name = d.Text(n, path)
		}).Required().Enum(policy.Names()...),
		keys.Number("acceptable", &p.Acceptable, "the acceptable backlog per worker"),
		keys.Duration("processing", &p.Processing, "the mean processing duration, until it was measured"),
		keys.Number("scale", &p.Scale, "for deadline, from cheap (1) to fast: the share of the latency "+
			"objective that it plans with; by default 1, or half where prompt is true and workers have time to launch"),
		keys.Truth("prompt", &p.Prompt, "whether deadline launches a worker at once instead of waiting until one "+
			"can handle several messages; true by default for a fleet of processes without a price"),
		choice("forecast", &p.Forecast, "whether deadline also plans for the arrivals of the same time on "+
			"other days, as long as these forecasts prove right; by default none", policy.ForecastNone,
			policy.ForecastSeasonal),
		choice("trees", &p.Trees, "what exact plans for nodes of trees: a slot for each (the default), or as many as "+
			"the whole tree can use once a worker is there", policy.TreesEach, policy.TreesWhole),
		keys.Whole("first", &p.First, "with trees: whole, the slots for a tree of which only the root is known; by "+
			"default 12"),
		keys.Number("target", &p.Target, "the utilization that worker-utilization aims at, by default 0.7; the value "+
			"that metric-math keeps"),
		choice("signal", &p.Signal, "what worker-utilization counts as work", policy.SignalTotal, policy.SignalInFlight,
			policy.SignalReports),
		choice("metric", &p.Metric, "the metric that decides the steps, by default backlog", policy.MetricBacklog,
			policy.MetricTotalWork,
			policy.MetricBacklogPerWorker, policy.MetricOldestAge, policy.MetricUtilization),
		keys.List("steps", &p.Steps, maxSteps, stepKeys, "the changes of step"),
		keys.Duration("cooldown", &p.Cooldown, "time between two changes by step"),
		keys.List("intervals", &p.Intervals, maxIntervals, intervalKeys, "the sizes of schedule"),
		keys.List("Metrics", &p.Queries, policy.MaxQueries, entryKeys, "the metrics and expressions of metric-math, "+
			"as AWS takes them"),
	}
	if outermost {
		rows = append(rows, keys.Custom("largest", keys.NamedForm, "the policies of which the largest "+
			"recommendation counts",
			func(d *keys.Decoder, n *yaml.Node, path string) {
				d.Each(n, path, maxLargest, func(n *yaml.Node, path string) {
					var of policy.Spec
					Decode(d, n, path, &of, false)
					p.Largest = append(p.Largest, of)
				})
			}).List().Enum(policy.Names()...).Of(func() []keys.Key { return Keys(new(policy.Spec), false) }))
	}
	return rows
}

// choice declares a text with a few allowed values. The schema and the reference list them; package policy checks them.
func choice(name string, into *string, what string, allowed ...string) keys.Key {
	decode := func(d *keys.Decoder, n *yaml.Node, path string) { *into = d.Text(n, path) }
	return keys.Custom(name, keys.TextForm, what, decode).Enum(allowed...)
}

// stepKeys declare one step: a range of the metric, and the change of the size there. Exactly one of add, percent and
// set applies.
func stepKeys(s *policy.StepChange) []keys.Key {
	return []keys.Key{
		keys.Number("from", &s.From, "the step counts from this value of the metric on"),
		keys.Number("to", &s.To, "and below this one; without it there is no end"),
		keys.Whole("add", &s.Add, "workers to add; negative to remove"),
		keys.Number("percent", &s.Percent, "workers to add, in percent of the size, at least one"),
		keys.WholeOrNone("set", &s.Set, "the size to set"),
	}
}

// intervalKeys declare one interval of the policy schedule, in the local time of its zone.
func intervalKeys(i *policy.Interval) []keys.Key {
	return []keys.Key{
		keys.Texts("days", &i.Days, maxDays, "the days on which it begins; every day by default").
			Enum("mon", "tue", "wed", "thu", "fri", "sat", "sun"),
		keys.Text("from", &i.From, "the time of day it begins at, as in 08:00").Required(),
		keys.Text("to", &i.To, "the time of day it ends at; not after from means the next day").Required(),
		keys.Text("zone", &i.Zone, "the time zone, as in Europe/Berlin; UTC by default"),
		keys.Whole("workers", &i.Workers, "the size").Required(),
	}
}

// ShapeKeys declares how fast the size may change in one direction.
func ShapeKeys(p *policy.Shape) []keys.Key {
	return []keys.Key{
		keys.Duration("stabilization", &p.Stabilization, "how long a change must have been recommended: 0s to 24h"),
		keys.Whole("max_workers", &p.MaxWorkers, "the largest change within a period, in workers"),
		keys.Number("max_percent", &p.MaxPercent, "the largest change within a period, per hundred; the larger of "+
			"the two counts"),
		keys.Duration("period", &p.Period, "the period of max_workers and max_percent"),
		keys.Truth("disabled", &p.Disabled, "true for no change in this direction at all, but for min and max; false "+
			"by default"),
	}
}
