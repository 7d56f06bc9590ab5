package delegate

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	"github.com/aws/aws-sdk-go-v2/service/applicationautoscaling/types"
)

// servicePolicy is the scaling policy of an ECS service.
type servicePolicy struct {
	*Delegate
	client *applicationautoscaling.Client
}

// desiredCount is the dimension of a service that scaling policies change.
const desiredCount = types.ScalableDimensionECSServiceDesiredCount

// resource returns the name of the service in Application Auto Scaling.
func (s servicePolicy) resource() *string {
	return aws.String("service/" + last(s.o.Cluster) + "/" + last(s.o.Service))
}

// ensure implements tracker. A policy needs a registered target first, which also holds min and max.
func (s servicePolicy) ensure(ctx context.Context, name string, target float64, initial bool) (bool,
	error) {
	if err := s.register(ctx); err != nil {
		return false, err
	}
	out, err := s.client.DescribeScalingPolicies(ctx, &applicationautoscaling.DescribeScalingPoliciesInput{
		ServiceNamespace: types.ServiceNamespaceEcs, ResourceId: s.resource(), ScalableDimension: desiredCount,
		PolicyNames: []string{name},
	})
	if err != nil {
		return false, s.explain("find the scaling policy of", err)
	}
	for _, p := range out.ScalingPolicies {
		if c := p.TargetTrackingScalingPolicyConfiguration; c != nil && aws.ToString(p.PolicyName) == name {
			if has := aws.ToFloat64(c.TargetValue); s.near(has, target, initial) && same(c, s.tracking(has)) {
				return false, nil
			}
		}
	}
	_, err = s.client.PutScalingPolicy(ctx, &applicationautoscaling.PutScalingPolicyInput{
		ServiceNamespace: types.ServiceNamespaceEcs, ResourceId: s.resource(), ScalableDimension: desiredCount,
		PolicyName: aws.String(name), PolicyType: types.PolicyTypeTargetTrackingScaling,
		TargetTrackingScalingPolicyConfiguration: s.tracking(target),
	})
	return true, s.explain("put the scaling policy of", err)
}

// names implements tracker. Policies of services have the names that they are given, by templates too.
func (s servicePolicy) names(_ context.Context, name string) ([]string, error) {
	return []string{name}, nil
}

// register registers the service and its limits with Application Auto Scaling, if that is missing or different.
func (s servicePolicy) register(ctx context.Context) error {
	out, err := s.client.DescribeScalableTargets(ctx, &applicationautoscaling.DescribeScalableTargetsInput{
		ServiceNamespace: types.ServiceNamespaceEcs, ResourceIds: []string{*s.resource()},
		ScalableDimension: desiredCount,
	})
	if err != nil {
		return s.explain("find the scalable target of", err)
	}
	for _, t := range out.ScalableTargets {
		if int(aws.ToInt32(t.MinCapacity)) == s.o.Min && int(aws.ToInt32(t.MaxCapacity)) == s.o.Max {
			return nil
		}
	}
	_, err = s.client.RegisterScalableTarget(ctx, &applicationautoscaling.RegisterScalableTargetInput{
		ServiceNamespace: types.ServiceNamespaceEcs, ResourceId: s.resource(), ScalableDimension: desiredCount,
		MinCapacity: aws.Int32(int32(s.o.Min)), MaxCapacity: aws.Int32(int32(s.o.Max)),
	})
	return s.explain("register", err)
}

// tracking returns the configuration that tracks a target, as [groupPolicy.tracking] does for a group.
func (s servicePolicy) tracking(target float64) *types.TargetTrackingScalingPolicyConfiguration {
	c := &types.TargetTrackingScalingPolicyConfiguration{
		TargetValue: number(target), DisableScaleIn: aws.Bool(s.o.KeepUp),
		CustomizedMetricSpecification: &types.CustomizedMetricSpecification{},
	}
	if s.o.Cooldown > 0 {
		c.ScaleOutCooldown = aws.Int32(int32(s.o.Cooldown / time.Second))
	}
	m := c.CustomizedMetricSpecification
	if !s.o.Math {
		p := s.published()
		m.Namespace, m.MetricName, m.Statistic, m.Dimensions = aws.String(p.namespace), aws.String(p.name),
			types.MetricStatistic(p.stat), p.service()
		return c
	}
	queries := s.computed(target)
	for i, q := range queries {
		w := types.TargetTrackingMetricDataQuery{Id: aws.String(q.id), ReturnData: aws.Bool(i == len(queries)-1)}
		if q.expression != "" {
			w.Expression = aws.String(q.expression)
		} else {
			metric := &types.TargetTrackingMetric{Namespace: aws.String(q.stat.namespace),
				MetricName: aws.String(q.stat.name)}
			for _, d := range q.stat.service() {
				metric.Dimensions = append(metric.Dimensions,
					types.TargetTrackingMetricDimension{Name: d.Name, Value: d.Value})
			}
			w.MetricStat = &types.TargetTrackingMetricStat{Metric: metric, Stat: aws.String(q.stat.stat)}
		}
		m.Metrics = append(m.Metrics, w)
	}
	return c
}

// service returns the dimensions for Application Auto Scaling.
func (s stat) service() (all []types.MetricDimension) {
	for i := 0; i+1 < len(s.dimensions); i += 2 {
		all = append(all, types.MetricDimension{Name: aws.String(s.dimensions[i]),
			Value: aws.String(s.dimensions[i+1])})
	}
	return all
}
