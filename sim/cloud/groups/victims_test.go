package groups

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
)

// plainly chooses the next victim as the rules are written: among all, step by step. It is what victims is held to.
func plainly(g *group, fits func(*instance) bool, named []string, now time.Time) *instance {
	all := keep(g.instances, fits)
	if len(all) == 0 {
		return nil
	}
	if chosen := keep(all, func(i *instance) bool { return slices.Contains(named, i.id) }); len(chosen) > 0 {
		return byPolicies(g, chosen, now)
	}
	n, fullest := g.perZone(), ""
	for _, i := range all {
		if z := i.pool.AvailabilityZone; fullest == "" || n[z] > n[fullest] || n[z] == n[fullest] && z < fullest {
			fullest = z
		}
	}
	all = keep(all, func(i *instance) bool { return i.pool.AvailabilityZone == fullest })
	demand, total := g.onDemand()
	market := account.Spot
	if demand > g.MixedInstancesPolicy.OnDemand(max(total-1, 0)) {
		market = account.OnDemand
	}
	if of := keep(all, func(i *instance) bool { return i.pool.Market == market }); len(of) > 0 {
		all = of
	}
	return byPolicies(g, all, now)
}

func byPolicies(g *group, all []*instance, now time.Time) *instance {
	into := func(i *instance) time.Duration { return now.Sub(i.launchedAt) % time.Hour }
	for _, p := range append(slices.Clone(g.TerminationPolicies), "ClosestToNextInstanceHour") {
		best := all[0]
		for _, i := range all {
			switch p {
			case "OldestInstance":
				if i.launchedAt.Before(best.launchedAt) {
					best = i
				}
			case "NewestInstance":
				if !i.launchedAt.Before(best.launchedAt) {
					best = i
				}
			case "ClosestToNextInstanceHour":
				if into(i) > into(best) {
					best = i
				}
			default:
				if i.generation < best.generation {
					best = i
				}
			}
		}
		if p == "OldestInstance" || p == "NewestInstance" || p == "ClosestToNextInstanceHour" {
			return best
		}
		all = keep(all, func(i *instance) bool { return i.generation == best.generation })
	}
	return nil
}

func TestVictimsAreTakenAsTheRulesSay(t *testing.T) {
	now := time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		g := &group{}
		g.TerminationPolicies = rapid.SampledFrom([][]string{nil, {"Default"}, {"OldestInstance"}, {"NewestInstance"},
			{"OldestLaunchTemplate", "NewestInstance"}, {"ClosestToNextInstanceHour"}}).Draw(t, "policies")
		if rapid.Bool().Draw(t, "mixed") {
			g.MixedInstancesPolicy = &groupapi.MixedInstancesPolicy{
				InstancesDistribution: &groupapi.InstancesDistribution{OnDemandPercentageAboveBaseCapacity: new(
					rapid.IntRange(0,
						100).Draw(t, "on demand"))}}
		}
		var named []string
		for k := range rapid.IntRange(0, 30).Draw(t, "instances") {
			i := &instance{
				id: fmt.Sprint("i", k), state: groupapi.InService, weight: rapid.IntRange(1, 3).Draw(t, "weight"),
				generation: rapid.IntRange(1, 2).Draw(t, "generation"),
				launchedAt: now.Add(-time.Duration(rapid.IntRange(0, 150).Draw(t, "minutes")) * time.Minute),
				protected:  rapid.IntRange(0, 3).Draw(t, "protected") == 0,
				atRisk:     rapid.IntRange(0, 9).Draw(t, "at risk") == 0,
			}
			i.pool.AvailabilityZone = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "zone")
			i.pool.Market = rapid.SampledFrom([]string{account.OnDemand, account.Spot}).Draw(t, "market")
			if rapid.IntRange(0, 5).Draw(t, "named") == 0 {
				named = append(named, i.id)
			}
			g.instances = append(g.instances, i)
		}
		fits := func(i *instance) bool { return i.state == groupapi.InService && !i.protected }
		surplus := rapid.IntRange(0, 40).Draw(t, "surplus")
		v, taken := g.victims(fits, named, now), map[*instance]bool{}
		for surplus > 0 {
			want := plainly(g, func(i *instance) bool { return fits(i) && i.weight <= surplus }, named, now)
			got := v.next(surplus, taken)
			if got != want {
				t.Fatalf("of %d, %d too much: chose %+v, want %+v", len(g.instances), surplus, got, want)
			}
			if got == nil {
				return
			}
			counted := got.counted()
			got.state = groupapi.Terminating
			if v.gone(got, counted); counted {
				surplus -= got.weight
			}
		}
	})
}
