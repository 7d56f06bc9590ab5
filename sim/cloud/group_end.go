package cloud

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// shrink ends what is too much. It never takes a protected instance, nor one that has not come into service yet, nor
// goes below the desired capacity where instances have weights.
func (w *AutoScaling) shrink(g *group) {
	if w.acc.Now().Before(g.askAgain) {
		return
	}
	surplus := g.capacity() - g.desired
	fits := func(i *instance) bool { return i.state == InService && !i.protected && i.weight <= surplus }
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
		w.end1(i, fmt.Sprintf("an instance was taken out of service because the capacity of %d is above the desired %d.", capacity, g.desired), true)
		if v.gone(i, counted); counted {
			capacity -= i.weight
		}
	}
	w.sayStuck(g, surplus)
}

// sayStuck writes down, once, that what is too much is all protected.
func (w *AutoScaling) sayStuck(g *group, surplus int) {
	protected := surplus > 0 &&
		slices.ContainsFunc(g.instances, func(i *instance) bool { return i.state == InService && i.protected })
	if protected && !g.stuck {
		a := w.begin(g, "Could not scale to desired capacity because all remaining instances are protected from "+
			"scale in.",
			fmt.Sprintf("the capacity of %d is above the desired %d.", g.capacity(), g.desired))
		w.end(g, a, "Cancelled", "")
	}
	g.stuck = protected
}

// checkPolicies holds the order of termination policies: one function at most, and first; Default last.
func checkPolicies(all []string) error {
	known := []string{"Default", "AllocationStrategy", "OldestLaunchTemplate", "OldestLaunchConfiguration",
		"ClosestToNextInstanceHour", "NewestInstance", "OldestInstance"}
	for k, p := range all {
		function := strings.HasPrefix(p, "arn:")
		switch {
		case function && k > 0:
			return invalid("A Lambda function must be the first termination policy and the only function.")
		case function && strings.HasSuffix(p, ":$LATEST"):
			return invalid("A termination policy must not be qualified with $LATEST.")
		case !function && !slices.Contains(known, p):
			return invalid("Termination policy '%s' is not valid. Valid policies are %s.", p, strings.Join(known, ", "))
		case p == "Default" && k < len(all)-1:
			return invalid("Default must be the last termination policy.")
		}
	}
	return nil
}

// TerminationRequest is what a custom termination policy is asked.
type TerminationRequest struct {
	AutoScalingGroupARN  string
	AutoScalingGroupName string
	CapacityToTerminate  []CapacityToTerminate
	Instances            []TerminationCandidate
	// Cause is SCALE_IN, INSTANCE_REFRESH or REBALANCE.
	Cause string
}

// CapacityToTerminate is how much has to go in a zone and market.
type CapacityToTerminate struct {
	AvailabilityZone     string
	Capacity             int
	InstanceMarketOption string
}

// TerminationCandidate is an instance that may go.
type TerminationCandidate struct {
	AvailabilityZone, InstanceId, InstanceType, InstanceMarketOption string
}

// TerminationAnswer is what a custom termination policy answers.
type TerminationAnswer struct {
	InstanceIDs []string
	// Took is how long it ran; beyond two seconds the answer counts for nothing.
	Took time.Duration
	// Failed tells that the function ended with an error.
	Failed bool
}

// TerminationPolicy is a Lambda function that chooses what to end. It must be a function of its argument and of what
// its owner changes between calls of Advance; it must not call the world.
type TerminationPolicy func(TerminationRequest) TerminationAnswer

// mostLambda is how long EC2 Auto Scaling waits for a termination policy.
const mostLambda = 2 * time.Second

// OfferTerminationPolicy makes a function known by its ARN. A group that names an unknown one gets no answer from it.
func (w *AutoScaling) OfferTerminationPolicy(arn string, p TerminationPolicy) { w.lambdas[arn] = p }

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
func (g *group) question(surplus int, fits func(*instance) bool, now time.Time) TerminationRequest {
	q := TerminationRequest{AutoScalingGroupARN: g.AutoScalingGroupARN, AutoScalingGroupName: g.AutoScalingGroupName,
		Cause: "SCALE_IN"}
	v, taken := g.victims(fits, nil, now), map[*instance]bool{}
	for surplus > 0 {
		i := v.next(surplus, taken)
		if i == nil {
			break
		}
		surplus -= i.weight
		k := slices.IndexFunc(q.CapacityToTerminate, func(c CapacityToTerminate) bool {
			return c.AvailabilityZone == i.pool.AvailabilityZone && c.InstanceMarketOption == i.pool.Market
		})
		if k < 0 {
			k = len(q.CapacityToTerminate)
			q.CapacityToTerminate = append(q.CapacityToTerminate,
				CapacityToTerminate{i.pool.AvailabilityZone, 0, i.pool.Market})
		}
		q.CapacityToTerminate[k].Capacity += i.weight
	}
	for _, i := range g.instances {
		if fits(i) && slices.ContainsFunc(q.CapacityToTerminate, func(c CapacityToTerminate) bool {
			return c.AvailabilityZone == i.pool.AvailabilityZone && c.InstanceMarketOption == i.pool.Market
		}) {
			q.Instances = append(q.Instances, TerminationCandidate{i.pool.AvailabilityZone, i.id, i.pool.InstanceType,
				i.pool.Market})
		}
	}
	return q
}

