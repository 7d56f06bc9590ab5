package kubernetes

import (
	"cmp"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/draft"
	"github.com/muster-scale/muster/config/foreign/nodes"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/policy"
)

// This file reads triggers on CloudWatch and Prometheus, and says why others are not carried over.

// cloudwatch reads a trigger on a metric of CloudWatch: the metric per replica is kept at a target.
func (d *workload) cloudwatch(n *yaml.Node) {
	m := nodes.Get(n, "metadata")
	if e := nodes.Get(m, "expression"); e != nil {
		d.Note(e, "a trigger of the type aws-cloudwatch with an expression of CloudWatch Metrics Insights is not "+
			"carried over: Muster computes metric math, not SQL")
		return
	}
	// A missing target is 0 here, which no trigger can mean.
	target := d.amount(m, "targetMetricValue", 0)
	metric, ok := d.cloudwatchMetric(m)
	if !ok || target == 0 {
		d.Note(nodes.Or(nodes.Get(n, "type"), n), "a trigger of the type aws-cloudwatch is not carried over: it "+
			"states no metric, not as many dimensions as values, or no targetMetricValue above 0")
		return
	}
	d.average(n)
	d.Rest(n, "the trigger", "type", "metadata", "metricType", "name", "authenticationRef", "useCachedMetrics")
	d.Rest(
		m, "the trigger", "namespace", "metricName", "dimensionName", "dimensionValue", "targetMetricValue",
		"activationTargetMetricValue", "minMetricValue", "metricStat", "metricStatPeriod", "metricUnit",
		"metricCollectionTime", "awsRegion", "identityOwner", "awsEndpoint", "metricEndTimeOffset", "ignoreNullValues",
	)
	// Metrics of the fleet's own queue are read from the queue, not from CloudWatch.
	own := metric.Namespace == "AWS/SQS" && len(d.Queues) > 0
	stat := &metricmath.MetricStat{
		Metric: metric, Stat: cmp.Or(nodes.Plain(nodes.Get(m, "metricStat")), "Average"),
		Unit: nodes.Plain(nodes.Get(m, "metricUnit")), PeriodSeconds: int(d.amount(m, "metricStatPeriod", 300)),
	}
	// The period of a reading of the queue itself is that of the polls.
	if own {
		stat.PeriodSeconds = 0
	}
	read := []metricmath.Query{{ID: "metric", ReturnData: new(false), MetricStat: stat}}
	activation := d.amount(m, "activationTargetMetricValue", 0)
	spec := policy.Spec{Name: "metric-math", Target: target,
		Queries: perReplica(read, "FILL(metric, REPEAT)", activation)}
	if err := spec.Check(); err != nil {
		d.Note(n, "a trigger of the type aws-cloudwatch is not carried over: %s",
			strings.ReplaceAll(err.Error(), "\n", "; "))
		return
	}
	d.Add(n, spec)
	if !own {
		d.Remark("While the metric %s has no value KEDA takes minMetricValue for it; Muster holds the size, because "+
			"nothing published is not nothing to do.", metric.MetricName)
	}
}

// cloudwatchMetric returns the metric that a trigger names. A metric of a queue names the fleet's queue as well.
func (d *workload) cloudwatchMetric(m *yaml.Node) (metric metricmath.Metric, ok bool) {
	metric.Namespace, metric.MetricName = nodes.Plain(nodes.Get(m, "namespace")), nodes.Plain(nodes.Get(m,
		"metricName"))
	// KEDA separates several dimensions by semicolons, in the same order in both members.
	names := strings.Split(nodes.Plain(nodes.Get(m, "dimensionName")), ";")
	values := strings.Split(nodes.Plain(nodes.Get(m, "dimensionValue")), ";")
	if metric.Namespace == "" || metric.MetricName == "" || len(names) != len(values) {
		return metric, false
	}
	for i, name := range names {
		// An empty member names a metric without dimensions.
		if name != "" {
			one := metricmath.Dimension{Name: strings.TrimSpace(name), Value: strings.TrimSpace(values[i])}
			metric.Dimensions = append(metric.Dimensions, one)
		}
	}
	if len(metric.Dimensions) == 1 && metric.Dimensions[0].Name == "QueueName" {
		// A metric of a queue says which queue the fleet serves, as a trigger on the queue itself does.
		d.regionOf(m)
		d.Use(nodes.Get(m, "dimensionValue"), metric.Dimensions[0].Value)
	}
	return metric, true
}

// prometheus reads a trigger on a query of Prometheus: its value per replica is kept at a threshold. The value is
// taken for the backlog, and a fleet has one query.
func (d *workload) prometheus(n *yaml.Node) {
	m := nodes.Get(n, "metadata")
	at := nodes.Or(nodes.Get(n, "type"), n)
	server, query := nodes.Plain(nodes.Get(m, "serverAddress")), nodes.Plain(nodes.Get(m, "query"))
	threshold := d.amount(m, "threshold", 0)
	switch {
	case server == "" || query == "" || threshold == 0:
		d.Note(at, "a trigger of the type prometheus is not carried over: it states no serverAddress, no query, or "+
			"no threshold above 0")
		return
	// A fleet has one backlog. Two would have to be added up, which no configuration can say.
	case len(d.Queues) > 0 || d.Prometheus.Query != "":
		d.Note(at, "a trigger of the type prometheus is not carried over: the fleet goes by another backlog already. "+
			"Its query is %s, kept "+
			"at %s", nodes.Brief(query), render.Number(threshold))
		return
	}
	d.average(n)
	d.Rest(n, "the trigger", "type", "metadata", "metricType", "name", "useCachedMetrics")
	d.Rest(m, "the trigger", "serverAddress", "query", "threshold", "metricName", "ignoreNullValues")
	// The query becomes the backlog of the fleet, in place of a queue.
	d.Prometheus = draft.Prometheus{URL: server, Query: query}
	d.Add(n, policy.Spec{Name: "backlog-per-worker", Acceptable: threshold})
	d.Remark("What the query gives is taken for the messages that wait. While it gives nothing KEDA takes 0; Muster " +
		"holds the size, " +
		"because an unknown number is not zero.")
}

// regionName matches the name of an AWS region.
var regionName = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9]$`)

// regionOf sets the region of the queues that a trigger states. An earlier one is replaced.
func (d *workload) regionOf(m *yaml.Node) {
	if region := nodes.Plain(nodes.Get(m, "awsRegion")); regionName.MatchString(region) {
		d.QueueRegion = region
	}
}

// other says what Muster lacks for a trigger that is not carried over.
func (d *workload) other(n *yaml.Node, kind string) {
	at := nodes.Or(nodes.Get(n, "type"), n)
	switch kind {
	case "cpu", "memory":
		d.Note(at, "%s", noUsage(kind))
	case "external", "external-push", "metrics-api":
		d.Note(
			at, "a trigger of the type %s is not carried over: Muster asks no other scaler for a metric",
			nodes.Brief(kind),
		)
	case "kubernetes-workload":
		d.Note(at, "a trigger of the type %s is not carried over: Muster does not count pods", nodes.Brief(kind))
	default:
		d.Note(
			at,
			"a trigger of the type %s is not carried over: Muster has no source for it. It reads queues of its "+
				"own, queues on Amazon SQS, metrics of CloudWatch and queries of Prometheus",
			nodes.Brief(kind),
		)
	}
}
