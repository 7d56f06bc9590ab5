package cloud

import (
	"cmp"
	"slices"
	"time"

	"github.com/muster-scale/muster/awsrules/alarm"
	"github.com/muster-scale/muster/awsrules/tracking"
)

// AlarmTuning says which alarms target tracking makes.
type AlarmTuning string

// The tunings.
const (
	// FixedAlarms is the pair that everybody got until the end of 2024: 3 of 3 points above the target, 15 of 15 below
	// 0.9 of it.
	FixedAlarms AlarmTuning = "fixed"
	// TunedAlarms stands for what EC2 Auto Scaling does since: it tunes the alarms to the group. The tuned values are
	// not published; Tracking has those of the model.
	TunedAlarms AlarmTuning = "tuned"
)

// CapacityBase is what target tracking of groups multiplies with metric / target.
type CapacityBase string

// The bases.
const (
	// BaseInService is the capacity in service, warming instances included. It gives the results of the published
	// tests, whose metric divides by the instances in service.
	BaseInService CapacityBase = "in service"
	// BaseDesired is the desired capacity, launches that are under way included.
	BaseDesired CapacityBase = "desired"
)

// Tracking is how target tracking works. Zero fields are defaults, which stand in brackets.
type Tracking struct {
	// Alarms is FixedAlarms or TunedAlarms (fixed), for groups; Application Auto Scaling always has the fixed pair.
	Alarms AlarmTuning
	// High and Low are how many points in a row tuned alarms need (2 and 10).
	High, Low int
	// Below is the share of the target that the low alarm is at (0.9).
	Below float64
	// Base is BaseInService or BaseDesired (in service).
	Base CapacityBase
	// FromZero is how many members a scale-out from no capacity adds; what AWS adds is not known (1).
	FromZero int
	// ForgetPoints makes the alarms of a changed policy look at no point from before the change. Otherwise they begin
	// in INSUFFICIENT_DATA and look at what is there: the published test that changes its target every minute still
	// scales.
	ForgetPoints bool
}

func (t Tracking) withDefaults() Tracking {
	t.Alarms = cmp.Or(t.Alarms, FixedAlarms)
	t.High, t.Low = cmp.Or(t.High, 2), cmp.Or(t.Low, 10)
	t.Below = cmp.Or(t.Below, tracking.Fixed().Below)
	t.Base = cmp.Or(t.Base, BaseInService)
	t.FromZero = cmp.Or(t.FromZero, 1)
	return t
}

// fixed is the pair of alarms that nothing tunes.
func (t Tracking) fixed() tracking.Pair {
	p := tracking.Fixed()
	p.Below = t.Below
	return p
}

// pair are the alarms of a group's policy.
func (t Tracking) pair() tracking.Pair {
	if t.Alarms == TunedAlarms {
		return tracking.Pair{High: t.High, Low: t.Low, Below: t.Below}
	}
	return t.fixed()
}

// TargetTracking is a target and the metric that should be at it.
type TargetTracking struct {
	TargetValue                   *float64
	DisableScaleIn                *bool
	CustomizedMetricSpecification *CustomizedMetric
	PredefinedMetricSpecification *PredefinedMetric
}

// CustomizedMetric is one metric, or an expression over several.
type CustomizedMetric struct {
	Namespace  string
	MetricName string
	Dimensions []Dimension
	Statistic  string
	Unit       string
	// Period is 10, 30 or 60 seconds; Application Auto Scaling has no such member.
	Period  *int
	Metrics []MetricQuery
}

// PredefinedMetric names a metric that AWS aggregates itself.
type PredefinedMetric struct {
	PredefinedMetricType, ResourceLabel string
}

// PutPolicy is the input of PutScalingPolicy of EC2 Auto Scaling.
type PutPolicy struct {
	AutoScalingGroupName        string
	PolicyName                  string
	PolicyType                  string
	Enabled                     *bool
	EstimatedInstanceWarmup     *int
	TargetTrackingConfiguration *TargetTracking
}

// PutPolicyResult is its answer.
type PutPolicyResult struct {
	PolicyARN string
	Alarms    []AlarmName
}

// AlarmName names an alarm of a policy.
type AlarmName struct {
	AlarmName, AlarmARN string
}

