package groups

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
)

// grow launches what is missing: from the warm pool first, then cold.
func (w *AutoScaling) grow(g *group) {
	if w.acc.Now().Before(g.askAgain) {
		return
	}
	for have := g.capacity(); have < g.desired; have = g.capacity() {
		cause := fmt.Sprintf("an instance was started because the capacity of %d is below the desired %d.", have,
			g.desired)
		if i := g.warmReady(); i != nil {
			w.leavePool(i, cause)
			continue
		}
		if _, failed := w.launch(g, nil, false, cause); failed != nil {
			w.retry(g)
			return
		}
	}
}

// launch starts one instance, in one of the given zones (nil is all of the group's), for the group or for its warm
// pool. When no pool has capacity it says so for each pool it tried, and writes a failed activity down.
func (w *AutoScaling) launch(g *group, zones []string, toPool bool, cause string) (*instance, []groupapi.LaunchError) {
	market := g.nextMarket()
	var failed []groupapi.LaunchError
	for _, zone := range g.emptiest(zones) {
		for _, o := range w.choices(g, zone, market) {
			p := account.Pool{InstanceType: o.InstanceType, AvailabilityZone: zone, Market: market}
			if w.left(p) == 0 {
				failed = append(failed, groupapi.LaunchError{InstanceType: p.InstanceType, MarketType: p.Market,
					AvailabilityZone: p.AvailabilityZone,
					ErrorCode:        "InsufficientInstanceCapacity",
					ErrorMessage: fmt.Sprintf(
						"We currently do not have sufficient %s capacity in the Availability Zone you "+
							"requested (%s).", p.InstanceType, zone)})
				continue
			}
			return w.start(g, p, o, toPool, cause), nil
		}
	}
	a := w.begin(g, "Launching a new EC2 instance", cause)
	message := "No Availability Zone."
	if len(failed) > 0 {
		message = failed[0].ErrorMessage + " Launching EC2 instance failed."
	}
	w.end(g, a, "Failed", message)
	w.acc.Tell("aws.autoscaling", "EC2 Instance Launch Unsuccessful", g.AutoScalingGroupName, message)
	return nil, failed
}

// start makes the instance and lets it boot.
func (w *AutoScaling) start(g *group, p account.Pool, o groupapi.Overrides, toPool bool, cause string) *instance {
	weight, err := strconv.Atoi(o.WeightedCapacity)
	if err != nil {
		weight = 1
	}
	i := &instance{id: "i-" + w.acc.ID(17), group: g, pool: p, weight: weight, launchedAt: w.acc.Now(),
		generation: g.generation}
	g.instances = append(g.instances, i)
	w.instances[i.id] = i
	g.launched++
	i.activity = w.begin(g, "Launching a new EC2 instance: "+i.id, cause)
	booted := func() { w.booted(i) }
	if toPool {
		w.move(i, groupapi.WarmedPending, g.machines.Boot, booted)
	} else {
		w.move(i, groupapi.Pending, g.machines.Boot, booted)
	}
	if p.Market == account.Spot && g.machines.SpotRate > 0 {
		w.fate(i)
	}
	return i
}

// booted is the end of a cold launch.
func (w *AutoScaling) booted(i *instance) {
	g := i.group
	if w.acc.Hit("boots", g.machines.BootFails) {
		w.end(g, i.activity, "Failed", "The instance "+i.id+" ended while it launched.")
		w.acc.Tell("aws.autoscaling", "EC2 Instance Launch Unsuccessful", g.AutoScalingGroupName, i.id)
		w.gone(i)
		w.look(g)
		return
	}
	if i.state == groupapi.WarmedPending {
		w.hold(i, groupapi.Launching, groupapi.WarmedPendingWait, func() { w.prepare(i) })
		return
	}
	w.hold(i, groupapi.Launching, groupapi.PendingWait, func() { w.proceed(i) })
}

// proceed takes a launched instance into service.
func (w *AutoScaling) proceed(i *instance) {
	w.move(i, groupapi.PendingProceed, i.group.machines.Proceed, func() { w.serve(i) })
}

func (w *AutoScaling) serve(i *instance) {
	g := i.group
	w.move(i, groupapi.InService, 0, nil)
	i.inService, i.protected, i.refresh = w.acc.Now(), g.NewInstancesProtectedFromScaleIn, false
	w.end(g, i.activity, "Successful", "")
	i.activity = nil
	w.acc.Tell("aws.autoscaling", "EC2 Instance Launch Successful", g.AutoScalingGroupName, i.id)
	w.listeners.Serves(i.machine())
	if old := i.replaces; old != nil && w.instances[old.id] == old && old.state == groupapi.InService {
		w.end1(old, "an instance was taken out of service because "+i.id+" replaces it.", false)
	}
	i.replaces = nil
	w.look(g)
}

