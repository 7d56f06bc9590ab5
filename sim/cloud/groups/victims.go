package groups

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/muster-scale/muster/sim/cloud/account"
)

// victims are the instances of a group that may end, in the order in which it ends them: from the fullest zone, then
// from the market that has too much, then by the termination policies. Instances that a policy named come before all
// others. They are sorted once, so that it costs little to take many.
type victims struct {
	g     *group
	order func(a, b candidate) int
	named []candidate
	// zones are by name, and in each the candidates of the two markets, best first.
	zones []zoneVictims
	// perZone, demand and all are what counts of the group, as perZone and onDemand have it.
	perZone     map[string]int
	demand, all int
}

// candidate is an instance and its place in the group.
type candidate struct {
	*instance
	at int
}

type zoneVictims struct {
	name           string
	onDemand, spot []candidate
}

func (g *group) victims(fits func(*instance) bool, named []string, now time.Time) *victims {
	v := &victims{g: g, order: g.order(now), perZone: g.perZone()}
	v.demand, v.all = g.onDemand()
	first := make(map[string]bool, len(named))
	for _, id := range named {
		first[id] = true
	}
	for at, i := range g.instances {
		if !fits(i) {
			continue
		}
		if first[i.id] {
			v.named = append(v.named, candidate{i, at})
		}
		k, found := slices.BinarySearchFunc(v.zones, i.pool.AvailabilityZone,
			func(z zoneVictims, name string) int { return cmp.Compare(z.name, name) })
		if !found {
			v.zones = slices.Insert(v.zones, k, zoneVictims{name: i.pool.AvailabilityZone})
		}
		of := &v.zones[k].spot
		if i.pool.Market == account.OnDemand {
			of = &v.zones[k].onDemand
		}
		*of = append(*of, candidate{i, at})
	}
	slices.SortFunc(v.named, v.order)
	for k := range v.zones {
		slices.SortFunc(v.zones[k].onDemand, v.order)
		slices.SortFunc(v.zones[k].spot, v.order)
	}
	return v
}

// next takes the next one that weighs no more than the surplus, which never grows from call to call; nil when none is
// left.
func (v *victims) next(surplus int, taken map[*instance]bool) *instance {
	fit := func(all *[]candidate) bool {
		for len(*all) > 0 && ((*all)[0].weight > surplus || taken[(*all)[0].instance]) {
			*all = (*all)[1:]
		}
		return len(*all) > 0
	}
	var from *[]candidate
	if fit(&v.named) {
		from = &v.named
	} else if z := v.fullest(fit); z != nil {
		demand, spot := fit(&z.onDemand), fit(&z.spot)
		tooMuch := v.demand > v.g.MixedInstancesPolicy.OnDemand(max(v.all-1, 0))
		switch {
		case demand && (tooMuch || !spot):
			from = &z.onDemand
		default:
			from = &z.spot
		}
	}
	if from == nil {
		return nil
	}
	i := (*from)[0].instance
	*from = (*from)[1:]
	taken[i] = true
	return i
}

// fullest is the zone with most of the group, of those that have a candidate.
func (v *victims) fullest(fit func(*[]candidate) bool) (fullest *zoneVictims) {
	for k := range v.zones {
		z := &v.zones[k]
		if demand, spot := fit(&z.onDemand), fit(&z.spot); (demand || spot) &&
			(fullest == nil || v.perZone[z.name] > v.perZone[fullest.name]) {
			fullest = z
		}
	}
	return fullest
}

// gone takes an instance out of what counts; counted tells whether it did before it went.
func (v *victims) gone(i *instance, counted bool) {
	if !counted {
		return
	}
	v.perZone[i.pool.AvailabilityZone]--
	v.all -= i.weight
	if i.pool.Market == account.OnDemand {
		v.demand -= i.weight
	}
}

// victim chooses the instance to end next; nil for none.
func (g *group) victim(fits func(*instance) bool, now time.Time) *instance {
	return g.victims(fits, nil, now).next(math.MaxInt, map[*instance]bool{})
}

// order is the order in which the termination policies end instances: each decides among those that the one before
// leaves.
func (g *group) order(now time.Time) func(a, b candidate) int {
	into := func(c candidate) time.Duration { return now.Sub(c.launchedAt) % time.Hour }
	return func(a, b candidate) int {
		for _, p := range g.TerminationPolicies {
			switch p {
			case "OldestInstance":
				return cmp.Or(a.launchedAt.Compare(b.launchedAt), cmp.Compare(a.at, b.at))
			case "NewestInstance": // of several that were launched together the last
				return cmp.Or(b.launchedAt.Compare(a.launchedAt), cmp.Compare(b.at, a.at))
			case "OldestLaunchTemplate", "OldestLaunchConfiguration", "Default":
				if c := cmp.Compare(a.generation, b.generation); c != 0 {
					return c
				}
			case "ClosestToNextInstanceHour":
				return cmp.Or(cmp.Compare(into(b), into(a)), cmp.Compare(a.at, b.at))
			}
		}
		return cmp.Or(cmp.Compare(into(b), into(a)), cmp.Compare(a.at, b.at))
	}
}

func keep(all []*instance, wanted func(*instance) bool) (kept []*instance) {
	for _, i := range all {
		if wanted(i) {
			kept = append(kept, i)
		}
	}
	return kept
}

func oldest(all []*instance) *instance {
	return slices.MinFunc(all, func(a, b *instance) int { return a.launchedAt.Compare(b.launchedAt) })
}
