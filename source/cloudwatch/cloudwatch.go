package cloudwatch

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/awsmetrics"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/metricmath"
)

// Measure says how to measure one quantity.
type Measure struct {
	Quantity kind.Quantity
	// Queries are the queries for GetMetricData: metrics and expressions, exactly one of which returns its points.
	Queries []metricmath.Query
	// ByAWS makes CloudWatch evaluate the queries; otherwise this package does.
	ByAWS bool
}

// Options say what a [Source] measures. Queue, Reader and at least one measure are required.
type Options struct {
	// Queue is the name of the measured queue in observations.
	Queue string
	// Region is the region of the metrics; empty means that of the SDK's configuration.
	Region   string
	Reader   *awsmetrics.Reader
	Measures []Measure
	// Base measures the signals without a measure; nil leaves them unknown.
	Base muster.Source
}

// Source measures by metrics. It implements [muster.Source]. Several goroutines may use it.
type Source struct {
	o     Options
	parts []*part
}

var _ muster.Source = (*Source)(nil)

// part is one measure with its compiled program.
type part struct {
	Measure
	program metricmath.Program
	stats   []metricmath.MetricStat
	ids     []string
	// returns is the id of the query that returns its points.
	returns string

	// read is the last answer of CloudWatch to a measure with ByAWS, at most byAWSEvery old; mu guards it.
	mu   sync.Mutex
	read awsmetrics.Read
}

const (
	// window is how far back expressions can see: enough for running sums and for rare metrics.
	window = 15 * time.Minute
	// byAWSEvery is the interval at which CloudWatch evaluates queries.
	byAWSEvery = time.Minute
	// late is the lag of metrics with a period of a minute: the current minute, the minute before, which is read up to
	// a minute after its end, and the time until that is complete.
	late = 2*time.Minute + awsmetrics.Settle
)

// New returns the source, or an error about its measures.
func New(o Options) (*Source, error) {
	s := &Source{o: o}
	seen := map[kind.Quantity]bool{}
	for _, m := range o.Measures {
		switch m.Quantity {
		case kind.Backlog, kind.InFlight, kind.Delayed, kind.OldestAge, kind.Processing:
		default:
			return nil, fmt.Errorf("measure %s by CloudWatch: found the signal %q, allowed are %s, %s, %s, %s and %s",
				o.Queue, m.Quantity, kind.Backlog, kind.InFlight, kind.Delayed, kind.OldestAge, kind.Processing)
		}
		if seen[m.Quantity] {
			return nil, fmt.Errorf("measure %s by CloudWatch: found %s twice, once is allowed", o.Queue, m.Quantity)
		}
		seen[m.Quantity] = true
		p, err := partOf(m)
		if err != nil {
			return nil, fmt.Errorf("measure the %s of %s by CloudWatch: %w", m.Quantity, o.Queue, err)
		}
		s.parts = append(s.parts, p)
	}
	if len(s.parts) == 0 {
		return nil, fmt.Errorf("measure %s by CloudWatch: found no metric, at least one is needed", o.Queue)
	}
	return s, nil
}

// partOf compiles a measure. Queries that CloudWatch evaluates are not compiled here, because they may use functions
// that only it knows; they must only name the one query whose points are returned, by the rule of GetMetricData.
func partOf(m Measure) (*part, error) {
	p := &part{Measure: m}
	if m.ByAWS {
		for _, q := range m.Queries {
			if q.ReturnData == nil && len(m.Queries) == 1 || q.ReturnData != nil && *q.ReturnData {
				if p.returns != "" {
					return nil, fmt.Errorf("found ReturnData: true at %s and at %s, allowed is one", p.returns, q.ID)
				}
				p.returns = q.ID
			}
		}
		if p.returns == "" {
			return nil, fmt.Errorf("found no query with ReturnData: true, exactly one is needed")
		}
		return p, nil
	}
	var err error
	if p.program, err = metricmath.Compile(m.Queries, metricmath.Options{Use: metricmath.ForAlarm}); err != nil {
		return nil, err
	}
	for _, q := range p.program.Metrics() {
		p.stats, p.ids = append(p.stats, *q.MetricStat), append(p.ids, q.ID)
	}
	return p, nil
}

