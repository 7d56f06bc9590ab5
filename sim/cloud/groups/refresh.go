package groups

import (
	"slices"
	"time"

	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
)

// This file has what changes instances beside scaling: suspended processes, standby and detaching, levelling the
// zones, and instance refreshes.

// SuspendProcesses suspends processes of a group, all of them when none is named. What is under way goes on.
func (w *AutoScaling) SuspendProcesses(in groupapi.Processes) (account.Nothing, error) {
	return w.suspend(in, true)
}

// ResumeProcesses resumes suspended processes of a group, all of them when none is named.
func (w *AutoScaling) ResumeProcesses(in groupapi.Processes) (account.Nothing, error) {
	return w.suspend(in, false)
}

// suspend stops or resumes processes. An unknown name changes none.
func (w *AutoScaling) suspend(in groupapi.Processes, stop bool) (account.Nothing, error) {
	g, err := w.changeable(in.AutoScalingGroupName)
	if err != nil {
		return account.Nothing{}, err
	}
	names := in.ScalingProcesses
	if len(names) == 0 {
		names = groupapi.ProcessNames()
	}
	for _, p := range names {
		if !slices.Contains(groupapi.ProcessNames(), p) {
			return account.Nothing{}, account.Invalid("'%s' is no scaling process.", p)
		}
	}
	for _, p := range names {
		if stop {
			g.suspended[p] = true
		} else {
			delete(g.suspended, p)
		}
	}
	w.reconcileSoon(g)
	return account.Nothing{}, nil
}

// EnterStandby takes instances out of service without ending them. With decrement the desired capacity falls by their
// weight; without, the group launches others.
func (w *AutoScaling) EnterStandby(in groupapi.MoveInstances) (groupapi.Moved, error) {
	return w.takeOut(in, groupapi.Standby)
}

// DetachInstances takes instances out of the group for good. The model forgets them: on AWS they go on running.
func (w *AutoScaling) DetachInstances(in groupapi.MoveInstances) (groupapi.Moved, error) {
	return w.takeOut(in, "Detached")
}

// takeOut moves instances in service to standby, or removes them from the group when to is Detached.
func (w *AutoScaling) takeOut(in groupapi.MoveInstances, to groupapi.LifecycleState) (groupapi.Moved, error) {
	g, all, err := w.instancesIn(in, groupapi.InService)
	if err != nil {
		return groupapi.Moved{}, err
	}
	decrement, weight := account.Or(in.ShouldDecrementDesiredCapacity, false), 0
	for _, i := range all {
		weight += i.weight
	}
	if decrement && g.desired-weight < g.MinSize {
		return groupapi.Moved{},
			account.Invalid("The group %s would have a desired capacity of %d, below its min size %d.",
				in.AutoScalingGroupName, g.desired-weight, g.MinSize)
	}
	if decrement {
		g.desired -= weight
	}
	var out groupapi.Moved
	for _, i := range all {
		what := "Moving EC2 instance to Standby: "
		if to == "Detached" {
			what = "Detaching EC2 instance: "
		}
		x := w.begin(g, what+i.id, "a user asked for it.")
		w.end(g, x, "Successful", "")
		out.Activities = append(out.Activities, *x)
		if to == "Detached" {
			w.remove(i)
			continue
		}
		w.move(i, to, 0, nil)
	}
	w.reconcileSoon(g)
	return out, nil
}

// ExitStandby takes instances back into service and raises the desired capacity by their weight, which must fit under
// MaxSize.
func (w *AutoScaling) ExitStandby(in groupapi.MoveInstances) (groupapi.Moved, error) {
	g, all, err := w.instancesIn(in, groupapi.Standby)
	if err != nil {
		return groupapi.Moved{}, err
	}
	weight := 0
	for _, i := range all {
		weight += i.weight
	}
	if g.desired+weight > g.MaxSize {
		return groupapi.Moved{},
			account.Invalid("The group %s would have a desired capacity of %d, above its max size %d.",
				in.AutoScalingGroupName, g.desired+weight, g.MaxSize)
	}
	g.desired += weight
	var out groupapi.Moved
	for _, i := range all {
		i.activity = w.begin(g, "Moving EC2 instance out of Standby: "+i.id, "a user asked for it.")
		out.Activities = append(out.Activities, *i.activity)
		w.move(i, groupapi.Pending, g.machines.Proceed, func() { w.proceed(i) })
	}
	return out, nil
}

// instancesIn finds up to 20 instances of a group that must all be in one state.
func (w *AutoScaling) instancesIn(in groupapi.MoveInstances,
	state groupapi.LifecycleState) (*group, []*instance, error) {
	g, err := w.changeable(in.AutoScalingGroupName)
	if err != nil {
		return nil, nil, err
	}
	if len(in.InstanceIds) > 20 {
		return nil, nil, account.Invalid("At most 20 instance ids may be given, got %d.", len(in.InstanceIds))
	}
	var all []*instance
	for _, id := range in.InstanceIds {
		i := w.instances[id]
		if i == nil || i.group != g || i.state != state {
			return nil, nil, account.Invalid("The instance %s is not in %s of group %s.", id, state,
				in.AutoScalingGroupName)
		}
		all = append(all, i)
	}
	return g, all, nil
}

