package groups

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
)

// shrink ends what is too much. It never takes a protected instance, nor one that has not come into service yet, nor
// goes below the desired capacity where instances have weights.
func (w *AutoScaling) shrink(g *group) {
	if w.acc.Now().Before(g.askAgain) {
		return
	}
	surplus := g.capacity() - g.desired
	fits := func(i *instance) bool { return i.state == groupapi.InService && !i.protected && i.weight <= surplus }
	named, waiting := w.ask(g, surplus, fits)
	if waiting {
		w.retry(g)
		return
	}
	v, taken := g.victims(fits, named, w.acc.Now()), map[*instance]bool{}
	for capacity := g.desired + surplus; surplus > 0; surplus = capacity - g.desired {
		i := v.next(surplus, taken)
		if i == nil {
			break
		}
		counted := i.counted()
		w.end1(i,
			fmt.Sprintf("an instance was taken out of service because the capacity of %d is above the desired %d.",
				capacity, g.desired), true)
		if v.gone(i, counted); counted {
			capacity -= i.weight
		}
	}
	w.sayStuck(g, surplus)
}

// sayStuck writes down, once, that what is too much is all protected.
func (w *AutoScaling) sayStuck(g *group, surplus int) {
	protected := surplus > 0 &&
		slices.ContainsFunc(g.instances, func(i *instance) bool { return i.state == groupapi.InService && i.protected })
	if protected && !g.stuck {
		a := w.begin(g, "Could not scale to desired capacity because all remaining instances are protected from "+
			"scale in.",
			fmt.Sprintf("the capacity of %d is above the desired %d.", g.capacity(), g.desired))
		w.end(g, a, "Cancelled", "")
	}
	g.stuck = protected
}

// mostLambda is how long EC2 Auto Scaling waits for a termination policy.
const mostLambda = 2 * time.Second

// OfferTerminationPolicy makes a function known by its ARN. A group that names an unknown one gets no answer from it.
func (w *AutoScaling) OfferTerminationPolicy(arn string, p groupapi.TerminationPolicy) {
	w.lambdas[arn] = p
}

