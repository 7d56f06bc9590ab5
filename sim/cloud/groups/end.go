package groups

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
	"github.com/muster-scale/muster/sim/cloud/termination"
)

// This file has how instances end: by scale-in, by a call, or because they are unhealthy; and scale-in protection.

// shrink ends instances until the capacity is the desired capacity. It never ends a protected instance nor one that
// is not in service yet. An instance that weighs more than the surplus stays: the capacity never falls below the
// desired one.
func (w *AutoScaling) shrink(g *group) {
	if w.acc.Now().Before(g.notBefore) {
		return
	}
	surplus := g.capacity() - g.desired
	fits := func(i *instance) bool { return i.state == groupapi.InService && !i.protected && i.weight <= surplus }
	named, waiting := w.askPolicy(g, surplus, fits)
	if waiting {
		w.retry(g)
		return
	}
	// The order speaks in positions of this list, which terminate may change.
	all := slices.Clone(g.instances)
	order := g.order(fits, named, w.acc.Now())
	for capacity := g.desired + surplus; surplus > 0; surplus = capacity - g.desired {
		at, found := order.Next(surplus)
		if !found {
			break
		}
		i := all[at]
		if i.counted() {
			capacity -= i.weight
		}
		w.terminate(i,
			fmt.Sprintf("an instance was taken out of service because the capacity of %d is above the desired %d.",
				g.desired+surplus, g.desired), true)
		order.Ended(at)
	}
	w.recordStuck(g, surplus)
}

// order computes in which order instances end. Only instances that fit may end, and instances that were named end
// first. A position in the order is an index into g.instances at the time of the call.
func (g *group) order(fits func(*instance) bool, named []string, now time.Time) *termination.Order {
	chosen := make(map[string]bool, len(named))
	for _, id := range named {
		chosen[id] = true
	}
	in := termination.Group{Instances: make([]termination.Instance, len(g.instances)), Policies: g.TerminationPolicies,
		Mixed: g.MixedInstancesPolicy}
	for k, i := range g.instances {
		in.Instances[k] = termination.Instance{Zone: i.pool.AvailabilityZone, Market: i.pool.Market, Weight: i.weight,
			LaunchedAt: i.launchedAt, Generation: i.generation, Counted: i.counted(), MayEnd: fits(i),
			Named: chosen[i.id]}
	}
	return termination.NewOrder(in, now)
}

// firstToEnd returns the instance that ends first of all that fit; nil when none fits.
func (g *group) firstToEnd(fits func(*instance) bool, now time.Time) *instance {
	at, found := g.order(fits, nil, now).Next(math.MaxInt)
	if !found {
		return nil
	}
	return g.instances[at]
}

// recordStuck records, once per scale-in, that all of the surplus is protected. AWS shows it as a cancelled activity.
func (w *AutoScaling) recordStuck(g *group, surplus int) {
	protected := surplus > 0 &&
		slices.ContainsFunc(g.instances, func(i *instance) bool { return i.state == groupapi.InService && i.protected })
	if protected && !g.stuck {
		// The activity begins and ends at once; the same text is not written again until the surplus is gone.
		a := w.begin(g, "Could not scale to desired capacity because all remaining instances are protected from "+
			"scale in.",
			fmt.Sprintf("the capacity of %d is above the desired %d.", g.capacity(), g.desired))
		w.end(g, a, "Cancelled", "")
	}
	g.stuck = protected
}

// maxPolicyTime is how long EC2 Auto Scaling waits for the function of a custom termination policy.
const maxPolicyTime = 2 * time.Second

// OfferTerminationPolicy registers the function of a custom termination policy under its ARN. For a group that names
// an unknown function, the call fails and nothing ends.
func (w *AutoScaling) OfferTerminationPolicy(arn string, p groupapi.TerminationPolicy) {
	w.policies[arn] = p
}

// askPolicy calls the group's custom termination policy, if it has one, and returns the instances that it named and
// that fit. waiting tells that the call failed, took too long or named no such instance: then nothing ends, and the
// policy is asked again later.
func (w *AutoScaling) askPolicy(g *group, surplus int, fits func(*instance) bool) (named []string, waiting bool) {
	if len(g.TerminationPolicies) == 0 || !strings.HasPrefix(g.TerminationPolicies[0], "arn:") {
		return nil, false
	}
	if !slices.ContainsFunc(g.instances, fits) {
		return nil, false
	}
	policy := w.policies[g.TerminationPolicies[0]]
	if policy == nil {
		return nil, true
	}
	answer := policy(g.policyRequest(surplus, fits, w.acc.Now()))
	if answer.Failed || answer.Took > maxPolicyTime {
		return nil, true
	}
	wanted := make(map[string]bool, len(answer.InstanceIDs))
	for _, id := range answer.InstanceIDs {
		wanted[id] = true
	}
	for _, i := range g.instances {
		if wanted[i.id] && fits(i) {
			named = append(named, i.id)
		}
	}
	return named, len(named) == 0
}

