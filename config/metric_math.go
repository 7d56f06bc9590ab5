package config

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/policy"
)

// mostDimensions bounds the dimensions of a metric, as CloudWatch does.
const mostDimensions = 30

// entryKeys are those of an entry of Metrics. The names are the ones of AWS, so that a list can be pasted.
func entryKeys() []key {
	return []key{
		{name: "Id", kind: kindText, required: true, what: "the entry's name in expressions: a lower-case letter, then letters, digits and underscores"},
		{name: "Expression", kind: kindText, what: "what is computed, in metric math"},
		{name: "MetricStat", kind: kindMapping, of: metricStatKeys(), what: "what is read, in place of an expression"},
		{name: "Label", kind: kindText, what: "what people read; it changes no number"},
		{name: "ReturnData", kind: kindTruth, what: "true for the one entry that is kept at the target"},
		{name: "Period", kind: kindWhole, what: "for an expression: the period of the metrics, in seconds"},
	}
}

func metricStatKeys() []key {
	return []key{
		{name: "Metric", kind: kindMapping, required: true, of: cloudMetricKeys(), what: "the metric"},
		{name: "Stat", kind: kindText, required: true, what: "Average, Sum, Minimum, Maximum, SampleCount or another statistic"},
		{name: "Period", kind: kindWhole, what: "in seconds, by default 60"},
		{name: "Unit", kind: kindText, what: "only what was published with this unit"},
	}
}

func cloudMetricKeys() []key {
	return []key{
		{name: "Namespace", kind: kindText, required: true, what: "the metric's namespace, as in AWS/SQS"},
		{name: "MetricName", kind: kindText, required: true, what: "the metric's name"},
		{name: "Dimensions", kind: kindMapping, list: true, of: dimensionKeys(), what: "the metric's dimensions"},
	}
}

func dimensionKeys() []key {
	return []key{
		{name: "Name", kind: kindText, required: true, what: "the dimension's name, as in QueueName"},
		{name: "Value", kind: kindText, required: true, what: "the dimension's value"},
	}
}

// entry decodes an entry of Metrics.
func (d *decoder) entry(n *yaml.Node, path string) metricmath.Query {
	var q metricmath.Query
	m := d.mapping(n, path, names(entryKeys())...)
	m.text("Id", &q.ID)
	m.text("Expression", &q.Expression)
	m.text("Label", &q.Label)
	m.whole("Period", &q.PeriodSeconds)
	if _, ok := m.values["ReturnData"]; ok {
		q.ReturnData = new(bool)
		m.truth("ReturnData", q.ReturnData)
	}
	if _, ok := m.values["MetricStat"]; !ok {
		return q
	}
	q.MetricStat = &metricmath.MetricStat{}
	stat := m.sub("MetricStat", names(metricStatKeys())...)
	stat.text("Stat", &q.MetricStat.Stat)
	stat.whole("Period", &q.MetricStat.PeriodSeconds)
	stat.text("Unit", &q.MetricStat.Unit)
	metric := stat.sub("Metric", names(cloudMetricKeys())...)
	metric.text("Namespace", &q.MetricStat.Metric.Namespace)
	metric.text("MetricName", &q.MetricStat.Metric.MetricName)
	metric.each("Dimensions", mostDimensions, func(n *yaml.Node, path string) {
		dimension := d.mapping(n, path, names(dimensionKeys())...)
		var x metricmath.Dimension
		dimension.text("Name", &x.Name)
		if value, ok := dimension.values["Value"]; ok && ofTemplate(value) {
			d.ownQueue[join(path, "Value")] = true // its name is filled in once the fleet's queues are known
		} else {
			dimension.text("Value", &x.Value)
		}
		q.MetricStat.Metric.Dimensions = append(q.MetricStat.Metric.Dimensions, x)
	})
	return q
}

// ofTemplate tells whether a value is the name of a queue as a CloudFormation template writes it. In a list that was pasted from
// there it means the queue that the fleet serves.
func ofTemplate(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Tag == "!GetAtt" && strings.HasSuffix(n.Value, ".QueueName")
}

// fillQueue puts the fleet's queue where a pasted list names it as its template does.
func (f *Fleet) fillQueue(s *source, path string, spec *policy.Spec) {
	for i, q := range spec.Queries {
		if q.MetricStat == nil {
			continue
		}
		for j := range q.MetricStat.Metric.Dimensions {
			at := fmt.Sprintf("%s.Metrics[%d].MetricStat.Metric.Dimensions[%d].Value", path, i, j)
			switch {
			case !s.ownQueue[at]:
			case len(f.Queues) == 1:
				q.MetricStat.Metric.Dimensions[j].Value = f.Queues[0].Name
			default:
				s.fault(at, fmt.Sprintf("found a queue of a template in a fleet that serves %d queues, allowed is the queue's name", len(f.Queues)), "write the name")
				s.bad[fmt.Sprintf("%s.Metrics[%d]", path, i)] = true
			}
		}
	}
	for i := range spec.Largest {
		f.fillQueue(s, fmt.Sprintf("%s.largest[%d]", path, i), &spec.Largest[i])
	}
}

// queueNames are the names of the queues that the fleet serves.
func (f *Fleet) queueNames() []string {
	all := make([]string, len(f.Queues))
	for i, q := range f.Queues {
		all[i] = q.Name
	}
	return all
}

// Remarks says of a valid configuration, with places, what may not mean what it seems; sorted by place. Each is a
// [Fault] of the kind [IsRemark].
func (c *Config) Remarks() []Fault {
	s := c.source
	if s == nil {
		return nil
	}
	return s.remarks(func() {
		for i, f := range c.Fleets {
			path := fmt.Sprintf("fleets[%d].policy", i)
			f.remark(s, path, f.Policy)
			f.remarkStart(s, fmt.Sprintf("fleets[%d]", i))
		}
		c.remarkAttempts(s)
	})
}

func (f *Fleet) remark(s *source, path string, spec policy.Spec) {
	for _, r := range spec.Remarks(f.Name, f.queueNames()) {
		s.fault(path+strings.TrimPrefix(r.Field, "policy"), r.Text, "")
	}
	for i, of := range spec.Largest {
		f.remark(s, fmt.Sprintf("%s.largest[%d]", path, i), of)
	}
}
