package sqs

import (
	"context"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/metricmath"
)

// Metrics reads metrics of CloudWatch.
type Metrics interface {
	// Newest returns the newest complete datapoint of each metric in a region; a metric without one is unknown with its
	// reason. It reads at most once a minute, for all callers together.
	Newest(ctx context.Context, region string, stats ...metricmath.MetricStat) []muster.Sample
}

// queueMetrics are the metrics of one queue.
type queueMetrics struct {
	from   Metrics
	region string
	stats  []metricmath.MetricStat
}

// period is the period of SQS's own metrics, in seconds.
const period = 60

// metricsOf returns the three metrics of a queue: the oldest age, and the numbers of sent and deleted messages a
// minute.
func metricsOf(from Metrics, region, queue string) *queueMetrics {
	m := &queueMetrics{from: from, region: region}
	for _, s := range [][2]string{{"ApproximateAgeOfOldestMessage", "Maximum"}, {"NumberOfMessagesSent", "Sum"},
		{"NumberOfMessagesDeleted", "Sum"}} {
		m.stats = append(m.stats, metricmath.MetricStat{
			Metric: metricmath.Metric{
				Namespace: "AWS/SQS", MetricName: s[0],
				Dimensions: []metricmath.Dimension{{Name: "QueueName", Value: queue}},
			},
			Stat: s[1], PeriodSeconds: period,
		})
	}
	return m
}

// fill adds the metrics to q. The age at the end of a minute is a lower bound of the age now, so its sample keeps its
// time.
func (m *queueMetrics) fill(ctx context.Context, q *muster.QueueObservation) {
	samples := m.from.Newest(ctx, m.region, m.stats...)
	q.OldestAge = samples[0]
	if q.Backlog.Known && q.Backlog.Value == 0 {
		q.OldestAge = muster.Measured(q.Backlog.At, 0) // nothing waits
	}
	shown := q.Published.Value()
	for i, into := range []*muster.Sample{&shown.SentPerSecond, &shown.DeletedPerSecond} {
		*into = samples[i+1]
		into.Value /= period
	}
	q.Published = &shown
}
