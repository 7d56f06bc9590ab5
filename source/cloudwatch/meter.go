package cloudwatch

import (
	"context"
	"time"

	"github.com/muster-scale/muster/internal/awsmetrics"
	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/metrics"
)

// Meter reads the metrics of a metric-math policy that Muster does not measure itself. It implements [metrics.Meter].
// Several goroutines may use it.
type Meter struct {
	// Reader reads them together with those of all other fleets, at most once a minute.
	Reader *awsmetrics.Reader
	// Region is their region; empty means that of the SDK's configuration.
	Region string
}

var _ metrics.Meter = Meter{}

// Metrics implements [metrics.Meter]. It leaves out incomplete periods. An unreadable metric is unknown with its
// reason, so there is never an error.
func (m Meter) Metrics(ctx context.Context, queries []metrics.Query) ([]metrics.Series, error) {
	stats := make([]metricmath.MetricStat, len(queries))
	longest := 0
	for i, q := range queries {
		stats[i] = metricmath.MetricStat{Metric: metricmath.Metric{Namespace: q.Namespace, MetricName: q.Name},
			Stat: q.Stat, Unit: q.Unit, PeriodSeconds: q.PeriodSeconds}
		for _, d := range q.Dimensions {
			stats[i].Metric.Dimensions = append(stats[i].Metric.Dimensions, metricmath.Dimension(d))
		}
		longest = max(longest, q.PeriodSeconds)
	}
	reads := m.Reader.Series(ctx, m.Region, metrics.MaxPoints*time.Duration(longest)*time.Second, stats...)
	all := make([]metrics.Series, len(queries))
	for i, q := range queries {
		all[i] = seriesOf(q, reads[i])
	}
	return all, nil
}

// seriesOf converts the newest periods of a metric.
func seriesOf(q metrics.Query, r awsmetrics.Read) metrics.Series {
	s := metrics.Series{Key: q.Key(), Known: r.Failure == "", Reason: r.Failure}
	if !s.Known {
		return s
	}
	first := max(0, len(r.Series.Points)-metrics.MaxPoints)
	s.Start, s.PeriodSeconds = metrics.PeriodAt(r.Series.Start.Add(time.Duration(first)*r.Series.Period),
		q.PeriodSeconds), q.PeriodSeconds
	for i, p := range r.Series.Points[first:] {
		if p.Known {
			s.Points = append(s.Points, metrics.Point{N: i, Value: p.Value})
		}
	}
	return s
}