// balance levels the zones unless a process that it needs is suspended. It launches one instance in the emptiest
// zone, and when that serves it ends one in the fullest zone: the group is one too large meanwhile, never too small.
// Zones that differ by one are level. It starts only when the capacity is the desired capacity, the full zone has an
// instance that may end and the empty zone has capacity. Otherwise it would launch and end instances forever.
func (w *AutoScaling) balance(g *group) {
	if !g.runs("AZRebalance") || !g.runs("Launch") || !g.runs("Terminate") || len(g.AvailabilityZones) < 2 {
		return
	}
	n := g.perZone()
	full, empty := g.AvailabilityZones[0], g.AvailabilityZones[0]
	for _, z := range g.AvailabilityZones {
		if n[z] > n[full] {
			full = z
		}
		if n[z] < n[empty] {
			empty = z
		}
	}
	fits := func(i *instance) bool {
		return i.state == groupapi.InService && !i.protected && i.pool.AvailabilityZone == full && i != g.replacing
	}
	switch {
	case g.replacing != nil && g.replacing.state == groupapi.InService:
		g.replacing = nil
		if v := g.firstToEnd(fits, w.acc.Now()); v != nil && g.capacity() > g.desired {
			w.terminate(v, "an instance was taken out of service to balance the zones.", true)
		}
		w.reconcileSoon(g)
	case g.replacing != nil || n[full]-n[empty] < 2 || g.capacity() != g.desired || w.acc.Now().Before(g.notBefore) ||
		g.firstToEnd(fits, w.acc.Now()) == nil || !w.roomIn(g, empty):
	default:
		g.replacing, _ = w.launch(g, []string{empty}, false, "an instance was launched to balance the zones.")
	}
}

// roomIn tells whether a zone has capacity for one more instance of the group.
func (w *AutoScaling) roomIn(g *group, zone string) bool {
	market := g.nextMarket()
	return slices.ContainsFunc(w.launchTypes(g, zone, market),
		func(o groupapi.Overrides) bool {
			return w.available(account.Pool{InstanceType: o.InstanceType, AvailabilityZone: zone, Market: market}) > 0
		})
}

// refresh is an instance refresh: it replaces the instances that are marked at its start (instance.refresh), a few at
// a time.
type refresh struct {
	groupapi.InstanceRefresh
	total   int       // instances to replace, counted at the start
	waiting time.Time // since when all instances left are protected; zero for never
}

// maxRefreshes is the number of refreshes that a group keeps to show.
const maxRefreshes = 100

// maxProtectionWait is how long a refresh with ScaleInProtectedInstances Wait waits for protection to end. AWS
// documents one hour.
const maxProtectionWait = time.Hour

// refreshing returns the refresh in progress, nil for none.
func (g *group) refreshing() *refresh {
	if n := len(g.refresh); n > 0 && g.refresh[n-1].EndTime.IsZero() {
		return g.refresh[n-1]
	}
	return nil
}

// StartInstanceRefresh replaces the instances of a group a few at a time, so that a least share stays healthy. With
// SkipMatching it leaves instances of the present launch settings alone. A group has one refresh at a time.
func (w *AutoScaling) StartInstanceRefresh(in groupapi.StartRefresh) (groupapi.RefreshID, error) {
	g, err := w.changeable(in.AutoScalingGroupName)
	if err != nil {
		return groupapi.RefreshID{}, err
	}
	if g.refreshing() != nil {
		return groupapi.RefreshID{}, account.Refuse("InstanceRefreshInProgress",
			"An Instance Refresh is already in progress and "+
				"blocks the execution of this Instance Refresh.")
	}
	p, err := in.Preferences.Complete()
	if err != nil {
		return groupapi.RefreshID{}, err
	}
	r := &refresh{InstanceRefresh: groupapi.InstanceRefresh{InstanceRefreshId: w.acc.UUID(),
		AutoScalingGroupName: in.AutoScalingGroupName,
		Status:               "InProgress", StartTime: w.acc.Now(), Preferences: &p}}
	for _, i := range g.instances {
		// Instances are marked at the start: what is launched later has the present settings by itself.
		i.refresh = i.counted() && (!account.Or(p.SkipMatching, false) || i.generation < g.generation)
		if i.refresh && i.protected && p.ScaleInProtectedInstances == "Ignore" {
			i.refresh = false
		}
		if i.refresh {
			r.total++
		}
	}
	g.refresh = append(g.refresh, r)
	if n := len(g.refresh) - maxRefreshes; n > 0 {
		g.refresh = slices.Delete(g.refresh, 0, n)
	}
	w.reconcileSoon(g)
	return groupapi.RefreshID{InstanceRefreshId: r.InstanceRefreshId}, nil
}