// policyRequest builds the input of a custom termination policy: the capacity that has to end by zone and market, and
// every instance there that may end. The capacity is that of the default order, as the instances stand now.
func (g *group) policyRequest(surplus int, fits func(*instance) bool, now time.Time) groupapi.TerminationRequest {
	q := groupapi.TerminationRequest{AutoScalingGroupARN: g.AutoScalingGroupARN,
		AutoScalingGroupName: g.AutoScalingGroupName,
		Cause:                "SCALE_IN"}
	order := g.order(fits, nil, now)
	for surplus > 0 {
		at, found := order.Next(surplus)
		if !found {
			break
		}
		i := g.instances[at]
		surplus -= i.weight
		// AWS states the capacity once for each zone and market.
		k := slices.IndexFunc(q.CapacityToTerminate, func(c groupapi.CapacityToTerminate) bool {
			return c.AvailabilityZone == i.pool.AvailabilityZone && c.InstanceMarketOption == i.pool.Market
		})
		if k < 0 {
			k = len(q.CapacityToTerminate)
			q.CapacityToTerminate = append(q.CapacityToTerminate,
				groupapi.CapacityToTerminate{AvailabilityZone: i.pool.AvailabilityZone, Capacity: 0,
					InstanceMarketOption: i.pool.Market})
		}
		q.CapacityToTerminate[k].Capacity += i.weight
	}
	// The answer may name instances that have left meanwhile or are protected: those are ignored, as AWS does.
	for _, i := range g.instances {
		if fits(i) && slices.ContainsFunc(q.CapacityToTerminate, func(c groupapi.CapacityToTerminate) bool {
			return c.AvailabilityZone == i.pool.AvailabilityZone && c.InstanceMarketOption == i.pool.Market
		}) {
			q.Instances = append(q.Instances, groupapi.TerminationCandidate{AvailabilityZone: i.pool.AvailabilityZone,
				InstanceId: i.id, InstanceType: i.pool.InstanceType,
				InstanceMarketOption: i.pool.Market})
		}
	}
	return q
}

// terminate takes an instance out of service: through its termination hooks to its end, or back to the warm pool.
// Only scale-in returns an instance to a pool, and only if no Spot interruption is announced for it.
func (w *AutoScaling) terminate(i *instance, cause string, scaleIn bool) *groupapi.Activity {
	g := i.group
	w.end(g, i.activity, "Cancelled", "")
	i.activity = w.begin(g, "Terminating EC2 instance: "+i.id, cause)
	i.waits = nil
	if scaleIn && g.reuses() && i.reclaim.IsZero() && i.state == groupapi.InService {
		w.listeners.Leaves(i.id)
		// AWS runs the termination hooks on the way back to the pool too.
		i.protected = false
		w.move(i, groupapi.WarmedPending, 0, nil)
		w.runHooks(i, groupapi.Ending, groupapi.WarmedPendingWait, func() { w.prepare(i) })
		return i.activity
	}
	w.terminateThroughHooks(i)
	return i.activity
}

// terminateThroughHooks ends an instance once its termination hooks are done. An instance of the warm pool passes the
// states of the pool. With a hook, the end follows the Proceed state; without one, it follows Terminating.
func (w *AutoScaling) terminateThroughHooks(i *instance) {
	first, paused, last := groupapi.Terminating, groupapi.TerminatingWait, groupapi.TerminatingProceed
	if i.warmed() {
		first, paused, last = groupapi.WarmedTerminating, groupapi.WarmedEndWait, groupapi.WarmedEndProceed
	}
	w.move(i, first, 0, nil)
	w.runHooks(i, groupapi.Ending, paused, func() {
		if i.state == paused {
			w.move(i, last, i.group.machines.End, func() { w.terminated(i) })
			return
		}
		w.move(i, first, i.group.machines.End, func() { w.terminated(i) })
	})
}

// terminated is the end of a termination: the activity succeeds and the instance is gone.
func (w *AutoScaling) terminated(i *instance) {
	g := i.group
	w.end(g, i.activity, "Successful", "")
	w.remove(i)
	w.acc.Tell("aws.autoscaling", "EC2 Instance Terminate Successful", g.AutoScalingGroupName, i.id)
	w.reconcileSoon(g)
}

// remove takes an instance out of the world, or out of the group when it is detached. The new turn drops whatever was
// scheduled for the instance.
func (w *AutoScaling) remove(i *instance) {
	g := i.group
	i.turn++
	i.state = "Terminated"
	i.waits = nil
	w.listeners.Leaves(i.id)
	delete(w.instances, i.id)
	g.instances = slices.DeleteFunc(g.instances, func(x *instance) bool { return x == i })
	if g.replacing == i {
		g.replacing = nil
	}
	g.ended++
}

