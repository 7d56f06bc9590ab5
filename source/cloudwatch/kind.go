package cloudwatch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/internal/awsmetrics"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/metrics"
)

// Config measures a fleet by CloudWatch metrics, instead of the queue's own counts or in addition to them.
type Config struct {
	// Region is the region of the metrics; empty means that of the fleet's queue on SQS, or else of the account.
	Region string
	// Measured holds the configured quantities; one that is absent is not measured.
	Measured map[kind.Quantity]*Stated
}

// Stated is one configured quantity: a metric, or an expression over several.
type Stated struct {
	// Queries are queries for GetMetricData; exactly one returns its points. They compile, unless ByAWS.
	Queries []metricmath.Query
	// ByAWS makes CloudWatch evaluate the expression, which some need.
	ByAWS bool
}

// quantities returns the keys of the measured quantities in their order, with their descriptions.
func quantities() []struct {
	kind.Quantity
	what string
} {
	return []struct {
		kind.Quantity
		what string
	}{
		{kind.Backlog, "waiting messages"},
		{kind.InFlight, "messages in progress"},
		{kind.Delayed, "messages that are not visible yet"},
		{kind.OldestAge, "the age of the oldest waiting message, in seconds"},
		{kind.Processing, "the mean processing duration, in seconds"},
	}
}

const (
	maxMetrics    = 20
	maxDimensions = 30
	// resultID is the id of the expression; an id of using cannot be the same by accident.
	resultID = "muster_result"
)

// Kind is the row of the kind.
func Kind() kind.SignalRow {
	return kind.SignalRow{
		Key: "metrics", What: "signals from CloudWatch, instead of the queue's own counts or in addition to them",
		New:      func() kind.Signal { return &Config{} },
		Adapters: []kind.Adapter{kind.AdapterFor[*Source]("any metric or expression of CloudWatch")},
	}
}

// Keys implements [config.Signal].
func (c *Config) Keys() []keys.Key {
	rows := []keys.Key{
		keys.Text("region", &c.Region,
			"where the metrics are; by default where the fleet's queue is").Check(config.CheckRegion),
	}
	for _, s := range quantities() {
		decode := func(d *keys.Decoder, n *yaml.Node, path string) {
			if c.Measured == nil {
				c.Measured = map[kind.Quantity]*Stated{}
			}
			var w written
			d.Mapping(n, path, w.keys())
			c.Measured[s.Quantity] = w.stated(d, path)
		}
		rows = append(rows, keys.Custom(string(s.Quantity), keys.MappingForm, s.what, decode).
			Of(func() []keys.Key { return new(written).keys() }))
	}
	return rows
}

// written is a quantity as the configuration states it: the keys of one metric, or an expression with its metrics.
type written struct {
	metric     metric
	expression string
	using      []metric
	byAWS      bool
}

// metric is a metric as the configuration states it.
type metric struct {
	id, namespace, name, stat string
	dimensions                []string
	period                    time.Duration
}

// keys declare one quantity. The keys of a single metric and those of an expression stand in one mapping, so that the
// frequent case is short.
func (w *written) keys() []keys.Key {
	begin := func() metric { return metric{stat: "Average", period: time.Minute} }
	w.metric = begin()
	using := func(m *metric) []keys.Key {
		return append([]keys.Key{keys.Text("id", &m.id, "its name in the expression").Required()}, m.keys()...)
	}
	return append(w.metric.keys(),
		keys.Text("expression", &w.expression, "metric math over the metrics of using, in place of one metric"),
		keys.ListFrom("using", &w.using, maxMetrics, begin, using, "the metrics of the expression"),
		keys.Truth("by_aws", &w.byAWS,
			"whether CloudWatch computes the expression, as it must SEARCH; false by default"),
	)
}

func (m *metric) keys() []keys.Key {
	return []keys.Key{
		keys.Text("namespace", &m.namespace, "the metric's namespace"),
		keys.Text("metric", &m.name, "its name"),
		keys.Texts("dimensions", &m.dimensions, maxDimensions, "its dimensions, as in QueueName=work"),
		keys.Text("stat", &m.stat, "its statistic, by default Average"),
		keys.Duration("period", &m.period, "its period: 10s, 20s, 30s or whole minutes, by default 1m"),
	}
}

// stated converts a quantity to queries. With an expression, the metrics are hidden and only the expression returns its
// points, as GetMetricData requires.
func (w *written) stated(d *keys.Decoder, path string) *Stated {
	shown, hidden := true, false
	if !d.Has(keys.Join(path, "expression")) {
		q := w.metric.query(d, path, "m")
		q.ReturnData = &shown
		return &Stated{Queries: []metricmath.Query{q}, ByAWS: w.byAWS}
	}
	s := &Stated{ByAWS: w.byAWS}
	for i, m := range w.using {
		q := m.query(d, keys.Element(keys.Join(path, "using"), i), m.id)
		q.ReturnData = &hidden
		s.Queries = append(s.Queries, q)
	}
	s.Queries = append(s.Queries, metricmath.Query{ID: resultID, ReturnData: &shown, Expression: w.expression})
	return s
}

