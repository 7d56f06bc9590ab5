package advise

import (
	"context"
	"path"
	"time"

	"github.com/muster-scale/muster/advice"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/awsmetrics"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/metricmath"
)

const (
	// cpuPeriod is the period of CPUUtilization without detailed monitoring. cpuOver is the longest time that is read:
	// a reader of metrics allows no more.
	cpuPeriod = 5 * time.Minute
	cpuOver   = 24 * time.Hour
)

// MetricsOf returns a reader of CloudWatch for the configuration, for [Request].Metrics. It makes no call.
func MetricsOf(ctx context.Context, c *config.Config) (*awsmetrics.Reader, error) {
	account, err := kind.NewHost(kind.HostOptions{AWS: c.AWS}).Account(ctx)
	if err != nil {
		return nil, err
	}
	return awsmetrics.NewReader(account), nil
}

// readCPU adds the mean CPUUtilization of the fleet's group or service to m, or why it is unknown. What may not be read
// is no error: advice without it is still advice.
func readCPU(ctx context.Context, metrics *awsmetrics.Reader, f config.Fleet, span time.Duration, m *advice.Measured) {
	at := f.Facts().Tracked
	metric := metricmath.Metric{Namespace: "AWS/EC2", MetricName: "CPUUtilization",
		Dimensions: []metricmath.Dimension{{Name: "AutoScalingGroupName", Value: at.Group}}}
	switch {
	case metrics == nil:
		return
	case at.Service != "":
		metric.Namespace = "AWS/ECS"
		metric.Dimensions = []metricmath.Dimension{{Name: "ClusterName", Value: path.Base(at.Cluster)}, // of an ARN
			{Name: "ServiceName", Value: at.Service}}
	case at.Group == "":
		m.CPUUnknown = "CloudWatch has the CPUUtilization of Auto Scaling groups and of ECS services only"
		return
	}
	read := metrics.Series(ctx, kind.HomeOf(f), min(span, cpuOver),
		metricmath.MetricStat{Metric: metric, Stat: "Average", PeriodSeconds: int(cpuPeriod / time.Second)})[0]
	if read.Failure != "" {
		m.CPUUnknown = "CPUUtilization could not be read: " + read.Failure
		return
	}
	sum := 0.0
	for _, p := range read.Series.Points {
		if p.Known && p.Value >= 0 {
			sum, m.CPUPoints = sum+p.Value/100, m.CPUPoints+1
		}
	}
	if m.CPUPoints == 0 {
		m.CPUUnknown = "CPUUtilization has no datapoint in the last " + advice.Text(min(span, cpuOver))
		return
	}
	m.CPU = sum / float64(m.CPUPoints)
}
