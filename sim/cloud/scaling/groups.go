package scaling

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster/awsrules/alarm"
	"github.com/muster-scale/muster/awsrules/tracking"
	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/monitoring"
)

// This file has target tracking of groups, and what both APIs share: the settings, the alarms of a policy, its
// metric.

// AlarmTuning says which alarms target tracking makes for groups.
type AlarmTuning string

// The tunings.
const (
	// FixedAlarms is the pair of every policy until the end of 2024: 3 of 3 points above the target, 15 of 15 points
	// below 0.9 of it.
	FixedAlarms AlarmTuning = "fixed"
	// TunedAlarms stands for what EC2 Auto Scaling does since: it tunes the alarms to the group. AWS does not publish
	// the tuned values; the fields High, Low and Below of Tracking are the model's.
	TunedAlarms AlarmTuning = "tuned"
)

// CapacityBase is the capacity that target tracking of groups multiplies with metric / target.
type CapacityBase string

// The bases.
const (
	// BaseInService is the capacity in service, warming instances included. It gives the results of the published
	// tests, whose metric divides by the instances in service.
	BaseInService CapacityBase = "in service"
	// BaseDesired is the desired capacity, launches that are under way included.
	BaseDesired CapacityBase = "desired"
)

// Tracking says how target tracking works. A zero field means its default, given in brackets.
type Tracking struct {
	// Alarms is FixedAlarms or TunedAlarms, for groups (fixed). Application Auto Scaling always has the fixed pair.
	Alarms AlarmTuning
	// High and Low are how many points in a row the tuned alarms need (2 and 10).
	High, Low int
	// Below is the share of the target at which the low alarm stands (0.9).
	Below float64
	// Base is BaseInService or BaseDesired (in service).
	Base CapacityBase
	// FromZero is how many members a scale-out from no capacity adds (1). AWS does not say.
	FromZero int
	// ForgetPoints makes the alarms of a changed policy ignore points from before the change. Otherwise they begin in
	// INSUFFICIENT_DATA and evaluate the points that exist: the published test that changes its target every minute
	// still scales.
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

// fixed returns the pair of alarms that nothing tunes.
func (t Tracking) fixed() tracking.Pair {
	p := tracking.Fixed()
	p.Below = t.Below
	return p
}

// pair returns the alarms of a group's policy.
func (t Tracking) pair() tracking.Pair {
	if t.Alarms == TunedAlarms {
		return tracking.Pair{High: t.High, Low: t.Low, Below: t.Below}
	}
	return t.fixed()
}

// TargetTracking is a metric and the value that it should have: either a customized or a predefined metric.
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
	Dimensions []monitoring.Dimension
	Statistic  string
	Unit       string
	// Period is 10, 30 or 60 seconds, 60 when absent. Application Auto Scaling has no such member.
	Period  *int
	Metrics []monitoring.MetricQuery
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

// Groups is what scaling policies need of groups.
type Groups interface {
	// MayChange returns why the caller may not change a group; nil when it may.
	MayChange(name string) error
	// Group returns a group by its name, and whether there is one.
	Group(name string) (Tracked, bool)
	// Resize sets the desired capacity of a group that exists.
	Resize(name string, desired int)
}

// Tracked is a group as scaling policies see it. Sizes are in weights.
type Tracked struct {
	Min, Max, Desired int
	// InService is the capacity in service.
	InService int
	// Warmup is the group's default instance warm-up, nil for none; Cooldown is its default cooldown.
	Warmup   *time.Duration
	Cooldown time.Duration
	// Alarms tells whether alarms may scale the group: the process AlarmNotification is not suspended.
	Alarms bool
	// Warming tells whether an instance is on its way into service, or came into service less than a warm-up ago.
	Warming func(warmup time.Duration) bool
}

// MaxPolicies is the number of scaling policies that a group or a scalable target may have.
const MaxPolicies = 50

// GroupPolicies is the part of the API of EC2 Auto Scaling that has scaling policies. Methods bear the names of the
// actions. An error is a *account.Fault. It is not safe for concurrent use.
type GroupPolicies struct {
	acc      *account.Account
	watch    *monitoring.CloudWatch
	tracking Tracking
	groups   Groups
	policies map[string][]*tracker // by group
}

// NewGroupPolicies returns the API without policies.
func NewGroupPolicies(a *account.Account, watch *monitoring.CloudWatch, t Tracking, groups Groups) *GroupPolicies {
	return &GroupPolicies{acc: a, watch: watch, tracking: t.withDefaults(), groups: groups,
		policies: map[string][]*tracker{}}
}

// Forget deletes the policies of a group that has been deleted, with their alarms.
func (w *GroupPolicies) Forget(group string) {
	for _, t := range w.policies[group] {
		t.dropAlarms(w.watch)
	}
	delete(w.policies, group)
}

// tracker is a target tracking policy with its two alarms.
type tracker struct {
	ScalingPolicy
	high, low *monitoring.Alarm
}

func (t *tracker) target() float64 { return *t.TargetTrackingConfiguration.TargetValue }

func (t *tracker) scalesIn() bool {
	return !account.Or(t.TargetTrackingConfiguration.DisableScaleIn, false)
}

// PutScalingPolicy creates a target tracking policy with its two alarms, or replaces one, whose alarms then begin
// anew. Other types of policies are refused.
func (w *GroupPolicies) PutScalingPolicy(in PutPolicy) (PutPolicyResult, error) {
	if err := w.groups.MayChange(in.AutoScalingGroupName); err != nil {
		return PutPolicyResult{}, err
	}
	policies := w.policies[in.AutoScalingGroupName]
	if in.PolicyType != "TargetTrackingScaling" {
		return PutPolicyResult{},
			account.Invalid("The model has no policies of type '%s'; it has TargetTrackingScaling.",
				cmp.Or(in.PolicyType, "SimpleScaling"))
	}
	k := slices.IndexFunc(policies, func(t *tracker) bool { return t.PolicyName == in.PolicyName })
	if in.PolicyName == "" || k < 0 && len(policies) >= MaxPolicies {
		return PutPolicyResult{}, account.Invalid("A policy needs a name, and a group has at most %d policies.",
			MaxPolicies)
	}
	if n := account.Or(in.EstimatedInstanceWarmup, 0); n < 0 || n > account.MaxSeconds {
		return PutPolicyResult{}, account.Invalid("EstimatedInstanceWarmup must be from 0 to %d seconds, got %d.",
			account.MaxSeconds,
			n)
	}
	t := &tracker{ScalingPolicy: ScalingPolicy{AutoScalingGroupName: in.AutoScalingGroupName, PolicyName: in.PolicyName,
		PolicyType: in.PolicyType,
		Enabled:    account.Or(in.Enabled, true), EstimatedInstanceWarmup: in.EstimatedInstanceWarmup,
		TargetTrackingConfiguration: in.TargetTrackingConfiguration}}
	if err := t.makeAlarms(w.acc, w.watch, in.AutoScalingGroupName, w.tracking.pair(), true); err != nil {
		return PutPolicyResult{}, err
	}
	if k >= 0 {
		old := policies[k]
		t.PolicyARN, policies[k] = old.PolicyARN, t
		t.succeed(old, w.acc.Now(), w.tracking.ForgetPoints)
	} else {
		t.PolicyARN = w.acc.ARN("autoscaling",
			"scalingPolicy:"+w.acc.UUID()+":autoScalingGroupName/"+in.AutoScalingGroupName+
				":policyName/"+in.PolicyName)
		w.policies[in.AutoScalingGroupName] = append(policies, t)
	}
	t.high.OnAlarm(func() { w.trackOut(in.AutoScalingGroupName, t) })
	t.low.OnAlarm(func() { w.trackIn(in.AutoScalingGroupName) })
	t.arm(w.watch)
	return PutPolicyResult{t.PolicyARN, t.Alarms}, nil
}

// succeed gives the alarms of a replaced policy their former names, so that they replace the former alarms.
func (t *tracker) succeed(old *tracker, now time.Time, forget bool) {
	t.high.AlarmName, t.low.AlarmName = old.high.AlarmName, old.low.AlarmName
	if forget {
		t.high.Begin(now)
		t.low.Begin(now)
	}
}

// arm starts the alarms of a policy. A disabled policy has alarms without actions.
func (t *tracker) arm(watch *monitoring.CloudWatch) {
	for _, a := range []*monitoring.Alarm{t.high, t.low} {
		a.ActionsEnabled, a.AlarmActions = account.Ptr(t.Enabled), []string{t.PolicyARN}
		watch.PutAlarm(a)
		t.Alarms = append(t.Alarms, AlarmName{a.AlarmName, a.AlarmArn})
	}
}

// dropAlarms deletes both alarms of the policy.
func (t *tracker) dropAlarms(watch *monitoring.CloudWatch) {
	watch.DropAlarm(t.high.AlarmName)
	watch.DropAlarm(t.low.AlarmName)
}

// makeAlarms checks the configuration of a policy and makes its alarms without starting them. group tells whether the
// resource is a group; only a group's metric may state a period.
func (t *tracker) makeAlarms(acc *account.Account, watch *monitoring.CloudWatch, resource string,
	alarms tracking.Pair, group bool) error {
	c := t.TargetTrackingConfiguration
	if c == nil || c.TargetValue == nil || !(*c.TargetValue > 0) {
		return account.Invalid("A target tracking configuration needs a TargetValue above 0.")
	}
	base, err := trackedMetric(c, resource, group)
	if err != nil {
		return err
	}
	create := func(side string, rule alarm.Rule) (*monitoring.Alarm, error) {
		in := base
		in.AlarmName = "TargetTracking-" + resource + "-Alarm" + side + "-" + acc.UUID()
		in.AlarmDescription = "DO NOT EDIT OR DELETE. For TargetTrackingScaling policy " + t.PolicyName + "."
		in.ComparisonOperator, in.Threshold, in.TreatMissingData = rule.Comparison, &rule.Threshold, rule.Missing
		in.EvaluationPeriods, in.DatapointsToAlarm = &rule.Periods, &rule.Datapoints
		return watch.NewAlarm(in)
	}
	if t.high, err = create("High", alarms.HighAlarm(t.target())); err != nil {
		return err
	}
	t.low, err = create("Low", alarms.LowAlarm(t.target()))
	return err
}

// trackedMetric returns the metric of a policy's alarms, without threshold and periods.
func trackedMetric(c *TargetTracking, resource string, group bool) (monitoring.MetricAlarm, error) {
	m := c.CustomizedMetricSpecification
	switch {
	case (m == nil) == (c.PredefinedMetricSpecification == nil):
		return monitoring.MetricAlarm{},
			account.Invalid("A target tracking configuration needs either a customized or a predefined " +
				"metric.")
	case m == nil:
		return predefined(c.PredefinedMetricSpecification, resource, group)
	case len(m.Metrics) > 0:
		return monitoring.MetricAlarm{Metrics: m.Metrics}, nil
	case group && !slices.Contains([]int{10, 30, 60}, account.Or(m.Period, 60)):
		return monitoring.MetricAlarm{}, account.Invalid("Period %d of a customized metric must be 10, 30 or 60.",
			*m.Period)
	case !slices.Contains([]string{"Average", "Minimum", "Maximum", "SampleCount", "Sum"}, m.Statistic):
		return monitoring.MetricAlarm{},
			account.Invalid("Statistic '%s' of a customized metric must be Average, Minimum, Maximum, "+
				"SampleCount or Sum.", m.Statistic)
	}
	return monitoring.MetricAlarm{Namespace: m.Namespace, MetricName: m.MetricName, Dimensions: m.Dimensions,
		Period: account.Ptr(account.Or(m.Period, 60)), Statistic: m.Statistic, Unit: m.Unit}, nil
}

// predefined returns a metric that the model knows by its name. Nothing in the model publishes it: a test does.
func predefined(p *PredefinedMetric, resource string, group bool) (monitoring.MetricAlarm, error) {
	metric := func(namespace, name string, d ...monitoring.Dimension) (monitoring.MetricAlarm, error) {
		return monitoring.MetricAlarm{Namespace: namespace, MetricName: name, Dimensions: d, Period: account.Ptr(60),
			Statistic: "Average"}, nil
	}
	cluster, service := splitService(resource)
	switch {
	case group && p.PredefinedMetricType == "ASGAverageCPUUtilization":
		return metric("AWS/EC2", "CPUUtilization", monitoring.Dimension{Name: "AutoScalingGroupName", Value: resource})
	case !group && p.PredefinedMetricType == "ECSServiceAverageCPUUtilization":
		return metric("AWS/ECS", "CPUUtilization", monitoring.Dimension{Name: "ClusterName", Value: cluster},
			monitoring.Dimension{Name: "ServiceName", Value: service})
	case !group && p.PredefinedMetricType == "ECSServiceAverageMemoryUtilization":
		return metric("AWS/ECS", "MemoryUtilization", monitoring.Dimension{Name: "ClusterName", Value: cluster},
			monitoring.Dimension{Name: "ServiceName", Value: service})
	}
	return monitoring.MetricAlarm{}, account.Invalid("The predefined metric '%s' is none of the model's.",
		p.PredefinedMetricType)
}

// DescribePolicies returns policies in pages, selected by name or ARN and by type.
func (w *GroupPolicies) DescribePolicies(in PolicyNames) (PolicyList, error) {
	if in.AutoScalingGroupName != "" {
		if _, found := w.groups.Group(in.AutoScalingGroupName); !found {
			return PolicyList{}, account.Invalid("AutoScalingGroup name not found - AutoScalingGroup '%s' not found",
				in.AutoScalingGroupName)
		}
	}
	var all []ScalingPolicy
	for _, name := range account.Sorted(w.policies) {
		if in.AutoScalingGroupName != "" && in.AutoScalingGroupName != name {
			continue
		}
		for _, t := range w.policies[name] {
			named := len(in.PolicyNames) == 0 || slices.Contains(in.PolicyNames, t.PolicyName) ||
				slices.Contains(in.PolicyNames, t.PolicyARN)
			if named && (len(in.PolicyTypes) == 0 || slices.Contains(in.PolicyTypes, t.PolicyType)) {
				all = append(all, t.ScalingPolicy)
			}
		}
	}
	policies, next, err := account.Page(all, in.NextToken, min(max(account.Or(in.MaxRecords, 50), 1), 100))
	return PolicyList{policies, next}, err
}

// DeletePolicy deletes a policy and its alarms.
func (w *GroupPolicies) DeletePolicy(in PolicyName) (account.Nothing, error) {
	if err := w.groups.MayChange(in.AutoScalingGroupName); err != nil {
		return account.Nothing{}, err
	}
	policies := w.policies[in.AutoScalingGroupName]
	k := slices.IndexFunc(policies, func(t *tracker) bool {
		return t.PolicyName == in.PolicyName ||
			t.PolicyARN == in.PolicyName
	})
	if k < 0 {
		return account.Nothing{},
			account.Invalid("ScalingPolicy name not found - There is no scaling policy %s in group %s",
				in.PolicyName, in.AutoScalingGroupName)
	}
	policies[k].dropAlarms(w.watch)
	w.policies[in.AutoScalingGroupName] = slices.Delete(policies, k, k+1)
	return account.Nothing{}, nil
}

// reading returns the target and the states of the alarms. A disabled policy takes no part in scale-in. The caller
// adds the metric of the alarm that fired.
func (t *tracker) reading() tracking.Reading {
	return tracking.Reading{Target: t.target(), High: t.high.StateValue, Low: t.low.StateValue,
		DisableScaleIn: !t.scalesIn() || !t.Enabled}
}

// base returns the capacity of a group that is multiplied with metric / target.
func (t Tracking) base(s Tracked) int {
	if t.Base == BaseDesired {
		return s.Desired
	}
	return s.InService
}

// trackOut scales a group out. One policy is enough.
func (w *GroupPolicies) trackOut(name string, t *tracker) {
	g, found := w.groups.Group(name)
	if !found || !g.Alarms {
		return
	}
	r := t.reading()
	r.Metric = t.high.Newest()
	if wanted, out := tracking.Out(r, w.tracking.base(g), g.Desired, g.Max, w.tracking.FromZero); out {
		w.groups.Resize(name, wanted)
	}
}

// trackIn scales a group in, if all policies that may scale in agree, none wants out, and no instance warms up. The
// longest warm-up of all policies counts.
func (w *GroupPolicies) trackIn(name string) {
	g, found := w.groups.Group(name)
	if !found || !g.Alarms {
		return
	}
	var all []tracking.Reading
	warmup := time.Duration(0)
	for _, t := range w.policies[name] {
		r := t.reading()
		r.Metric = t.low.Newest()
		all = append(all, r)
		warmup = max(warmup, tracking.Warmup(span(t.EstimatedInstanceWarmup), g.Warmup, g.Cooldown))
	}
	if g.Warming(warmup) {
		return
	}
	if wanted, in := tracking.In(all, w.tracking.base(g), g.Desired, g.Min); in {
		w.groups.Resize(name, wanted)
	}
}

// span returns a number of seconds as a duration; nil for nil.
func span(seconds *int) *time.Duration {
	if seconds == nil {
		return nil
	}
	return account.Ptr(time.Duration(*seconds) * time.Second)
}

// splitService returns the cluster and the service of "service/CLUSTER/SERVICE"; empty for any other resource.
func splitService(resource string) (cluster, service string) {
	parts := strings.Split(resource, "/")
	if len(parts) != 3 || parts[0] != "service" {
		return "", ""
	}
	return parts[1], parts[2]
}
