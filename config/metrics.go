package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/metricmath"
)

// Metrics say what a fleet is measured by in CloudWatch, in place of what its queue says of itself, or beside it.
type Metrics struct {
	// Region is where the metrics are; empty means that of the fleet's queue on SQS, or else of [AWS].
	Region string
	// Measures are by signal: backlog, in_flight, delayed (messages), oldest_age, processing (seconds).
	Measures map[string]Measure
}

// Measure is one signal: a metric, or an expression over several.
type Measure struct {
	// Queries are what CloudWatch's GetMetricData takes; exactly one returns its points. They compile, unless ByAWS.
	Queries []metricmath.Query
	// ByAWS has CloudWatch compute the expression, which alone can compute some.
	ByAWS bool
}

// signals are the signals that metrics can give, in the order of their keys.
func signals() []string {
	return []string{"backlog", "in_flight", "delayed", "oldest_age", "processing"}
}

const (
	maxMetrics    = 20
	maxDimensions = 30
)

func metricsKeys() []key {
	keys := []key{{name: "region", kind: kindText, what: "where the metrics are; by default where the fleet's queue is"}}
	for i, what := range []string{"messages that wait", "messages in work", "messages that are not visible yet", "the age of the oldest waiting message, in seconds", "the mean processing duration, in seconds"} {
		keys = append(keys, key{name: signals()[i], kind: kindMapping, of: measureKeys(), what: what})
	}
	return keys
}

func measureKeys() []key {
	return append(metricKeys(),
		key{name: "expression", kind: kindText, what: "metric math over the metrics of using, in place of one metric"},
		key{name: "using", kind: kindMapping, list: true, of: append([]key{{name: "id", kind: kindText, required: true, what: "its name in the expression"}}, metricKeys()...), what: "the metrics of the expression"},
		key{name: "by_aws", kind: kindTruth, what: "whether CloudWatch computes the expression, as it must SEARCH; false by default"},
	)
}

func metricKeys() []key {
	return []key{
		{name: "namespace", kind: kindText, what: "the metric's namespace"},
		{name: "metric", kind: kindText, what: "its name"},
		{name: "dimensions", kind: kindText, list: true, what: "its dimensions, as in QueueName=work"},
		{name: "stat", kind: kindText, what: "its statistic, by default Average"},
		{name: "period", kind: kindDuration, what: "its period: 10s, 20s, 30s or whole minutes, by default 1m"},
	}
}

func (d *decoder) metrics(n *yaml.Node, path string) *Metrics {
	into := &Metrics{Measures: map[string]Measure{}}
	m := d.mapping(n, path, names(metricsKeys())...)
	m.text("region", &into.Region)
	for _, signal := range signals() {
		if _, ok := m.values[signal]; ok {
			into.Measures[signal] = d.measure(m.sub(signal, names(measureKeys())...))
		}
	}
	return into
}

func (d *decoder) measure(m mapping) Measure {
	var out Measure
	m.truth("by_aws", &out.ByAWS)
	shown := true
	if _, ok := m.values["expression"]; !ok {
		q := d.metric(m, "m")
		q.ReturnData = &shown
		out.Queries = []metricmath.Query{q}
		return out
	}
	hidden := false
	m.each("using", maxMetrics, func(n *yaml.Node, path string) {
		sub := d.mapping(n, path, append(names(metricKeys()), "id")...)
		id := ""
		sub.text("id", &id)
		q := d.metric(sub, id)
		q.ReturnData = &hidden
		out.Queries = append(out.Queries, q)
	})
	q := metricmath.Query{ID: "muster_result", ReturnData: &shown}
	m.text("expression", &q.Expression)
	out.Queries = append(out.Queries, q)
	return out
}

func (d *decoder) metric(m mapping, id string) metricmath.Query {
	s := &metricmath.MetricStat{Stat: "Average"}
	period := time.Minute
	m.text("namespace", &s.Metric.Namespace)
	m.text("metric", &s.Metric.MetricName)
	m.text("stat", &s.Stat)
	m.duration("period", &period)
	m.each("dimensions", maxDimensions, func(n *yaml.Node, path string) {
		name, value, ok := strings.Cut(d.text(n, path), "=")
		if !ok || name == "" || value == "" {
			d.fault(path, "found "+quote(n.Value)+", allowed is a name and a value, as in QueueName=work", "")
		}
		s.Metric.Dimensions = append(s.Metric.Dimensions, metricmath.Dimension{Name: name, Value: value})
	})
	s.PeriodSeconds = int(period / time.Second)
	return metricmath.Query{ID: id, MetricStat: s}
}

// validateMetrics checks what the decoder could not: that each measure is complete and its expression compiles.
func (f *Fleet) validateMetrics(s *source, path string) {
	at := path + ".metrics"
	checkRegion(s, at+".region", f.Metrics.Region)
	if len(f.Metrics.Measures) == 0 {
		s.fault(at, "found no signal, allowed are "+strings.Join(signals(), ", "), "")
	}
	if len(f.Queues) > 1 {
		s.fault(at, fmt.Sprintf("found metrics for a fleet of %d queues, allowed is one queue, or none", len(f.Queues)), "put the sum into an expression")
	}
	for _, signal := range slices.Sorted(maps.Keys(f.Metrics.Measures)) {
		f.Metrics.Measures[signal].validate(s, at+"."+signal)
	}
	if _, ok := f.Metrics.Measures["backlog"]; !ok && len(f.Queues) == 0 && !needsNoQueue(f.Policy) {
		s.fault(at, "found no backlog for a fleet without a queue, allowed is one of the two", "")
	}
}

func (m Measure) validate(s *source, path string) {
	before := len(s.faults)
	for i, q := range m.Queries {
		if q.MetricStat == nil {
			continue
		}
		at := path
		if len(m.Queries) > 1 {
			at = path + ".using[" + strconv.Itoa(i) + "]"
		}
		if q.MetricStat.Metric.Namespace == "" || q.MetricStat.Metric.MetricName == "" {
			s.fault(at, "found no namespace or no metric, allowed are both, or an expression", "")
		}
	}
	if s.has(path+".using") && !s.has(path+".expression") {
		s.fault(path+".using", "found metrics without an expression, allowed are both or neither", "")
	}
	if len(s.faults) > before || m.ByAWS {
		return
	}
	if _, err := metricmath.Compile(m.Queries, metricmath.Options{Use: metricmath.ForAlarm}); err != nil {
		where := path
		if s.has(path + ".expression") {
			where += ".expression"
		}
		s.fault(where, "found what CloudWatch would not compute ("+strings.ReplaceAll(err.Error(), "\n", "; ")+"), allowed is metric math that gives one series", "SEARCH and the like need by_aws: true")
	}
}
