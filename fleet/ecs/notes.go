package ecs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	scaling "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/awsrules/tracking"
)

// This file collects notes: settings and events that a person should know because they keep Muster from sizing the
// service, or change it as well. Notes never change a decision, and what they need is read rarely, since it needs calls
// and permissions of its own.

// notes list, for a person, settings that prevent sizing or have surprising effects.
type notes []string

// add adds a note when its condition holds, within the bounds of notes. The text is cut at a byte, because it is shown
// only.
func (n *notes) add(when bool, format string, args ...any) {
	if text := fmt.Sprintf(format, args...); when && len(*n) < muster.MaxNotes {
		*n = append(*n, text[:min(len(text), muster.MaxNoteBytes)])
	}
}

// reportedFor is how long an event of a service is reported. service adds notes on the service, and on other systems
// that change its count.
const reportedFor = 10 * time.Minute

// service notes the state of the service, and other systems that change its count.
func (n *notes) service(svc types.Service, o ServiceOptions, owners []string) {
	name := last(o.Service)
	n.add(deploying(svc), "a deployment of the service %s is under way: tasks of both kinds live, and the count "+
		"falls when it is over", name)
	for _, d := range svc.Deployments {
		n.add(d.RolloutState == types.DeploymentRolloutStateFailed, "a deployment of the service %s failed: %s", name,
			aws.ToString(d.RolloutStateReason))
	}
	owners = slices.DeleteFunc(slices.Clone(owners), func(name string) bool { return name == o.Owner })
	n.add(len(owners) > 0, "the scaling policy %s changes the count of the service %s too: remove it or suspend its "+
		"scaling, or let it decide alone with delegate", strings.Join(owners, ", "), name)
	n.add(svc.AvailabilityZoneRebalancing == types.AvailabilityZoneRebalancingEnabled && !o.Protect,
		"ECS may stop busy tasks of the service %s to balance its zones: turn availability zone rebalancing off, or "+
			"have tasks protected", name)
	n.add(svc.SchedulingStrategy == types.SchedulingStrategyDaemon, "the service %s is a DAEMON service, which "+
		"cannot be sized", name)
	if why, ok := trouble(svc, time.Now().Add(-reportedFor)); ok {
		n.add(true, "ECS says: %s%s", why, remedy(why))
	}
}

// trouble returns the newest event of a service since a time that reports a problem.
func trouble(svc types.Service, since time.Time) (string, bool) {
	for _, e := range svc.Events { // newest first
		text := aws.ToString(e.Message)
		if aws.ToTime(e.CreatedAt).Before(since) || strings.Contains(text, "has reached a steady state") {
			break
		}
		if strings.Contains(text, "unable") || strings.Contains(text, "throttled") ||
			strings.Contains(text, "protected") {
			return strings.TrimRight(text, "."), true
		}
	}
	return "", false
}

// unplacedAfter is how long after an order missing tasks count as not placed: ECS tries for some seconds before it says
// so.
const unplacedAfter = 20 * time.Second

// unplaced returns the ordered members that ECS reports it cannot place, as ended members. ECS keeps trying; the
// controller lowers the count, and retries by its own rules.
func (f *Service) unplaced(at time.Time, svc types.Service, living int) (ended []muster.Member) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := &f.order
	missing := min(max(0, int(svc.DesiredCount)-living), len(o.names))
	if missing > o.short && at.Sub(o.at) >= unplacedAfter {
		if why, ok := trouble(svc, o.at); ok && strings.Contains(why, "unable") {
			o.failed, o.short = "ECS cannot place it: "+why+remedy(why), missing
		}
	}
	if o.failed == "" {
		return nil
	}
	for _, name := range o.names[len(o.names)-o.short:] { // the oldest are placed first
		ended = append(ended, muster.Member{ID: name, LaunchedAt: o.at.UTC().Round(0), Ended: true, Failure: o.failed})
	}
	return ended
}

// ownersEvery is how often to read the scaling policies and the capacity providers.
const ownersEvery = 10 * time.Minute

