// Package awsmetrics reads CloudWatch metrics for all fleets together: up to 500 metrics in a call,
// each at most once a minute. A thousand fleets so make a few calls a minute.
//
//	reader := awsmetrics.NewReader(account)
//	samples := reader.Newest(ctx, "eu-west-1", stat)
//
// A [Reader] remembers which metrics were requested. When one is due, it reads with it all others of
// the region that are nearly due. A metric that is no longer requested is forgotten. [Reader.Series]
// returns whole series, [Reader.Newest] only the newest values, and [Reader.ByAWS] lets CloudWatch
// evaluate an expression.
//
// A period that has just ended may still be incomplete, because publishers are late. It counts from
// [Settle] after its end. Results carry the times of the periods, never that of the call. A failed read
// is a [Read] with a Failure: unknown, not zero.
//
// Expressions are evaluated by package metricmath where possible; source/cloudwatch decides which way
// to use. Rates and retries are those of internal/awsapi.
package awsmetrics

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/metricmath"
)

const (
	// Settle is the time after its end at which a period counts as complete.
	Settle = 15 * time.Second
	// MaxQueries is the largest number of metrics in one call, a limit of CloudWatch.
	MaxQueries = 500

	// every is the interval for metrics with periods of a minute or more. A metric with shorter periods
	// is read at its period, but at most each fastest.
	every   = time.Minute
	fastest = 10 * time.Second
	// gather is the time for which the first request waits for others, whose metrics then come with the
	// same call.
	gather = 50 * time.Millisecond
	// forget is the time after its last request at which a metric is no longer read.
	forget = 10 * time.Minute
	// window is the least and maxWindow the largest range of time that is read.
	window    = 15 * time.Minute
	maxWindow = 24 * time.Hour
	// maxStats bounds the metrics of a region, maxPages the pages of one read.
	maxStats = 50_000
	maxPages = 100
)

// Reader reads metrics. It is safe for concurrent use.
type Reader struct {
	account *awsapi.Account
	options []func(*cloudwatch.Options)

	mu      sync.Mutex
	regions map[string]*region
}

// NewReader returns a reader whose clients have the given options. It makes no call.
func NewReader(account *awsapi.Account, options ...func(*cloudwatch.Options)) *Reader {
	return &Reader{account: account, options: options, regions: map[string]*region{}}
}

// Read is the result for one metric.
type Read struct {
	// Series has the complete periods of the window. Points without a datapoint are missing. It has no
	// points if Failure is set.
	Series metricmath.Series
	// At is the time of the read.
	At time.Time
	// Failure says why nothing could be read; empty otherwise.
	Failure string
}

// getter is the part of the client that a reader uses; tests replace it.
type getter interface {
	GetMetricData(context.Context, *cloudwatch.GetMetricDataInput,
		...func(*cloudwatch.Options)) (*cloudwatch.GetMetricDataOutput, error)
}

// region has the metrics of one region.
type region struct {
	name   string
	client getter
	// turn is held by the goroutine that reads.
	turn chan struct{}

	mu    sync.Mutex
	stats map[string]*stat
}

// stat is one requested metric.
type stat struct {
	metricmath.MetricStat
	// window is the largest one requested, askedAt the time of the last request, read the last result.
	window  time.Duration
	askedAt time.Time
	read    Read
}

// region returns the region of that name, and creates it first if necessary.
func (r *Reader) region(name string) (*region, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if g, ok := r.regions[name]; ok {
		return g, nil
	}
	cfg, err := r.account.Region(name)
	if err != nil {
		return nil, err
	}
	g := &region{name: cfg.Region, client: cloudwatch.NewFromConfig(cfg, r.options...), turn: make(chan struct{}, 1),
		stats: map[string]*stat{}}
	r.regions[name] = g
	return g, nil
}

