package groups

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-scale/muster/awsrules/warmpool"
	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
)

// This file has warm pools: instances that are prepared outside the group and enter service faster than a cold
// launch. Instances of a pool are in g.instances like all others; their states begin with Warmed, and none of them
// counts.

// PutWarmPool gives a group a warm pool or changes the one it has. A mixed group is refused unless the world allows
// it.
func (w *AutoScaling) PutWarmPool(in groupapi.PutWarm) (account.Nothing, error) {
	g, err := w.changeable(in.AutoScalingGroupName)
	if err != nil {
		return account.Nothing{}, err
	}
	// AWS keeps stopped instances unless told otherwise. A second call changes only what it states.
	c := groupapi.WarmPoolConfiguration{PoolState: "Stopped", MinSize: account.Ptr(0)}
	if g.pool != nil {
		c = *g.pool
	}
	// A call on a pool that is being deleted keeps the pool.
	c.Status = ""
	c.Update(in)
	switch {
	case g.MixedInstancesPolicy != nil && !w.mayMix:
		return account.Nothing{},
			account.Invalid("You can't add a warm pool to an Auto Scaling group that has a mixed instances " +
				"policy.")
	case !slices.Contains([]string{"Stopped", "Running", "Hibernated"}, c.PoolState):
		return account.Nothing{}, account.Invalid("PoolState '%s' must be Stopped, Running or Hibernated.", c.PoolState)
	case account.Or(c.MinSize, 0) < 0 || account.Or(c.MinSize, 0) > MaxGroupSize ||
		account.Or(c.MaxGroupPreparedCapacity, 0) < 0 ||
		account.Or(c.MaxGroupPreparedCapacity, 0) > MaxGroupSize:
		return account.Nothing{}, account.Invalid("MinSize and MaxGroupPreparedCapacity must be from 0 to %d.",
			MaxGroupSize)
	}
	g.pool = &c
	w.reconcileSoon(g)
	return account.Nothing{}, nil
}

// DescribeWarmPool returns the settings of a group's warm pool and its instances, in pages.
func (w *AutoScaling) DescribeWarmPool(in groupapi.DescribeWarm) (groupapi.WarmPool, error) {
	g, err := w.group(in.AutoScalingGroupName)
	if err != nil {
		return groupapi.WarmPool{}, err
	}
	n := account.Or(in.MaxRecords, 50)
	if n < 1 || n > 50 {
		return groupapi.WarmPool{}, account.Invalid("MaxRecords %d must be from 1 to 50.", n)
	}
	var out groupapi.WarmPool
	if g.pool != nil {
		out.WarmPoolConfiguration = account.Ptr(*g.pool)
	}
	var all []groupapi.Instance
	for _, i := range g.instances {
		if i.warmed() {
			all = append(all, i.show())
		}
	}
	out.Instances, out.NextToken, err = account.Page(all, in.NextToken, n)
	return out, err
}

// DeleteWarmPool ends the instances of a pool and then the pool: at once with ForceDelete, otherwise through their
// hooks, while the pool shows the status PendingDelete.
func (w *AutoScaling) DeleteWarmPool(in groupapi.DeleteWarm) (account.Nothing, error) {
	g, err := w.changeable(in.AutoScalingGroupName)
	if err != nil {
		return account.Nothing{}, err
	}
	if g.pool == nil {
		return account.Nothing{}, account.Invalid("No warm pool found for group %s", in.AutoScalingGroupName)
	}
	g.pool.Status = "PendingDelete"
	for _, i := range slices.Clone(g.instances) {
		if i.warmed() && account.Or(in.ForceDelete, false) {
			w.remove(i)
		}
	}
	w.reconcilePool(g)
	return account.Nothing{}, nil
}

// warmCount returns the number of instances in the pool or on their way into it, without terminating ones.
func (g *group) warmCount() (n int) {
	for _, i := range g.instances {
		if i.warmed() && !strings.HasPrefix(string(i.state), "Warmed:Terminating") {
			n++
		}
	}
	return n
}

// reuses tells whether scale-in returns instances to the pool instead of ending them.
func (g *group) reuses() bool {
	return g.pool != nil && g.pool.Status == "" && g.pool.InstanceReusePolicy != nil &&
		account.Or(g.pool.InstanceReusePolicy.ReuseOnScaleIn, false)
}

