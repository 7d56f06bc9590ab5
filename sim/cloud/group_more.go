package cloud

import (
	"slices"
	"time"
)

// processes are what a group does by itself.
func processes() []string {
	return []string{"Launch", "Terminate", "AddToLoadBalancer", "AlarmNotification", "AZRebalance", "HealthCheck",
		"InstanceRefresh", "ReplaceUnhealthy", "ScheduledActions"}
}

// SuspendProcesses stops processes of a group.
func (w *AutoScaling) SuspendProcesses(in Processes) (Nothing, error) { return w.suspend(in, true) }

// ResumeProcesses lets them run again.
func (w *AutoScaling) ResumeProcesses(in Processes) (Nothing, error) { return w.suspend(in, false) }

func (w *AutoScaling) suspend(in Processes, stop bool) (Nothing, error) {
	g, err := w.change(in.AutoScalingGroupName)
	if err != nil {
		return Nothing{}, err
	}
	names := in.ScalingProcesses
	if len(names) == 0 {
		names = processes()
	}
	for _, p := range names {
		if !slices.Contains(processes(), p) {
			return Nothing{}, invalid("'%s' is no scaling process.", p)
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
	return Nothing{}, nil
}

// EnterStandby takes instances out of service without ending them. With decrement the desired capacity falls by them.
func (w *AutoScaling) EnterStandby(in MoveInstances) (Moved, error) {
	return w.takeOut(in, Standby)
}

// DetachInstances takes instances out of the group for good; they go on outside it.
func (w *AutoScaling) DetachInstances(in MoveInstances) (Moved, error) {
	return w.takeOut(in, "Detached")
}

func (w *AutoScaling) takeOut(in MoveInstances, to LifecycleState) (Moved, error) {
	g, all, err := w.several(in, InService)
	if err != nil {
		return Moved{}, err
	}
	decrement, weight := or(in.ShouldDecrementDesiredCapacity, false), 0
	for _, i := range all {
		weight += i.weight
	}
	if decrement && g.desired-weight < g.MinSize {
		return Moved{}, invalid("The group %s would have a desired capacity of %d, below its min size %d.",
			in.AutoScalingGroupName, g.desired-weight, g.MinSize)
	}
	if decrement {
		g.desired -= weight
	}
	var out Moved
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
func (w *AutoScaling) ExitStandby(in MoveInstances) (Moved, error) {
	g, all, err := w.several(in, Standby)
	if err != nil {
		return Moved{}, err
	}
	weight := 0
	for _, i := range all {
		weight += i.weight
	}
	if g.desired+weight > g.MaxSize {
		return Moved{}, invalid("The group %s would have a desired capacity of %d, above its max size %d.",
			in.AutoScalingGroupName, g.desired+weight, g.MaxSize)
	}
	g.desired += weight
	var out Moved
	for _, i := range all {
		i.activity = w.begin(g, "Moving EC2 instance out of Standby: "+i.id, "a user asked for it.")
		out.Activities = append(out.Activities, *i.activity)
		w.move(i, Pending, g.machines.Proceed, func() { w.proceed(i) })
	}
	return out, nil
}

// several finds up to 20 instances of a group that are all in one state.
func (w *AutoScaling) several(in MoveInstances, state LifecycleState) (*group, []*instance, error) {
	g, err := w.change(in.AutoScalingGroupName)
	if err != nil {
		return nil, nil, err
	}
	if len(in.InstanceIds) > 20 {
		return nil, nil, invalid("At most 20 instance ids may be given, got %d.", len(in.InstanceIds))
	}
	var all []*instance
	for _, id := range in.InstanceIds {
		i := w.instances[id]
		if i == nil || i.group != g || i.state != state {
			return nil, nil, invalid("The instance %s is not in %s of group %s.", id, state, in.AutoScalingGroupName)
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
		return i.state == InService && !i.protected && i.pool.AvailabilityZone == full && i != g.replacing
	}
	switch {
	case g.replacing != nil && g.replacing.state == InService:
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
		func(o Overrides) bool { return w.left(Pool{o.InstanceType, zone, market}) > 0 })
}

// RefreshPreferences say how an instance refresh goes about it.
type RefreshPreferences struct {
	MinHealthyPercentage *int
	SkipMatching         *bool
	// ScaleInProtectedInstances is Wait, Ignore or Refresh.
	ScaleInProtectedInstances string
}

// StartRefresh is the input of StartInstanceRefresh.
type StartRefresh struct {
	AutoScalingGroupName string
	Strategy             string
	Preferences          *RefreshPreferences
}

// RefreshID is the answer of StartInstanceRefresh and CancelInstanceRefresh.
type RefreshID struct {
	InstanceRefreshId string
}

// DescribeRefreshes is the input of DescribeInstanceRefreshes.
type DescribeRefreshes struct {
	AutoScalingGroupName string
	InstanceRefreshIds   []string
	MaxRecords           *int
	NextToken            string
}

// RefreshList is its answer, newest first.
type RefreshList struct {
	InstanceRefreshes []InstanceRefresh
	NextToken         string
}

// InstanceRefresh is a refresh as the API shows it.
type InstanceRefresh struct {
	InstanceRefreshId    string
	AutoScalingGroupName string
	Status               string
	StatusReason         string
	StartTime, EndTime   time.Time
	PercentageComplete   int
	InstancesToUpdate    int
	Preferences          *RefreshPreferences
}

// refresh replaces the instances of a group one after the other.
type refresh struct {
	InstanceRefresh
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
func (w *AutoScaling) StartInstanceRefresh(in StartRefresh) (RefreshID, error) {
	g, err := w.change(in.AutoScalingGroupName)
	if err != nil {
		return RefreshID{}, err
	}
	if g.refreshing() != nil {
		return RefreshID{}, fault("InstanceRefreshInProgress", "An Instance Refresh is already in progress and "+
			"blocks the execution of this Instance Refresh.")
	}
	p := or(in.Preferences, RefreshPreferences{})
	if p.ScaleInProtectedInstances == "" {
		p.ScaleInProtectedInstances = "Ignore"
	}
	if n := or(p.MinHealthyPercentage, 90); n < 0 || n > 100 || !slices.Contains([]string{"Wait", "Ignore", "Refresh"},
		p.ScaleInProtectedInstances) {
		return RefreshID{}, invalid("MinHealthyPercentage must be from 0 to 100, and ScaleInProtectedInstances Wait, " +
			"Ignore or Refresh.")
	}
	r := &refresh{InstanceRefresh: InstanceRefresh{InstanceRefreshId: w.acc.uuid(),
		AutoScalingGroupName: in.AutoScalingGroupName,
		Status:               "InProgress", StartTime: w.acc.Now(), Preferences: &p}}
	for _, i := range g.instances {
		i.refresh = i.counted() && (!or(p.SkipMatching, false) || i.generation < g.generation)
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
	return RefreshID{r.InstanceRefreshId}, nil
}

// CancelInstanceRefresh stops a refresh; what it has replaced stays.
func (w *AutoScaling) CancelInstanceRefresh(in GroupName) (RefreshID, error) {
	g, err := w.change(in.AutoScalingGroupName)
	if err != nil {
		return RefreshID{}, err
	}
	r := g.refreshing()
	if r == nil {
		return RefreshID{}, fault("ActiveInstanceRefreshNotFound", "No in progress or pending Instance Refresh found "+
			"for Auto Scaling group %s", in.AutoScalingGroupName)
	}
	w.close(g, r, "Cancelled", "")
	return RefreshID{r.InstanceRefreshId}, nil
}

func (w *AutoScaling) close(g *group, r *refresh, status, reason string) {
	r.Status, r.StatusReason, r.EndTime = status, reason, w.acc.Now()
	for _, i := range g.instances {
		i.refresh = false
	}
}

// DescribeInstanceRefreshes shows refreshes, newest first.
func (w *AutoScaling) DescribeInstanceRefreshes(in DescribeRefreshes) (RefreshList, error) {
	g, err := w.group(in.AutoScalingGroupName)
	if err != nil {
		return RefreshList{}, err
	}
	var all []InstanceRefresh
	for _, r := range slices.Backward(g.refresh) {
		if len(in.InstanceRefreshIds) == 0 || slices.Contains(in.InstanceRefreshIds, r.InstanceRefreshId) {
			all = append(all, r.InstanceRefresh)
		}
	}
	refreshes, next, err := page(all, in.NextToken, min(max(or(in.MaxRecords, 50), 1), 100))
	return RefreshList{refreshes, next}, err
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
		if i.state == InService {
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
	least := (g.desired*or(r.Preferences.MinHealthyPercentage, 90) + 99) / 100
	room := max(serving-least, 0)
	if room == 0 && serving >= g.desired {
		room = 1
	}
	for _, i := range slices.Clone(g.instances) {
		switch {
		case !i.refresh || i.state != InService:
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
		w.acc.after(mostRefreshWait, func() { w.look(g) })
	case !w.acc.Now().Before(r.waiting.Add(mostRefreshWait)):
		w.close(g, r, "Failed", "Instances stayed protected from scale in for an hour.")
	}
}