// Series returns one result for each metric, over at least the time over before now, in a region; an
// empty name means that of the account. It first reads the metrics that are due, and with them others
// that nearly are.
func (r *Reader) Series(ctx context.Context, regionName string, over time.Duration,
	stats ...metricmath.MetricStat) []Read {
	g, err := r.region(regionName)
	if err == nil {
		err = g.fresh(ctx, min(max(over, window), maxWindow), stats)
	}
	reads := make([]Read, len(stats))
	if err != nil {
		for i := range reads {
			reads[i] = Read{At: time.Now().UTC().Round(0), Failure: err.Error()}
		}
		return reads
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, s := range stats {
		reads[i] = g.stats[key(s)].read
	}
	return reads
}

// Newest returns the newest complete datapoint of each metric, as a sample taken at the end of its
// period.
func (r *Reader) Newest(ctx context.Context, regionName string, stats ...metricmath.MetricStat) []muster.Sample {
	samples := make([]muster.Sample, len(stats))
	for i, read := range r.Series(ctx, regionName, 0, stats...) {
		point, start := read.Series.Newest()
		switch {
		case read.Failure != "":
			samples[i] = muster.Unknown(read.At, read.Failure)
		case !point.Known:
			samples[i] = muster.Unknown(read.At,
				fmt.Sprintf("CloudWatch has no datapoint of %s %s of the last %s; metrics of SQS are up to 15 min "+
					"late, and stop after a queue was idle for six hours",
					stats[i].Metric.Namespace, stats[i].Metric.MetricName, render.Seconds(window.Seconds())))
		default:
			samples[i] = muster.Measured(start.Add(read.Series.Period), point.Value)
		}
	}
	return samples
}

// key identifies a metric in its region.
func key(s metricmath.MetricStat) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q %q %q %d %q", s.Metric.Namespace, s.Metric.MetricName, s.Stat, periodOf(s), s.Unit)
	for _, d := range s.Metric.Dimensions {
		fmt.Fprintf(&b, " %q=%q", d.Name, d.Value)
	}
	return b.String()
}

// periodOf returns the period of a metric, a minute by default.
func periodOf(s metricmath.MetricStat) time.Duration {
	return time.Duration(cmp.Or(s.PeriodSeconds, 60)) * time.Second
}

// fresh requests the metrics and reads what is due. Concurrent requests wait for one read.
func (g *region) fresh(ctx context.Context, over time.Duration, stats []metricmath.MetricStat) error {
	if err := g.ask(time.Now(), over, stats); err != nil || !g.anyDue(time.Now(), stats) {
		return err
	}
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return fmt.Errorf("read metrics of CloudWatch: %w", ctx.Err())
	}
	if !g.anyDue(time.Now(), stats) {
		return nil // another request has read them meanwhile
	}
	select {
	case <-time.After(gather):
	case <-ctx.Done():
		return fmt.Errorf("read metrics of CloudWatch: %w", ctx.Err())
	}
	now := time.Now()
	due := g.due(now)
	for batch := range slices.Chunk(due, MaxQueries) {
		g.readBatch(ctx, now, batch)
	}
	return ctx.Err()
}

// ask records that the metrics are requested.
func (g *region) ask(now time.Time, over time.Duration, stats []metricmath.MetricStat) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range stats {
		k := key(s)
		if g.stats[k] == nil {
			if len(g.stats) >= maxStats {
				return fmt.Errorf("read metrics of CloudWatch: found more than %d metrics in the region %s, at most "+
					"so many are allowed; leave ages and rates out", maxStats, g.name)
			}
			g.stats[k] = &stat{MetricStat: s}
		}
		g.stats[k].askedAt, g.stats[k].window = now, max(over, g.stats[k].window)
	}
	return nil
}

// anyDue says whether one of the metrics must be read now.
func (g *region) anyDue(now time.Time, stats []metricmath.MetricStat) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(stats, func(s metricmath.MetricStat) bool { return g.stats[key(s)].dueIn(now) <= 0 })
}

// dueIn returns the time until the metric must be read again. A last read in the future, after the
// clock was set back, counts as none.
func (s *stat) dueIn(now time.Time) time.Duration {
	if s.read.At.IsZero() || s.read.At.After(now.Add(every)) {
		return 0
	}
	return s.read.At.Add(min(every, max(fastest, periodOf(s.MetricStat)))).Sub(now)
}

// due returns the metrics that are due within half of their interval, and forgets those no longer
// requested.
func (g *region) due(now time.Time) (due []wanted) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var keys []string
	for k, s := range g.stats {
		switch {
		case now.Sub(s.askedAt) > forget:
			delete(g.stats, k)
		case s.dueIn(now) <= min(every, max(fastest, periodOf(s.MetricStat)))/2:
			keys = append(keys, k)
		}
	}
	slices.Sort(keys) // the same metrics make the same calls
	for _, k := range keys {
		due = append(due, wanted{k, g.stats[k].MetricStat, g.stats[k].window})
	}
	return due
}

