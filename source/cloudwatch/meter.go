package cloudwatch

import (
	"context"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/awsmetrics"
	"github.com/muster-scale/muster/metricmath"
)

// Meter reads the metrics of a metric-math policy that nobody here tells. It implements [muster.Meter]. It is safe for use by
// several goroutines.
type Meter struct {
	// Reader reads them together with those of all other fleets, no more than once a minute.
	Reader *awsmetrics.Reader
	// Region is where they are; empty means that of the SDK's configuration.
	Region string
}

var _ muster.Meter = Meter{}

// Metrics implements [muster.Meter]. Periods that are not complete yet are left out; what cannot be read is unknown with its
// reason, so there is never an error.
func (m Meter) Metrics(ctx context.Context, queries []muster.MetricQuery) ([]muster.MetricSeries, error) {
	stats := make([]metricmath.MetricStat, len(queries))
	longest := 0
	for i, q := range queries {
		stats[i] = metricmath.MetricStat{Metric: metricmath.Metric{Namespace: q.Namespace, MetricName: q.Name}, Stat: q.Stat, Unit: q.Unit, PeriodSeconds: q.PeriodSeconds}
		for _, d := range q.Dimensions {
			stats[i].Metric.Dimensions = append(stats[i].Metric.Dimensions, metricmath.Dimension(d))
		}
		longest = max(longest, q.PeriodSeconds)
	}
	reads := m.Reader.Series(ctx, m.Region, muster.MaxMetricPoints*time.Duration(longest)*time.Second, stats...)
	all := make([]muster.MetricSeries, len(queries))
	for i, q := range queries {
		all[i] = seriesOf(q, reads[i])
	}
	return all, nil
}

// seriesOf is what was read of a metric: the newest periods that an observation carries.
func seriesOf(q muster.MetricQuery, r awsmetrics.Read) muster.MetricSeries {
	s := muster.MetricSeries{Key: q.Key(), Known: r.Failure == "", Reason: r.Failure}
	if !s.Known {
		return s
	}
	first := max(0, len(r.Series.Points)-muster.MaxMetricPoints)
	s.Start, s.PeriodSeconds = muster.PeriodAt(r.Series.Start.Add(time.Duration(first)*r.Series.Period), q.PeriodSeconds), q.PeriodSeconds
	for i, p := range r.Series.Points[first:] {
		if p.Known {
			s.Points = append(s.Points, muster.MetricPoint{N: i, Value: p.Value})
		}
	}
	return s
}
