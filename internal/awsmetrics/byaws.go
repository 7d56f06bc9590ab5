package awsmetrics

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/muster-scale/muster/metricmath"
)

// ByAWS lets CloudWatch evaluate a list of queries over the window before now, and returns the result
// of the query with the given id. It makes a call of its own each time, so the caller should keep the
// result. Periods are those of the queries, a minute at least.
func (r *Reader) ByAWS(ctx context.Context, regionName string, over time.Duration, queries []metricmath.Query,
	id string) Read {
	now := time.Now()
	at := now.UTC().Round(0)
	g, err := r.region(regionName)
	if err != nil {
		return Read{At: at, Failure: err.Error()}
	}
	period := time.Minute
	in := &cloudwatch.GetMetricDataInput{ScanBy: types.ScanByTimestampAscending, EndTime: aws.Time(now)}
	for _, q := range queries {
		w := types.MetricDataQuery{Id: aws.String(q.ID), ReturnData: aws.Bool(q.ID == id)}
		if q.MetricStat != nil {
			w.MetricStat = wireStat(*q.MetricStat)
			period = max(period, periodOf(*q.MetricStat))
		} else {
			w.Expression = aws.String(q.Expression)
			if q.PeriodSeconds > 0 {
				w.Period = aws.Int32(int32(q.PeriodSeconds))
				period = max(period, time.Duration(q.PeriodSeconds)*time.Second)
			}
		}
		in.MetricDataQueries = append(in.MetricDataQueries, w)
	}
	start := now.Add(-min(max(over, window), maxWindow) - period).Truncate(period)
	in.StartTime = aws.Time(start)
	points, failures, err := g.pages(ctx, in)
	switch {
	case err != nil:
		return Read{At: at, Failure: err.Error()}
	case failures[id] != "":
		return Read{At: at, Failure: failures[id]}
	}
	return Read{At: at, Series: rowOf(points[id], start, now, period)}
}
