package metricmath

import (
	"slices"
	"time"
)

// Query is one entry of a list: a metric with its statistic, or an expression over other entries. The JSON names are
// those of AWS in the Metrics of a scaling policy, in an alarm and in GetMetricData.
type Query struct {
	// ID names the entry in expressions: a lower-case letter, then letters, digits and underscores, at most 255 in all.
	ID string `json:"Id"`
	// Exactly one of the two is set: Expression for a computed entry, MetricStat for a metric to read.
	Expression string      `json:"Expression,omitzero"`
	MetricStat *MetricStat `json:"MetricStat,omitzero"`
	// Label is for people; it changes no number.
	Label string `json:"Label,omitzero"`
	// ReturnData tells whether the entry's points are returned. The default of AWS is true, so every entry but one must
	// say false; see Options.StrictReturnData.
	ReturnData *bool `json:"ReturnData,omitzero"`
	// PeriodSeconds is the period of an expression in GetMetricData. If set, it must be the list's period.
	PeriodSeconds int `json:"Period,omitzero"`
}

// MetricStat is a metric and the statistic of it that is read for each period.
type MetricStat struct {
	Metric Metric `json:"Metric"`
	// PeriodSeconds is 1, 5, 10, 20, 30 or a multiple of 60. Zero selects Options.PeriodSeconds, because policies of
	// Application Auto Scaling have no such field.
	PeriodSeconds int `json:"Period,omitzero"`
	// Stat is Average, Sum, Minimum, Maximum, SampleCount, or another statistic by its name in CloudWatch.
	Stat string `json:"Stat"`
	// Unit filters by the unit of the published values; it converts nothing.
	Unit string `json:"Unit,omitzero"`
}

// clone returns a deep copy, nil for nil. A program keeps copies, so that a caller who changes its list later cannot
// change the program.
func (m *MetricStat) clone() *MetricStat {
	if m == nil {
		return nil
	}
	c := *m
	c.Metric.Dimensions = slices.Clone(m.Metric.Dimensions)
	return &c
}

// Metric identifies a metric in CloudWatch: two metrics are the same if all three fields are equal.
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
	// Stat is Average, Sum, Minimum, Maximum, SampleCount, or the CloudWatch name of another statistic.
	Stat string
	// Series holds its points. Its Label names it in the array that SEARCH returns.
	Series Series
}

// Inputs are the points read for the metrics of a program.
type Inputs struct {
	// Series holds the points of each metric by the id of its query. A metric that was read and had no point has a
	// Series without points. A metric that is absent was not read, and everything computed from it is unknown:
	// otherwise FILL(m, 0) would turn a failed read into zero.
	Series map[string]Series
	// Since is the start of the range. If zero, the range starts with the earliest first point of all Series.
	Since time.Time
	// Listed are the metrics that SEARCH looks through, at most MaxListed.
	Listed []Listed
	// Computed holds the results of functions that only CloudWatch can compute. The key is the call as
	// Expression.String writes it, for example SERVICE_QUOTA(usage). A call that gives an array may have several
	// series.
	Computed map[string][]Series
}
