package groups

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/muster-scale/muster/awsrules/spot"
	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
)

// This file has launches: which market, zone and type the next instance comes from, how it boots, LaunchInstances,
// and Spot interruptions with capacity rebalancing.

// grow launches instances until the capacity is the desired capacity: from the warm pool first, then cold. After the
// first launch that fails it stops and retries later.
func (w *AutoScaling) grow(g *group) {
	if w.acc.Now().Before(g.notBefore) {
		return
	}
	for have := g.capacity(); have < g.desired; have = g.capacity() {
		cause := fmt.Sprintf("an instance was started because the capacity of %d is below the desired %d.", have,
			g.desired)
		if i := g.longestWarm(); i != nil && g.pool.Status == "" {
			w.leavePool(i, cause)
			continue
		}
		if _, failed := w.launch(g, nil, false, cause); failed != nil {
			w.retry(g)
			return
		}
	}
}

// launch starts one instance in one of the zones, for the group or for its warm pool. Nil zones are all zones of the
// group. It tries the emptiest zone first, and in each zone the instance types in order of preference. When no pool
// has capacity, it returns an error for each pool that it tried and records a failed activity.
func (w *AutoScaling) launch(g *group, zones []string, toPool bool, cause string) (*instance, []groupapi.LaunchError) {
	market := g.nextMarket()
	var failed []groupapi.LaunchError
	// The market is chosen first: a mixed group keeps its share of the markets even if the other market has capacity.
	for _, zone := range g.emptiest(zones) {
		for _, o := range w.launchTypes(g, zone, market) {
			p := account.Pool{InstanceType: o.InstanceType, AvailabilityZone: zone, Market: market}
			if w.available(p) == 0 {
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
	// AWS shows a failed launch as an activity of its own, with the first error as its message.
	a := w.begin(g, "Launching a new EC2 instance", cause)
	message := "No Availability Zone."
	if len(failed) > 0 {
		message = failed[0].ErrorMessage + " Launching EC2 instance failed."
	}
	w.end(g, a, "Failed", message)
	w.acc.Tell("aws.autoscaling", "EC2 Instance Launch Unsuccessful", g.AutoScalingGroupName, message)
	return nil, failed
}

// start creates the instance and lets it boot. A weight that is not a number counts as 1; groupapi has checked it.
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
	// A launch for the pool boots just as long: what differs is the state, and that it does not count.
	booted := func() { w.booted(i) }
	if toPool {
		w.move(i, groupapi.WarmedPending, g.machines.Boot, booted)
	} else {
		w.move(i, groupapi.Pending, g.machines.Boot, booted)
	}
	if p.Market == account.Spot && g.machines.SpotRate > 0 {
		w.drawInterruption(i)
	}
	return i
}

// booted is the end of a boot, for the group or the pool: the launch fails by chance, or the launch hooks run.
func (w *AutoScaling) booted(i *instance) {
	g := i.group
	if w.acc.Hit("boots", g.machines.BootFails) {
		w.end(g, i.activity, "Failed", "The instance "+i.id+" ended while it launched.")
		w.acc.Tell("aws.autoscaling", "EC2 Instance Launch Unsuccessful", g.AutoScalingGroupName, i.id)
		w.remove(i)
		w.reconcileSoon(g)
		return
	}
	if i.state == groupapi.WarmedPending {
		w.runHooks(i, groupapi.Launching, groupapi.WarmedPendingWait, func() { w.prepare(i) })
		return
	}
	w.runHooks(i, groupapi.Launching, groupapi.PendingWait, func() { w.proceed(i) })
}

// proceed takes an instance whose launch hooks are done through Pending:Proceed into service.
func (w *AutoScaling) proceed(i *instance) {
	w.move(i, groupapi.PendingProceed, i.group.machines.Proceed, func() { w.enterService(i) })
}

// enterService puts an instance into service. If it was launched in place of an instance at risk, that one ends only
// now, so that the group keeps its capacity.
func (w *AutoScaling) enterService(i *instance) {
	g := i.group
	w.move(i, groupapi.InService, 0, nil)
	// A new instance has the group's present default of protection, and no refresh has to replace it.
	i.inService, i.protected, i.refresh = w.acc.Now(), g.NewInstancesProtectedFromScaleIn, false
	w.end(g, i.activity, "Successful", "")
	i.activity = nil
	w.acc.Tell("aws.autoscaling", "EC2 Instance Launch Successful", g.AutoScalingGroupName, i.id)
	w.listeners.Serves(i.machine())
	if old := i.replaces; old != nil && w.instances[old.id] == old && old.state == groupapi.InService {
		w.terminate(old, "an instance was taken out of service because "+i.id+" replaces it.", false)
	}
	i.replaces = nil
	w.reconcileSoon(g)
}

// nextMarket returns the market of the next instance: on demand until the base and the percentage above it are met,
// then Spot. A group that is not mixed is on demand.
func (g *group) nextMarket() string {
	if g.MixedInstancesPolicy == nil || g.MixedInstancesPolicy.InstancesDistribution == nil {
		return account.OnDemand
	}
	if demand, all := g.onDemand(); demand < g.MixedInstancesPolicy.OnDemand(all+1) {
		return account.OnDemand
	}
	return account.Spot
}

// onDemand returns the counted capacity on demand and the counted capacity of both markets, in weights.
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

// emptiest sorts zones by the number of counted instances, and equal ones by name. Nil zones are all of the group's.
func (g *group) emptiest(zones []string) []string {
	if zones == nil {
		zones = g.AvailabilityZones
	}
	n := g.perZone()
	zones = slices.Clone(zones)
	slices.SortStableFunc(zones, func(a, b string) int { return cmp.Or(cmp.Compare(n[a], n[b]), cmp.Compare(a, b)) })
	return zones
}

// perZone returns the number of counted instances by zone. Zones are levelled by instances, not by weights.
func (g *group) perZone() map[string]int {
	n := map[string]int{}
	for _, i := range g.instances {
		if i.counted() {
			n[i.pool.AvailabilityZone]++
		}
	}
	return n
}

// launchTypes returns the instance types to try in a zone, best first. Spot strategies other than lowest-price prefer
// the pool with most capacity left; everything else goes by the order of the overrides, as prices are not modelled.
func (w *AutoScaling) launchTypes(g *group, zone, market string) []groupapi.Overrides {
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
			return cmp.Compare(w.available(account.Pool{InstanceType: b.InstanceType, AvailabilityZone: zone,
				Market: market}), w.available(account.Pool{InstanceType: a.InstanceType, AvailabilityZone: zone,
				Market: market}))
		})
	}
	return all
}

