package groups

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
)

// This file has the group itself: its settings, its desired capacity, and reconcile, which every change leads to.

// The bounds of the model, which are those of EC2 Auto Scaling where AWS publishes one. What goes beyond is refused.
const (
	// MaxGroups is the number of Auto Scaling groups that an account may have.
	MaxGroups = 500
	// MaxGroupSize is the largest MaxSize of a group.
	MaxGroupSize = 5_000
	// MaxHooks is the number of lifecycle hooks that a group may have.
	MaxHooks = 50
	// MaxActivities is the number of activities that a group keeps; the oldest are dropped first.
	MaxActivities = 1_000
)

// AutoScaling is the API of EC2 Auto Scaling without its scaling policies. Methods bear the names of the actions. An
// error is a *account.Fault, as the API would answer it. It is not safe for concurrent use.
type AutoScaling struct {
	acc       *account.Account
	machines  Machines
	mayMix    bool // a group may have both a warm pool and a mixed instances policy
	publish   account.Publish
	listeners Listeners
	groups    map[string]*group                     // by name
	instances map[string]*instance                  // of all groups, by id
	policies  map[string]groupapi.TerminationPolicy // Lambda functions by ARN
	tokens    account.ClientTokens                  // of LaunchInstances
}

// New returns EC2 Auto Scaling without groups. Instances behave as m says, where zero fields are defaults. mayMix
// lets a group have both a warm pool and a mixed instances policy. Call Connect before the first group is created.
func New(a *account.Account, m Machines, mayMix bool, publish account.Publish) *AutoScaling {
	return &AutoScaling{acc: a, machines: m.withDefaults(Machines{}), mayMix: mayMix, publish: publish,
		groups: map[string]*group{}, instances: map[string]*instance{},
		policies: map[string]groupapi.TerminationPolicy{}}
}

// group is an Auto Scaling group. The embedded Group has the settings as the API shows them; what the API computes
// for each answer, for instance the list of instances, is filled in by show.
type group struct {
	groupapi.Group
	machines     Machines // how instances of this group behave
	region       string
	typical      string      // the instance type of a group without overrides
	desired      int         // the desired capacity, in weights
	instances    []*instance // in the order of their launch
	hooks        []groupapi.LifecycleHook
	activities   []*groupapi.Activity            // oldest first
	suspended    map[string]bool                 // names of suspended processes
	metrics      map[string]bool                 // names of enabled metrics
	refresh      []*refresh                      // at most the last one is in progress
	pool         *groupapi.WarmPoolConfiguration // nil without a warm pool
	generation   int                             // of the launch settings; stated settings count as newer
	reconcileDue bool                            // a reconciliation is scheduled
	notBefore    time.Time                       // after a failure, nothing is tried earlier
	stuck        bool                            // that protection blocks scale-in has been recorded
	replacing    *instance                       // launched to level the zones, and not in service yet
	cooledAt     time.Time                       // end of the last successful activity; the cooldown counts from here
	deleted      bool                            // scheduled work finds the group gone
	launched     int                             // instances ever launched, see Census
	ended        int                             // instances ever ended or detached, see Census
}

// instance is a machine of a group, from its launch order until it has ended. move changes its state, remove ends it.
type instance struct {
	id         string
	group      *group
	pool       account.Pool
	weight     int // capacity that it provides; 1 without weights
	state      groupapi.LifecycleState
	protected  bool
	unhealthy  bool
	launchedAt time.Time
	inService  time.Time          // when it last came into service
	generation int                // the group's generation at the launch
	turn       int                // counts changes of state; what was scheduled for an earlier state does nothing
	waits      []*hookWait        // the hooks that pause it now
	next       func()             // what follows the hooks
	activity   *groupapi.Activity // in progress; nil when none is
	reclaim    time.Time          // when a Spot interruption ends it; zero for none
	atRisk     bool               // a replacement was launched; it ends when the replacement serves
	replaces   *instance          // the instance at risk that this one was launched for
	refresh    bool               // an instance refresh replaces it
}

// warmed tells whether the instance belongs to the warm pool: on its way in, ready, or terminating from there.
func (i *instance) warmed() bool { return strings.HasPrefix(string(i.state), "Warmed:") }