// ScalingPolicy is a policy as the API shows it.
type ScalingPolicy struct {
	AutoScalingGroupName        string
	PolicyName                  string
	PolicyARN                   string
	PolicyType                  string
	Enabled                     bool
	EstimatedInstanceWarmup     *int
	TargetTrackingConfiguration *TargetTracking
	Alarms                      []AlarmName
}

// PolicyNames is the input of DescribePolicies.
type PolicyNames struct {
	AutoScalingGroupName string
	PolicyNames          []string
	PolicyTypes          []string
	MaxRecords           *int
	NextToken            string
}

// PolicyList is its answer.
type PolicyList struct {
	ScalingPolicies []ScalingPolicy
	NextToken       string
}

// PolicyName is the input of DeletePolicy.
type PolicyName struct {
	AutoScalingGroupName, PolicyName string
}

// tracker is a target tracking policy at work.
type tracker struct {
	ScalingPolicy
	high, low *metricAlarm
}

func (t *tracker) target() float64 { return *t.TargetTrackingConfiguration.TargetValue }

func (t *tracker) scalesIn() bool { return !or(t.TargetTrackingConfiguration.DisableScaleIn, false) }

// PutScalingPolicy makes a target tracking policy and its two alarms, or changes one, which begins its alarms anew.
// Other kinds of policies are no part of the model.
func (a AutoScaling) PutScalingPolicy(in PutPolicy) (PutPolicyResult, error) {
	w := a.w
	g, err := w.change(in.AutoScalingGroupName)
	if err != nil {
		return PutPolicyResult{}, err
	}
	if in.PolicyType != "TargetTrackingScaling" {
		return PutPolicyResult{}, invalid("The model has no policies of type '%s'; it has TargetTrackingScaling.",
			cmp.Or(in.PolicyType, "SimpleScaling"))
	}
	k := slices.IndexFunc(g.policies, func(t *tracker) bool { return t.PolicyName == in.PolicyName })
	if in.PolicyName == "" || k < 0 && len(g.policies) >= MaxPolicies {
		return PutPolicyResult{}, invalid("A policy needs a name, and a group has at most %d policies.", MaxPolicies)
	}
	if n := or(in.EstimatedInstanceWarmup, 0); n < 0 || n > maxSeconds {
		return PutPolicyResult{}, invalid("EstimatedInstanceWarmup must be from 0 to %d seconds, got %d.", maxSeconds,
			n)
	}
	t := &tracker{ScalingPolicy: ScalingPolicy{AutoScalingGroupName: in.AutoScalingGroupName, PolicyName: in.PolicyName,
		PolicyType: in.PolicyType,
		Enabled:    or(in.Enabled, true), EstimatedInstanceWarmup: in.EstimatedInstanceWarmup,
		TargetTrackingConfiguration: in.TargetTrackingConfiguration}}
	if err := w.makeAlarms(t, in.AutoScalingGroupName, w.settings.Tracking.pair(), true); err != nil {
		return PutPolicyResult{}, err
	}
	if k >= 0 {
		old := g.policies[k]
		t.PolicyARN, g.policies[k] = old.PolicyARN, t
		w.rename(t, old)
	} else {
		t.PolicyARN = w.arn("autoscaling", "scalingPolicy:"+w.uuid()+":autoScalingGroupName/"+in.AutoScalingGroupName+
			":policyName/"+in.PolicyName)
		g.policies = append(g.policies, t)
	}
	t.high.act, t.low.act = func() { w.trackOut(g, t) }, func() { w.trackIn(g) }
	w.arm(t)
	return PutPolicyResult{t.PolicyARN, t.Alarms}, nil
}

// rename gives the alarms of a changed policy the names they had.
func (w *World) rename(t, old *tracker) {
	t.high.AlarmName, t.low.AlarmName = old.high.AlarmName, old.low.AlarmName
	if w.settings.Tracking.ForgetPoints {
		t.high.since, t.low.since = w.now, w.now
	}
}

// arm sets the alarms of a policy to work.
func (w *World) arm(t *tracker) {
	for _, a := range []*metricAlarm{t.high, t.low} {
		a.ActionsEnabled, a.AlarmActions = ptr(t.Enabled), []string{t.PolicyARN}
		w.putAlarm(a)
		t.Alarms = append(t.Alarms, AlarmName{a.AlarmName, a.AlarmArn})
	}
}

