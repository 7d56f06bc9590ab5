package asg_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/fleet/asg"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
)

// zoned gives the group three zones.
func zoned(in *groupapi.CreateGroup) {
	in.AvailabilityZones = []string{"eu-west-1a", "eu-west-1b", "eu-west-1c"}
}

// inZones counts the group's instances by the last letter of their zone, as in a2b1.
func (s stage) inZones() (text string) {
	n := map[string]int{}
	for _, i := range s.group().Instances {
		n[i.AvailabilityZone[len(i.AvailabilityZone)-1:]]++
	}
	for _, z := range []string{"a", "b", "c"} {
		if n[z] > 0 {
			text += z + string(rune('0'+n[z]))
		}
	}
	return text
}

func TestLaunchesByNameAreSpreadOverTheZonesOfAGroup(t *testing.T) {
	for _, row := range []struct {
		name  string
		o     asg.Options
		want  string
		calls int
	}{
		{"into the emptiest first", asg.Options{}, "a3b2c2", 5},
		{"the zone of the options goes over that", asg.Options{Zone: "eu-west-1b"}, "b7", 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			inTime(t, zoned, row.o, func(s stage) {
				s.must(s.order(1, "a"))
				s.must(s.order(2, "b"))
				s.must(s.order(7, "c", "d", "e", "f", "g"))
				s.must(s.order(7))
				if got := s.inZones(); got != row.want {
					s.t.Errorf("the instances are in %s, want %s", got, row.want)
				}
				if n := s.cloud.Calls("LaunchInstances"); n != row.calls || s.cloud.Calls("SetDesiredCapacity") != 0 {
					s.t.Errorf("it took %d launches, want %d and no size that is set", n, row.calls)
				}
			})
		})
	}
}

func TestWhatAZoneHasNoCapacityForGoesToTheOthers(t *testing.T) {
	for _, row := range []struct {
		name string
		// rest is how many instances each zone has left.
		rest          map[string]int
		distribution  string
		want, failure string
	}{
		{"the others have enough", map[string]int{"a": 1}, "", "a1b3c2", ""},
		{"all have too few", map[string]int{"a": 1, "b": 1, "c": 0}, "", "a1b1",
			"2 of 6 started; InsufficientInstanceCapacity in eu-west-1a"},
		{"a group that is balanced whatever happens", map[string]int{"a": 1}, "balanced-only", "a1", "1 of 6 started"},
	} {
		t.Run(row.name, func(t *testing.T) {
			inTime(t, func(in *groupapi.CreateGroup) {
				zoned(in)
				if row.distribution != "" {
					in.AvailabilityZoneDistribution = &groupapi.ZoneDistribution{
						CapacityDistributionStrategy: row.distribution,
					}
				}
			}, asg.Options{}, func(s stage) {
				s.must(s.order(1, "probe"))
				id := s.group().Instances[0]
				s.must(s.fleet.End(s.t.Context(), []string{id.InstanceId}))
				synctest.Wait()
				time.Sleep(5 * time.Minute)
				s.cloud.Do(func(w *model.World) {
					for zone, n := range row.rest {
						w.LimitCapacity(account.Pool{InstanceType: id.InstanceType, AvailabilityZone: "eu-west-1" +
							zone,
							Market: account.OnDemand}, n)
					}
				})
				err := s.order(6, "a", "b", "c", "d", "e", "f")
				if (err != nil) != (row.failure != "") || err != nil && !strings.Contains(err.Error(), row.failure) {
					s.t.Errorf("SetDesired = %v, want %q", err, row.failure)
				}
				if got := s.inZones(); got != row.want {
					s.t.Errorf("the instances are in %s, want %s", got, row.want)
				}
			})
		})
	}
}