// member finds an instance by its id and checks that the caller may change its group.
func (w *AutoScaling) member(id string) (*instance, error) {
	i := w.instances[id]
	if i == nil {
		return nil, account.Invalid("Instance Id not found - No managed instance found for instance ID: %s", id)
	}
	_, err := w.changeable(i.group.AutoScalingGroupName)
	return i, err
}

// TerminateInstanceInAutoScalingGroup ends an instance, protected or not, through its hooks. With decrement the
// desired capacity falls by its weight, never below MinSize; without, the group launches another instance.
func (w *AutoScaling) TerminateInstanceInAutoScalingGroup(in groupapi.EndInstance) (groupapi.OneActivity, error) {
	i, err := w.member(in.InstanceId)
	if err != nil {
		return groupapi.OneActivity{}, err
	}
	g := i.group
	if in.ShouldDecrementDesiredCapacity == nil {
		return groupapi.OneActivity{}, account.Invalid("ShouldDecrementDesiredCapacity is required.")
	}
	switch {
	case i.warmed():
		return groupapi.OneActivity{},
			account.Invalid("The instance %s is in the warm pool; it cannot be terminated by this action.",
				i.id)
	// Its hooks ran before it was retained: it ends without them.
	case i.state == groupapi.TerminatingRetained:
		i.activity = w.begin(g, "Terminating EC2 instance: "+i.id, "a user asked to end a retained instance.")
		x := *i.activity
		w.move(i, groupapi.Terminating, g.machines.End, func() { w.terminated(i) })
		return groupapi.OneActivity{Activity: x}, nil
	// AWS refuses a second termination, which lets a caller find out that the first one arrived.
	case strings.HasPrefix(string(i.state), "Terminating"):
		return groupapi.OneActivity{}, account.Refuse("ScalingActivityInProgress",
			"The instance %s is terminating already.", i.id)
	}
	decrement := *in.ShouldDecrementDesiredCapacity
	// An instance that does not count, one in standby for instance, leaves the desired capacity alone.
	if decrement && i.counted() {
		if g.desired-i.weight < g.MinSize {
			return groupapi.OneActivity{},
				account.Invalid("Currently, desiredSize equals minSize (%d). Terminating instance without "+
					"replacement will violate group's min size constraint. Either set shouldDecrementDesiredCapacity "+
					"flag to false or lower group's min size.", g.MinSize)
		}
		g.desired -= i.weight
	}
	x := *w.terminate(i, "an instance was taken out of service in response to a user request.", false)
	w.reconcileSoon(g)
	return groupapi.OneActivity{Activity: x}, nil
}

// SetInstanceProtection turns scale-in protection of instances on or off. When one of them is not in the group or in
// a state without protection, the call changes none.
func (w *AutoScaling) SetInstanceProtection(in groupapi.SetProtection) (account.Nothing, error) {
	g, err := w.changeable(in.AutoScalingGroupName)
	if err != nil {
		return account.Nothing{}, err
	}
	if n := len(in.InstanceIds); n < 1 || n > 50 {
		return account.Nothing{}, account.Invalid("1 to 50 instance ids may be given, got %d.", n)
	}
	if in.ProtectedFromScaleIn == nil {
		return account.Nothing{}, account.Invalid("ProtectedFromScaleIn is required.")
	}
	var all []*instance
	for _, id := range in.InstanceIds {
		i := w.instances[id]
		switch {
		case i == nil || i.group != g:
			return account.Nothing{}, account.Invalid("The instance %s is not part of Auto Scaling group %s.", id,
				in.AutoScalingGroupName)
		case i.state != groupapi.InService && i.state != groupapi.EnteringStandby && i.state != groupapi.Standby:
			return account.Nothing{},
				account.Invalid("The instance %s is not in InService or EnteringStandby or Standby.", id)
		}
		all = append(all, i)
	}
	for _, i := range all {
		i.protected = *in.ProtectedFromScaleIn
	}
	w.reconcileSoon(g)
	return account.Nothing{}, nil
}

// SetInstanceHealth sets the health of an instance. An unhealthy instance in service is replaced, protected or not,
// unless the processes ReplaceUnhealthy or Terminate are suspended.
func (w *AutoScaling) SetInstanceHealth(in groupapi.SetHealth) (account.Nothing, error) {
	i, err := w.member(in.InstanceId)
	if err != nil {
		return account.Nothing{}, err
	}
	if in.HealthStatus != "Healthy" && in.HealthStatus != "Unhealthy" {
		return account.Nothing{}, account.Invalid("HealthStatus '%s' must be Healthy or Unhealthy.", in.HealthStatus)
	}
	// An instance that is not in service only shows its health: it is ended once it serves and is marked again.
	i.unhealthy = in.HealthStatus == "Unhealthy"
	if i.unhealthy && i.state == groupapi.InService && i.group.runs("ReplaceUnhealthy") && i.group.runs("Terminate") {
		w.terminate(i, "an instance was taken out of service in response to a user health-check.", false)
		w.reconcileSoon(i.group)
	}
	return account.Nothing{}, nil
}
