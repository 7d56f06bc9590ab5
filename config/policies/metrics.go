package policies

import (
	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/metricmath"
	"go.yaml.in/yaml/v4"
)

// mostDimensions bounds the dimensions of a metric, as CloudWatch does.
const mostDimensions = 30

// entryKeys declare the keys of an entry of Metrics. Their names and capitals are those of PutScalingPolicy and
// CloudFormation, so that a list can be pasted unchanged; see docs/metric-math.md.
func entryKeys(q *metricmath.Query) []keys.Key {
	return []keys.Key{
		keys.Text("Id", &q.ID, "the entry's name in expressions: a lower-case letter, then letters, digits and "+
			"underscores").Required(),
		keys.Text("Expression", &q.Expression, "an expression in metric math"),
		keys.Optional("MetricStat", &q.MetricStat, metricStatKeys, "a metric to read, instead of an expression"),
		keys.Text("Label", &q.Label, "a name for people; it changes no number"),
		keys.TruthOrNone("ReturnData", &q.ReturnData, "true for the one entry that is kept at the target"),
		keys.Whole("Period", &q.PeriodSeconds, "for an expression: the period of the metrics, in seconds"),
	}
}

func metricStatKeys(m *metricmath.MetricStat) []keys.Key {
	return []keys.Key{
		keys.Into("Metric", &m.Metric, cloudMetricKeys, "the metric").Required(),
		keys.Text("Stat", &m.Stat, "Average, Sum, Minimum, Maximum, SampleCount or another statistic").Required(),
		keys.Whole("Period", &m.PeriodSeconds, "in seconds, by default 60"),
		keys.Text("Unit", &m.Unit, "only datapoints that were published with this unit"),
	}
}

func cloudMetricKeys(m *metricmath.Metric) []keys.Key {
	return []keys.Key{
		keys.Text("Namespace", &m.Namespace, "the metric's namespace, as in AWS/SQS").Required(),
		keys.Text("MetricName", &m.MetricName, "the metric's name").Required(),
		keys.List("Dimensions", &m.Dimensions, mostDimensions, dimensionKeys, "the metric's dimensions"),
	}
}

func dimensionKeys(x *metricmath.Dimension) []keys.Key {
	return []keys.Key{
		keys.Text("Name", &x.Name, "the dimension's name, as in QueueName").Required(),
		keys.Custom("Value", keys.TextForm, "the dimension's value", func(d *keys.Decoder, n *yaml.Node, path string) {
			if keys.OfTemplate(n) {
				d.Mark(path) // fillQueue puts the name in, once the fleet's queues are known
				return
			}
			x.Value = d.Text(n, path)
		}).Required(),
	}
}
