package groups

import (
	"slices"
	"time"

	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
)

// SuspendProcesses stops processes of a group.
func (w *AutoScaling) SuspendProcesses(in groupapi.Processes) (account.Nothing, error) {
	return w.suspend(in, true)
}

// ResumeProcesses lets them run again.
func (w *AutoScaling) ResumeProcesses(in groupapi.Processes) (account.Nothing, error) {
	return w.suspend(in, false)
}

func (w *AutoScaling) suspend(in groupapi.Processes, stop bool) (account.Nothing, error) {
	g, err := w.change(in.AutoScalingGroupName)
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
	w.look(g)
	return account.Nothing{}, nil
}

// EnterStandby takes instances out of service without ending them. With decrement the desired capacity falls by them.
func (w *AutoScaling) EnterStandby(in groupapi.MoveInstances) (groupapi.Moved, error) {
	return w.takeOut(in, groupapi.Standby)
}

// DetachInstances takes instances out of the group for good; they go on outside it.
func (w *AutoScaling) DetachInstances(in groupapi.MoveInstances) (groupapi.Moved, error) {
	return w.takeOut(in, "Detached")
}

func (w *AutoScaling) takeOut(in groupapi.MoveInstances, to groupapi.LifecycleState) (groupapi.Moved, error) {
	g, all, err := w.several(in, groupapi.InService)
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
			w.gone(i)
			continue
		}
		w.move(i, to, 0, nil)
	}
	w.look(g)
	return out, nil
}

// ExitStandby takes instances back into service and raises the desired capacity by them.
func (w *AutoScaling) ExitStandby(in groupapi.MoveInstances) (groupapi.Moved, error) {
	g, all, err := w.several(in, groupapi.Standby)
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

// several finds up to 20 instances of a group that are all in one state.
func (w *AutoScaling) several(in groupapi.MoveInstances, state groupapi.LifecycleState) (*group, []*instance, error) {
	g, err := w.change(in.AutoScalingGroupName)
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

// balance levels the zones, unless AZRebalance is suspended: it launches in the emptiest first and then ends one in the
// fullest, so that the group is one too large for a while.
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
		if v := g.victim(fits, w.acc.Now()); v != nil && g.capacity() > g.desired {
			w.end1(v, "an instance was taken out of service to balance the zones.", true)
		}
		w.look(g)
	case g.replacing != nil || n[full]-n[empty] < 2 || g.capacity() != g.desired || w.acc.Now().Before(g.askAgain) ||
		g.victim(fits, w.acc.Now()) == nil || !w.roomIn(g, empty):
	default:
		g.replacing, _ = w.launch(g, []string{empty}, false, "an instance was launched to balance the zones.")
	}
}

// roomIn tells whether a zone has capacity for the group's next instance.
func (w *AutoScaling) roomIn(g *group, zone string) bool {
	market := g.nextMarket()
	return slices.ContainsFunc(w.choices(g, zone, market),
		func(o groupapi.Overrides) bool {
			return w.left(account.Pool{InstanceType: o.InstanceType, AvailabilityZone: zone, Market: market}) > 0
		})
}

// refresh replaces the instances of a group one after the other.
type refresh struct {
	groupapi.InstanceRefresh
	total   int
	waiting time.Time // since when only protected instances are left
}

// maxRefreshes is how many refreshes of a group are kept.
const maxRefreshes = 100

// mostRefreshWait is how long a refresh waits for protection to be taken back.
const mostRefreshWait = time.Hour

func (g *group) refreshing() *refresh {
	if n := len(g.refresh); n > 0 && g.refresh[n-1].EndTime.IsZero() {
		return g.refresh[n-1]
	}
	return nil
}

