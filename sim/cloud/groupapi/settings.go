package groupapi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/muster-scale/muster/sim/cloud/account"
)

// This file has what the inputs of actions mean by themselves: their defaults, their checks, and how settings that are
// present replace the settings of a group. Whatever depends on the instances of a group is in package groups.

// Check says what is wrong with settings, whatever group they are for; nil when nothing is. The bounds of the size
// depend on each other and on the group: package groups checks them.
func (in GroupSettings) Check() error {
	for _, seconds := range []*int{in.DefaultCooldown, in.HealthCheckGracePeriod, in.DefaultInstanceWarmup} {
		if n := account.Or(seconds, 0); n < -1 || n > account.MaxSeconds {
			return account.Invalid("DefaultCooldown, HealthCheckGracePeriod and DefaultInstanceWarmup must be from "+
				"0 to %d seconds, got %d.", account.MaxSeconds, n)
		}
	}
	if err := CheckTerminationPolicies(in.TerminationPolicies); err != nil {
		return err
	}
	return in.MixedInstancesPolicy.Check()
}

// Update replaces the settings of a group by the settings that are present, the sizes excepted, and tells whether later
// instances are launched from other settings than earlier ones. The region names the zones of subnets.
func (g *Group) Update(in GroupSettings, region string) (relaunches bool) {
	g.DefaultCooldown = account.Or(in.DefaultCooldown, g.DefaultCooldown)
	g.HealthCheckGracePeriod = account.Or(in.HealthCheckGracePeriod, g.HealthCheckGracePeriod)
	g.NewInstancesProtectedFromScaleIn = account.Or(in.NewInstancesProtectedFromScaleIn,
		g.NewInstancesProtectedFromScaleIn)
	if in.DefaultInstanceWarmup != nil {
		if g.DefaultInstanceWarmup = in.DefaultInstanceWarmup; *in.DefaultInstanceWarmup < 0 {
			g.DefaultInstanceWarmup = nil // -1 removes the default warm-up
		}
	}
	g.CapacityRebalance = cmp.Or(in.CapacityRebalance, g.CapacityRebalance)
	g.InstanceLifecyclePolicy = cmp.Or(in.InstanceLifecyclePolicy, g.InstanceLifecyclePolicy)
	g.Operator = cmp.Or(in.Operator, g.Operator)
	g.HealthCheckType = cmp.Or(in.HealthCheckType, g.HealthCheckType)
	g.DeletionProtection = cmp.Or(in.DeletionProtection, g.DeletionProtection)
	if len(in.TerminationPolicies) > 0 {
		g.TerminationPolicies = slices.Clone(in.TerminationPolicies)
	}
	g.updateZones(in, region)
	g.ShownSettings.update(in.ShownSettings)
	return g.updateLaunch(in)
}

// update replaces the settings that are only shown.
func (g *ShownSettings) update(in ShownSettings) {
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

// updateZones replaces the zones, which stay sorted and without duplicates: the choice of a zone relies on their order.
func (g *Group) updateZones(in GroupSettings, region string) {
	g.VPCZoneIdentifier = cmp.Or(in.VPCZoneIdentifier, g.VPCZoneIdentifier)
	switch {
	case len(in.AvailabilityZones) > 0:
		g.AvailabilityZones = slices.Clone(in.AvailabilityZones)
	case in.VPCZoneIdentifier != "":
		// The model has no subnets: each subnet is taken to lie in a zone of its own.
		g.AvailabilityZones = nil
		for n := range strings.Split(in.VPCZoneIdentifier, ",") {
			g.AvailabilityZones = append(g.AvailabilityZones, region+string(rune('a'+n%26)))
		}
	}
	slices.Sort(g.AvailabilityZones)
	g.AvailabilityZones = slices.Compact(g.AvailabilityZones)
}

// updateLaunch replaces what instances are launched from, and tells whether anything was given. A group has exactly one
// of the three, so a new one removes the other two.
func (g *Group) updateLaunch(in GroupSettings) bool {
	switch {
	case in.MixedInstancesPolicy != nil:
		g.MixedInstancesPolicy, g.LaunchTemplate, g.LaunchConfigurationName = in.MixedInstancesPolicy, nil, ""
	case in.LaunchTemplate != nil:
		g.LaunchTemplate, g.MixedInstancesPolicy, g.LaunchConfigurationName = in.LaunchTemplate, nil, ""
	case in.LaunchConfigurationName != "":
		g.LaunchConfigurationName, g.MixedInstancesPolicy, g.LaunchTemplate = in.LaunchConfigurationName, nil, nil
	default:
		return false
	}
	return true
}

// Complete fills in the defaults of a hook and says what is wrong with it; nil when nothing is. The global timeout
// follows from the heartbeat: 100 heartbeats, at most 48 hours.
func (h *LifecycleHook) Complete() error {
	h.DefaultResult = cmp.Or(h.DefaultResult, "ABANDON")
	seconds := account.Or(h.HeartbeatTimeout, 3600)
	switch {
	case h.LifecycleHookName == "":
		return account.Invalid("LifecycleHookName is required.")
	case h.LifecycleTransition != Launching && h.LifecycleTransition != Ending:
		return account.Invalid("LifecycleTransition '%s' must be %s or %s.", h.LifecycleTransition, Launching, Ending)
	case seconds < 30 || seconds > 7200:
		return account.Invalid("HeartbeatTimeout %d must be from 30 to 7200 seconds.", seconds)
	case h.DefaultResult != "ABANDON" && h.DefaultResult != "CONTINUE":
		return account.Invalid("DefaultResult '%s' must be ABANDON or CONTINUE.", h.DefaultResult)
	}
	h.HeartbeatTimeout, h.GlobalTimeout = account.Ptr(seconds), account.Ptr(min(172_800, 100*seconds))
	return nil
}

// Update replaces the settings of a warm pool by the settings that are present.
func (c *WarmPoolConfiguration) Update(in PutWarm) {
	if in.MaxGroupPreparedCapacity != nil {
		if c.MaxGroupPreparedCapacity = in.MaxGroupPreparedCapacity; *in.MaxGroupPreparedCapacity == -1 {
			c.MaxGroupPreparedCapacity = nil // the group's MaxSize
		}
	}
	c.MinSize = cmp.Or(in.MinSize, c.MinSize)
	c.PoolState = cmp.Or(in.PoolState, c.PoolState)
	c.InstanceReusePolicy = cmp.Or(in.InstanceReusePolicy, c.InstanceReusePolicy)
}

// Complete returns the preferences with their defaults, and says what is wrong with them. Absent preferences are all
// defaults. AWS documents a least healthy share of 90 % and that protected instances are left alone.
func (p *RefreshPreferences) Complete() (RefreshPreferences, error) {
	all := account.Or(p, RefreshPreferences{})
	all.ScaleInProtectedInstances = cmp.Or(all.ScaleInProtectedInstances, "Ignore")
	if n := account.Or(all.MinHealthyPercentage, 90); n < 0 || n > 100 ||
		!slices.Contains([]string{"Wait", "Ignore", "Refresh"}, all.ScaleInProtectedInstances) {
		return all, account.Invalid("MinHealthyPercentage must be from 0 to 100, and ScaleInProtectedInstances Wait, " +
			"Ignore or Refresh.")
	}
	return all, nil
}
