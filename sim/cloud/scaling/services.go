package scaling

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/muster-scale/muster/awsrules/tracking"
	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/monitoring"
)

// This file has Application Auto Scaling for services: scalable targets, their policies and activities.

// Service is a service of ECS as Application Auto Scaling sees it.
type Service interface {
	// Count returns the desired count, whether the service is active, and whether a deployment is in progress.
	Count() (desired int, active, deploying bool)
	// SetCount sets the desired count.
	SetCount(desired int)
}

// The bounds of Application Auto Scaling.
const (
	// MaxCapacity is the largest MaxCapacity that a target may have.
	MaxCapacity = 5_000

	// maxActivities is the number of activities that a target keeps; the oldest are dropped first.
	maxActivities = 1_000
)

// ApplicationScaling is the API of Application Auto Scaling for services of ECS. Methods bear the names of the
// actions. An error is a *account.Fault. It is not safe for concurrent use.
type ApplicationScaling struct {
	acc      *account.Account
	watch    *monitoring.CloudWatch
	tracking Tracking
	services func(cluster, service string) Service
	targets  map[string]*scalable
}

// NewApplicationScaling returns the API without targets. services finds a service by cluster and name; it returns nil
// for a service that does not exist.
func NewApplicationScaling(a *account.Account, watch *monitoring.CloudWatch, t Tracking,
	services func(cluster, service string) Service) *ApplicationScaling {
	return &ApplicationScaling{acc: a, watch: watch, tracking: t.withDefaults(), services: services,
		targets: map[string]*scalable{}}
}

// The only kind of target that the model has.
const (
	ecsNamespace = "ecs"
	ecsDimension = "ecs:service:DesiredCount"
)

// SuspendedState says which kinds of scaling a target has suspended.
type SuspendedState struct {
	DynamicScalingInSuspended, DynamicScalingOutSuspended, ScheduledScalingSuspended *bool
}

// RegisterTarget is the input of RegisterScalableTarget.
type RegisterTarget struct {
	ServiceNamespace, ResourceId, ScalableDimension string
	MinCapacity, MaxCapacity                        *int
	RoleARN                                         string
	SuspendedState                                  *SuspendedState
}

// TargetARN is its answer.
type TargetARN struct {
	ScalableTargetARN string
}

// TargetName is the input of DeregisterScalableTarget.
type TargetName struct {
	ServiceNamespace, ResourceId, ScalableDimension string
}

// ScalableTarget is a scalable target as the API shows it.
type ScalableTarget struct {
	ServiceNamespace, ResourceId, ScalableDimension, ScalableTargetARN, RoleARN string
	MinCapacity, MaxCapacity                                                    int
	SuspendedState                                                              *SuspendedState
	CreationTime                                                                time.Time
}

// TargetNames is the input of DescribeScalableTargets, DescribeScalingPolicies and DescribeScalingActivities.
type TargetNames struct {
	ServiceNamespace, ResourceId, ScalableDimension string
	ResourceIds, PolicyNames                        []string
	MaxResults                                      *int
	NextToken                                       string
}

// TargetList is the answer of DescribeScalableTargets.
type TargetList struct {
	ScalableTargets []ScalableTarget
	NextToken       string
}

// ServiceTracking is a target tracking policy of Application Auto Scaling.
type ServiceTracking struct {
	TargetTracking
	ScaleOutCooldown, ScaleInCooldown *int
}

// PutTargetPolicy is the input of PutScalingPolicy of Application Auto Scaling.
type PutTargetPolicy struct {
	ServiceNamespace, ResourceId, ScalableDimension, PolicyName, PolicyType string
	TargetTrackingScalingPolicyConfiguration                                *ServiceTracking
}

// TargetPolicy is a policy of a scalable target as the API shows it.
type TargetPolicy struct {
	PolicyARN, PolicyName, ServiceNamespace, ResourceId, ScalableDimension, PolicyType string
	TargetTrackingScalingPolicyConfiguration                                           *ServiceTracking
	Alarms                                                                             []AlarmName
	CreationTime                                                                       time.Time
}

// TargetPolicyList is the answer of DescribeScalingPolicies.
type TargetPolicyList struct {
	ScalingPolicies []TargetPolicy
	NextToken       string
}

// TargetPolicyName is the input of DeleteScalingPolicy.
type TargetPolicyName struct {
	ServiceNamespace, ResourceId, ScalableDimension, PolicyName string
}

// TargetActivity is one change of a desired count that Application Auto Scaling made.
type TargetActivity struct {
	ActivityId, ServiceNamespace, ResourceId, ScalableDimension string
	Description, Cause, StatusCode, StatusMessage               string
	StartTime, EndTime                                          time.Time
}