// nextMarket is where the next instance of a mixed group comes from: a base on demand, and a share of what is above it.
func (g *group) nextMarket() string {
	if g.MixedInstancesPolicy == nil || g.MixedInstancesPolicy.InstancesDistribution == nil {
		return account.OnDemand
	}
	if demand, all := g.onDemand(); demand < g.MixedInstancesPolicy.OnDemand(all+1) {
		return account.OnDemand
	}
	return account.Spot
}

// onDemand is how much of the counted capacity is on demand, and how much there is.
func (g *group) onDemand() (demand, all int) {
	for _, i := range g.instances {
		if i.counted() {
			all += i.weight
			if i.pool.Market == account.OnDemand {
				demand += i.weight
			}
		}
	}
	return demand, all
}

// emptiest are zones by how few instances of the group they have.
func (g *group) emptiest(zones []string) []string {
	if zones == nil {
		zones = g.AvailabilityZones
	}
	n := g.perZone()
	zones = slices.Clone(zones)
	slices.SortStableFunc(zones, func(a, b string) int { return cmp.Or(cmp.Compare(n[a], n[b]), cmp.Compare(a, b)) })
	return zones
}

func (g *group) perZone() map[string]int {
	n := map[string]int{}
	for _, i := range g.instances {
		if i.counted() {
			n[i.pool.AvailabilityZone]++
		}
	}
	return n
}

// choices are the types that may be launched, best first: in the order of the overrides, or for Spot strategies that
// look at capacity by how much is left.
func (w *AutoScaling) choices(g *group, zone, market string) []groupapi.Overrides {
	if g.MixedInstancesPolicy == nil || len(g.MixedInstancesPolicy.LaunchTemplate.Overrides) == 0 {
		return []groupapi.Overrides{{InstanceType: g.typical}}
	}
	all := slices.Clone(g.MixedInstancesPolicy.LaunchTemplate.Overrides)
	for k := range all {
		all[k].InstanceType = cmp.Or(all[k].InstanceType, g.typical)
	}
	d := g.MixedInstancesPolicy.InstancesDistribution
	if market == account.Spot && d != nil && d.SpotAllocationStrategy != "" &&
		d.SpotAllocationStrategy != "lowest-price" {
		slices.SortStableFunc(all, func(a, b groupapi.Overrides) int {
			return cmp.Compare(w.left(account.Pool{InstanceType: b.InstanceType, AvailabilityZone: zone,
				Market: market}), w.left(account.Pool{InstanceType: a.InstanceType, AvailabilityZone: zone,
				Market: market}))
		})
	}
	return all
}

// left is how many instances of a pool can still be had.
func (w *AutoScaling) left(p account.Pool) int {
	most, limited := w.acc.Capacity(p)
	if !limited {
		return MaxGroups * MaxGroupSize
	}
	for _, i := range w.instances {
		if i.pool == p && i.state != groupapi.WarmedStopped && i.state != groupapi.WarmedHibernated {
			most--
		}
	}
	return max(most, 0)
}

// LaunchInstances launches instances at once and raises the desired capacity by them. What has no capacity is an error
// in the answer. The same client token gives the same answer and launches nothing more.
func (w *AutoScaling) LaunchInstances(in groupapi.LaunchInstances) (groupapi.Launched, error) {
	g, err := w.change(in.AutoScalingGroupName)
	if err != nil {
		return groupapi.Launched{}, err
	}
	n, token := account.Or(in.RequestedCapacity, 0), "launch/"+in.AutoScalingGroupName+"/"+in.ClientToken
	switch {
	case in.ClientToken == "" || len(in.ClientToken) > 64:
		return groupapi.Launched{}, account.Invalid("ClientToken must have 1 to 64 characters.")
	case n < 1 || n > 100:
		return groupapi.Launched{}, account.Invalid("RequestedCapacity %d must be from 1 to 100.", n)
	}
	if before, ok := w.tokens.Before(token).(launchAnswer); ok {
		if before.requested != n {
			return groupapi.Launched{}, account.Refuse("IdempotentParameterMismatch",
				"The client token was used with other parameters.")
		}
		return before.answer, nil
	}
	zones := slices.Concat(in.AvailabilityZones, in.AvailabilityZoneIds)
	switch {
	case g.desired+n > g.MaxSize:
		return groupapi.Launched{},
			account.Invalid("The desired capacity of %d and the requested %d are above the max size of %d.",
				g.desired, n, g.MaxSize)
	case len(g.AvailabilityZones) > 1 && len(zones)+len(in.SubnetIds) != 1:
		return groupapi.Launched{},
			account.Invalid("A group with several Availability Zones needs exactly one zone or subnet in the " +
				"request.")
	case len(zones) == 1 && !slices.Contains(g.AvailabilityZones, zones[0]):
		return groupapi.Launched{}, account.Invalid("The zone %s is none of the group's.", zones[0])
	case g.warm() > 0:
		return groupapi.Launched{}, account.Invalid("LaunchInstances does not work with a warm pool.")
	case !g.runs("Launch"):
		return groupapi.Launched{}, account.Invalid("The process Launch of group %s is suspended.",
			in.AutoScalingGroupName)
	}
	if len(zones) == 0 {
		zones = nil
	}
	out := w.launchNow(g, n, zones)
	out.ClientToken = in.ClientToken
	w.tokens.Keep(token, launchAnswer{n, out})
	if len(out.Errors) > 0 && in.RetryStrategy == "retry-with-group-configuration" {
		g.desired += n - g.capacityOf(out)
		w.retry(g)
	}
	return out, nil
}

