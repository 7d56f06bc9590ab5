package cloud

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"
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
func (w *AutoScaling) launch(g *group, zones []string, toPool bool, cause string) (*instance, []LaunchError) {
	market := g.nextMarket()
	var failed []LaunchError
	for _, zone := range g.emptiest(zones) {
		for _, o := range w.choices(g, zone, market) {
			p := Pool{o.InstanceType, zone, market}
			if w.left(p) == 0 {
				failed = append(failed, LaunchError{p.InstanceType, p.Market, p.AvailabilityZone,
					"InsufficientInstanceCapacity",
					fmt.Sprintf("We currently do not have sufficient %s capacity in the Availability Zone you "+
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
	w.acc.tell("aws.autoscaling", "EC2 Instance Launch Unsuccessful", g.AutoScalingGroupName, message)
	return nil, failed
}

// start makes the instance and lets it boot.
func (w *AutoScaling) start(g *group, p Pool, o Overrides, toPool bool, cause string) *instance {
	weight, err := strconv.Atoi(o.WeightedCapacity)
	if err != nil {
		weight = 1
	}
	i := &instance{id: "i-" + w.acc.id(17), group: g, pool: p, weight: weight, launchedAt: w.acc.Now(), generation: g.generation}
	g.instances = append(g.instances, i)
	w.instances[i.id] = i
	g.launched++
	i.activity = w.begin(g, "Launching a new EC2 instance: "+i.id, cause)
	booted := func() { w.booted(i) }
	if toPool {
		w.move(i, WarmedPending, g.machines.Boot, booted)
	} else {
		w.move(i, Pending, g.machines.Boot, booted)
	}
	if p.Market == Spot && g.machines.SpotRate > 0 {
		w.fate(i)
	}
	return i
}

// booted is the end of a cold launch.
func (w *AutoScaling) booted(i *instance) {
	g := i.group
	if w.acc.hit("boots", g.machines.BootFails) {
		w.end(g, i.activity, "Failed", "The instance "+i.id+" ended while it launched.")
		w.acc.tell("aws.autoscaling", "EC2 Instance Launch Unsuccessful", g.AutoScalingGroupName, i.id)
		w.gone(i)
		w.look(g)
		return
	}
	if i.state == WarmedPending {
		w.hold(i, Launching, WarmedPendingWait, func() { w.prepare(i) })
		return
	}
	w.hold(i, Launching, PendingWait, func() { w.proceed(i) })
}

// proceed takes a launched instance into service.
func (w *AutoScaling) proceed(i *instance) {
	w.move(i, PendingProceed, i.group.machines.Proceed, func() { w.serve(i) })
}

func (w *AutoScaling) serve(i *instance) {
	g := i.group
	w.move(i, InService, 0, nil)
	i.inService, i.protected, i.refresh = w.acc.Now(), g.NewInstancesProtectedFromScaleIn, false
	w.end(g, i.activity, "Successful", "")
	i.activity = nil
	w.acc.tell("aws.autoscaling", "EC2 Instance Launch Successful", g.AutoScalingGroupName, i.id)
	w.listeners.Serves(i.machine())
	if old := i.replaces; old != nil && w.instances[old.id] == old && old.state == InService {
		w.end1(old, "an instance was taken out of service because "+i.id+" replaces it.", false)
	}
	i.replaces = nil
	w.look(g)
}

// nextMarket is where the next instance of a mixed group comes from: a base on demand, and a share of what is above it.
func (g *group) nextMarket() string {
	if g.MixedInstancesPolicy == nil || g.MixedInstancesPolicy.InstancesDistribution == nil {
		return OnDemand
	}
	if demand, all := g.onDemand(); demand < g.wantedOnDemand(all+1) {
		return OnDemand
	}
	return Spot
}

// onDemand is how much of the counted capacity is on demand, and how much there is.
func (g *group) onDemand() (demand, all int) {
	for _, i := range g.instances {
		if i.counted() {
			all += i.weight
			if i.pool.Market == OnDemand {
				demand += i.weight
			}
		}
	}
	return demand, all
}

// wantedOnDemand is how much of a capacity should be on demand, rounded up.
func (g *group) wantedOnDemand(all int) int {
	if g.MixedInstancesPolicy == nil || g.MixedInstancesPolicy.InstancesDistribution == nil {
		return all
	}
	d := g.MixedInstancesPolicy.InstancesDistribution
	base := min(or(d.OnDemandBaseCapacity, 0), all)
	return base + ((all-base)*or(d.OnDemandPercentageAboveBaseCapacity, 100)+99)/100
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
func (w *AutoScaling) choices(g *group, zone, market string) []Overrides {
	if g.MixedInstancesPolicy == nil || len(g.MixedInstancesPolicy.LaunchTemplate.Overrides) == 0 {
		return []Overrides{{InstanceType: g.typical}}
	}
	all := slices.Clone(g.MixedInstancesPolicy.LaunchTemplate.Overrides)
	for k := range all {
		all[k].InstanceType = cmp.Or(all[k].InstanceType, g.typical)
	}
	d := g.MixedInstancesPolicy.InstancesDistribution
	if market == Spot && d != nil && d.SpotAllocationStrategy != "" && d.SpotAllocationStrategy != "lowest-price" {
		slices.SortStableFunc(all, func(a, b Overrides) int {
			return cmp.Compare(w.left(Pool{b.InstanceType, zone, market}), w.left(Pool{a.InstanceType, zone, market}))
		})
	}
	return all
}

// left is how many instances of a pool can still be had.
func (w *AutoScaling) left(p Pool) int {
	most, limited := w.acc.capacity(p)
	if !limited {
		return MaxGroups * MaxGroupSize
	}
	for _, i := range w.instances {
		if i.pool == p && i.state != WarmedStopped && i.state != WarmedHibernated {
			most--
		}
	}
	return max(most, 0)
}

// LaunchInstances launches instances at once and raises the desired capacity by them. What has no capacity is an error
// in the answer. The same client token gives the same answer and launches nothing more.
func (w *AutoScaling) LaunchInstances(in LaunchInstances) (Launched, error) {
	g, err := w.change(in.AutoScalingGroupName)
	if err != nil {
		return Launched{}, err
	}
	n, token := or(in.RequestedCapacity, 0), "launch/"+in.AutoScalingGroupName+"/"+in.ClientToken
	switch {
	case in.ClientToken == "" || len(in.ClientToken) > 64:
		return Launched{}, invalid("ClientToken must have 1 to 64 characters.")
	case n < 1 || n > 100:
		return Launched{}, invalid("RequestedCapacity %d must be from 1 to 100.", n)
	}
	if before, ok := w.tokens.before(token).(launchAnswer); ok {
		if before.requested != n {
			return Launched{}, fault("IdempotentParameterMismatch", "The client token was used with other parameters.")
		}
		return before.answer, nil
	}
	zones := slices.Concat(in.AvailabilityZones, in.AvailabilityZoneIds)
	switch {
	case g.desired+n > g.MaxSize:
		return Launched{}, invalid("The desired capacity of %d and the requested %d are above the max size of %d.",
			g.desired, n, g.MaxSize)
	case len(g.AvailabilityZones) > 1 && len(zones)+len(in.SubnetIds) != 1:
		return Launched{}, invalid("A group with several Availability Zones needs exactly one zone or subnet in the " +
			"request.")
	case len(zones) == 1 && !slices.Contains(g.AvailabilityZones, zones[0]):
		return Launched{}, invalid("The zone %s is none of the group's.", zones[0])
	case g.warm() > 0:
		return Launched{}, invalid("LaunchInstances does not work with a warm pool.")
	case !g.runs("Launch"):
		return Launched{}, invalid("The process Launch of group %s is suspended.", in.AutoScalingGroupName)
	}
	if len(zones) == 0 {
		zones = nil
	}
	out := w.launchNow(g, n, zones)
	out.ClientToken = in.ClientToken
	w.tokens.keep(token, launchAnswer{n, out})
	if len(out.Errors) > 0 && in.RetryStrategy == "retry-with-group-configuration" {
		g.desired += n - out.launched(g)
		w.retry(g)
	}
	return out, nil
}

// launchAnswer is what a client token is remembered with.
type launchAnswer struct {
	requested int
	answer    Launched
}

func (w *AutoScaling) launchNow(g *group, n int, zones []string) Launched {
	out := Launched{AutoScalingGroupName: g.AutoScalingGroupName}
	for got := 0; got < n; {
		i, failed := w.launch(g, zones, false, "a client asked to launch instances.")
		if failed != nil {
			out.Errors = failed
			break
		}
		got += i.weight
		g.desired += i.weight
		k := slices.IndexFunc(out.Instances, func(c LaunchedInstances) bool {
			return Pool{c.InstanceType, c.AvailabilityZone, c.MarketType} == i.pool
		})
		if k < 0 {
			k = len(out.Instances)
			out.Instances = append(out.Instances,
				LaunchedInstances{i.pool.InstanceType, i.pool.Market, i.pool.AvailabilityZone, nil})
		}
		out.Instances[k].InstanceIds = append(out.Instances[k].InstanceIds, i.id)
	}
	return out
}

// launched is how much capacity an answer holds.
func (l Launched) launched(g *group) (n int) {
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
	w.acc.after(time.Minute, func() {
		switch {
		case w.instances[i.id] == nil || !i.reclaim.IsZero():
		case w.acc.hit("spot", perMinute):
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
	w.acc.tell("aws.ec2", "EC2 Spot Instance Interruption Warning", i.id, "terminate")
	if or(g.CapacityRebalance, false) && g.runs("Launch") && i.counted() {
		w.acc.tell("aws.ec2", "EC2 Instance Rebalance Recommendation", i.id, "")
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
	w.acc.at(i.reclaim, func() {
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
