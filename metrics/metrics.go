// Package metrics is the vocabulary for systems that keep metrics, such as CloudWatch: the [Query] to such a system,
// and the [Series] that it answers with.
//
// A [Meter] reads metrics; source/cloudwatch has one. An observation carries the series that a metric-math policy
// needs, and package metricmath computes with them:
//
//	Query -> Meter.Metrics -> Series -> observation -> metricmath -> policy
//
// Series are small on purpose, at most [MaxPoints] points each: they are recorded with every decision, so that it can
// be recomputed. A metric that could not be read is a series that is not known, never one of zeros.
//
// All types are plain values. None may be changed after it was handed on. For measured durations use package series.
package metrics

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Query says what to read of one metric, in the words of CloudWatch.
type Query struct {
	// Namespace and Name name the metric, with Dimensions.
	Namespace  string      `json:"namespace"`
	Name       string      `json:"name"`
	Dimensions []Dimension `json:"dimensions,omitzero"`
	// Stat is Average, Sum, Minimum, Maximum, SampleCount, or another statistic by its name in CloudWatch.
	Stat string `json:"stat"`
	// Unit selects the values that were published with this unit; empty selects all.
	Unit string `json:"unit,omitzero"`
	// PeriodSeconds is the length of a period in seconds, above 0.
	PeriodSeconds int `json:"period_s"`
}

// Dimension is a name and a value that tell a metric from others of its name.
type Dimension struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Key identifies the series that a query reads, whatever the order of its dimensions. Two queries with one key read
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

// Series is a metric as it was read: a value for each period that has one.
type Series struct {
	// Key is the key of the [Query].
	Key string `json:"key"`
	// Known is false when the metric could not be read; Reason then says why, and there are no points. A metric that
	// was read and has no value in the whole range is known and has no points.
	Known  bool   `json:"known"`
	Reason string `json:"reason,omitzero"`
	// Start is the begin of the period with the number 0: a multiple of the period since 1970.
	Start time.Time `json:"start,omitzero"`
	// PeriodSeconds is above 0 in a series with points.
	PeriodSeconds int `json:"period_s,omitzero"`
	// Points are in order of time, at most [MaxPoints].
	Points []Point `json:"points,omitzero"`
}

// Point is the value of one period.
type Point struct {
	// N is the number of the period, from 0 to below [MaxPoints].
	N int `json:"n"`
	// Value is finite.
	Value float64 `json:"v"`
}

// Meter reads metrics that neither a queue nor a fleet of the configuration provides. Implementations are safe for
// concurrent use.
type Meter interface {
	// Metrics reads the given metrics: for each, the last [MaxPoints] periods that have begun, with the times of the
	// system that keeps them. A metric that cannot be read is a series that is not known, with its reason; an error
	// means that none could be read. It returns soon after ctx ends. It may be called every second: how often it
	// calls the system behind it is its own decision.
	Metrics(ctx context.Context, queries []Query) ([]Series, error)
}

// The bounds of metrics in an observation.
const (
	// MaxPoints is how many periods a series covers, the newest one included.
	MaxPoints = 30
	// MaxSeries is how many series an observation may carry.
	MaxSeries = 80
)

// PeriodAt returns the begin of the period that contains a time.
func PeriodAt(at time.Time, seconds int) time.Time {
	n, s := at.Unix(), int64(max(1, seconds))
	return time.Unix(n-(n%s+s)%s, 0).UTC()
}