// query converts a metric to a query with the given id, and adds the faults of its dimensions.
func (m metric) query(d *keys.Decoder, path, id string) metricmath.Query {
	s := &metricmath.MetricStat{Stat: m.stat, PeriodSeconds: int(m.period / time.Second)}
	s.Metric.Namespace, s.Metric.MetricName = m.namespace, m.name
	for i, text := range m.dimensions {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" || value == "" {
			at := keys.Element(keys.Join(path, "dimensions"), i)
			d.Fault(at, "found "+keys.Quote(text)+", allowed is a name and a value, as in QueueName=work", "")
		}
		s.Metric.Dimensions = append(s.Metric.Dimensions, metricmath.Dimension{Name: name, Value: value})
	}
	return metricmath.Query{ID: id, MetricStat: s}
}

// Measures implements [config.Signal].
func (c *Config) Measures() []string { return kind.Quantities(c.Measured) }

// Check implements [config.Signal]: each measure is complete and its expression compiles.
func (c *Config) Check(s *keys.Source, at string, f *config.Fleet) {
	if len(c.Measured) == 0 {
		s.Fault(at, "found no signal, allowed are "+strings.Join(keys.Names(c.Keys())[1:], ", "), "")
	}
	if len(f.Queues) > 1 {
		s.Fault(at, fmt.Sprintf("found metrics for a fleet of %d queues, allowed is one queue, or none", len(f.Queues)),
			"put the sum into an expression")
	}
	for _, quantity := range slices.Sorted(maps.Keys(c.Measured)) {
		c.Measured[quantity].check(s, keys.Join(at, string(quantity)))
	}
	if c.Measured[kind.Backlog] == nil && len(f.Queues) == 0 && !f.Policy.NeedsNoQueue() {
		s.Fault(at, "found no backlog for a fleet without a queue, allowed is one of the two", "")
	}
}

// check checks that a quantity is complete and, unless CloudWatch evaluates it, compiles. It is compiled only when it
// has no other fault.
func (m *Stated) check(s *keys.Source, path string) {
	before := s.Count()
	for i, q := range m.Queries {
		if q.MetricStat == nil {
			continue
		}
		at := path
		if len(m.Queries) > 1 {
			at = keys.Element(path+".using", i)
		}
		if q.MetricStat.Metric.Namespace == "" || q.MetricStat.Metric.MetricName == "" {
			s.Fault(at, "found no namespace or no metric, allowed are both, or an expression", "")
		}
	}
	if s.Has(path+".using") && !s.Has(path+".expression") {
		s.Fault(path+".using", "found metrics without an expression, allowed are both or neither", "")
	}
	if s.Count() > before || m.ByAWS {
		return
	}
	if _, err := metricmath.Compile(m.Queries, metricmath.Options{Use: metricmath.ForAlarm}); err != nil {
		where := path
		if s.Has(path + ".expression") {
			where += ".expression"
		}
		problem := strings.ReplaceAll(err.Error(), "\n", "; ")
		s.Fault(where, "found an expression that CloudWatch does not compute ("+problem+"), allowed is metric math "+
			"that gives one series",
			"SEARCH and the like need by_aws: true")
	}
}

// Place implements [kind.Signal].
func (c *Config) Place() string { return "CloudWatch" }

// Permissions implements [kind.Permitted].
func (c *Config) Permissions(kind.Place, config.Fleet) []kind.Permission { return reading() }

// reading is the permission to read metrics, which IAM cannot restrict.
func reading() []kind.Permission { return kind.Allow(kind.Reading(), nil, "cloudwatch:GetMetricData") }

// MeterPermissions returns what a reader of [MeterOf] needs.
func MeterPermissions(f config.Fleet) []kind.Permission {
	var queues []string
	for _, q := range f.Queues {
		queues = append(queues, q.Name)
	}
	for _, u := range f.Policy.Metrics(f.Name, queues) {
		if !u.Own { // the others are what Muster itself measures
			return reading()
		}
	}
	return nil
}

// Open implements [kind.Signal].
func (c *Config) Open(ctx context.Context, h *kind.Host, f config.Fleet, base muster.Source) (muster.Source, error) {
	reader, err := readerOf(ctx, h)
	if err != nil {
		return nil, err
	}
	o := Options{Queue: f.Name, Region: kind.RegionOf(f, c.Region), Reader: reader, Base: base}
	for _, quantity := range slices.Sorted(maps.Keys(c.Measured)) {
		m := c.Measured[quantity]
		o.Measures = append(o.Measures, Measure{Quantity: quantity, Queries: m.Queries, ByAWS: m.ByAWS})
	}
	return New(o)
}

// readerOf returns the reader that all fleets of a host share.
func readerOf(ctx context.Context, h *kind.Host) (*awsmetrics.Reader, error) {
	account, err := h.Account(ctx)
	if err != nil {
		return nil, err
	}
	return kind.Shared(h, func() *awsmetrics.Reader { return awsmetrics.NewReader(account) }), nil
}

// MeterOf returns a reader of the metrics that a fleet's policy names. It calls AWS only for a policy that needs
// metrics.
func MeterOf(h *kind.Host, f config.Fleet) metrics.Meter { return meter{h, f} }

type meter struct {
	host  *kind.Host
	fleet config.Fleet
}

// Metrics implements [metrics.Meter].
func (m meter) Metrics(ctx context.Context, queries []metrics.Query) ([]metrics.Series, error) {
	reader, err := readerOf(ctx, m.host)
	if err != nil {
		return nil, err
	}
	return Meter{Reader: reader, Region: kind.HomeOf(m.fleet)}.Metrics(ctx, queries)
}
