package asg

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/muster-scale/muster"
)

// zone is a zone of a group, with the number of instances in it.
type zone struct {
	name string
	has  int
}

// zonesFor returns the zones for launches by name: that of the options, or all of the group's with their living
// instances. A group with one zone needs no name, so its zone has an empty one.
func (f *Fleet) zonesFor(s survey) []zone {
	switch {
	case len(s.AvailabilityZones) <= 1:
		return []zone{{}}
	case f.o.Zone != "":
		return []zone{{name: f.o.Zone}}
	}
	var all []zone
	for _, name := range s.AvailabilityZones {
		z := zone{name: name}
		for _, i := range s.living {
			if aws.ToString(i.AvailabilityZone) == name {
				z.has++
			}
		}
		all = append(all, z)
	}
	return all
}

// spread distributes n instances so that the zones become as even as possible: always to the zone with the fewest, and
// among equals to the first by name.
func spread(n int, zones []zone) []int {
	into := make([]int, len(zones))
	for range n {
		best := 0
		for i := range zones {
			if c := cmp.Or(cmp.Compare(zones[i].has+into[i], zones[best].has+into[best]),
				cmp.Compare(zones[i].name, zones[best].name)); c < 0 {
				best = i
			}
		}
		into[best]++
	}
	return into
}

// launching is a launch by name in progress.
type launching struct {
	order    muster.Order
	launched int
	failures []string
	calls    int
}

// launch launches n instances by name. handled is false if this group does not allow that: then set the size instead.
// In a group with several zones it spreads them as the group would. Instances for which a zone has no capacity go to
// others, unless the group demands balance.
func (f *Fleet) launch(ctx context.Context, order muster.Order, s survey, n int) (handled bool, err error) {
	l := launching{order: order}
	zones := f.zonesFor(s)
	strict := s.AvailabilityZoneDistribution != nil &&
		s.AvailabilityZoneDistribution.CapacityDistributionStrategy == types.CapacityDistributionStrategyBalancedOnly
	for round := 0; n > 0 && len(zones) > 0; round++ {
		short := 0
		var left []zone
		for i, k := range spread(n, zones) {
			missing, onlyHere, err := f.launchIn(ctx, &l, zones[i].name, round, k)
			if err != nil {
				err = f.explain("launch instances in", err)
				if f.o.Launch == Auto && len(l.failures) == 0 && f.fallsBack(err) {
					return false, nil
				}
				return true, l.add(f, err)
			}
			short += missing
			if zones[i].has += k - missing; missing == 0 {
				left = append(left, zones[i])
			} else if !onlyHere || strict {
				return true, l.failed(f)
			}
		}
		zones, n = left, short
	}
	if n > 0 {
		return true, l.failed(f)
	}
	return true, nil
}

// launchIn launches n instances in a zone and returns how many are missing. onlyHere is true if another zone may have
// the capacity. The client tokens derive from the order, so a repeated order launches once.
func (f *Fleet) launchIn(ctx context.Context, l *launching, zone string, round, n int) (missing int, onlyHere bool,
	err error) {
	for part := 0; n > 0; part++ {
		k := min(n, maxLaunch)
		in := &autoscaling.LaunchInstancesInput{
			AutoScalingGroupName: aws.String(f.o.Group), RequestedCapacity: aws.Int32(int32(k)),
			RetryStrategy: types.RetryStrategyNone,
			ClientToken:   aws.String(token(fmt.Sprintf("%s/%s/%d/%d", l.order.ID, zone, round, k), part)),
		}
		if zone != "" {
			in.AvailabilityZones = []string{zone}
		}
		l.calls++
		out, err := f.region.client.LaunchInstances(ctx, in)
		if err != nil {
			return n, false, err
		}
		f.works()
		got := 0
		for _, c := range out.Instances {
			got += len(c.InstanceIds)
		}
		l.launched += got
		onlyHere = true
		for _, e := range out.Errors {
			code := aws.ToString(e.ErrorCode)
			onlyHere = onlyHere && (strings.Contains(code, "Capacity") || strings.Contains(code, "Unsupported"))
			text := fmt.Sprintf("%s in %s of %s (%s)", code, aws.ToString(e.AvailabilityZone),
				aws.ToString(e.InstanceType), aws.ToString(e.ErrorMessage))
			if !slices.Contains(l.failures, text) {
				l.failures = append(l.failures, text)
			}
		}
		if len(out.Errors) > 0 {
			return max(0, n-got), onlyHere, nil
		}
		n -= k
	}
	return 0, false, nil
}

// failed says how many instances were launched, and why not all.
func (l launching) failed(f *Fleet) error {
	return fmt.Errorf("launch instances in the Auto Scaling group %s: %d of %d started; %s; the next attempts wait, "+
		"or add instance types and zones to the group",
		f.o.Group, l.launched, len(l.order.Launch), strings.Join(l.failures[:min(3, len(l.failures))], "; "))
}

// add adds the failures so far to an error.
func (l launching) add(f *Fleet, err error) error {
	if len(l.failures) == 0 {
		return err
	}
	return fmt.Errorf("%w; before that: %w", err, l.failed(f))
}
