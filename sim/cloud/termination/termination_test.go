package termination

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
)

// restated chooses the next instance as the rules are written: among all, step by step. The Order is held to it. It
// returns -1 for none.
func restated(g Group, surplus int, now time.Time) int {
	var all []int
	perZone, onDemand, capacity := map[string]int{}, 0, 0
	for at, i := range g.Instances {
		if i.MayEnd && i.Weight <= surplus {
			all = append(all, at)
		}
		if i.Counted {
			perZone[i.Zone]++
			capacity += i.Weight
			if i.Market == account.OnDemand {
				onDemand += i.Weight
			}
		}
	}
	if len(all) == 0 {
		return -1
	}
	if chosen := keep(all, func(at int) bool { return g.Instances[at].Named }); len(chosen) > 0 {
		return byPolicies(g, chosen, now)
	}
	fullest := ""
	for _, at := range all {
		z := g.Instances[at].Zone
		if fullest == "" || perZone[z] > perZone[fullest] || perZone[z] == perZone[fullest] && z < fullest {
			fullest = z
		}
	}
	all = keep(all, func(at int) bool { return g.Instances[at].Zone == fullest })
	market := account.Spot
	if onDemand > g.Mixed.OnDemand(max(capacity-1, 0)) {
		market = account.OnDemand
	}
	if of := keep(all, func(at int) bool { return g.Instances[at].Market == market }); len(of) > 0 {
		all = of
	}
	return byPolicies(g, all, now)
}

func byPolicies(g Group, all []int, now time.Time) int {
	intoHour := func(i Instance) time.Duration { return now.Sub(i.LaunchedAt) % time.Hour }
	for _, p := range append(slices.Clone(g.Policies), "ClosestToNextInstanceHour") {
		best := all[0]
		for _, at := range all {
			i, b := g.Instances[at], g.Instances[best]
			switch p {
			case "OldestInstance":
				if i.LaunchedAt.Before(b.LaunchedAt) {
					best = at
				}
			case "NewestInstance":
				if !i.LaunchedAt.Before(b.LaunchedAt) {
					best = at
				}
			case "ClosestToNextInstanceHour":
				if intoHour(i) > intoHour(b) {
					best = at
				}
			default:
				if i.Generation < b.Generation {
					best = at
				}
			}
		}
		if p == "OldestInstance" || p == "NewestInstance" || p == "ClosestToNextInstanceHour" {
			return best
		}
		generation := g.Instances[best].Generation
		all = keep(all, func(at int) bool { return g.Instances[at].Generation == generation })
	}
	return -1
}

func keep(all []int, wanted func(int) bool) (kept []int) {
	for _, at := range all {
		if wanted(at) {
			kept = append(kept, at)
		}
	}
	return kept
}

func TestInstancesEndInTheOrderOfTheRules(t *testing.T) {
	now := time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		g := Group{Policies: rapid.SampledFrom([][]string{nil, {"Default"}, {"OldestInstance"}, {"NewestInstance"},
			{"OldestLaunchTemplate", "NewestInstance"}, {"ClosestToNextInstanceHour"}}).Draw(t, "policies")}
		if rapid.Bool().Draw(t, "mixed") {
			percentage := rapid.IntRange(0, 100).Draw(t, "on demand")
			g.Mixed = &groupapi.MixedInstancesPolicy{InstancesDistribution: &groupapi.InstancesDistribution{
				OnDemandPercentageAboveBaseCapacity: &percentage}}
		}
		for range rapid.IntRange(0, 30).Draw(t, "instances") {
			i := Instance{
				Zone:       rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "zone"),
				Market:     rapid.SampledFrom([]string{account.OnDemand, account.Spot}).Draw(t, "market"),
				Weight:     rapid.IntRange(1, 3).Draw(t, "weight"),
				Generation: rapid.IntRange(1, 2).Draw(t, "generation"),
				LaunchedAt: now.Add(-time.Duration(rapid.IntRange(0, 150).Draw(t, "minutes")) * time.Minute),
				MayEnd:     rapid.IntRange(0, 3).Draw(t, "protected") != 0,
				Counted:    rapid.IntRange(0, 9).Draw(t, "at risk") != 0,
			}
			i.Named = i.MayEnd && rapid.IntRange(0, 5).Draw(t, "named") == 0
			g.Instances = append(g.Instances, i)
		}
		surplus := rapid.IntRange(0, 40).Draw(t, "surplus")
		o := NewOrder(Group{slices.Clone(g.Instances), g.Policies, g.Mixed}, now)
		for surplus > 0 {
			want := restated(g, surplus, now)
			got, found := o.Next(surplus)
			if found != (want >= 0) || found && got != want {
				t.Fatalf("of %d, %d too much: chose %d (%t), want %d", len(g.Instances), surplus, got, found, want)
			}
			if !found {
				return
			}
			o.Ended(got)
			if g.Instances[got].Counted {
				surplus -= g.Instances[got].Weight
			}
			g.Instances[got].Counted, g.Instances[got].MayEnd = false, false
		}
	})
}
