package groups

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
)

// The bounds of EC2 Auto Scaling.
const (
	// MaxGroups is how many Auto Scaling groups there may be.
	MaxGroups = 500
	// MaxGroupSize is the largest MaxSize of a group.
	MaxGroupSize = 5_000
	// MaxHooks is how many lifecycle hooks a group may have.
	MaxHooks = 50
	// MaxActivities is how many activities of one group are kept; the oldest go first.
	MaxActivities = 1_000
)

// AutoScaling is the API of EC2 Auto Scaling, but for scaling policies. Its methods bear the names of the actions;
// errors are a *Fault.
type AutoScaling struct {
	acc       *account.Account
	machines  Machines
	mayMix    bool // a group may have a warm pool and a mixed instances policy
	publish   account.Publish
	listeners Listeners
	groups    map[string]*group
	instances map[string]*instance
	lambdas   map[string]groupapi.TerminationPolicy
	tokens    account.ClientTokens
}

// New is EC2 Auto Scaling without groups. Instances behave as the machines say; mayMix lets a group have a
// warm pool and a mixed instances policy.
func New(a *account.Account, m Machines, mayMix bool, publish account.Publish) *AutoScaling {
	return &AutoScaling{acc: a, machines: m.withDefaults(Machines{}), mayMix: mayMix, publish: publish,
		groups: map[string]*group{}, instances: map[string]*instance{},
		lambdas: map[string]groupapi.TerminationPolicy{}}
}

// group is an Auto Scaling group.
type group struct {
	groupapi.Group
	machines   Machines
	region     string
	typical    string // the instance type of groups that do not mix
	desired    int
	instances  []*instance // in the order of their launch
	hooks      []groupapi.LifecycleHook
	activities []*groupapi.Activity // oldest first
	suspended  map[string]bool
	metrics    map[string]bool
	refresh    []*refresh
	pool       *groupapi.WarmPoolConfiguration
	generation int // of the launch settings
	looking    bool
	askAgain   time.Time // before that nothing is launched, or no policy asked, again
	stuck      bool
	replacing  *instance // what a rebalance has launched for another
	cooledAt   time.Time // when the last scaling activity ended
	deleted    bool
	launched   int
	ended      int
}

// instance is a machine of a group, from its launch to its end.
type instance struct {
	id         string
	group      *group
	pool       account.Pool
	weight     int
	state      groupapi.LifecycleState
	protected  bool
	unhealthy  bool
	launchedAt time.Time
	inService  time.Time
	generation int
	turn       int // counts changes of state: what was planned for an earlier one is over
	waits      []*wait
	next       func() // what comes after the hooks
	activity   *groupapi.Activity
	reclaim    time.Time // when a Spot interruption ends it
	atRisk     bool      // another was launched in its place, and it goes when that serves
	replaces   *instance // the one at risk in whose place it was launched
	refresh    bool      // an instance refresh replaces it
}

func (i *instance) warmed() bool { return strings.HasPrefix(string(i.state), "Warmed:") }

// counted tells whether the instance counts towards the desired capacity.
func (i *instance) counted() bool {
	switch i.state {
	case groupapi.Pending, groupapi.PendingWait, groupapi.PendingProceed, groupapi.InService:
		return !i.atRisk
	}
	return false
}

// capacity is what counts towards the desired capacity, in weights.
func (g *group) capacity() int {
	n := 0
	for _, i := range g.instances {
		if i.counted() {
			n += i.weight
		}
	}
	return n
}

func (g *group) runs(process string) bool { return !g.suspended[process] }

// group finds a group by its name.
func (w *AutoScaling) group(name string) (*group, error) {
	if g := w.groups[name]; g != nil {
		return g, nil
	}
	return nil, account.Invalid("AutoScalingGroup name not found - AutoScalingGroup '%s' not found", name)
}

// change finds a group that the caller wants to change. A group with an operator takes changes from that alone.
func (w *AutoScaling) change(name string) (*group, error) {
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

// ShapeGroup sets how the instances of a group behave, which no API action does. Zero fields keep the world's.
func (w *AutoScaling) ShapeGroup(name string, m Machines) error {
	g, err := w.group(name)
	if err != nil {
		return err
	}
	g.machines = m.withDefaults(w.machines)
	return nil
}

// CreateAutoScalingGroup makes a group, which launches its desired capacity.
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
	w.look(g)
	return account.Nothing{}, nil
}