// counted tells whether the instance counts towards the desired capacity: instances in service and on their way
// there. An instance at risk of interruption does not count, so that its replacement fits under the desired capacity.
func (i *instance) counted() bool {
	switch i.state {
	case groupapi.Pending, groupapi.PendingWait, groupapi.PendingProceed, groupapi.InService:
		return !i.atRisk
	}
	return false
}

// capacity returns the sum of the weights that count towards the desired capacity.
func (g *group) capacity() int {
	n := 0
	for _, i := range g.instances {
		if i.counted() {
			n += i.weight
		}
	}
	return n
}

// runs tells whether a process, for example Launch or Terminate, is not suspended.
func (g *group) runs(process string) bool { return !g.suspended[process] }

// group finds a group by its name.
func (w *AutoScaling) group(name string) (*group, error) {
	if g := w.groups[name]; g != nil {
		return g, nil
	}
	return nil, account.Invalid("AutoScalingGroup name not found - AutoScalingGroup '%s' not found", name)
}

// changeable finds a group that the caller wants to change. A group with an Operator refuses every other caller.
func (w *AutoScaling) changeable(name string) (*group, error) {
	g, err := w.group(name)
	if err != nil {
		return nil, err
	}
	if g.Operator != nil && g.Operator.Principal != w.acc.Caller() {
		return nil, &account.Fault{Code: "AccessDenied", Status: 403,
			Message: fmt.Sprintf("The Auto Scaling group %s is operated by %s; other callers may not change it.", name,
				g.Operator.Principal)}
	}
	return g, nil
}

// ShapeGroup sets how the instances of a group behave, which no API action does. Zero fields keep the behaviour of
// the world's instances. Steps that are under way keep their times.
func (w *AutoScaling) ShapeGroup(name string, m Machines) error {
	g, err := w.group(name)
	if err != nil {
		return err
	}
	g.machines = m.withDefaults(w.machines)
	return nil
}

// CreateAutoScalingGroup creates a group, which then launches its desired capacity. Without a desired capacity it is
// MinSize, as in the API.
func (w *AutoScaling) CreateAutoScalingGroup(in groupapi.CreateGroup) (account.Nothing, error) {
	switch {
	case in.AutoScalingGroupName == "" || len(in.AutoScalingGroupName) > 255 ||
		strings.ContainsAny(in.AutoScalingGroupName, ":/"):
		return account.Nothing{},
			account.Invalid("The group name must have 1 to 255 characters without colons and slashes.")
	case w.groups[in.AutoScalingGroupName] != nil:
		return account.Nothing{}, account.Refuse("AlreadyExists",
			"AutoScalingGroup by this name already exists - A group with the "+
				"name %s already exists", in.AutoScalingGroupName)
	case len(w.groups) >= MaxGroups:
		return account.Nothing{}, account.Refuse("LimitExceeded", "The limit of %d groups is reached.", MaxGroups)
	case in.MinSize == nil || in.MaxSize == nil:
		return account.Nothing{}, account.Invalid("MinSize and MaxSize are required.")
	case in.LaunchTemplate == nil && in.LaunchConfigurationName == "" && in.MixedInstancesPolicy == nil:
		return account.Nothing{},
			account.Invalid("Valid requests must contain either LaunchTemplate, LaunchConfigurationName, " +
				"InstanceId or MixedInstancesPolicy parameter.")
	case len(in.AvailabilityZones) == 0 && in.VPCZoneIdentifier == "":
		return account.Nothing{}, account.Invalid("At least one Availability Zone or VPC Subnet is required.")
	}
	g := &group{region: w.acc.Region(), machines: w.machines, typical: "m7g.large",
		suspended: map[string]bool{}, metrics: map[string]bool{}}
	g.AutoScalingGroupName = in.AutoScalingGroupName
	g.AutoScalingGroupARN = w.acc.ARN("autoscaling", "autoScalingGroup:"+w.acc.UUID()+":autoScalingGroupName/"+
		in.AutoScalingGroupName)
	// The defaults of the API: 300 seconds of cooldown, health checks by EC2, the termination policy Default.
	g.CreatedTime, g.DefaultCooldown, g.HealthCheckType, g.DeletionProtection = w.acc.Now(), 300, "EC2", "none"
	g.TerminationPolicies, g.Tags = []string{"Default"}, slices.Clone(in.Tags)
	for k := range g.Tags {
		g.Tags[k].ResourceId, g.Tags[k].ResourceType = in.AutoScalingGroupName, "auto-scaling-group"
	}
	if in.DesiredCapacity == nil {
		in.DesiredCapacity = in.MinSize
	}
	if err := g.apply(in.GroupSettings); err != nil {
		return account.Nothing{}, err
	}
	for _, h := range in.LifecycleHookSpecificationList {
		h.AutoScalingGroupName = in.AutoScalingGroupName
		if err := g.putHook(h); err != nil {
			return account.Nothing{}, err
		}
	}
	w.groups[g.AutoScalingGroupName] = g
	w.reconcileSoon(g)
	return account.Nothing{}, nil
}