// CancelInstanceRefresh stops the refresh in progress. Instances that it has replaced stay replaced.
func (w *AutoScaling) CancelInstanceRefresh(in groupapi.GroupName) (groupapi.RefreshID, error) {
	g, err := w.changeable(in.AutoScalingGroupName)
	if err != nil {
		return groupapi.RefreshID{}, err
	}
	r := g.refreshing()
	if r == nil {
		return groupapi.RefreshID{}, account.Refuse("ActiveInstanceRefreshNotFound",
			"No in progress or pending Instance Refresh found "+
				"for Auto Scaling group %s", in.AutoScalingGroupName)
	}
	w.endRefresh(g, r, "Cancelled", "")
	return groupapi.RefreshID{InstanceRefreshId: r.InstanceRefreshId}, nil
}

// endRefresh closes a refresh with a status and unmarks the instances that it has not replaced.
func (w *AutoScaling) endRefresh(g *group, r *refresh, status, reason string) {
	r.Status, r.StatusReason, r.EndTime = status, reason, w.acc.Now()
	for _, i := range g.instances {
		i.refresh = false
	}
}

// DescribeInstanceRefreshes returns the refreshes of a group, newest first.
func (w *AutoScaling) DescribeInstanceRefreshes(in groupapi.DescribeRefreshes) (groupapi.RefreshList, error) {
	g, err := w.group(in.AutoScalingGroupName)
	if err != nil {
		return groupapi.RefreshList{}, err
	}
	var all []groupapi.InstanceRefresh
	for _, r := range slices.Backward(g.refresh) {
		if len(in.InstanceRefreshIds) == 0 || slices.Contains(in.InstanceRefreshIds, r.InstanceRefreshId) {
			all = append(all, r.InstanceRefresh)
		}
	}
	refreshes, next, err := account.Page(all, in.NextToken, min(max(account.Or(in.MaxRecords, 50), 1), 100))
	return groupapi.RefreshList{InstanceRefreshes: refreshes, NextToken: next}, err
}

// continueRefresh ends as many marked instances as the least healthy share allows; reconcile then launches others. A
// share that allows none still lets one go when the full desired capacity serves, as otherwise a share of 100 % would
// never finish.
func (w *AutoScaling) continueRefresh(g *group) {
	r := g.refreshing()
	if r == nil || !g.runs("InstanceRefresh") {
		return
	}
	var old, counted, serving, protected int
	for _, i := range g.instances {
		if i.refresh && i.counted() {
			old++
		}
		if i.counted() {
			counted++
		}
		if i.state == groupapi.InService {
			serving++
		}
	}
	if r.InstancesToUpdate = old; r.total > 0 {
		// The percentage counts instances that are no longer old, whether or not their replacements serve.
		r.PercentageComplete = 100 * (r.total - old) / r.total
	}
	if old == 0 {
		// Done when every replacement serves, not already when the last old instance has begun to end.
		if serving >= counted && g.capacity() >= g.desired {
			r.PercentageComplete = 100
			w.endRefresh(g, r, "Successful", "")
		}
		return
	}
	least := (g.desired*account.Or(r.Preferences.MinHealthyPercentage, 90) + 99) / 100
	room := max(serving-least, 0)
	if room == 0 && serving >= g.desired {
		room = 1
	}
	for _, i := range slices.Clone(g.instances) {
		switch {
		case !i.refresh || i.state != groupapi.InService:
		case i.protected && r.Preferences.ScaleInProtectedInstances == "Ignore":
			i.refresh = false
			w.reconcileSoon(g)
		case i.protected && r.Preferences.ScaleInProtectedInstances == "Wait":
			protected++
		case room > 0:
			room--
			w.terminate(i, "an instance was taken out of service in response to an instance refresh.", false)
			w.reconcileSoon(g)
		}
	}
	w.waitForProtection(g, r, protected == old)
}

// waitForProtection fails a refresh once nothing but protected instances has been left for too long. only tells
// whether that is so now.
func (w *AutoScaling) waitForProtection(g *group, r *refresh, only bool) {
	switch {
	case !only:
		r.waiting = time.Time{}
	case r.waiting.IsZero():
		r.waiting = w.acc.Now()
		// Nothing else may happen in a quiet group, so the end of the wait schedules its own reconciliation.
		w.acc.After(maxProtectionWait, func() { w.reconcileSoon(g) })
	case !w.acc.Now().Before(r.waiting.Add(maxProtectionWait)):
		w.endRefresh(g, r, "Failed", "Instances stayed protected from scale in for an hour.")
	}
}