// ask asks the group's function, if it has one, which instances should go. waiting tells that it gave nothing that
// could be used: it is asked again later, and until then nothing ends.
func (w *AutoScaling) ask(g *group, surplus int, fits func(*instance) bool) (named []string, waiting bool) {
	if len(g.TerminationPolicies) == 0 || !strings.HasPrefix(g.TerminationPolicies[0], "arn:") {
		return nil, false
	}
	if !slices.ContainsFunc(g.instances, fits) {
		return nil, false
	}
	policy := w.lambdas[g.TerminationPolicies[0]]
	if policy == nil {
		return nil, true
	}
	answer := policy(g.question(surplus, fits, w.acc.Now()))
	if answer.Failed || answer.Took > mostLambda {
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

// question is what the function is told: how much in which zone and market, and the instances that lie there.
func (g *group) question(surplus int, fits func(*instance) bool, now time.Time) groupapi.TerminationRequest {
	q := groupapi.TerminationRequest{AutoScalingGroupARN: g.AutoScalingGroupARN,
		AutoScalingGroupName: g.AutoScalingGroupName,
		Cause:                "SCALE_IN"}
	v, taken := g.victims(fits, nil, now), map[*instance]bool{}
	for surplus > 0 {
		i := v.next(surplus, taken)
		if i == nil {
			break
		}
		surplus -= i.weight
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

// end1 takes one instance out of service: through its hooks, to its end or, where the pool takes back, to the warm
// pool.
func (w *AutoScaling) end1(i *instance, cause string, scaleIn bool) *groupapi.Activity {
	g := i.group
	w.end(g, i.activity, "Cancelled", "")
	i.activity = w.begin(g, "Terminating EC2 instance: "+i.id, cause)
	i.waits = nil
	if scaleIn && g.reuses() && i.reclaim.IsZero() && i.state == groupapi.InService {
		w.listeners.Leaves(i.id)
		i.protected = false
		w.move(i, groupapi.WarmedPending, 0, nil)
		w.hold(i, groupapi.Ending, groupapi.WarmedPendingWait, func() { w.prepare(i) })
		return i.activity
	}
	w.finish(i)
	return i.activity
}

// finish ends an instance through its hooks.
func (w *AutoScaling) finish(i *instance) {
	first, paused, last := groupapi.Terminating, groupapi.TerminatingWait, groupapi.TerminatingProceed
	if i.warmed() {
		first, paused, last = groupapi.WarmedTerminating, groupapi.WarmedEndWait, groupapi.WarmedEndProceed
	}
	w.move(i, first, 0, nil)
	w.hold(i, groupapi.Ending, paused, func() {
		if i.state == paused {
			w.move(i, last, i.group.machines.End, func() { w.ended(i) })
			return
		}
		w.move(i, first, i.group.machines.End, func() { w.ended(i) })
	})
}

func (w *AutoScaling) ended(i *instance) {
	g := i.group
	w.end(g, i.activity, "Successful", "")
	w.gone(i)
	w.acc.Tell("aws.autoscaling", "EC2 Instance Terminate Successful", g.AutoScalingGroupName, i.id)
	w.look(g)
}

// gone removes an instance: it exists no more.
func (w *AutoScaling) gone(i *instance) {
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

// member finds an instance of a group that the caller wants to change.
func (w *AutoScaling) member(id string) (*instance, error) {
	i := w.instances[id]
	if i == nil {
		return nil, account.Invalid("Instance Id not found - No managed instance found for instance ID: %s", id)
	}
	_, err := w.change(i.group.AutoScalingGroupName)
	return i, err
}

// TerminateInstanceInAutoScalingGroup ends an instance, protected or not. With decrement the desired capacity falls by
// its weight; without, the group launches another.
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
	case i.state == groupapi.TerminatingRetained:
		i.activity = w.begin(g, "Terminating EC2 instance: "+i.id, "a user asked to end a retained instance.")
		x := *i.activity
		w.move(i, groupapi.Terminating, g.machines.End, func() { w.ended(i) })
		return groupapi.OneActivity{Activity: x}, nil
	case strings.HasPrefix(string(i.state), "Terminating"):
		return groupapi.OneActivity{}, account.Refuse("ScalingActivityInProgress",
			"The instance %s is terminating already.", i.id)
	}
	decrement := *in.ShouldDecrementDesiredCapacity
	if decrement && i.counted() {
		if g.desired-i.weight < g.MinSize {
			return groupapi.OneActivity{},
				account.Invalid("Currently, desiredSize equals minSize (%d). Terminating instance without "+
					"replacement will violate group's min size constraint. Either set shouldDecrementDesiredCapacity "+
					"flag to false or lower group's min size.", g.MinSize)
		}
		g.desired -= i.weight
	}
	x := *w.end1(i, "an instance was taken out of service in response to a user request.", false)
	w.look(g)
	return groupapi.OneActivity{Activity: x}, nil
}

// SetInstanceProtection protects instances from scale-in, or takes that back: all that are named or, if one cannot be,
// none.
func (w *AutoScaling) SetInstanceProtection(in groupapi.SetProtection) (account.Nothing, error) {
	g, err := w.change(in.AutoScalingGroupName)
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
	w.look(g)
	return account.Nothing{}, nil
}

// SetInstanceHealth marks an instance; an unhealthy one is replaced, protected or not.
func (w *AutoScaling) SetInstanceHealth(in groupapi.SetHealth) (account.Nothing, error) {
	i, err := w.member(in.InstanceId)
	if err != nil {
		return account.Nothing{}, err
	}
	if in.HealthStatus != "Healthy" && in.HealthStatus != "Unhealthy" {
		return account.Nothing{}, account.Invalid("HealthStatus '%s' must be Healthy or Unhealthy.", in.HealthStatus)
	}
	i.unhealthy = in.HealthStatus == "Unhealthy"
	if i.unhealthy && i.state == groupapi.InService && i.group.runs("ReplaceUnhealthy") && i.group.runs("Terminate") {
		w.end1(i, "an instance was taken out of service in response to a user health-check.", false)
		w.look(i.group)
	}
	return account.Nothing{}, nil
}
