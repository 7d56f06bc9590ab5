// Package termination chooses which instances of an Auto Scaling group end first, as EC2 Auto Scaling documents it:
//
//  1. instances that the group's custom termination policy named;
//  2. instances of the zone that holds most of the group;
//  3. in that zone, instances of the market, on demand or Spot, that exceeds its share of a mixed group;
//  4. among those, the order of the group's termination policies.
//
// A caller states the group as plain data, a [Group] of [Instance]s, and takes instances from the [Order] one by one:
//
//	o := termination.NewOrder(g, now)
//	for surplus > 0 {
//		at, found := o.Next(surplus)
//		if !found {
//			break // every other instance is protected, or weighs more than the surplus
//		}
//		surplus -= g.Instances[at].Weight
//		o.Ended(at)
//	}
//
// The package decides the order and nothing else. It ends no instance, knows no lifecycle state and calls no custom
// policy: package groups does all three. Which policies a group may state is checked by groupapi.
//
// The order is computed once for a group and costs one sort, because a simulated scale-in may end thousands of
// instances at one instant. The test holds it to a plain restatement of the rules above.
package termination

import (
	"cmp"
	"slices"
	"time"

	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
)

// Instance is an instance of a group, as far as the order depends on it.
type Instance struct {
	// Zone is the Availability Zone, Market is account.OnDemand or account.Spot.
	Zone, Market string
	// Weight is the capacity that the instance provides, at least 1.
	Weight int
	// LaunchedAt is the time of the launch.
	LaunchedAt time.Time
	// Generation counts the group's launch settings: a lower one was launched from an older template or configuration.
	Generation int
	// Counted tells whether the instance counts towards the desired capacity. Zones and markets are compared by the
	// counted instances alone.
	Counted bool
	// MayEnd tells whether the caller allows this instance to end. Other instances only fill their zone and market.
	MayEnd bool
	// Named tells whether the custom termination policy named this instance.
	Named bool
}

// Group is what the order is computed from.
type Group struct {
	// Instances are in the order of their launch, which decides between instances that are equal otherwise.
	Instances []Instance
	// Policies are the group's termination policies. A Lambda function among them is skipped: its choice is Named.
	Policies []string
	// Mixed splits the group between the markets; nil means that everything is on demand.
	Mixed *groupapi.MixedInstancesPolicy
}

// Order hands out the instances of a group in the order in which they end. It is not safe for concurrent use.
type Order struct {
	all   []Instance
	mixed *groupapi.MixedInstancesPolicy
	taken []bool
	// named are the instances that the custom policy named, first to end first. They stand in their zone as well.
	named []int
	// zones are sorted by name, so that equally full zones are taken in the order of their names.
	zones []zone
	// counted is the number of counted instances by zone.
	counted map[string]int
	// onDemand and capacity are the counted capacity on demand and in both markets.
	onDemand, capacity int
}

// zone holds the instances of one zone that may end, by market, first to end first.
type zone struct {
	name           string
	onDemand, spot []int
}

// NewOrder computes the order for a group at a time. The policy ClosestToNextInstanceHour depends on the time.
func NewOrder(g Group, now time.Time) *Order {
	o := &Order{all: g.Instances, mixed: g.Mixed, taken: make([]bool, len(g.Instances)), counted: map[string]int{}}
	for at, i := range g.Instances {
		if i.Counted {
			o.count(i, 1)
		}
		if !i.MayEnd {
			continue
		}
		if i.Named {
			o.named = append(o.named, at)
		}
		k, found := slices.BinarySearchFunc(o.zones, i.Zone,
			func(z zone, name string) int { return cmp.Compare(z.name, name) })
		if !found {
			o.zones = slices.Insert(o.zones, k, zone{name: i.Zone})
		}
		market := &o.zones[k].spot
		if i.Market == account.OnDemand {
			market = &o.zones[k].onDemand
		}
		*market = append(*market, at)
	}
	before := g.compare(now)
	slices.SortFunc(o.named, before)
	for _, z := range o.zones {
		slices.SortFunc(z.onDemand, before)
		slices.SortFunc(z.spot, before)
	}
	return o
}