// TargetActivityList is the answer of DescribeScalingActivities, newest first.
type TargetActivityList struct {
	ScalingActivities []TargetActivity
	NextToken         string
}

// scalable is a registered target: a service with its bounds and policies.
type scalable struct {
	ScalableTarget
	service    Service
	policies   []*servicePolicy
	activities []TargetActivity // oldest first
	cooldowns  tracking.Cooldowns
}

// servicePolicy is a target tracking policy of a service.
type servicePolicy struct {
	tracker
	config  ServiceTracking
	created time.Time
}

// cooldown returns a cooldown of the policy; 300 seconds when absent, the default for services.
func (p *servicePolicy) cooldown(seconds *int) time.Duration {
	return time.Duration(account.Or(seconds, 300)) * time.Second
}

// aasFault returns the fault with which Application Auto Scaling refuses arguments.
func aasFault(format string, args ...any) *account.Fault {
	return account.Refuse("ValidationException", format, args...)
}

// target returns the service that a call wants to register. It must be active.
func (w *ApplicationScaling) target(namespace, resource, dimension string) (Service, error) {
	if namespace != ecsNamespace || dimension != ecsDimension {
		return nil, aasFault("The model has targets of the namespace %s and the dimension %s, not %s and %s.",
			ecsNamespace, ecsDimension, namespace, dimension)
	}
	clusterName, serviceName := splitService(resource)
	if s := w.services(clusterName, serviceName); s != nil {
		if _, active, _ := s.Count(); active {
			return s, nil
		}
	}
	return nil, aasFault("ECS service doesn't exist: %s", resource)
}

// registered returns the registered target that a call names.
func (w *ApplicationScaling) registered(namespace, resource, dimension string) (*scalable, error) {
	if t := w.targets[resource]; t != nil && namespace == ecsNamespace && dimension == ecsDimension {
		return t, nil
	}
	return nil, account.Refuse("ObjectNotFoundException",
		"No scalable target registered for service namespace: %s, resource "+
			"ID: %s, scalable dimension: %s", namespace, resource, dimension)
}

// RegisterScalableTarget registers a service or changes its bounds. A desired count outside the bounds moves to the
// nearer one at once.
func (w *ApplicationScaling) RegisterScalableTarget(in RegisterTarget) (TargetARN, error) {
	s, err := w.target(in.ServiceNamespace, in.ResourceId, in.ScalableDimension)
	if err != nil {
		return TargetARN{}, err
	}
	t := w.targets[in.ResourceId]
	if t == nil {
		if in.MinCapacity == nil || in.MaxCapacity == nil {
			return TargetARN{}, aasFault("MinCapacity and MaxCapacity are required to register a target.")
		}
		t = &scalable{ScalableTarget: ScalableTarget{ServiceNamespace: ecsNamespace, ResourceId: in.ResourceId,
			ScalableDimension: ecsDimension, CreationTime: w.acc.Now(),
			ScalableTargetARN: w.acc.ARN("application-autoscaling", "scalable-target/"+
				w.acc.UUID()), SuspendedState: &SuspendedState{account.Ptr(false), account.Ptr(false),
				account.Ptr(false)}}}
	}
	least, most := account.Or(in.MinCapacity, t.MinCapacity), account.Or(in.MaxCapacity, t.MaxCapacity)
	if least < 0 || most < least || most > MaxCapacity {
		return TargetARN{}, aasFault("MinCapacity %d and MaxCapacity %d must be in order, from 0 to %d.", least, most,
			MaxCapacity)
	}
	t.service, t.MinCapacity, t.MaxCapacity, t.RoleARN = s, least, most, cmp.Or(in.RoleARN, t.RoleARN)
	if x := in.SuspendedState; x != nil {
		old := t.SuspendedState
		t.SuspendedState = &SuspendedState{account.Ptr(account.Or(x.DynamicScalingInSuspended,
			*old.DynamicScalingInSuspended)),
			account.Ptr(account.Or(x.DynamicScalingOutSuspended, *old.DynamicScalingOutSuspended)),
			account.Ptr(account.Or(x.ScheduledScalingSuspended,
				*old.ScheduledScalingSuspended))}
	}
	w.targets[in.ResourceId] = t
	count, _, _ := s.Count()
	if n := min(max(count, least), most); n != count {
		w.setCount(t, n, "the count was outside of the bounds of the scalable target")
	}
	return TargetARN{t.ScalableTargetARN}, nil
}