// UpdateAutoScalingGroup changes a group. When new bounds exclude the desired capacity and the call states none, the
// desired capacity moves to the nearer bound.
func (w *AutoScaling) UpdateAutoScalingGroup(in groupapi.GroupSettings) (account.Nothing, error) {
	g, err := w.changeable(in.AutoScalingGroupName)
	if err != nil {
		return account.Nothing{}, err
	}
	if in.DesiredCapacity == nil {
		in.DesiredCapacity = account.Ptr(min(max(g.desired, account.Or(in.MinSize, g.MinSize)), account.Or(in.MaxSize,
			g.MaxSize)))
	}
	if err := g.apply(in); err != nil {
		return account.Nothing{}, err
	}
	w.reconcileSoon(g)
	return account.Nothing{}, nil
}

// apply checks settings and takes them over, all of them or none.
func (g *group) apply(in groupapi.GroupSettings) error {
	least, most, desired := account.Or(in.MinSize, g.MinSize), account.Or(in.MaxSize, g.MaxSize),
		account.Or(in.DesiredCapacity, g.desired)
	switch {
	case least < 0 || most < least || most > MaxGroupSize:
		return account.Invalid("MinSize %d and MaxSize %d must be in order, from 0 to %d.", least, most, MaxGroupSize)
	case desired < least || desired > most:
		return account.Invalid("Desired capacity:%d must be between the specified min size:%d and max size:%d",
			desired, least, most)
	}
	if err := in.Check(); err != nil {
		return err
	}
	g.MinSize, g.MaxSize, g.desired = least, most, desired
	if relaunches := g.Update(in, g.region); relaunches {
		g.generation++
	}
	return nil
}

// DeleteAutoScalingGroup deletes a group. A group with instances is deleted by ForceDelete alone, which ends its
// instances at once and skips their hooks. Deletion protection refuses either.
func (w *AutoScaling) DeleteAutoScalingGroup(in groupapi.DeleteGroup) (account.Nothing, error) {
	g, err := w.changeable(in.AutoScalingGroupName)
	if err != nil {
		return account.Nothing{}, err
	}
	force := account.Or(in.ForceDelete, false)
	switch {
	case g.DeletionProtection == "prevent-all-deletion" || force && g.DeletionProtection == "prevent-force-deletion":
		return account.Nothing{}, account.Invalid("The group %s has deletion protection %s.", in.AutoScalingGroupName,
			g.DeletionProtection)
	case !force && len(g.instances) > 0:
		return account.Nothing{}, account.Refuse("ResourceInUse",
			"You cannot delete an AutoScalingGroup while there are instances or "+
				"pending Spot instance request(s) still in the group.")
	}
	// remove changes the list of instances, hence the copy.
	for _, i := range slices.Clone(g.instances) {
		w.remove(i)
	}
	w.listeners.Deleted(in.AutoScalingGroupName)
	g.deleted = true
	delete(w.groups, in.AutoScalingGroupName)
	return account.Nothing{}, nil
}