// scaledBy returns the scaling policies that change the service's count, reading them rarely; none without permission.
func (f *Service) scaledBy(ctx context.Context) []string {
	f.mu.Lock()
	owners, due := f.owners, time.Since(f.ownersAt) >= ownersEvery
	if due {
		f.ownersAt = time.Now()
	}
	f.mu.Unlock()
	if !due {
		return owners
	}
	owners, err := f.Owners(ctx)
	if err != nil {
		owners = nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.owners = owners
	return owners
}

// Owners returns the names of the scaling policies of Application Auto Scaling that change the service's count, too. A
// service that is not registered there, or whose scaling is suspended both ways, has none.
func (f *Service) Owners(ctx context.Context) ([]string, error) {
	policies, err := f.policies(ctx)
	var owners []string
	for _, p := range policies {
		owners = append(owners, aws.ToString(p.PolicyName))
	}
	slices.Sort(owners)
	return owners, err
}

// Cooldowns returns the scale-out cooldown of each scaling policy that tracks a target, by name.
func (f *Service) Cooldowns(ctx context.Context) (map[string]time.Duration, error) {
	policies, err := f.policies(ctx)
	all := map[string]time.Duration{}
	for _, p := range policies {
		if c := p.TargetTrackingScalingPolicyConfiguration; c != nil {
			wait := tracking.DefaultCooldown
			if c.ScaleOutCooldown != nil {
				wait = time.Duration(*c.ScaleOutCooldown) * time.Second
			}
			all[aws.ToString(p.PolicyName)] = wait
		}
	}
	return all, err
}

// policies returns the active policies of Application Auto Scaling.
func (f *Service) policies(ctx context.Context) ([]scaling.ScalingPolicy, error) {
	resource := "service/" + last(f.cluster) + "/" + last(f.o.Service)
	targets, err := f.scaling.DescribeScalableTargets(ctx, &applicationautoscaling.DescribeScalableTargetsInput{
		ServiceNamespace: scaling.ServiceNamespaceEcs, ResourceIds: []string{resource},
		ScalableDimension: scaling.ScalableDimensionECSServiceDesiredCount,
	})
	if err != nil {
		return nil, f.explain("read what else sizes", err)
	}
	suspended := func(t scaling.ScalableTarget) bool {
		s := t.SuspendedState
		return s != nil && aws.ToBool(s.DynamicScalingInSuspended) && aws.ToBool(s.DynamicScalingOutSuspended)
	}
	if len(targets.ScalableTargets) == 0 || suspended(targets.ScalableTargets[0]) {
		return nil, nil
	}
	policies, err := f.scaling.DescribeScalingPolicies(ctx, &applicationautoscaling.DescribeScalingPoliciesInput{
		ServiceNamespace: scaling.ServiceNamespaceEcs, ResourceId: aws.String(resource),
		ScalableDimension: scaling.ScalableDimensionECSServiceDesiredCount,
	})
	if err != nil {
		return nil, f.explain("read what else sizes", err)
	}
	return policies.ScalingPolicies, nil
}

// capacity adds notes on whether ECS sizes the group too, and on other conflicts.
func (n *notes) capacity(c *Capacity, svc types.Service, providers []types.CapacityProvider) {
	names := strategy(svc)
	n.add(len(names) > 1, "the service %s has several capacity providers: %s; instances are counted for one, and the "+
		"others have surprising effects", aws.ToString(svc.ServiceName), strings.Join(names, ", "))
	n.add(len(names) == 0, "the service %s has no capacity provider: its tasks fail where no instance has room, in "+
		"place of waiting for one", aws.ToString(svc.ServiceName))
	for _, p := range providers {
		n.provider(c, p)
	}
}

// strategy names the capacity providers of a service.
func strategy(svc types.Service) (names []string) {
	for _, s := range svc.CapacityProviderStrategy {
		names = append(names, aws.ToString(s.CapacityProvider))
	}
	return names
}

// providedBy returns the service's capacity providers on groups, reading them rarely; none without permission.
func (f *Service) providedBy(ctx context.Context, svc types.Service) []types.CapacityProvider {
	names := slices.DeleteFunc(strategy(svc), func(name string) bool { return strings.HasPrefix(name, "FARGATE") })
	f.mu.Lock()
	providers, due := f.providers, time.Since(f.providersAt) >= ownersEvery
	if due {
		f.providersAt = time.Now()
	}
	f.mu.Unlock()
	if !due || len(names) == 0 {
		return providers
	}
	out, err := f.ecs.DescribeCapacityProviders(ctx, &ecs.DescribeCapacityProvidersInput{CapacityProviders: names})
	if err != nil {
		return nil // sizing the group works without this permission
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.providers = out.CapacityProviders
	return f.providers
}

// provider adds notes on the group of a capacity provider and on its managed scaling, which changes the same size.
func (n *notes) provider(c *Capacity, p types.CapacityProvider) {
	g, name := p.AutoScalingGroupProvider, aws.ToString(p.Name)
	if g == nil {
		return
	}
	if group := last(aws.ToString(g.AutoScalingGroupArn)); c.Name != "" {
		n.add(group != c.Name, "the capacity provider %s is of the group %s, and ecs.capacity.group is %s: state the "+
			"group that the tasks are placed on", name, group, c.Name)
	}
	m := g.ManagedScaling
	managed := m != nil && m.Status == types.ManagedScalingStatusEnabled
	n.add(managed && !c.Keep, "ECS sizes the group %s too (managed scaling of the capacity provider %s): it keeps "+
		"tasks waiting until there is room, which is right, and it ends idle instances later than Muster; "+
		"a target of %d %% keeps more than are needed, unless ecs.capacity.shrink is false", c.Name, name, target(m))
	n.add(!managed, "managed scaling of the capacity provider %s is off: a task that finds no room fails at once and "+
		"is tried again, until the instance is there", name)
	n.add(g.ManagedTerminationProtection == types.ManagedTerminationProtectionEnabled,
		"managed termination protection of the capacity provider %s is on: turn it off, since Muster ends only "+
			"instances without tasks", name)
}

// target returns the target capacity of managed scaling in per cent, by default 100. A lower one keeps spare instances.
func target(m *types.ManagedScaling) int32 {
	if m == nil || m.TargetCapacity == nil {
		return 100
	}
	return *m.TargetCapacity
}