func (w *World) dropAlarms(t *tracker) {
	w.dropAlarm(t.high.AlarmName)
	w.dropAlarm(t.low.AlarmName)
}

// makeAlarms makes the pair of a policy, of a group or of something else whose metrics have no period of their own.
func (w *World) makeAlarms(t *tracker, resource string, alarms tracking.Pair, group bool) error {
	c := t.TargetTrackingConfiguration
	if c == nil || c.TargetValue == nil || !(*c.TargetValue > 0) {
		return invalid("A target tracking configuration needs a TargetValue above 0.")
	}
	base, err := trackedMetric(c, resource, group)
	if err != nil {
		return err
	}
	create := func(side string, rule alarm.Rule) (*metricAlarm, error) {
		in := base
		in.AlarmName = "TargetTracking-" + resource + "-Alarm" + side + "-" + w.uuid()
		in.AlarmDescription = "DO NOT EDIT OR DELETE. For TargetTrackingScaling policy " + t.PolicyName + "."
		in.ComparisonOperator, in.Threshold, in.TreatMissingData = rule.Comparison, &rule.Threshold, rule.Missing
		in.EvaluationPeriods, in.DatapointsToAlarm = &rule.Periods, &rule.Datapoints
		return w.newAlarm(in)
	}
	if t.high, err = create("High", alarms.HighAlarm(t.target())); err != nil {
		return err
	}
	t.low, err = create("Low", alarms.LowAlarm(t.target()))
	return err
}

// trackedMetric is what the alarms of a policy look at.
func trackedMetric(c *TargetTracking, resource string, group bool) (MetricAlarm, error) {
	m := c.CustomizedMetricSpecification
	switch {
	case (m == nil) == (c.PredefinedMetricSpecification == nil):
		return MetricAlarm{}, invalid("A target tracking configuration needs either a customized or a predefined " +
			"metric.")
	case m == nil:
		return predefined(c.PredefinedMetricSpecification, resource, group)
	case len(m.Metrics) > 0:
		return MetricAlarm{Metrics: m.Metrics}, nil
	case group && !slices.Contains([]int{10, 30, 60}, or(m.Period, 60)):
		return MetricAlarm{}, invalid("Period %d of a customized metric must be 10, 30 or 60.", *m.Period)
	case !slices.Contains([]string{"Average", "Minimum", "Maximum", "SampleCount", "Sum"}, m.Statistic):
		return MetricAlarm{}, invalid("Statistic '%s' of a customized metric must be Average, Minimum, Maximum, "+
			"SampleCount or Sum.", m.Statistic)
	}
	return MetricAlarm{Namespace: m.Namespace, MetricName: m.MetricName, Dimensions: m.Dimensions,
		Period: ptr(or(m.Period, 60)), Statistic: m.Statistic, Unit: m.Unit}, nil
}

// predefined are the metrics that the model knows by a name. Nothing in the model publishes them: a test does.
func predefined(p *PredefinedMetric, resource string, group bool) (MetricAlarm, error) {
	metric := func(namespace, name string, d ...Dimension) (MetricAlarm, error) {
		return MetricAlarm{Namespace: namespace, MetricName: name, Dimensions: d, Period: ptr(60),
			Statistic: "Average"}, nil
	}
	cluster, service := splitService(resource)
	switch {
	case group && p.PredefinedMetricType == "ASGAverageCPUUtilization":
		return metric("AWS/EC2", "CPUUtilization", Dimension{"AutoScalingGroupName", resource})
	case !group && p.PredefinedMetricType == "ECSServiceAverageCPUUtilization":
		return metric("AWS/ECS", "CPUUtilization", Dimension{"ClusterName", cluster}, Dimension{"ServiceName", service})
	case !group && p.PredefinedMetricType == "ECSServiceAverageMemoryUtilization":
		return metric("AWS/ECS", "MemoryUtilization", Dimension{"ClusterName", cluster},
			Dimension{"ServiceName", service})
	}
	return MetricAlarm{}, invalid("The predefined metric '%s' is none of the model's.", p.PredefinedMetricType)
}

