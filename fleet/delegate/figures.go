package delegate

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy"
)

// The names of the metrics that are published.
const (
	MetricBacklogPerWorker = "BacklogPerWorker"
	MetricAcceptable       = "AcceptableBacklogPerWorker"
	MetricProcessing       = "MeanProcessingDuration"
	MetricTotalWorkers     = "TotalWorkers"
	MetricInService        = "WorkersInService"
	MetricUtilization      = "WorkerUtilization"
	MetricInTime           = "InTimeRatio"
)

// dimension is the only dimension of all published metrics; its value is the fleet's name.
const dimension = "Fleet"

// figure is one metric with its value.
type figure struct {
	name  string
	unit  types.StandardUnit
	value float64
}

// figures returns the known metrics. An unknown one is not published: a gap shows that it is unknown, and a zero would
// not. TotalWorkers counts slots, which AWS's articles call workers.
func (d *Publisher) figures(h muster.Handover) (all []figure) {
	add := func(name string, unit types.StandardUnit, v float64) { all = append(all, figure{name, unit, v}) }
	if h.Capacity.Known {
		add(MetricTotalWorkers, types.StandardUnitCount, float64(h.Capacity.Slots))
		add(MetricInService, types.StandardUnitCount, float64(h.Capacity.InService()))
	}
	if h.Processing.Known && !h.Processing.Prior {
		add(MetricProcessing, types.StandardUnitSeconds, h.Processing.MeanSeconds)
	}
	if d.o.Formula == BacklogPerWorker && h.Target > 0 {
		add(MetricAcceptable, types.StandardUnitCount, h.Target)
	}
	if v, known := policy.TrackedBacklog(h); known {
		add(MetricBacklogPerWorker, types.StandardUnitCount, v)
	}
	if v, known := policy.TrackedUtilization(h, d.o.Formula == InFlight); known {
		add(MetricUtilization, types.StandardUnitNone, v)
	}
	if h.InTime.Known {
		add(MetricInTime, types.StandardUnitNone, h.InTime.Value)
	}
	return all
}

// Publish sends the known metrics in one call, or writes them as a line.
func (d *Publisher) Publish(ctx context.Context, h muster.Handover) error {
	figures := d.figures(h)
	if len(figures) == 0 {
		return nil
	}
	if d.o.Lines != nil {
		line, err := emf(d.o.Namespace, d.o.Fleet, h.At, d.resolution(), figures)
		if err == nil {
			_, err = d.o.Lines.Write(line)
		}
		if err != nil {
			return fmt.Errorf("write the metrics of the fleet %s as a line: %w", d.o.Fleet, err)
		}
		return nil
	}
	in := &cloudwatch.PutMetricDataInput{Namespace: aws.String(d.o.Namespace)}
	for _, f := range figures {
		in.MetricData = append(in.MetricData, types.MetricDatum{
			MetricName: aws.String(f.name), Unit: f.unit, Value: number(f.value), Timestamp: aws.Time(h.At),
			Dimensions:        []types.Dimension{{Name: aws.String(dimension), Value: aws.String(d.o.Fleet)}},
			StorageResolution: aws.Int32(int32(d.resolution())),
		})
	}
	_, err := d.metrics.PutMetricData(ctx, in)
	return d.explain("publish the metrics of", err)
}

// resolution is the storage resolution, in seconds: 1 for high resolution, else 60.
func (d *Publisher) resolution() int {
	if d.o.Period < time.Minute {
		return 1
	}
	return 60
}

// emf returns the metrics in the embedded metric format, which CloudWatch Logs turns into metrics. At is rounded to
// milliseconds.
func emf(namespace, fleet string, at time.Time, resolution int, figures []figure) ([]byte, error) {
	type metric struct{ Name, Unit string }
	type fine struct {
		metric
		StorageResolution int
	}
	metrics := []any{}
	line := map[string]any{dimension: fleet}
	for _, f := range figures {
		m := metric{f.name, string(f.unit)}
		if resolution < 60 {
			metrics = append(metrics, fine{m, resolution})
		} else {
			metrics = append(metrics, m)
		}
		line[f.name] = f.value
	}
	line["_aws"] = map[string]any{
		"Timestamp": at.UnixMilli(),
		"CloudWatchMetrics": []any{map[string]any{
			"Namespace": namespace, "Dimensions": [][]string{{dimension}}, "Metrics": metrics,
		}},
	}
	text, err := json.Marshal(line)
	return append(text, '\n'), err
}
