// Package metrics is what is asked of a system that keeps metrics, such as CloudWatch, and what it answers: [Query] and
// [Series]. An observation carries the series that a metric-math policy reads; package metricmath computes with them.
//
// All types are plain values. None may be changed after it was handed on.
package metrics

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Query says what to read of one metric: the words are those of CloudWatch.
type Query struct {
	// Namespace and Name name the metric, with Dimensions.
	Namespace  string      `json:"namespace"`
	Name       string      `json:"name"`
	Dimensions []Dimension `json:"dimensions,omitzero"`
	// Stat is Average, Sum, Minimum, Maximum, SampleCount, or another statistic by its name in CloudWatch.
	Stat string `json:"stat"`
	// Unit keeps to the values that were published with it; empty takes all.
	Unit string `json:"unit,omitzero"`
	// PeriodSeconds is above 0.
	PeriodSeconds int `json:"period_s"`
}

// Dimension is one name and value of a metric.
type Dimension struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Key names what is read, the same for the same query whatever the order of its dimensions. Two queries of one key read
// the same series.
func (q Query) Key() string {
	dimensions := slices.Clone(q.Dimensions)
	slices.SortStableFunc(dimensions, func(a, b Dimension) int { return strings.Compare(a.Name, b.Name) })
	parts := []string{q.Namespace, q.Name}
	for _, d := range dimensions {
		parts = append(parts, d.Name, d.Value)
	}
	for i, p := range parts {
		parts[i] = strconv.Quote(p)
	}
	return strings.Join(append(parts, q.Stat, q.Unit, strconv.Itoa(q.PeriodSeconds)+"s"), " ")
}

// Series is what was read of a metric: a value for each period that has one.
type Series struct {
	// Key is that of the [Query].
	Key string `json:"key"`
	// Known is false when the metric could not be read; Reason then says why, and there are no points. A metric that
	// was read and has no value in the whole range is known and has no points.
	Known  bool   `json:"known"`
	Reason string `json:"reason,omitzero"`
	// Start is when the period with the number 0 begins: a multiple of the period since 1970.
	Start time.Time `json:"start,omitzero"`
	// PeriodSeconds is above 0 in a series with points.
	PeriodSeconds int `json:"period_s,omitzero"`
	// Points are in order of time, at most [MaxPoints].
	Points []Point `json:"points,omitzero"`
}

// Point is the value of one period.
type Point struct {
	// N is the number of the period, from 0 on and below [MaxPoints].
	N int `json:"n"`
	// Value is finite.
	Value float64 `json:"v"`
}

// Meter reads metrics that no queue and no fleet of ours tells. Implementations are safe for use by several goroutines.
type Meter interface {
	// Metrics reads the given metrics: of each the last [MaxPoints] periods that have begun, with the instants that
	// the keeper of the metrics gave them. A metric that cannot be read is a series that is not known, with its
	// reason; an error means that none could be read. It returns soon after ctx ends, and may be asked once a second:
	// how often it asks in turn is its own business.
	Metrics(ctx context.Context, queries []Query) ([]Series, error)
}

// The bounds of metrics in an observation.
const (
	// MaxPoints is how many periods a series covers, the newest one included.
	MaxPoints = 30
	// MaxSeries is how many series an observation carries.
	MaxSeries = 80
)

// PeriodAt returns when the period that an instant is in begins.
func PeriodAt(at time.Time, seconds int) time.Time {
	n, s := at.Unix(), int64(max(1, seconds))
	return time.Unix(n-(n%s+s)%s, 0).UTC()
}
