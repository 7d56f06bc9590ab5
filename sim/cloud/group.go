package cloud

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
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
	acc       *Account
	machines  Machines
	mayMix    bool // a group may have a warm pool and a mixed instances policy
	publish   Publish
	listeners Listeners
	groups    map[string]*group
	instances map[string]*instance
	lambdas   map[string]TerminationPolicy
	tokens    clientTokens
}

// newAutoScaling is EC2 Auto Scaling without groups. Instances behave as the machines say; mayMix lets a group have a
// warm pool and a mixed instances policy.
func newAutoScaling(a *Account, m Machines, mayMix bool, publish Publish) *AutoScaling {
	return &AutoScaling{acc: a, machines: m.withDefaults(Machines{}), mayMix: mayMix, publish: publish,
		groups: map[string]*group{}, instances: map[string]*instance{}, lambdas: map[string]TerminationPolicy{}}
}

// Listeners are told what happens to instances and groups. All are needed.
type Listeners struct {
	// Serves is told of an instance that came into service, Leaves of the id of one that leaves it or ends.
	Serves func(Machine)
	Leaves func(instance string)
	// Deleted is told the name of a group that is deleted.
	Deleted func(group string)
}

// connect says who is told what happens.
func (w *AutoScaling) connect(l Listeners) { w.listeners = l }

// Machine is an instance in service, as others know it.
type Machine struct {
	ID, Zone string
	// Group is the name of its group, GroupARN its ARN.
	Group, GroupARN string
	// Serves tells whether it has been in service since.
	Serves func() bool
}

// machine shows an instance to others.
func (i *instance) machine() Machine {
	turn := i.turn
	return Machine{i.id, i.pool.AvailabilityZone, i.group.AutoScalingGroupName, i.group.AutoScalingGroupARN,
		func() bool { return i.turn == turn }}
}

// Size is what a group looks like from outside.
type Size struct {
	Name, ARN         string
	Min, Max, Desired int
	// InService is the capacity in service, in weights.
	InService int
	// Weighted tells that its instances have weights, Protects that new ones are protected from scale-in.
	Weighted, Protects bool
	// Warmup is the group's default warm-up, nil for none; Cooldown its default cooldown.
	Warmup   *time.Duration
	Cooldown time.Duration
	// Alarms tells that it scales when alarms say so.
	Alarms bool
}

// size shows a group to others.
func (g *group) size() Size {
	s := Size{Name: g.AutoScalingGroupName, ARN: g.AutoScalingGroupARN, Min: g.MinSize, Max: g.MaxSize,
		Desired: g.desired, Weighted: g.weighted(), Protects: g.NewInstancesProtectedFromScaleIn,
		Cooldown: time.Duration(g.DefaultCooldown) * time.Second, Alarms: g.runs("AlarmNotification")}
	if g.DefaultInstanceWarmup != nil {
		s.Warmup = ptr(time.Duration(*g.DefaultInstanceWarmup) * time.Second)
	}
	for _, i := range g.instances {
		if i.state == InService {
			s.InService += i.weight
		}
	}
	return s
}

// sizeOf shows a group, found by its name or ARN, to others.
func (w *AutoScaling) sizeOf(nameOrARN string) (Size, bool) {
	for _, name := range sorted(w.groups) {
		if g := w.groups[name]; nameOrARN == g.AutoScalingGroupARN || nameOrARN == name {
			return g.size(), true
		}
	}
	return Size{}, false
}

// mayChange says why the caller may not change a group, nil if it may.
func (w *AutoScaling) mayChange(name string) error {
	_, err := w.change(name)
	return err
}

// setDesired sets the desired capacity of a group, for an autoscaler.
func (w *AutoScaling) setDesired(name string, n int) { w.resize(w.groups[name], n) }

// serving are the instances of a group in service, in the order of their launch.
func (w *AutoScaling) serving(name string) (all []Machine) {
	for _, i := range w.groups[name].instances {
		if i.state == InService {
			all = append(all, i.machine())
		}
	}
	return all
}

// protect protects an instance in service from scale-in, or takes that back.
func (w *AutoScaling) protect(id string, on bool) {
	if i := w.instances[id]; i != nil && i.state == InService && i.protected != on {
		i.protected = on
		w.look(i.group)
	}
}

// warming tells whether an instance of a group is on its way into service, or has been there for less than a warm-up.
func (w *AutoScaling) warming(name string, warmup time.Duration) bool {
	return slices.ContainsFunc(w.groups[name].instances, func(i *instance) bool {
		return i.counted() && (i.state != InService || w.acc.Now().Before(i.inService.Add(warmup)))
	})
}