// wanted is a copy of a metric to read, for use without the lock.
type wanted struct {
	key string
	metricmath.MetricStat
	window time.Duration
}

// readBatch reads up to MaxQueries metrics and stores the results or the failure.
func (g *region) readBatch(ctx context.Context, now time.Time, batch []wanted) {
	in := &cloudwatch.GetMetricDataInput{ScanBy: types.ScanByTimestampAscending, EndTime: aws.Time(now)}
	start := now
	for i, s := range batch {
		in.MetricDataQueries = append(in.MetricDataQueries, types.MetricDataQuery{Id: aws.String(fmt.Sprintf("q%d", i)),
			MetricStat: wireStat(s.MetricStat), ReturnData: aws.Bool(true)})
		if from := now.Add(-s.window - periodOf(s.MetricStat)).Truncate(periodOf(s.MetricStat)); from.Before(start) {
			start = from
		}
	}
	in.StartTime = aws.Time(start)
	points, failures, err := g.pages(ctx, in)
	at := now.UTC().Round(0)
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, w := range batch {
		id := fmt.Sprintf("q%d", i)
		s := g.stats[w.key]
		if s == nil {
			continue // forgotten meanwhile
		}
		switch {
		case err != nil && ctx.Err() != nil: // this caller gave up; the next request reads again
		case err != nil:
			s.read = Read{At: at, Failure: err.Error()}
		case failures[id] != "":
			s.read = Read{At: at, Failure: failures[id]}
		default:
			s.read = Read{At: at, Series: rowOf(points[id], start, now, periodOf(s.MetricStat))}
		}
	}
}

// wireStat returns a metric as the SDK sends it.
func wireStat(s metricmath.MetricStat) *types.MetricStat {
	w := &types.MetricStat{
		Metric: &types.Metric{Namespace: aws.String(s.Metric.Namespace), MetricName: aws.String(s.Metric.MetricName)},
		Period: aws.Int32(int32(periodOf(s) / time.Second)), Stat: aws.String(s.Stat), Unit: types.StandardUnit(s.Unit),
	}
	for _, d := range s.Metric.Dimensions {
		w.Metric.Dimensions = append(w.Metric.Dimensions,
			types.Dimension{Name: aws.String(d.Name), Value: aws.String(d.Value)})
	}
	return w
}

// pages makes the calls of one read. It returns points by id and start of their period in Unix seconds,
// and failures by id.
func (g *region) pages(ctx context.Context, in *cloudwatch.GetMetricDataInput) (map[string]map[int64]float64,
	map[string]string, error) {
	points, failures := map[string]map[int64]float64{}, map[string]string{}
	for range maxPages {
		out, err := g.client.GetMetricData(ctx, in)
		if err != nil {
			return nil, nil, awsapi.Explain("read metrics of CloudWatch", g.name, err)
		}
		for _, r := range out.MetricDataResults {
			id := aws.ToString(r.Id)
			if r.StatusCode == types.StatusCodeForbidden || r.StatusCode == types.StatusCodeInternalError {
				failures[id] = fmt.Sprintf("CloudWatch answered %s for the metric", r.StatusCode)
				for _, m := range r.Messages {
					failures[id] += ": " + aws.ToString(m.Value)
				}
			}
			if points[id] == nil {
				points[id] = map[int64]float64{}
			}
			for i, at := range r.Timestamps {
				if i < len(r.Values) {
					points[id][at.Unix()] = r.Values[i]
				}
			}
		}
		if aws.ToString(out.NextToken) == "" {
			return points, failures, nil
		}
		in.NextToken = out.NextToken
	}
	return nil, nil, fmt.Errorf("read metrics of CloudWatch: found more than %d pages, at most so many are read; ask "+
		"for a shorter window", maxPages)
}

// rowOf arranges points by period, without the last period that may be incomplete.
func rowOf(points map[int64]float64, start, now time.Time, period time.Duration) metricmath.Series {
	first := start.Truncate(period)
	end := now.Add(-Settle).Truncate(period)
	values := []float64{}
	for at := first; at.Before(end) && len(values) < metricmath.MaxPeriods; at = at.Add(period) {
		v, ok := points[at.Unix()]
		if !ok {
			v = metricmath.Missing()
		}
		values = append(values, v)
	}
	return metricmath.Row(first.UTC(), period, values...)
}