// StartInstanceRefresh replaces every instance, a few at a time; one refresh at a time.
func (w *AutoScaling) StartInstanceRefresh(in groupapi.StartRefresh) (groupapi.RefreshID, error) {
	g, err := w.change(in.AutoScalingGroupName)
	if err != nil {
		return groupapi.RefreshID{}, err
	}
	if g.refreshing() != nil {
		return groupapi.RefreshID{}, account.Refuse("InstanceRefreshInProgress",
			"An Instance Refresh is already in progress and "+
				"blocks the execution of this Instance Refresh.")
	}
	p := account.Or(in.Preferences, groupapi.RefreshPreferences{})
	if p.ScaleInProtectedInstances == "" {
		p.ScaleInProtectedInstances = "Ignore"
	}
	if n := account.Or(p.MinHealthyPercentage, 90); n < 0 || n > 100 || !slices.Contains([]string{"Wait", "Ignore",
		"Refresh"},
		p.ScaleInProtectedInstances) {
		return groupapi.RefreshID{},
			account.Invalid("MinHealthyPercentage must be from 0 to 100, and ScaleInProtectedInstances Wait, " +
				"Ignore or Refresh.")
	}
	r := &refresh{InstanceRefresh: groupapi.InstanceRefresh{InstanceRefreshId: w.acc.UUID(),
		AutoScalingGroupName: in.AutoScalingGroupName,
		Status:               "InProgress", StartTime: w.acc.Now(), Preferences: &p}}
	for _, i := range g.instances {
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
	w.look(g)
	return groupapi.RefreshID{InstanceRefreshId: r.InstanceRefreshId}, nil
}

// CancelInstanceRefresh stops a refresh; what it has replaced stays.
func (w *AutoScaling) CancelInstanceRefresh(in groupapi.GroupName) (groupapi.RefreshID, error) {
	g, err := w.change(in.AutoScalingGroupName)
	if err != nil {
		return groupapi.RefreshID{}, err
	}
	r := g.refreshing()
	if r == nil {
		return groupapi.RefreshID{}, account.Refuse("ActiveInstanceRefreshNotFound",
			"No in progress or pending Instance Refresh found "+
				"for Auto Scaling group %s", in.AutoScalingGroupName)
	}
	w.close(g, r, "Cancelled", "")
	return groupapi.RefreshID{InstanceRefreshId: r.InstanceRefreshId}, nil
}

func (w *AutoScaling) close(g *group, r *refresh, status, reason string) {
	r.Status, r.StatusReason, r.EndTime = status, reason, w.acc.Now()
	for _, i := range g.instances {
		i.refresh = false
	}
}

// DescribeInstanceRefreshes shows refreshes, newest first.
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

// refreshSome goes on with a refresh: it ends as many old instances as the least healthy share allows, one at least.
func (w *AutoScaling) refreshSome(g *group) {
	r := g.refreshing()
	if r == nil || !g.runs("InstanceRefresh") {
		return
	}
	var old, serving, protected int
	for _, i := range g.instances {
		if i.refresh && i.counted() {
			old++
		}
		if i.state == groupapi.InService {
			serving++
		}
	}
	if r.InstancesToUpdate = old; r.total > 0 {
		r.PercentageComplete = 100 * (r.total - old) / r.total
	}
	if old == 0 {
		if serving >= len(keep(g.instances, (*instance).counted)) && g.capacity() >= g.desired {
			r.PercentageComplete = 100
			w.close(g, r, "Successful", "")
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
			w.look(g)
		case i.protected && r.Preferences.ScaleInProtectedInstances == "Wait":
			protected++
		case room > 0:
			room--
			w.end1(i, "an instance was taken out of service in response to an instance refresh.", false)
			w.look(g)
		}
	}
	w.waitForProtection(g, r, protected == old)
}

// waitForProtection fails a refresh that has waited too long for protected instances.
func (w *AutoScaling) waitForProtection(g *group, r *refresh, only bool) {
	switch {
	case !only:
		r.waiting = time.Time{}
	case r.waiting.IsZero():
		r.waiting = w.acc.Now()
		w.acc.After(mostRefreshWait, func() { w.look(g) })
	case !w.acc.Now().Before(r.waiting.Add(mostRefreshWait)):
		w.close(g, r, "Failed", "Instances stayed protected from scale in for an hour.")
	}
}