// UpdateAutoScalingGroup changes a group. Where a new bound excludes the desired capacity and none is given, it is
// moved to the bound.
func (w *AutoScaling) UpdateAutoScalingGroup(in groupapi.GroupSettings) (account.Nothing, error) {
	g, err := w.change(in.AutoScalingGroupName)
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
	w.look(g)
	return account.Nothing{}, nil
}

// apply checks and takes over what is given.
func (g *group) apply(in groupapi.GroupSettings) error {
	least, most, desired := account.Or(in.MinSize, g.MinSize), account.Or(in.MaxSize, g.MaxSize),
		account.Or(in.DesiredCapacity, g.desired)
	switch {
	case least < 0 || most < least || most > MaxGroupSize:
		return account.Invalid("MinSize %d and MaxSize %d must be in order, from 0 to %d.", least, most, MaxGroupSize)
	case desired < least:
		return account.Invalid("Desired capacity:%d must be between the specified min size:%d and max size:%d",
			desired, least,
			most)
	case desired > most:
		return account.Invalid("Desired capacity:%d must be between the specified min size:%d and max size:%d",
			desired, least,
			most)
	}
	for _, seconds := range []*int{in.DefaultCooldown, in.HealthCheckGracePeriod, in.DefaultInstanceWarmup} {
		if n := account.Or(seconds, 0); n < -1 || n > account.MaxSeconds {
			return account.Invalid("DefaultCooldown, HealthCheckGracePeriod and DefaultInstanceWarmup must be from "+
				"0 to %d "+
				"seconds, got %d.", account.MaxSeconds, n)
		}
	}
	if err := groupapi.CheckTerminationPolicies(in.TerminationPolicies); err != nil {
		return err
	}
	if err := in.MixedInstancesPolicy.Check(); err != nil {
		return err
	}
	g.MinSize, g.MaxSize, g.desired = least, most, desired
	g.DefaultCooldown = account.Or(in.DefaultCooldown, g.DefaultCooldown)
	g.HealthCheckGracePeriod = account.Or(in.HealthCheckGracePeriod, g.HealthCheckGracePeriod)
	g.NewInstancesProtectedFromScaleIn = account.Or(in.NewInstancesProtectedFromScaleIn,
		g.NewInstancesProtectedFromScaleIn)
	if in.DefaultInstanceWarmup != nil {
		if g.DefaultInstanceWarmup = in.DefaultInstanceWarmup; *in.DefaultInstanceWarmup < 0 {
			g.DefaultInstanceWarmup = nil // -1 takes it back
		}
	}
	if in.CapacityRebalance != nil {
		g.CapacityRebalance = in.CapacityRebalance
	}
	if in.InstanceLifecyclePolicy != nil {
		g.InstanceLifecyclePolicy = in.InstanceLifecyclePolicy
	}
	if in.Operator != nil {
		g.Operator = in.Operator
	}
	g.HealthCheckType = cmp.Or(in.HealthCheckType, g.HealthCheckType)
	g.DeletionProtection = cmp.Or(in.DeletionProtection, g.DeletionProtection)
	if len(in.TerminationPolicies) > 0 {
		g.TerminationPolicies = slices.Clone(in.TerminationPolicies)
	}
	g.placeIn(in)
	g.launchFrom(in)
	g.keep(in.ShownSettings)
	return nil
}

// keep takes over what is only shown.
func (g *group) keep(in groupapi.ShownSettings) {
	g.MaxInstanceLifetime = cmp.Or(in.MaxInstanceLifetime, g.MaxInstanceLifetime)
	g.DesiredCapacityType = cmp.Or(in.DesiredCapacityType, g.DesiredCapacityType)
	g.PlacementGroup = cmp.Or(in.PlacementGroup, g.PlacementGroup)
	g.ServiceLinkedRoleARN = cmp.Or(in.ServiceLinkedRoleARN, g.ServiceLinkedRoleARN)
	g.InstanceMaintenancePolicy = cmp.Or(in.InstanceMaintenancePolicy, g.InstanceMaintenancePolicy)
	g.AvailabilityZoneDistribution = cmp.Or(in.AvailabilityZoneDistribution, g.AvailabilityZoneDistribution)
	if in.TargetGroupARNs != nil {
		g.TargetGroupARNs = slices.Clone(in.TargetGroupARNs)
	}
}

