package groupapi

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-scale/muster/sim/cloud/account"
)

// Check says what is wrong with a policy; nil when nothing is. A nil policy is valid.
func (m *MixedInstancesPolicy) Check() error {
	if m == nil {
		return nil
	}
	if m.LaunchTemplate == nil || m.LaunchTemplate.LaunchTemplateSpecification == nil {
		return account.Invalid("A mixed instances policy needs a launch template.")
	}
	for _, o := range m.LaunchTemplate.Overrides {
		if n, err := strconv.Atoi(cmp.Or(o.WeightedCapacity, "1")); err != nil || n < 1 || n > 999 {
			return account.Invalid("Invalid weighted capacity '%s': it must be a number from 1 to 999.",
				o.WeightedCapacity)
		}
		if (o.InstanceType != "") == (o.InstanceRequirements != nil) {
			return account.Invalid("An override has either an instance type or instance requirements.")
		}
	}
	if d := m.InstancesDistribution; d != nil {
		if p, base := account.Or(d.OnDemandPercentageAboveBaseCapacity, 100), account.Or(d.OnDemandBaseCapacity,
			0); p < 0 || p > 100 ||
			base < 0 {
			return account.Invalid("OnDemandPercentageAboveBaseCapacity %d must be from 0 to 100, and "+
				"OnDemandBaseCapacity "+
				"%d not below 0.", p, base)
		}
	}
	return nil
}

// CheckTerminationPolicies says what is wrong with a list of termination policies; nil when nothing is. At most one
// is a function, which comes first; Default comes last.
func CheckTerminationPolicies(all []string) error {
	known := []string{"Default", "AllocationStrategy", "OldestLaunchTemplate", "OldestLaunchConfiguration",
		"ClosestToNextInstanceHour", "NewestInstance", "OldestInstance"}
	for k, p := range all {
		function := strings.HasPrefix(p, "arn:")
		switch {
		case function && k > 0:
			return account.Invalid("A Lambda function must be the first termination policy and the only function.")
		case function && strings.HasSuffix(p, ":$LATEST"):
			return account.Invalid("A termination policy must not be qualified with $LATEST.")
		case !function && !slices.Contains(known, p):
			return account.Invalid("Termination policy '%s' is not valid. Valid policies are %s.", p,
				strings.Join(known, ", "))
		case p == "Default" && k < len(all)-1:
			return account.Invalid("Default must be the last termination policy.")
		}
	}
	return nil
}

// ProcessNames returns the processes of a group that can be suspended.
func ProcessNames() []string {
	return []string{"Launch", "Terminate", "AddToLoadBalancer", "AlarmNotification", "AZRebalance", "HealthCheck",
		"InstanceRefresh", "ReplaceUnhealthy", "ScheduledActions"}
}

// MetricNames returns the metrics that a group can publish.
func MetricNames() []string {
	return []string{"GroupMinSize", "GroupMaxSize", "GroupDesiredCapacity", "GroupInServiceInstances",
		"GroupPendingInstances",
		"GroupStandbyInstances", "GroupTerminatingInstances", "GroupTotalInstances", "WarmPoolDesiredCapacity",
		"WarmPoolWarmedCapacity"}
}

// Matches tells whether tags satisfy all filters. A filter is named tag-key, tag-value or tag:KEY.
func Matches(tags []Tag, filters []Filter) bool {
	for _, f := range filters {
		if !slices.ContainsFunc(tags, func(t Tag) bool {
			switch f.Name {
			case "tag-key":
				return slices.Contains(f.Values, t.Key)
			case "tag-value":
				return slices.Contains(f.Values, t.Value)
			}
			return f.Name == "tag:"+t.Key && slices.Contains(f.Values, t.Value)
		}) {
			return false
		}
	}
	return true
}

// Weighted tells whether the overrides of a policy have weights. A nil policy has none.
func (m *MixedInstancesPolicy) Weighted() bool {
	return m != nil && slices.ContainsFunc(m.LaunchTemplate.Overrides,
		func(o Overrides) bool { return o.WeightedCapacity != "" })
}

// OnDemand returns how much of a capacity should be on demand, rounded up; all of it without a distribution:
//
//	base + (capacity - base) * percentage above base
func (m *MixedInstancesPolicy) OnDemand(all int) int {
	if m == nil || m.InstancesDistribution == nil {
		return all
	}
	d := m.InstancesDistribution
	base := min(account.Or(d.OnDemandBaseCapacity, 0), all)
	return base + ((all-base)*account.Or(d.OnDemandPercentageAboveBaseCapacity, 100)+99)/100
}
