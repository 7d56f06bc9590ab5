package delegate

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
)

// groupPolicy is the scaling policy of an Auto Scaling group.
type groupPolicy struct {
	*Delegate
	client *autoscaling.Client
}

// ensure implements tracker. It compares the present policy, with its own target, with the one that it would put.
func (g groupPolicy) ensure(ctx context.Context, name string, target float64, initial bool) (bool, error) {
	present, err := g.find(ctx, name)
	if err != nil {
		return false, g.explain("find the scaling policy of", err)
	}
	for _, p := range present {
		name = aws.ToString(p.PolicyName)
		if c := p.TargetTrackingConfiguration; c != nil && aws.ToBool(p.Enabled) {
			if has := aws.ToFloat64(c.TargetValue); g.near(has, target, initial) && same(c, g.tracking(has)) {
				return false, nil
			}
		}
	}
	_, err = g.client.PutScalingPolicy(ctx, &autoscaling.PutScalingPolicyInput{
		AutoScalingGroupName: aws.String(g.o.Group), PolicyName: aws.String(name),
		PolicyType: aws.String("TargetTrackingScaling"), TargetTrackingConfiguration: g.tracking(target),
	})
	return true, g.explain("put the scaling policy of", err)
}

// find returns the policy with the name. Without one it returns a policy that tracks the same metric under another
// name, as CloudFormation makes it: templates cannot name scaling policies of groups.
func (g groupPolicy) find(ctx context.Context, name string) ([]types.ScalingPolicy, error) {
	in := &autoscaling.DescribePoliciesInput{AutoScalingGroupName: aws.String(g.o.Group), PolicyNames: []string{name}}
	out, err := g.client.DescribePolicies(ctx, in)
	switch {
	case err != nil:
		return nil, err
	case len(out.ScalingPolicies) > 0:
		return out.ScalingPolicies, nil
	}
	in.PolicyNames = nil
	if out, err = g.client.DescribePolicies(ctx, in); err != nil {
		return nil, err
	}
	for _, p := range out.ScalingPolicies {
		c := p.TargetTrackingConfiguration
		if c == nil {
			continue
		}
		if of := tracked(c); of != "" && of == tracked(g.tracking(aws.ToFloat64(c.TargetValue))) {
			return []types.ScalingPolicy{p}, nil
		}
	}
	return nil, nil
}

// names implements tracker.
func (g groupPolicy) names(ctx context.Context, name string) (all []string, err error) {
	present, err := g.find(ctx, name)
	if err != nil {
		return nil, g.explain("find the scaling policy of", err)
	}
	for _, p := range present {
		all = append(all, aws.ToString(p.PolicyName))
	}
	return all, nil
}

// tracked returns which metric a configuration tracks; empty for one that AWS predefines. It leaves out statistics,
// periods and whether the group may scale in: a policy that differs in these is still ours, and a second one beside it
// would work against it.
func tracked(c *types.TargetTrackingConfiguration) string {
	m := c.CustomizedMetricSpecification
	if m == nil {
		return ""
	}
	of := func(namespace, name *string, dimensions []types.MetricDimension) string {
		text := fmt.Sprintf("%q %q", aws.ToString(namespace), aws.ToString(name))
		for _, d := range dimensions {
			text += fmt.Sprintf(" %q=%q", aws.ToString(d.Name), aws.ToString(d.Value))
		}
		return text + "\n"
	}
	if len(m.Metrics) == 0 {
		return of(m.Namespace, m.MetricName, m.Dimensions)
	}
	text := ""
	for _, q := range m.Metrics {
		text += aws.ToString(q.Id) + ": " + aws.ToString(q.Expression)
		if s := q.MetricStat; s != nil && s.Metric != nil {
			text += of(s.Metric.Namespace, s.Metric.MetricName, s.Metric.Dimensions)
		}
		text += "\n"
	}
	return text
}

// same tells whether two configurations are equal as JSON.
func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// tracking returns the configuration that tracks a target; the API has a type of its own for each service.
func (g groupPolicy) tracking(target float64) *types.TargetTrackingConfiguration {
	c := &types.TargetTrackingConfiguration{TargetValue: number(target), DisableScaleIn: aws.Bool(g.o.KeepUp),
		CustomizedMetricSpecification: &types.CustomizedMetricSpecification{}}
	m := c.CustomizedMetricSpecification
	if !g.o.Math {
		s := g.published()
		m.Namespace, m.MetricName, m.Statistic = aws.String(s.namespace), aws.String(s.name),
			types.MetricStatistic(s.stat)
		m.Dimensions, m.Period = s.group(), aws.Int32(int32(g.o.Period/time.Second))
		return c
	}
	queries := g.computed(target)
	for i, q := range queries {
		w := types.TargetTrackingMetricDataQuery{Id: aws.String(q.id), ReturnData: aws.Bool(i == len(queries)-1)}
		if q.expression != "" {
			w.Expression = aws.String(q.expression)
		} else {
			w.MetricStat = &types.TargetTrackingMetricStat{
				Metric: &types.Metric{Namespace: aws.String(q.stat.namespace), MetricName: aws.String(q.stat.name),
					Dimensions: q.stat.group()}, Stat: aws.String(q.stat.stat),
			}
		}
		m.Metrics = append(m.Metrics, w)
	}
	return c
}

// group returns the dimensions for EC2 Auto Scaling.
func (s stat) group() (all []types.MetricDimension) {
	for i := 0; i+1 < len(s.dimensions); i += 2 {
		all = append(all, types.MetricDimension{Name: aws.String(s.dimensions[i]),
			Value: aws.String(s.dimensions[i+1])})
	}
	return all
}
