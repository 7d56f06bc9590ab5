package groups

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
)

// PutWarmPool gives a group a warm pool or changes it.
func (w *AutoScaling) PutWarmPool(in groupapi.PutWarm) (account.Nothing, error) {
	g, err := w.change(in.AutoScalingGroupName)
	if err != nil {
		return account.Nothing{}, err
	}
	c := groupapi.WarmPoolConfiguration{PoolState: "Stopped", MinSize: account.Ptr(0)}
	if g.pool != nil {
		c = *g.pool
	}
	c.Status = ""
	if in.MaxGroupPreparedCapacity != nil {
		if c.MaxGroupPreparedCapacity = in.MaxGroupPreparedCapacity; *in.MaxGroupPreparedCapacity == -1 {
			c.MaxGroupPreparedCapacity = nil
		}
	}
	if in.MinSize != nil {
		c.MinSize = in.MinSize
	}
	if in.PoolState != "" {
		c.PoolState = in.PoolState
	}
	if in.InstanceReusePolicy != nil {
		c.InstanceReusePolicy = in.InstanceReusePolicy
	}
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
	w.look(g)
	return account.Nothing{}, nil
}

// DescribeWarmPool shows the pool and its instances.
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

// DeleteWarmPool ends the pool's instances and then the pool: by force at once, otherwise through their hooks.
func (w *AutoScaling) DeleteWarmPool(in groupapi.DeleteWarm) (account.Nothing, error) {
	g, err := w.change(in.AutoScalingGroupName)
	if err != nil {
		return account.Nothing{}, err
	}
	if g.pool == nil {
		return account.Nothing{}, account.Invalid("No warm pool found for group %s", in.AutoScalingGroupName)
	}
	g.pool.Status = "PendingDelete"
	for _, i := range slices.Clone(g.instances) {
		if i.warmed() && account.Or(in.ForceDelete, false) {
			w.gone(i)
		}
	}
	w.reconcilePool(g)
	return account.Nothing{}, nil
}

// warm is how many instances the pool has, without those that end.
func (g *group) warm() (n int) {
	for _, i := range g.instances {
		if i.warmed() && !strings.HasPrefix(string(i.state), "Warmed:Terminating") {
			n++
		}
	}
	return n
}

func (g *group) reuses() bool {
	return g.pool != nil && g.pool.Status == "" && g.pool.InstanceReusePolicy != nil &&
		account.Or(g.pool.InstanceReusePolicy.ReuseOnScaleIn, false)
}

// poolSize is how many instances the pool should have: max(MinSize, (MaxGroupPreparedCapacity or MaxSize) - desired).
func (g *group) poolSize() int {
	if g.pool == nil || g.pool.Status != "" {
		return 0
	}
	return max(account.Or(g.pool.MinSize, 0), account.Or(g.pool.MaxGroupPreparedCapacity, g.MaxSize)-g.desired)
}

// warmReady is the instance that has been in the pool for longest and is ready to leave it.
func (g *group) warmReady() *instance {
	if g.pool == nil || g.pool.Status != "" {
		return nil
	}
	for _, i := range g.instances {
		if i.state == groupapi.WarmedStopped || i.state == groupapi.WarmedRunning ||
			i.state == groupapi.WarmedHibernated {
			return i
		}
	}
	return nil
}

// leavePool takes an instance out of the pool into service.
func (w *AutoScaling) leavePool(i *instance, cause string) {
	m := i.group.machines
	d := m.WarmBoot
	if i.state == groupapi.WarmedRunning {
		d = m.RunningBoot
	}
	w.end(i.group, i.activity, "Cancelled", "")
	i.activity = w.begin(i.group, "Launching a new EC2 instance from warm pool: "+i.id, cause)
	w.move(i, groupapi.Pending, d, func() {
		w.hold(i, groupapi.Launching, groupapi.PendingWait, func() { w.proceed(i) })
	})
}

// prepare brings an instance into the state in which the pool keeps it.
func (w *AutoScaling) prepare(i *instance) {
	g := i.group
	ready := func() {
		state := map[string]groupapi.LifecycleState{"Running": groupapi.WarmedRunning,
			"Hibernated": groupapi.WarmedHibernated}[g.poolState()]
		if state == "" {
			state = groupapi.WarmedStopped
		}
		w.move(i, state, 0, nil)
		w.end(g, i.activity, "Successful", "")
		i.activity = nil
		w.look(g)
	}
	if i.state == groupapi.WarmedPendingWait {
		w.move(i, groupapi.WarmedPendingGo, g.machines.Prepare, ready)
		return
	}
	w.move(i, groupapi.WarmedPending, g.machines.Prepare, ready)
}

func (g *group) poolState() string {
	if g.pool == nil {
		return ""
	}
	return g.pool.PoolState
}

// fillPool launches into the pool what is missing there, and ends what is too much.
func (w *AutoScaling) fillPool(g *group) {
	w.reconcilePool(g)
	if g.pool == nil || !g.runs("Launch") || w.acc.Now().Before(g.askAgain) || g.capacity() < g.desired {
		return
	}
	for g.warm() < g.poolSize() {
		cause := fmt.Sprintf("an instance was started because the warm pool has %d of %d.", g.warm(), g.poolSize())
		if _, failed := w.launch(g, nil, true, cause); failed != nil {
			w.retry(g)
			return
		}
	}
}

// reconcilePool ends what the pool has too much, and removes a pool that is to go and is empty.
func (w *AutoScaling) reconcilePool(g *group) {
	if g.pool == nil || !g.runs("Terminate") {
		return
	}
	for g.warm() > g.poolSize() {
		i := g.poolVictim()
		if i == nil {
			break // the others are on their way into the pool
		}
		i.activity = w.begin(g, "Terminating EC2 instance: "+i.id, "an instance of the warm pool was ended because "+
			"there are too many.")
		w.finish(i)
	}
	if g.pool.Status == "PendingDelete" && !slices.ContainsFunc(g.instances, (*instance).warmed) {
		g.pool = nil
	}
}

func (g *group) poolVictim() *instance {
	all := keep(g.instances, func(i *instance) bool {
		return i.state == groupapi.WarmedStopped || i.state == groupapi.WarmedRunning ||
			i.state == groupapi.WarmedHibernated
	})
	if len(all) == 0 {
		return nil
	}
	return oldest(all)
}