// DeregisterScalableTarget deletes a target with its policies and their alarms. The service keeps its desired count.
func (w *ApplicationScaling) DeregisterScalableTarget(in TargetName) (account.Nothing, error) {
	t, err := w.registered(in.ServiceNamespace, in.ResourceId, in.ScalableDimension)
	if err != nil {
		return account.Nothing{}, err
	}
	for _, p := range t.policies {
		p.dropAlarms(w.watch)
	}
	delete(w.targets, in.ResourceId)
	return account.Nothing{}, nil
}

// DescribeScalableTargets returns targets in pages, in the order of their resource ids.
func (w *ApplicationScaling) DescribeScalableTargets(in TargetNames) (TargetList, error) {
	if in.ServiceNamespace != ecsNamespace {
		return TargetList{}, aasFault("The model has targets of the namespace %s.", ecsNamespace)
	}
	var all []ScalableTarget
	for _, id := range account.Sorted(w.targets) {
		if len(in.ResourceIds) == 0 || slices.Contains(in.ResourceIds, id) {
			all = append(all, w.targets[id].ScalableTarget)
		}
	}
	targets, next, err := account.Page(all, in.NextToken, min(max(account.Or(in.MaxResults, 50), 1), 50))
	return TargetList{targets, next}, err
}

// PutScalingPolicy creates a target tracking policy with its two alarms over one-minute points, or replaces one.
func (w *ApplicationScaling) PutScalingPolicy(in PutTargetPolicy) (PutPolicyResult, error) {
	t, err := w.registered(in.ServiceNamespace, in.ResourceId, in.ScalableDimension)
	if err != nil {
		return PutPolicyResult{}, err
	}
	c := in.TargetTrackingScalingPolicyConfiguration
	k := slices.IndexFunc(t.policies, func(p *servicePolicy) bool { return p.PolicyName == in.PolicyName })
	switch {
	case in.PolicyType != "TargetTrackingScaling" || c == nil:
		return PutPolicyResult{}, aasFault("The model has policies of the type TargetTrackingScaling, with their " +
			"configuration.")
	case in.PolicyName == "" || k < 0 && len(t.policies) >= MaxPolicies:
		return PutPolicyResult{}, aasFault("A policy needs a name, and a target has at most %d policies.", MaxPolicies)
	}
	for _, seconds := range []*int{c.ScaleOutCooldown, c.ScaleInCooldown} {
		if n := account.Or(seconds, 0); n < 0 || n > account.MaxSeconds {
			return PutPolicyResult{}, aasFault("Cooldowns must be from 0 to %d seconds, got %d.", account.MaxSeconds, n)
		}
	}
	p := &servicePolicy{config: *c, created: w.acc.Now()}
	p.PolicyName, p.PolicyType, p.Enabled, p.TargetTrackingConfiguration = in.PolicyName, in.PolicyType, true,
		&p.config.TargetTracking
	if m := c.CustomizedMetricSpecification; m != nil {
		x := *m
		x.Period = nil // there is no such member: 60 seconds
		p.config.CustomizedMetricSpecification = &x
	}
	if err := p.makeAlarms(w.acc, w.watch, in.ResourceId, w.tracking.fixed(), false); err != nil {
		return PutPolicyResult{}, aasFault("%s", err.(*account.Fault).Message)
	}
	if k >= 0 {
		old := t.policies[k]
		p.PolicyARN, p.created, t.policies[k] = old.PolicyARN, old.created, p
		p.succeed(&old.tracker, w.acc.Now(), w.tracking.ForgetPoints)
	} else {
		p.PolicyARN = w.acc.ARN("autoscaling",
			"scalingPolicy:"+w.acc.UUID()+":resource/ecs/"+in.ResourceId+":policyName/"+
				in.PolicyName)
		t.policies = append(t.policies, p)
	}
	p.high.OnAlarm(func() { w.serviceOut(t, p) })
	p.low.OnAlarm(func() { w.serviceIn(t) })
	p.arm(w.watch)
	return PutPolicyResult{p.PolicyARN, p.Alarms}, nil
}

// DescribeScalingPolicies returns policies in pages.
func (w *ApplicationScaling) DescribeScalingPolicies(in TargetNames) (TargetPolicyList, error) {
	if in.ServiceNamespace != ecsNamespace {
		return TargetPolicyList{}, aasFault("The model has targets of the namespace %s.", ecsNamespace)
	}
	var all []TargetPolicy
	for _, id := range account.Sorted(w.targets) {
		for _, p := range w.targets[id].policies {
			if (in.ResourceId == "" || in.ResourceId == id) &&
				(len(in.PolicyNames) == 0 || slices.Contains(in.PolicyNames, p.PolicyName)) {
				all = append(all, TargetPolicy{p.PolicyARN, p.PolicyName, ecsNamespace, id, ecsDimension, p.PolicyType,
					account.Ptr(p.config), p.Alarms, p.created})
			}
		}
	}
	policies, next, err := account.Page(all, in.NextToken, min(max(account.Or(in.MaxResults, 10), 1), 50))
	return TargetPolicyList{policies, next}, err
}