// Observe implements [muster.Source]. Quantities without a measure are those of the base, or unknown without one. All
// metrics are read in one call; a measure whose metrics fail is unknown with the reason, and the others stay known.
func (s *Source) Observe(ctx context.Context) (muster.QueueObservation, error) {
	q := kind.ObserveBase(ctx, s.o.Base, s.o.Queue, "no metric was named for it", time.Now)
	q.LateSeconds = max(q.LateSeconds, s.late().Seconds())
	var stats []metricmath.MetricStat
	for _, p := range s.parts {
		stats = append(stats, p.stats...)
	}
	var reads []awsmetrics.Read
	if len(stats) > 0 {
		reads = s.o.Reader.Series(ctx, s.o.Region, window, stats...) // all in one go
	}
	for _, p := range s.parts {
		own := reads[:len(p.stats)]
		reads = reads[len(p.stats):]
		if p.ByAWS {
			p.Quantity.Put(&q, s.byAWS(ctx, p))
		} else {
			p.Quantity.Put(&q, p.compute(own))
		}
	}
	return q, ctx.Err()
}

// late is the lag of the measured counts; 0 if no count is measured.
func (s *Source) late() time.Duration {
	for _, p := range s.parts {
		if p.Quantity == kind.Backlog || p.Quantity == kind.InFlight {
			return late
		}
	}
	return 0
}

// compute evaluates the program on the metrics that were read. The sample is as old as the oldest read, and its instant
// is the end of the newest complete period. One unreadable metric makes the whole measure unknown.
func (p *part) compute(reads []awsmetrics.Read) muster.Sample {
	in := metricmath.Inputs{Series: map[string]metricmath.Series{}}
	var at time.Time
	for i, r := range reads {
		if r.Failure != "" {
			return muster.Unknown(r.At, r.Failure)
		}
		in.Series[p.ids[i]] = r.Series
		if at.IsZero() || r.At.Before(at) {
			at = r.At
		}
	}
	value, reason := p.program.Evaluate(in, at.Add(-awsmetrics.Settle))
	point, start := value.Newest()
	switch {
	case !point.Known:
		return muster.Unknown(at, cmp.Or(reason, "the expression gave no single series"))
	case point.Value == 0 && len(value.Silent) > 0:
		// An expression over unpublished metrics can give zero. A doubted zero stops no worker.
		return muster.Doubt(at, fmt.Sprintf("it is zero, but %s had no datapoint in the last %s",
			strings.Join(value.Silent, ", "), render.Seconds(window.Seconds())))
	}
	return muster.Measured(start.Add(p.program.Period()), point.Value)
}

// byAWS makes CloudWatch evaluate the queries, once a minute: each evaluation is a call of its own with a price. Calls
// in between return the last answer. A cancelled call is not kept, so that the next one tries again.
func (s *Source) byAWS(ctx context.Context, p *part) muster.Sample {
	p.mu.Lock()
	defer p.mu.Unlock()
	if age := time.Since(p.read.At); age >= byAWSEvery || age < 0 {
		read := s.o.Reader.ByAWS(ctx, s.o.Region, window, p.Queries, p.returns)
		if ctx.Err() != nil {
			return muster.Unknown(read.At, read.Failure)
		}
		p.read = read
	}
	point, start := p.read.Series.Newest()
	switch {
	case p.read.Failure != "":
		return muster.Unknown(p.read.At, p.read.Failure)
	case !point.Known:
		return muster.Unknown(p.read.At, "CloudWatch computed no datapoint in the last "+
			render.Seconds(window.Seconds()))
	}
	return muster.Measured(start.Add(p.read.Series.Period), point.Value)
}