// available returns how many more instances a pool can launch. Stopped and hibernated instances of a warm pool take
// no capacity. A pool without a limit has more than all groups together can ask for.
func (w *AutoScaling) available(p account.Pool) int {
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

// LaunchInstances launches instances synchronously and raises the desired capacity by them. Missing capacity is not
// an error of the call: the answer lists it, and with RetryStrategy retry-with-group-configuration the group launches
// the rest later. A client token that was used before returns the first answer and launches nothing.
func (w *AutoScaling) LaunchInstances(in groupapi.LaunchInstances) (groupapi.Launched, error) {
	g, err := w.changeable(in.AutoScalingGroupName)
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
	// The token is looked up before the checks below: a repeated call gets its answer even if the group has changed.
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
	case g.warmCount() > 0:
		return groupapi.Launched{}, account.Invalid("LaunchInstances does not work with a warm pool.")
	case !g.runs("Launch"):
		return groupapi.Launched{}, account.Invalid("The process Launch of group %s is suspended.",
			in.AutoScalingGroupName)
	}
	if len(zones) == 0 {
		// One zone only, and the request does not name it: nil means all zones of the group.
		zones = nil
	}
	out := w.launchNow(g, n, zones)
	out.ClientToken = in.ClientToken
	w.tokens.Keep(token, launchAnswer{n, out})
	if len(out.Errors) > 0 && in.RetryStrategy == "retry-with-group-configuration" {
		// The capacity that is missing becomes desired capacity, so that reconcile launches it like any other.
		g.desired += n - g.capacityOf(out)
		w.retry(g)
	}
	return out, nil
}

// launchAnswer is what is remembered for a client token: the capacity that was requested, to refuse another, and the
// answer.
type launchAnswer struct {
	requested int
	answer    groupapi.Launched
}

// launchNow launches instances until they provide n units of capacity or a launch fails. The answer groups them by
// pool. The last instance of a weighted group may exceed n.
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

// capacityOf returns the capacity that the instances of an answer provide, in weights.
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

// drawInterruption draws when Spot interrupts an instance. An instance that has ended by then, or that was interrupted
// by hand, is not interrupted again.
func (w *AutoScaling) drawInterruption(i *instance) {
	w.acc.After(spot.Until(i.group.machines.SpotRate, spot.Exponential(w.acc.Draw("spot"))), func() {
		if w.instances[i.id] == i && i.reclaim.IsZero() {
			w.interrupt(i)
		}
	})
}

// InterruptSpot announces that Spot reclaims an instance. The instance ends after the notice of its [Machines]. A
// second call changes nothing. The error says that no group has such an instance.
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

// Reclaim returns when a Spot interruption ends an instance; the zero time when none is announced. It is what a
// program on the instance reads from the instance metadata.
func (w *AutoScaling) Reclaim(id string) time.Time {
	if i := w.instances[id]; i != nil {
		return i.reclaim
	}
	return time.Time{}
}

// interrupt announces a Spot interruption, launches a replacement if the group rebalances, and ends the instance when
// the notice is over. The end skips hooks and protection: AWS takes the machine away.
func (w *AutoScaling) interrupt(i *instance) {
	g := i.group
	i.reclaim = w.acc.Now().Add(g.machines.Notice)
	w.acc.Tell("aws.ec2", "EC2 Spot Instance Interruption Warning", i.id, "terminate")
	// With capacity rebalancing the group launches a replacement at once instead of after the interruption. The
	// instance at risk stops counting, which makes room under the desired capacity, and serves until its replacement
	// does.
	if account.Or(g.CapacityRebalance, false) && g.runs("Launch") && i.counted() {
		w.acc.Tell("aws.ec2", "EC2 Instance Rebalance Recommendation", i.id, "")
		if g.capacity() < g.MaxSize+max(g.MaxSize/10, 1) { // a rebalance may exceed the maximum by a tenth
			if i.atRisk = true; g.capacity() >= g.desired {
				i.atRisk = false // the others suffice without it
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
		w.remove(i)
		w.end(g, a, "Successful", "")
		w.reconcileSoon(g)
	})
}