// SetDesiredCapacity sets the desired capacity, which must lie within the group's bounds. With HonorCooldown the call
// is refused while activities are in progress or the group cools down.
func (w *AutoScaling) SetDesiredCapacity(in groupapi.SetDesired) (account.Nothing, error) {
	g, err := w.changeable(in.AutoScalingGroupName)
	if err != nil {
		return account.Nothing{}, err
	}
	if in.DesiredCapacity == nil {
		return account.Nothing{}, account.Invalid("DesiredCapacity is required.")
	}
	n := *in.DesiredCapacity
	switch {
	case n > g.MaxSize:
		return account.Nothing{},
			account.Invalid("New SetDesiredCapacity value %d is above max value %d for the AutoScalingGroup.", n,
				g.MaxSize)
	case n < g.MinSize:
		return account.Nothing{},
			account.Invalid("New SetDesiredCapacity value %d is below min value %d for the AutoScalingGroup.", n,
				g.MinSize)
	}
	if account.Or(in.HonorCooldown, false) && w.cooling(g) {
		return account.Nothing{}, account.Refuse("ScalingActivityInProgress",
			"The group %s has scaling activities in progress or "+
				"cools down, and cooldowns are to be honored.", in.AutoScalingGroupName)
	}
	w.resize(g, n)
	return account.Nothing{}, nil
}

// resize sets the desired capacity without checking it, and schedules a reconciliation. A new order is tried at once,
// even while the group waits after a failure.
func (w *AutoScaling) resize(g *group, n int) {
	g.desired = n
	g.notBefore = time.Time{}
	w.reconcileSoon(g)
}

// cooling tells whether activities are in progress, or the last one succeeded less than the default cooldown ago.
func (w *AutoScaling) cooling(g *group) bool {
	// Any open activity counts, not launches and terminations alone: AWS speaks of activities in progress.
	for _, a := range g.activities {
		if a.EndTime.IsZero() {
			return true
		}
	}
	return !g.cooledAt.IsZero() && w.acc.Now().Before(g.cooledAt.Add(time.Duration(g.DefaultCooldown)*time.Second))
}

// reconcileSoon schedules a reconciliation after the group's reaction time. Changes until then share it, so a burst
// of calls costs one reconciliation.
func (w *AutoScaling) reconcileSoon(g *group) {
	if g.reconcileDue || g.deleted {
		return
	}
	g.reconcileDue = true
	w.acc.After(g.machines.React, func() {
		if g.reconcileDue = false; !g.deleted {
			w.reconcile(g)
		}
	})
}

// reconcile compares the capacity with the desired capacity, and starts launches and terminations until they are
// equal. While a replacement for another zone boots, the group is one too large on purpose and does not shrink.
func (w *AutoScaling) reconcile(g *group) {
	if g.replacing != nil && !g.replacing.counted() {
		// The replacement was interrupted, ended by a call or moved to standby.
		g.replacing = nil // it ended before it could replace anything
	}
	switch have := g.capacity(); {
	case have < g.desired && g.runs("Launch"):
		w.grow(g)
	// A group above its desired capacity for the sake of its zones is left alone until the replacement serves.
	case have > g.desired && g.runs("Terminate") && g.replacing == nil:
		w.shrink(g)
	default:
		g.stuck = false
	}
	// The order matters: the pool gives instances to the group before it is filled again, and a refresh counts the
	// instances that the steps before it have taken out.
	w.balance(g)
	w.fillPool(g)
	w.continueRefresh(g)
}

// retry schedules a reconciliation after a failure. Until then the group launches nothing and asks no termination
// policy. It waits a second at least, so that a failure without end cannot stop virtual time.
func (w *AutoScaling) retry(g *group) {
	g.notBefore = w.acc.Now().Add(max(g.machines.Retry, time.Second))
	w.acc.At(g.notBefore, func() {
		if !g.deleted {
			w.reconcileSoon(g)
		}
	})
}

// move puts an instance into a state and schedules next after d, spread by chance. Nil schedules nothing. If the
// instance changes state earlier, next is dropped.
func (w *AutoScaling) move(i *instance, s groupapi.LifecycleState, d time.Duration, next func()) {
	i.state = s
	i.turn++
	if next == nil {
		return
	}
	// The closure keeps the turn, not the state: an instance may come back to the same state later.
	turn := i.turn
	w.acc.After(w.acc.Around("machines", d, i.group.machines.Spread), func() {
		if i.turn == turn {
			next()
		}
	})
}
