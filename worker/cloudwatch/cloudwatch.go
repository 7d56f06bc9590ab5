package cloudwatch

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscloudwatch "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/protocol"
)

const (
	// DefaultNamespace is the namespace of the metrics unless another is given.
	DefaultNamespace = "Muster"
	// MetricMPD is the processing duration in seconds; its average is the mean of all messages that ended.
	MetricMPD = "MPD"
	// MetricTotalWorkers is the number of slots of a worker that receives, or the messages in progress at one that
	// drains. Its sum is how many messages the fleet can work on at once.
	MetricTotalWorkers = "TotalWorkers"
	// DimensionFleet is the only dimension of both metrics.
	DimensionFleet = "Fleet"

	// maxNamespace and maxDimension are the limits of CloudWatch on their lengths.
	maxNamespace, maxDimension = 255, 1024
	// maxValues is how many different values a datum may have.
	maxValues = 150
)

// Periods are the allowed periods of the metrics. Periods below a minute need high resolution.
func Periods() []time.Duration {
	return []time.Duration{5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute}
}

// API is what a [Sink] needs of the client. [*awscloudwatch.Client] implements it.
type API interface {
	PutMetricData(context.Context, *awscloudwatch.PutMetricDataInput,
		...func(*awscloudwatch.Options)) (*awscloudwatch.PutMetricDataOutput, error)
}

// Options name the metrics.
type Options struct {
	// Namespace has 1 to 255 visible ASCII characters and does not begin with AWS/; empty means [DefaultNamespace].
	Namespace string
	// Fleet is the value of the dimension; when it is empty, there is no dimension.
	Fleet string
}

// complete returns the options with their defaults, or an error for what CloudWatch would refuse.
func (o Options) complete() (Options, error) {
	if o.Namespace == "" {
		o.Namespace = DefaultNamespace
	}
	switch {
	case len(o.Namespace) > maxNamespace || !visible(o.Namespace) || strings.HasPrefix(o.Namespace, "AWS/"):
		return o, fmt.Errorf("report to CloudWatch: found the namespace %.40q, allowed are 1 to %d visible ASCII "+
			"characters that do not begin with AWS/", o.Namespace, maxNamespace)
	case len(o.Fleet) > maxDimension || !visible(o.Fleet):
		return o, fmt.Errorf("report to CloudWatch: found the fleet %.40q, allowed are at most %d visible ASCII "+
			"characters", o.Fleet, maxDimension)
	}
	return o, nil
}

// visible tells whether s consists of visible ASCII characters.
func visible(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// Sink is a [worker.Sink] that calls PutMetricData. Several goroutines may use it.
type Sink struct {
	api API
	o   Options
}

// New returns a sink. The role of the worker needs cloudwatch:PutMetricData.
func New(api API, o Options) (*Sink, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	return &Sink{api, o}, nil
}

// Take implements [worker.Sink]. It does not repeat a failed call, which may have been carried out.
func (s *Sink) Take(ctx context.Context, d worker.Digest) error {
	data := s.data(d)
	if len(data) == 0 {
		return nil
	}
	in := &awscloudwatch.PutMetricDataInput{Namespace: &s.o.Namespace, MetricData: data}
	if _, err := s.api.PutMetricData(ctx, in,
		func(o *awscloudwatch.Options) { o.Retryer = aws.NopRetryer{} }); err != nil {
		return fmt.Errorf("put metrics into the namespace %s of CloudWatch: %w", s.o.Namespace, err)
	}
	return nil
}

// data returns the data of a period: TotalWorkers once, unless the digest is an extra one, and the durations.
func (s *Sink) data(d worker.Digest) []types.MetricDatum {
	datum := func(name string, unit types.StandardUnit) types.MetricDatum {
		m := types.MetricDatum{MetricName: &name, Timestamp: aws.Time(d.Period), Unit: unit,
			StorageResolution: aws.Int32(resolution(d.Every))}
		if s.o.Fleet != "" {
			m.Dimensions = []types.Dimension{{Name: aws.String(DimensionFleet), Value: &s.o.Fleet}}
		}
		return m
	}
	var data []types.MetricDatum
	if !d.Extra {
		m := datum(MetricTotalWorkers, types.StandardUnitCount)
		m.Value = aws.Float64(totalWorkers(d.Report))
		data = append(data, m)
	}
	for values := Values(d.Report.Processing); len(values) > 0; {
		m := datum(MetricMPD, types.StandardUnitSeconds)
		for _, v := range values[:min(maxValues, len(values))] {
			m.Values, m.Counts = append(m.Values, v.Seconds), append(m.Counts, float64(v.Count))
		}
		data = append(data, m)
		values = values[min(maxValues, len(values)):]
	}
	return data
}

// resolution is the storage resolution of a period, in seconds: 1 or 60.
func resolution(every time.Duration) int32 {
	if every < time.Minute {
		return 1
	}
	return 60
}

// totalWorkers is the value of MetricTotalWorkers for one worker.
func totalWorkers(r protocol.Report) float64 {
	switch r.State {
	case protocol.Receiving:
		return float64(r.Slots)
	case protocol.Draining:
		return float64(r.Busy)
	}
	return 0
}

// Value is a duration and the number of messages that took it.
type Value struct {
	Seconds float64
	Count   int64
}

// Values returns the durations of a histogram, ascending. Each, and so every quantile, is off by a few per cent; their
// mean is exact.
func Values(h series.Durations) []Value {
	values := make([]Value, 0, len(h.Buckets))
	sum := 0.0
	for _, b := range h.Buckets {
		one := series.Durations{Count: 1, Buckets: []series.Bucket{{Index: b.Index, Count: 1}}}
		v := Value{series.Quantile(one, 1), b.Count}
		sum += v.Seconds * float64(v.Count)
		values = append(values, v)
	}
	switch {
	case h.Count == 0:
		return nil
	case sum == 0: // durations that are too short to tell apart
		return []Value{{h.SumSeconds / float64(h.Count), h.Count}}
	}
	for i := range values {
		values[i].Seconds *= h.SumSeconds / sum
	}
	return values
}