// launchAnswer is what a client token is remembered with.
type launchAnswer struct {
	requested int
	answer    groupapi.Launched
}

func (w *AutoScaling) launchNow(g *group, n int, zones []string) groupapi.Launched {
	out := groupapi.Launched{AutoScalingGroupName: g.AutoScalingGroupName}
	for got := 0; got < n; {
		i, failed := w.launch(g, zones, false, "a client asked to launch instances.")
		if failed != nil {
			out.Errors = failed
			break
		}
		got += i.weight
		g.desired += i.weight
		k := slices.IndexFunc(out.Instances, func(c groupapi.LaunchedInstances) bool {
			return account.Pool{InstanceType: c.InstanceType, AvailabilityZone: c.AvailabilityZone,
				Market: c.MarketType} == i.pool
		})
		if k < 0 {
			k = len(out.Instances)
			out.Instances = append(out.Instances,
				groupapi.LaunchedInstances{InstanceType: i.pool.InstanceType, MarketType: i.pool.Market,
					AvailabilityZone: i.pool.AvailabilityZone, InstanceIds: nil})
		}
		out.Instances[k].InstanceIds = append(out.Instances[k].InstanceIds, i.id)
	}
	return out
}

// capacityOf is how much capacity of a group an answer holds.
func (g *group) capacityOf(l groupapi.Launched) (n int) {
	for _, c := range l.Instances {
		for _, i := range g.instances {
			if slices.Contains(c.InstanceIds, i.id) {
				n += i.weight
			}
		}
	}
	return n
}

// fate draws when a Spot instance is interrupted.
func (w *AutoScaling) fate(i *instance) {
	// Each minute has the same chance, so that one number at a time is drawn and a short life needs no logarithm.
	perMinute := i.group.machines.SpotRate / 60
	w.acc.After(time.Minute, func() {
		switch {
		case w.instances[i.id] == nil || !i.reclaim.IsZero():
		case w.acc.Hit("spot", perMinute):
			w.interrupt(i)
		default:
			w.fate(i)
		}
	})
}

// InterruptSpot announces that an instance is taken back. It ends after the notice of its Machines.
func (w *AutoScaling) InterruptSpot(id string) error {
	i := w.instances[id]
	if i == nil {
		return fmt.Errorf("interrupt %s: no group has such an instance", id)
	}
	if i.reclaim.IsZero() {
		w.interrupt(i)
	}
	return nil
}

// Reclaim is when a Spot interruption ends an instance, the zero time if none is announced. It is what the instance
// would read from its metadata.
func (w *AutoScaling) Reclaim(id string) time.Time {
	if i := w.instances[id]; i != nil {
		return i.reclaim
	}
	return time.Time{}
}

func (w *AutoScaling) interrupt(i *instance) {
	g := i.group
	i.reclaim = w.acc.Now().Add(g.machines.Notice)
	w.acc.Tell("aws.ec2", "EC2 Spot Instance Interruption Warning", i.id, "terminate")
	if account.Or(g.CapacityRebalance, false) && g.runs("Launch") && i.counted() {
		w.acc.Tell("aws.ec2", "EC2 Instance Rebalance Recommendation", i.id, "")
		if g.capacity() < g.MaxSize+max(g.MaxSize/10, 1) { // a rebalance may go a tenth above the maximum
			if i.atRisk = true; g.capacity() >= g.desired {
				i.atRisk = false // there are enough without it
			} else if other, failed := w.launch(g, nil, false, "an instance was started to replace "+i.id+
				", which is at risk of interruption."); failed != nil {
				i.atRisk = false
			} else {
				other.replaces = i
			}
		}
	}
	w.acc.At(i.reclaim, func() {
		if w.instances[i.id] != i {
			return
		}
		a := w.begin(g, "Terminating EC2 instance: "+i.id, "an instance was taken out of service in response to an "+
			"EC2 health check: Spot interruption.")
		w.end(g, i.activity, "Cancelled", "")
		w.gone(i)
		w.end(g, a, "Successful", "")
		w.look(g)
	})
}