// Next returns the position of the next instance that weighs no more than the surplus, and whether there is one. Each
// instance is returned once. The surplus must not grow from call to call: an instance that is too heavy once is
// dropped from the order.
func (o *Order) Next(surplus int) (at int, found bool) {
	from := &o.named
	if !o.fits(from, surplus) {
		z := o.fullest(surplus)
		if z == nil {
			return 0, false
		}
		onDemand, spot := o.fits(&z.onDemand, surplus), o.fits(&z.spot, surplus)
		// The share is that of the group after one more unit of capacity has gone.
		exceeds := o.onDemand > o.mixed.OnDemand(max(o.capacity-1, 0))
		if from = &z.spot; onDemand && (exceeds || !spot) {
			from = &z.onDemand
		}
	}
	at = (*from)[0]
	*from = (*from)[1:]
	o.taken[at] = true
	return at, true
}

// Ended takes an instance that has begun to end out of the counts of its zone and market. A caller that only previews
// the order does not call it, and then every instance comes from the zone that is fullest at the start.
func (o *Order) Ended(at int) {
	if i := o.all[at]; i.Counted {
		o.count(i, -1)
	}
}

// count adds an instance to the counts (sign 1) or takes it out (sign -1).
func (o *Order) count(i Instance, sign int) {
	o.counted[i.Zone] += sign
	o.capacity += sign * i.Weight
	if i.Market == account.OnDemand {
		o.onDemand += sign * i.Weight
	}
}

// fits drops what is taken or too heavy from the front of a list, and tells whether an instance is left.
func (o *Order) fits(list *[]int, surplus int) bool {
	for len(*list) > 0 && (o.taken[(*list)[0]] || o.all[(*list)[0]].Weight > surplus) {
		*list = (*list)[1:]
	}
	return len(*list) > 0
}

// fullest returns the zone with the most counted instances of the zones that have an instance to end; nil for none.
func (o *Order) fullest(surplus int) (fullest *zone) {
	for k := range o.zones {
		z := &o.zones[k]
		onDemand, spot := o.fits(&z.onDemand, surplus), o.fits(&z.spot, surplus)
		if (onDemand || spot) && (fullest == nil || o.counted[z.name] > o.counted[fullest.name]) {
			fullest = z
		}
	}
	return fullest
}

// compare returns the order of the termination policies. Each policy decides among the instances that the policies
// before it rank equal. The policies about launch settings may leave such ties; the others end in the launch order.
// Without a deciding policy, the instance closest to its next full hour ends first, as with Default.
func (g Group) compare(now time.Time) func(a, b int) int {
	intoHour := func(i Instance) time.Duration { return now.Sub(i.LaunchedAt) % time.Hour }
	return func(a, b int) int {
		x, y := g.Instances[a], g.Instances[b]
		for _, p := range g.Policies {
			switch p {
			case "OldestInstance":
				return cmp.Or(x.LaunchedAt.Compare(y.LaunchedAt), cmp.Compare(a, b))
			case "NewestInstance": // of several that were launched together, the last
				return cmp.Or(y.LaunchedAt.Compare(x.LaunchedAt), cmp.Compare(b, a))
			case "OldestLaunchTemplate", "OldestLaunchConfiguration", "Default":
				if c := cmp.Compare(x.Generation, y.Generation); c != 0 {
					return c
				}
			case "ClosestToNextInstanceHour":
				return cmp.Or(cmp.Compare(intoHour(y), intoHour(x)), cmp.Compare(a, b))
			}
		}
		return cmp.Or(cmp.Compare(intoHour(y), intoHour(x)), cmp.Compare(a, b))
	}
}