// DescribePolicies shows policies.
func (a AutoScaling) DescribePolicies(in PolicyNames) (PolicyList, error) {
	if in.AutoScalingGroupName != "" {
		if _, err := a.w.group(in.AutoScalingGroupName); err != nil {
			return PolicyList{}, err
		}
	}
	var all []ScalingPolicy
	for _, name := range sorted(a.w.groups) {
		if in.AutoScalingGroupName != "" && in.AutoScalingGroupName != name {
			continue
		}
		for _, t := range a.w.groups[name].policies {
			named := len(in.PolicyNames) == 0 || slices.Contains(in.PolicyNames, t.PolicyName) ||
				slices.Contains(in.PolicyNames, t.PolicyARN)
			if named && (len(in.PolicyTypes) == 0 || slices.Contains(in.PolicyTypes, t.PolicyType)) {
				all = append(all, t.ScalingPolicy)
			}
		}
	}
	policies, next, err := page(all, in.NextToken, min(max(or(in.MaxRecords, 50), 1), 100))
	return PolicyList{policies, next}, err
}

// DeletePolicy removes a policy and its alarms.
func (a AutoScaling) DeletePolicy(in PolicyName) (Nothing, error) {
	g, err := a.w.change(in.AutoScalingGroupName)
	if err != nil {
		return Nothing{}, err
	}
	k := slices.IndexFunc(g.policies, func(t *tracker) bool {
		return t.PolicyName == in.PolicyName ||
			t.PolicyARN == in.PolicyName
	})
	if k < 0 {
		return Nothing{}, invalid("ScalingPolicy name not found - There is no scaling policy %s in group %s",
			in.PolicyName, in.AutoScalingGroupName)
	}
	a.w.dropAlarms(g.policies[k])
	g.policies = slices.Delete(g.policies, k, k+1)
	return Nothing{}, nil
}

// reading is what a policy knows of its metric.
func (t *tracker) reading() tracking.Reading {
	return tracking.Reading{Target: t.target(), High: t.high.StateValue, Low: t.low.StateValue,
		DisableScaleIn: !t.scalesIn() || !t.Enabled}
}

// newest is the newest value that an alarm has seen, nil for none.
func (a *metricAlarm) newest() *float64 {
	if !a.last.Known {
		return nil
	}
	return &a.last.Value
}

// base is what a group's target tracking multiplies.
func (w *World) base(g *group) int {
	if w.settings.Tracking.Base == BaseDesired {
		return g.desired
	}
	n := 0
	for _, i := range g.instances {
		if i.state == InService {
			n += i.weight
		}
	}
	return n
}

// trackOut scales a group out.
func (w *World) trackOut(g *group, t *tracker) {
	if g.deleted || !g.runs("AlarmNotification") {
		return
	}
	r := t.reading()
	r.Metric = t.high.newest()
	if wanted, out := tracking.Out(r, w.base(g), g.desired, g.MaxSize, w.settings.Tracking.FromZero); out {
		w.resize(g, wanted)
	}
}

// trackIn scales a group in, if every policy that may do so agrees, none wants out, and nothing warms up.
func (w *World) trackIn(g *group) {
	if g.deleted || !g.runs("AlarmNotification") || w.warming(g) {
		return
	}
	var all []tracking.Reading
	for _, t := range g.policies {
		r := t.reading()
		r.Metric = t.low.newest()
		all = append(all, r)
	}
	if wanted, in := tracking.In(all, w.base(g), g.desired, g.MinSize); in {
		w.resize(g, wanted)
	}
}

// warming tells whether an instance is on its way into service, or has been in service for less than the warm-up.
func (w *World) warming(g *group) bool {
	warmup := time.Duration(0)
	for _, t := range g.policies {
		warmup = max(warmup, tracking.Warmup(span(t.EstimatedInstanceWarmup), span(g.DefaultInstanceWarmup),
			*span(&g.DefaultCooldown)))
	}
	return slices.ContainsFunc(g.instances, func(i *instance) bool {
		return i.counted() && (i.state != InService || w.now.Before(i.inService.Add(warmup)))
	})
}

// span is a number of seconds as a duration, nil for nil.
func span(seconds *int) *time.Duration {
	if seconds == nil {
		return nil
	}
	return ptr(time.Duration(*seconds) * time.Second)
}