// poolSize returns the number of instances that the pool should have; 0 for a pool that is being deleted.
func (g *group) poolSize() int {
	if g.pool == nil || g.pool.Status != "" {
		return 0
	}
	return warmpool.Pool{Min: account.Or(g.pool.MinSize, 0),
		Prepared: account.Or(g.pool.MaxGroupPreparedCapacity, g.MaxSize)}.Size(g.desired)
}

// longestWarm returns the instance that was launched first of those that are ready in the pool; nil when none is.
func (g *group) longestWarm() *instance {
	for _, i := range g.instances {
		switch i.state {
		case groupapi.WarmedStopped, groupapi.WarmedRunning, groupapi.WarmedHibernated:
			return i
		}
	}
	return nil
}

// leavePool takes an instance out of the pool and, through its launch hooks, into service. Launch hooks run a second
// time here: AWS runs them on the way into the pool and on the way out.
func (w *AutoScaling) leavePool(i *instance, cause string) {
	m := i.group.machines
	// Starting a stopped machine takes a boot without a launch; a running one has only to enter service.
	d := m.WarmBoot
	if i.state == groupapi.WarmedRunning {
		d = m.RunningBoot
	}
	w.end(i.group, i.activity, "Cancelled", "")
	i.activity = w.begin(i.group, "Launching a new EC2 instance from warm pool: "+i.id, cause)
	w.move(i, groupapi.Pending, d, func() {
		w.runHooks(i, groupapi.Launching, groupapi.PendingWait, func() { w.proceed(i) })
	})
}

// prepare brings an instance into the state in which the pool keeps it, after its boot or after it left service. A
// pool that was deleted meanwhile keeps it stopped, and the next reconciliation ends it.
func (w *AutoScaling) prepare(i *instance) {
	g := i.group
	ready := func() {
		state := map[string]groupapi.LifecycleState{"Running": groupapi.WarmedRunning,
			"Hibernated": groupapi.WarmedHibernated}[g.poolState()]
		if state == "" {
			state = groupapi.WarmedStopped
		}
		// The pool's state is read now, not at the launch: a call may have changed it meanwhile.
		w.move(i, state, 0, nil)
		w.end(g, i.activity, "Successful", "")
		i.activity = nil
		w.reconcileSoon(g)
	}
	if i.state == groupapi.WarmedPendingWait {
		w.move(i, groupapi.WarmedPendingGo, g.machines.Prepare, ready)
		return
	}
	w.move(i, groupapi.WarmedPending, g.machines.Prepare, ready)
}

// poolState returns Stopped, Running or Hibernated; empty without a pool.
func (g *group) poolState() string {
	if g.pool == nil {
		return ""
	}
	return g.pool.PoolState
}

// fillPool launches what the pool lacks and ends what it has too much of. The group comes first: while it lacks
// capacity, the pool launches nothing.
func (w *AutoScaling) fillPool(g *group) {
	w.reconcilePool(g)
	if g.pool == nil || !g.runs("Launch") || w.acc.Now().Before(g.notBefore) || g.capacity() < g.desired {
		return
	}
	for g.warmCount() < g.poolSize() {
		cause := fmt.Sprintf("an instance was started because the warm pool has %d of %d.", g.warmCount(), g.poolSize())
		if _, failed := w.launch(g, nil, true, cause); failed != nil {
			w.retry(g)
			return
		}
	}
}

// reconcilePool ends ready instances while the pool has too many, and removes a pool that is being deleted once it is
// empty.
func (w *AutoScaling) reconcilePool(g *group) {
	if g.pool == nil || !g.runs("Terminate") {
		return
	}
	for g.warmCount() > g.poolSize() {
		i := g.longestWarm()
		if i == nil {
			// Only ready instances end: an instance on its way into the pool ends when it has arrived.
			break
		}
		i.activity = w.begin(g, "Terminating EC2 instance: "+i.id, "an instance of the warm pool was ended because "+
			"there are too many.")
		w.terminateThroughHooks(i)
	}
	if g.pool.Status == "PendingDelete" && !slices.ContainsFunc(g.instances, (*instance).warmed) {
		g.pool = nil
	}
}
