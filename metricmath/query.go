package metricmath

import (
	"slices"
	"time"
)

// Query is one entry of a list as AWS writes it in Metrics of a scaling policy, in an alarm, and in GetMetricData: a
// metric with its statistic, or an expression over other entries.
type Query struct {
	// ID names the entry in expressions: letters, digits and underscores, the first a lower-case letter, at most 255.
	ID string `json:"Id"`
	// Expression is set for an entry that is computed, MetricStat for one that is read; never both.
	Expression string      `json:"Expression,omitzero"`
	MetricStat *MetricStat `json:"MetricStat,omitzero"`
	// Label is what people read; it changes no number.
	Label string `json:"Label,omitzero"`
	// ReturnData tells whether the entry's points come out. The default of AWS is true, so every entry but the last
	// must say false; see Options.StrictReturnData.
	ReturnData *bool `json:"ReturnData,omitzero"`
	// PeriodSeconds is another place for the period of an expression in GetMetricData. It has to be the list's period.
	PeriodSeconds int `json:"Period,omitzero"`
}

// MetricStat is a metric and what of it is read in each period.
type MetricStat struct {
	Metric Metric `json:"Metric"`
	// PeriodSeconds is 1, 5, 10, 20, 30 or a multiple of 60; Options.PeriodSeconds when zero, since policies of
	// Application Auto Scaling have no such field.
	PeriodSeconds int `json:"Period,omitzero"`
	// Stat is Average, Sum, Minimum, Maximum, SampleCount, or another statistic by its name in CloudWatch.
	Stat string `json:"Stat"`
	// Unit filters by the unit that was published with a value; it converts nothing.
	Unit string `json:"Unit,omitzero"`
}

// clone is a copy that shares nothing, nil of nil.
func (m *MetricStat) clone() *MetricStat {
	if m == nil {
		return nil
	}
	c := *m
	c.Metric.Dimensions = slices.Clone(m.Metric.Dimensions)
	return &c
}

// Metric is what CloudWatch knows a metric by.
type Metric struct {
	Namespace  string      `json:"Namespace"`
	MetricName string      `json:"MetricName"`
	Dimensions []Dimension `json:"Dimensions,omitzero"`
}

// Dimension is one name and value of a metric.
type Dimension struct {
	Name  string `json:"Name"`
	Value string `json:"Value"`
}

// Listed is a metric that SEARCH may find.
type Listed struct {
	Metric Metric
	// Stat is the statistic that Series has.
	Stat string
	// Series is labelled by whoever lists it.
	Series Series
}

// Inputs are what was read of the metrics of a program.
type Inputs struct {
	// Series has what was read of each metric, by the id of its query. A metric that was read and had no point has a
	// Series without points. A metric that is not in here was not read, and nothing that is computed from it is known:
	// that FILL(m, 0) makes a zero of a failed read would be a lie.
	Series map[string]Series
	// Since is when the range begins; when the first point of all Series begins if it is zero.
	Since time.Time
	// Listed is what SEARCH looks through, at most MaxListed.
	Listed []Listed
	// Computed has what CloudWatch alone can compute, by the call as Expression.String writes it, for example
	// SERVICE_QUOTA(usage): one series, or several for a call that gives an array.
	Computed map[string][]Series
}