// DeleteScalingPolicy deletes a policy and its alarms.
func (w *ApplicationScaling) DeleteScalingPolicy(in TargetPolicyName) (account.Nothing, error) {
	t, err := w.registered(in.ServiceNamespace, in.ResourceId, in.ScalableDimension)
	if err != nil {
		return account.Nothing{}, err
	}
	k := slices.IndexFunc(t.policies, func(p *servicePolicy) bool { return p.PolicyName == in.PolicyName })
	if k < 0 {
		return account.Nothing{}, account.Refuse("ObjectNotFoundException",
			"No scaling policy found for service namespace: %s, "+
				"resource ID: %s, scalable dimension: %s", in.ServiceNamespace, in.ResourceId, in.ScalableDimension)
	}
	t.policies[k].dropAlarms(w.watch)
	t.policies = slices.Delete(t.policies, k, k+1)
	return account.Nothing{}, nil
}

// DescribeScalingActivities returns the changes that were made, newest first.
func (w *ApplicationScaling) DescribeScalingActivities(in TargetNames) (TargetActivityList, error) {
	if in.ServiceNamespace != ecsNamespace {
		return TargetActivityList{}, aasFault("The model has targets of the namespace %s.", ecsNamespace)
	}
	var all []TargetActivity
	for _, id := range account.Sorted(w.targets) {
		if in.ResourceId == "" || in.ResourceId == id {
			all = append(all, w.targets[id].activities...)
		}
	}
	slices.SortStableFunc(all, func(x, y TargetActivity) int { return y.StartTime.Compare(x.StartTime) })
	activities, next, err := account.Page(all, in.NextToken, min(max(account.Or(in.MaxResults, 50), 1), 50))
	return TargetActivityList{activities, next}, err
}

// setCount sets the desired count of a target's service and records the activity.
func (w *ApplicationScaling) setCount(t *scalable, n int, cause string) {
	t.activities = append(t.activities, TargetActivity{ActivityId: w.acc.UUID(), ServiceNamespace: ecsNamespace,
		ResourceId: t.ResourceId, ScalableDimension: ecsDimension,
		Description: "Setting desired count to " + strconv.Itoa(n) + ".", Cause: cause, StatusCode: "Successful",
		StatusMessage: "Successfully set desired count to " + strconv.Itoa(n) + ".", StartTime: w.acc.Now(),
		EndTime: w.acc.Now()})
	if n := len(t.activities) - maxActivities; n > 0 {
		t.activities = slices.Delete(t.activities, 0, n)
	}
	t.service.SetCount(n)
}

// serviceOut scales a service out. During the scale-out cooldown a further rise counts from the capacity before the
// last one, so that it adds only what exceeds the last rise.
func (w *ApplicationScaling) serviceOut(t *scalable, p *servicePolicy) {
	desired, active, _ := t.service.Count()
	if !active || *t.SuspendedState.DynamicScalingOutSuspended {
		return
	}
	cooldown := p.cooldown(p.config.ScaleOutCooldown)
	r := p.reading()
	r.Metric = p.high.Newest()
	wanted, out := tracking.Out(r, t.cooldowns.Capacity(w.acc.Now(), desired, cooldown), desired,
		t.MaxCapacity, w.tracking.FromZero)
	if !out {
		return
	}
	t.cooldowns.ScaledOut(w.acc.Now(), desired, cooldown)
	w.setCount(t, wanted, "monitor alarm "+p.high.AlarmName+" in state ALARM triggered policy "+p.PolicyName)
}

// serviceIn scales a service in, if all policies that may scale in agree, none wants out, no deployment is in
// progress and the cooldowns since the last change are over.
func (w *ApplicationScaling) serviceIn(t *scalable) {
	desired, active, deploying := t.service.Count()
	if !active || *t.SuspendedState.DynamicScalingInSuspended || deploying {
		return
	}
	var all []tracking.Reading
	cause := ""
	for _, p := range t.policies {
		r := p.reading()
		r.Metric = p.low.Newest()
		if !r.DisableScaleIn {
			if !t.cooldowns.MayScaleIn(w.acc.Now(), p.cooldown(p.config.ScaleInCooldown)) {
				return
			}
			cause = "monitor alarm " + p.low.AlarmName + " in state ALARM triggered policy " + p.PolicyName
		}
		all = append(all, r)
	}
	if wanted, in := tracking.In(all, desired, desired, t.MinCapacity); in {
		t.cooldowns.ScaledIn(w.acc.Now())
		w.setCount(t, wanted, cause)
	}
}