// end1 takes one instance out of service: through its hooks, to its end or, where the pool takes back, to the warm
// pool.
func (w *AutoScaling) end1(i *instance, cause string, scaleIn bool) *Activity {
	g := i.group
	w.end(g, i.activity, "Cancelled", "")
	i.activity = w.begin(g, "Terminating EC2 instance: "+i.id, cause)
	i.waits = nil
	if scaleIn && g.reuses() && i.reclaim.IsZero() && i.state == InService {
		w.listeners.Leaves(i.id)
		i.protected = false
		w.move(i, WarmedPending, 0, nil)
		w.hold(i, Ending, WarmedPendingWait, func() { w.prepare(i) })
		return i.activity
	}
	w.finish(i)
	return i.activity
}

// finish ends an instance through its hooks.
func (w *AutoScaling) finish(i *instance) {
	first, paused, last := Terminating, TerminatingWait, TerminatingProceed
	if i.warmed() {
		first, paused, last = WarmedTerminating, WarmedEndWait, WarmedEndProceed
	}
	w.move(i, first, 0, nil)
	w.hold(i, Ending, paused, func() {
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
	w.acc.tell("aws.autoscaling", "EC2 Instance Terminate Successful", g.AutoScalingGroupName, i.id)
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
		return nil, invalid("Instance Id not found - No managed instance found for instance ID: %s", id)
	}
	_, err := w.change(i.group.AutoScalingGroupName)
	return i, err
}

// TerminateInstanceInAutoScalingGroup ends an instance, protected or not. With decrement the desired capacity falls by
// its weight; without, the group launches another.
func (w *AutoScaling) TerminateInstanceInAutoScalingGroup(in EndInstance) (OneActivity, error) {
	i, err := w.member(in.InstanceId)
	if err != nil {
		return OneActivity{}, err
	}
	g := i.group
	if in.ShouldDecrementDesiredCapacity == nil {
		return OneActivity{}, invalid("ShouldDecrementDesiredCapacity is required.")
	}
	switch {
	case i.warmed():
		return OneActivity{}, invalid("The instance %s is in the warm pool; it cannot be terminated by this action.",
			i.id)
	case i.state == TerminatingRetained:
		i.activity = w.begin(g, "Terminating EC2 instance: "+i.id, "a user asked to end a retained instance.")
		x := *i.activity
		w.move(i, Terminating, g.machines.End, func() { w.ended(i) })
		return OneActivity{x}, nil
	case strings.HasPrefix(string(i.state), "Terminating"):
		return OneActivity{}, fault("ScalingActivityInProgress", "The instance %s is terminating already.", i.id)
	}
	decrement := *in.ShouldDecrementDesiredCapacity
	if decrement && i.counted() {
		if g.desired-i.weight < g.MinSize {
			return OneActivity{}, invalid("Currently, desiredSize equals minSize (%d). Terminating instance without "+
				"replacement will violate group's min size constraint. Either set shouldDecrementDesiredCapacity "+
				"flag to false or lower group's min size.", g.MinSize)
		}
		g.desired -= i.weight
	}
	x := *w.end1(i, "an instance was taken out of service in response to a user request.", false)
	w.look(g)
	return OneActivity{x}, nil
}

// SetInstanceProtection protects instances from scale-in, or takes that back: all that are named or, if one cannot be,
// none.
func (w *AutoScaling) SetInstanceProtection(in SetProtection) (Nothing, error) {
	g, err := w.change(in.AutoScalingGroupName)
	if err != nil {
		return Nothing{}, err
	}
	if n := len(in.InstanceIds); n < 1 || n > 50 {
		return Nothing{}, invalid("1 to 50 instance ids may be given, got %d.", n)
	}
	if in.ProtectedFromScaleIn == nil {
		return Nothing{}, invalid("ProtectedFromScaleIn is required.")
	}
	var all []*instance
	for _, id := range in.InstanceIds {
		i := w.instances[id]
		switch {
		case i == nil || i.group != g:
			return Nothing{}, invalid("The instance %s is not part of Auto Scaling group %s.", id,
				in.AutoScalingGroupName)
		case i.state != InService && i.state != EnteringStandby && i.state != Standby:
			return Nothing{}, invalid("The instance %s is not in InService or EnteringStandby or Standby.", id)
		}
		all = append(all, i)
	}
	for _, i := range all {
		i.protected = *in.ProtectedFromScaleIn
	}
	w.look(g)
	return Nothing{}, nil
}

// SetInstanceHealth marks an instance; an unhealthy one is replaced, protected or not.
func (w *AutoScaling) SetInstanceHealth(in SetHealth) (Nothing, error) {
	i, err := w.member(in.InstanceId)
	if err != nil {
		return Nothing{}, err
	}
	if in.HealthStatus != "Healthy" && in.HealthStatus != "Unhealthy" {
		return Nothing{}, invalid("HealthStatus '%s' must be Healthy or Unhealthy.", in.HealthStatus)
	}
	i.unhealthy = in.HealthStatus == "Unhealthy"
	if i.unhealthy && i.state == InService && i.group.runs("ReplaceUnhealthy") && i.group.runs("Terminate") {
		w.end1(i, "an instance was taken out of service in response to a user health-check.", false)
		w.look(i.group)
	}
	return Nothing{}, nil
}
