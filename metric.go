package muster

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// MetricQuery says what to read of one metric: the words are those of CloudWatch.
type MetricQuery struct {
	// Namespace and Name name the metric, with Dimensions.
	Namespace  string            `json:"namespace"`
	Name       string            `json:"name"`
	Dimensions []MetricDimension `json:"dimensions,omitzero"`
	// Stat is Average, Sum, Minimum, Maximum, SampleCount, or another statistic by its name in CloudWatch.
	Stat string `json:"stat"`
	// Unit keeps to the values that were published with it; empty takes all.
	Unit string `json:"unit,omitzero"`
	// PeriodSeconds is above 0.
	PeriodSeconds int `json:"period_s"`
}

// MetricDimension is one name and value of a metric.
type MetricDimension struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Key names what is read, the same for the same query whatever the order of its dimensions. Two queries of one key read the
// same series.
func (q MetricQuery) Key() string {
	dimensions := slices.Clone(q.Dimensions)
	slices.SortStableFunc(dimensions, func(a, b MetricDimension) int { return strings.Compare(a.Name, b.Name) })
	parts := []string{q.Namespace, q.Name}
	for _, d := range dimensions {
		parts = append(parts, d.Name, d.Value)
	}
	for i, p := range parts {
		parts[i] = strconv.Quote(p)
	}
	return strings.Join(append(parts, q.Stat, q.Unit, strconv.Itoa(q.PeriodSeconds)+"s"), " ")
}

// MetricSeries is what was read of a metric: a value for each period that has one.
type MetricSeries struct {
	// Key is that of the [MetricQuery].
	Key string `json:"key"`
	// Known is false when the metric could not be read; Reason then says why, and there are no points. A metric that was read
	// and has no value in the whole range is known and has no points.
	Known  bool   `json:"known"`
	Reason string `json:"reason,omitzero"`
	// Start is when the period with the number 0 begins: a multiple of the period since 1970.
	Start time.Time `json:"start,omitzero"`
	// PeriodSeconds is above 0 in a series with points.
	PeriodSeconds int `json:"period_s,omitzero"`
	// Points are in order of time, at most [MaxMetricPoints].
	Points []MetricPoint `json:"points,omitzero"`
}

// MetricPoint is the value of one period.
type MetricPoint struct {
	// N is the number of the period, from 0 on and below [MaxMetricPoints].
	N int `json:"n"`
	// Value is finite.
	Value float64 `json:"v"`
}

// The bounds of metrics in an observation.
const (
	// MaxMetricPoints is how many periods a series covers, the newest one included.
	MaxMetricPoints = 30
	// MaxMetrics is how many series an observation carries.
	MaxMetrics = 80
)

// PeriodAt returns when the period that an instant is in begins.
func PeriodAt(at time.Time, seconds int) time.Time {
	n, s := at.Unix(), int64(max(1, seconds))
	return time.Unix(n-(n%s+s)%s, 0).UTC()
}

// Metric returns the series of a key, and whether there is one.
func (o Observation) Metric(key string) (MetricSeries, bool) {
	for _, s := range o.Metrics {
		if s.Key == key {
			return s, true
		}
	}
	return MetricSeries{}, false
}