// group is an Auto Scaling group.
type group struct {
	Group
	machines   Machines
	region     string
	typical    string // the instance type of groups that do not mix
	desired    int
	instances  []*instance // in the order of their launch
	hooks      []LifecycleHook
	activities []*Activity // oldest first
	suspended  map[string]bool
	metrics    map[string]bool
	refresh    []*refresh
	pool       *WarmPoolConfiguration
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
	pool       Pool
	weight     int
	state      LifecycleState
	protected  bool
	unhealthy  bool
	launchedAt time.Time
	inService  time.Time
	generation int
	turn       int // counts changes of state: what was planned for an earlier one is over
	waits      []*wait
	next       func() // what comes after the hooks
	activity   *Activity
	reclaim    time.Time // when a Spot interruption ends it
	atRisk     bool      // another was launched in its place, and it goes when that serves
	replaces   *instance // the one at risk in whose place it was launched
	refresh    bool      // an instance refresh replaces it
}

func (i *instance) warmed() bool { return strings.HasPrefix(string(i.state), "Warmed:") }

// counted tells whether the instance counts towards the desired capacity.
func (i *instance) counted() bool {
	switch i.state {
	case Pending, PendingWait, PendingProceed, InService:
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
	return nil, invalid("AutoScalingGroup name not found - AutoScalingGroup '%s' not found", name)
}

// change finds a group that the caller wants to change. A group with an operator takes changes from that alone.
func (w *AutoScaling) change(name string) (*group, error) {
	g, err := w.group(name)
	if err != nil {
		return nil, err
	}
	if g.Operator != nil && g.Operator.Principal != w.acc.Caller() {
		return nil, &Fault{Code: "AccessDenied", Status: 403,
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
func (w *AutoScaling) CreateAutoScalingGroup(in CreateGroup) (Nothing, error) {
	switch {
	case in.AutoScalingGroupName == "" || len(in.AutoScalingGroupName) > 255 ||
		strings.ContainsAny(in.AutoScalingGroupName, ":/"):
		return Nothing{}, invalid("The group name must have 1 to 255 characters without colons and slashes.")
	case w.groups[in.AutoScalingGroupName] != nil:
		return Nothing{}, fault("AlreadyExists", "AutoScalingGroup by this name already exists - A group with the "+
			"name %s already exists", in.AutoScalingGroupName)
	case len(w.groups) >= MaxGroups:
		return Nothing{}, fault("LimitExceeded", "The limit of %d groups is reached.", MaxGroups)
	case in.MinSize == nil || in.MaxSize == nil:
		return Nothing{}, invalid("MinSize and MaxSize are required.")
	case in.LaunchTemplate == nil && in.LaunchConfigurationName == "" && in.MixedInstancesPolicy == nil:
		return Nothing{}, invalid("Valid requests must contain either LaunchTemplate, LaunchConfigurationName, " +
			"InstanceId or MixedInstancesPolicy parameter.")
	case len(in.AvailabilityZones) == 0 && in.VPCZoneIdentifier == "":
		return Nothing{}, invalid("At least one Availability Zone or VPC Subnet is required.")
	}
	g := &group{region: w.acc.Region(), machines: w.machines, typical: "m7g.large",
		suspended: map[string]bool{}, metrics: map[string]bool{}}
	g.AutoScalingGroupName = in.AutoScalingGroupName
	g.AutoScalingGroupARN = w.acc.arn("autoscaling", "autoScalingGroup:"+w.acc.uuid()+":autoScalingGroupName/"+
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
		return Nothing{}, err
	}
	for _, h := range in.LifecycleHookSpecificationList {
		h.AutoScalingGroupName = in.AutoScalingGroupName
		if err := g.putHook(h); err != nil {
			return Nothing{}, err
		}
	}
	w.groups[g.AutoScalingGroupName] = g
	w.look(g)
	return Nothing{}, nil
}

// UpdateAutoScalingGroup changes a group. Where a new bound excludes the desired capacity and none is given, it is
// moved to the bound.
func (w *AutoScaling) UpdateAutoScalingGroup(in GroupSettings) (Nothing, error) {
	g, err := w.change(in.AutoScalingGroupName)
	if err != nil {
		return Nothing{}, err
	}
	if in.DesiredCapacity == nil {
		in.DesiredCapacity = ptr(min(max(g.desired, or(in.MinSize, g.MinSize)), or(in.MaxSize, g.MaxSize)))
	}
	if err := g.apply(in); err != nil {
		return Nothing{}, err
	}
	w.look(g)
	return Nothing{}, nil
}

// apply checks and takes over what is given.
func (g *group) apply(in GroupSettings) error {
	least, most, desired := or(in.MinSize, g.MinSize), or(in.MaxSize, g.MaxSize), or(in.DesiredCapacity, g.desired)
	switch {
	case least < 0 || most < least || most > MaxGroupSize:
		return invalid("MinSize %d and MaxSize %d must be in order, from 0 to %d.", least, most, MaxGroupSize)
	case desired < least:
		return invalid("Desired capacity:%d must be between the specified min size:%d and max size:%d", desired, least,
			most)
	case desired > most:
		return invalid("Desired capacity:%d must be between the specified min size:%d and max size:%d", desired, least,
			most)
	}
	for _, seconds := range []*int{in.DefaultCooldown, in.HealthCheckGracePeriod, in.DefaultInstanceWarmup} {
		if n := or(seconds, 0); n < -1 || n > maxSeconds {
			return invalid("DefaultCooldown, HealthCheckGracePeriod and DefaultInstanceWarmup must be from 0 to %d "+
				"seconds, got %d.", maxSeconds, n)
		}
	}
	if err := checkPolicies(in.TerminationPolicies); err != nil {
		return err
	}
	if err := checkMix(in.MixedInstancesPolicy); err != nil {
		return err
	}
	g.MinSize, g.MaxSize, g.desired = least, most, desired
	g.DefaultCooldown = or(in.DefaultCooldown, g.DefaultCooldown)
	g.HealthCheckGracePeriod = or(in.HealthCheckGracePeriod, g.HealthCheckGracePeriod)
	g.NewInstancesProtectedFromScaleIn = or(in.NewInstancesProtectedFromScaleIn, g.NewInstancesProtectedFromScaleIn)
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
func (g *group) keep(in ShownSettings) {
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

func (g *group) placeIn(in GroupSettings) {
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

func (g *group) launchFrom(in GroupSettings) {
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

func checkMix(m *MixedInstancesPolicy) error {
	if m == nil {
		return nil
	}
	if m.LaunchTemplate == nil || m.LaunchTemplate.LaunchTemplateSpecification == nil {
		return invalid("A mixed instances policy needs a launch template.")
	}
	for _, o := range m.LaunchTemplate.Overrides {
		if n, err := strconv.Atoi(cmp.Or(o.WeightedCapacity, "1")); err != nil || n < 1 || n > 999 {
			return invalid("Invalid weighted capacity '%s': it must be a number from 1 to 999.", o.WeightedCapacity)
		}
		if (o.InstanceType != "") == (o.InstanceRequirements != nil) {
			return invalid("An override has either an instance type or instance requirements.")
		}
	}
	if d := m.InstancesDistribution; d != nil {
		if p, base := or(d.OnDemandPercentageAboveBaseCapacity, 100), or(d.OnDemandBaseCapacity, 0); p < 0 || p > 100 ||
			base < 0 {
			return invalid("OnDemandPercentageAboveBaseCapacity %d must be from 0 to 100, and OnDemandBaseCapacity "+
				"%d not below 0.", p, base)
		}
	}
	return nil
}

// DeleteAutoScalingGroup ends a group: one with instances only by force.
func (w *AutoScaling) DeleteAutoScalingGroup(in DeleteGroup) (Nothing, error) {
	g, err := w.change(in.AutoScalingGroupName)
	if err != nil {
		return Nothing{}, err
	}
	force := or(in.ForceDelete, false)
	switch {
	case g.DeletionProtection == "prevent-all-deletion" || force && g.DeletionProtection == "prevent-force-deletion":
		return Nothing{}, invalid("The group %s has deletion protection %s.", in.AutoScalingGroupName,
			g.DeletionProtection)
	case !force && len(g.instances) > 0:
		return Nothing{}, fault("ResourceInUse", "You cannot delete an AutoScalingGroup while there are instances or "+
			"pending Spot instance request(s) still in the group.")
	}
	for _, i := range slices.Clone(g.instances) {
		w.gone(i)
	}
	w.listeners.Deleted(in.AutoScalingGroupName)
	g.deleted = true
	delete(w.groups, in.AutoScalingGroupName)
	return Nothing{}, nil
}

// SetDesiredCapacity sets the size of a group. With HonorCooldown it is refused while the group scales or cools down.
func (w *AutoScaling) SetDesiredCapacity(in SetDesired) (Nothing, error) {
	g, err := w.change(in.AutoScalingGroupName)
	if err != nil {
		return Nothing{}, err
	}
	if in.DesiredCapacity == nil {
		return Nothing{}, invalid("DesiredCapacity is required.")
	}
	n := *in.DesiredCapacity
	switch {
	case n > g.MaxSize:
		return Nothing{}, invalid("New SetDesiredCapacity value %d is above max value %d for the AutoScalingGroup.", n,
			g.MaxSize)
	case n < g.MinSize:
		return Nothing{}, invalid("New SetDesiredCapacity value %d is below min value %d for the AutoScalingGroup.", n,
			g.MinSize)
	}
	if or(in.HonorCooldown, false) && w.cooling(g) {
		return Nothing{}, fault("ScalingActivityInProgress", "The group %s has scaling activities in progress or "+
			"cools down, and cooldowns are to be honored.", in.AutoScalingGroupName)
	}
	w.resize(g, n)
	return Nothing{}, nil
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
	w.acc.after(g.machines.React, func() {
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
	w.acc.at(g.askAgain, func() {
		if !g.deleted {
			w.look(g)
		}
	})
}

// move puts an instance into a state, and plans what comes next.
func (w *AutoScaling) move(i *instance, s LifecycleState, d time.Duration, next func()) {
	i.state = s
	i.turn++
	if next == nil {
		return
	}
	turn := i.turn
	w.acc.after(w.acc.around("machines", d, i.group.machines.Spread), func() {
		if i.turn == turn {
			next()
		}
	})
}