func (g *group) placeIn(in groupapi.GroupSettings) {
	g.VPCZoneIdentifier = cmp.Or(in.VPCZoneIdentifier, g.VPCZoneIdentifier)
	switch {
	case len(in.AvailabilityZones) > 0:
		g.AvailabilityZones = slices.Clone(in.AvailabilityZones)
	case in.VPCZoneIdentifier != "":
		// The model has no subnets: each is taken to lie in a zone of its own.
		g.AvailabilityZones = nil
		for n := range strings.Split(in.VPCZoneIdentifier, ",") {
			g.AvailabilityZones = append(g.AvailabilityZones, g.region+string(rune('a'+n%26)))
		}
	}
	slices.Sort(g.AvailabilityZones)
	g.AvailabilityZones = slices.Compact(g.AvailabilityZones)
}

func (g *group) launchFrom(in groupapi.GroupSettings) {
	switch {
	case in.MixedInstancesPolicy != nil:
		g.MixedInstancesPolicy, g.LaunchTemplate, g.LaunchConfigurationName = in.MixedInstancesPolicy, nil, ""
	case in.LaunchTemplate != nil:
		g.LaunchTemplate, g.MixedInstancesPolicy, g.LaunchConfigurationName = in.LaunchTemplate, nil, ""
	case in.LaunchConfigurationName != "":
		g.LaunchConfigurationName, g.MixedInstancesPolicy, g.LaunchTemplate = in.LaunchConfigurationName, nil, nil
	default:
		return
	}
	g.generation++
}

// DeleteAutoScalingGroup ends a group: one with instances only by force.
func (w *AutoScaling) DeleteAutoScalingGroup(in groupapi.DeleteGroup) (account.Nothing, error) {
	g, err := w.change(in.AutoScalingGroupName)
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
	for _, i := range slices.Clone(g.instances) {
		w.gone(i)
	}
	w.listeners.Deleted(in.AutoScalingGroupName)
	g.deleted = true
	delete(w.groups, in.AutoScalingGroupName)
	return account.Nothing{}, nil
}

// SetDesiredCapacity sets the size of a group. With HonorCooldown it is refused while the group scales or cools down.
func (w *AutoScaling) SetDesiredCapacity(in groupapi.SetDesired) (account.Nothing, error) {
	g, err := w.change(in.AutoScalingGroupName)
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

// resize sets the desired capacity and has the group look.
func (w *AutoScaling) resize(g *group, n int) {
	g.desired = n
	g.askAgain = time.Time{} // a new order is tried at once
	w.look(g)
}

// cooling tells whether activities are in progress or ended less than a cooldown ago.
func (w *AutoScaling) cooling(g *group) bool {
	for _, a := range g.activities {
		if a.EndTime.IsZero() {
			return true
		}
	}
	return !g.cooledAt.IsZero() && w.acc.Now().Before(g.cooledAt.Add(time.Duration(g.DefaultCooldown)*time.Second))
}

// look has a group compare what it has with what it should have, a little later.
func (w *AutoScaling) look(g *group) {
	if g.looking || g.deleted {
		return
	}
	g.looking = true
	w.acc.After(g.machines.React, func() {
		if g.looking = false; !g.deleted {
			w.reconcile(g)
		}
	})
}

// reconcile launches what is missing and ends what is too much.
func (w *AutoScaling) reconcile(g *group) {
	if g.replacing != nil && !g.replacing.counted() {
		g.replacing = nil // it was taken out before it could replace anything
	}
	switch have := g.capacity(); {
	case have < g.desired && g.runs("Launch"):
		w.grow(g)
	case have > g.desired && g.runs("Terminate") && g.replacing == nil:
		w.shrink(g)
	default:
		g.stuck = false
	}
	w.balance(g)
	w.fillPool(g)
	w.refreshSome(g)
}

// retry has a group look again after a failure.
func (w *AutoScaling) retry(g *group) {
	g.askAgain = w.acc.Now().Add(max(g.machines.Retry, time.Second))
	w.acc.At(g.askAgain, func() {
		if !g.deleted {
			w.look(g)
		}
	})
}

// move puts an instance into a state, and plans what comes next.
func (w *AutoScaling) move(i *instance, s groupapi.LifecycleState, d time.Duration, next func()) {
	i.state = s
	i.turn++
	if next == nil {
		return
	}
	turn := i.turn
	w.acc.After(w.acc.Around("machines", d, i.group.machines.Spread), func() {
		if i.turn == turn {
			next()
		}
	})
}
