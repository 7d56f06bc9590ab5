package planning

import (
	"math"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// The names of the numbers that decisions keep about quiet times: see [quiets].
const (
	keptQuietSince  = "quiet_since_s"
	keptQuietWorth  = "quiet_worth_s"
	keptQuietUseful = "quiets_useful"
	keptQuietIdle   = "quiets_idle"
)

// quiets is what earlier quiet times say about the next one: whether workers that stay idle through it pay. A quiet time
// is one without an arrival. Workers may be worth their idle time for a while, because they spare a boot and late
// messages (ski rental). Without any knowledge, to stay for as long as they are worth costs at most twice the least
// cost. But if messages never come again as soon as that, the workers wait in vain each time.
//
// Each decision keeps quiets for the next one, because a policy has no state. It changes only where a quiet time begins
// or ends.
type quiets struct {
	// since is when the present quiet time began, in seconds since 1970; 0 while messages arrive. worth is for how many
	// seconds the workers were worth their idle time when it began.
	since, worth float64
	// useful counts the quiet times that ended while the workers were worth it. idle adds up for how long they would
	// have been idle in each, as a share of their worth. In both, each quiet time counts [forget] of the one after it.
	useful, idle float64
}

const (
	// forget is the weight of a quiet time over that of the next one, so about the last seven count.
	forget = 0.85
	// firstQuiets is for how many quiet times workers stay before the measured ones count: the first may be an exception.
	firstQuiets = 1
	// leastWorth is the shortest worth in seconds for which quiet times are measured. Arrivals are known to five seconds.
	leastWorth = 20
)

// quietFrom returns after how many seconds without an arrival a quiet time begins, for workers of that worth: late
// enough to be more than the chance between two messages, and a small part of the worth.
func quietFrom(worth float64) float64 { return math.Min(quietAfter, math.Max(10, worth/8)) }

// quietsOf returns the quiet times that the newest decision kept, or zero if it kept none.
func quietsOf(recent muster.Recent) quiets {
	if len(recent) == 0 {
		return quiets{}
	}
	find := func(name string) float64 {
		v, _ := recent[len(recent)-1].Find(name)
		return v
	}
	return quiets{find(keptQuietSince), find(keptQuietWorth), find(keptQuietUseful), find(keptQuietIdle)}
}

// kept returns the numbers of q for a decision, nil for none.
func (q quiets) kept() []muster.Value {
	if q == (quiets{}) {
		return nil
	}
	return []muster.Value{rules.Value(keptQuietSince, rules.Round3(q.since)),
		rules.Value(keptQuietWorth, rules.Round3(q.worth)), rules.Value(keptQuietUseful, rules.Round3(q.useful)),
		rules.Value(keptQuietIdle, rules.Round3(q.idle))}
}

// next returns the quiet times after an observation. arrived is when the last message came, in seconds since 1970, and
// quiet how long ago that is. worth is for how many seconds workers would be worth their idle time from now on.
func (q quiets) next(arrived, quiet, worth float64) quiets {
	if gap := arrived - q.since; q.since > 0 && gap > sameArrival {
		q.useful, q.idle = forget*q.useful, forget*q.idle+math.Min(1, gap/q.worth)
		if gap <= q.worth {
			q.useful++
		}
		q.since, q.worth = 0, 0
	}
	if q.since == 0 && worth >= leastWorth && quiet >= quietFrom(worth) {
		q.since, q.worth = arrived, worth
	}
	return q
}

// pay tells whether workers that stay idle through a quiet time have paid so far: each useful quiet time spares what
// they are worth.
func (q quiets) pay() bool { return q.useful+firstQuiets >= q.idle }

// inVain tells whether the fleet is quiet and workers that stay for the next message have not paid so far.
func (p *plan) inVain(a muster.Arrivals) bool {
	return p.quiets.since > 0 && a.QuietSeconds >= quietFrom(p.quiets.worth) && !p.quiets.pay()
}

// nextQuiets returns the quiet times that the decision keeps for the next one.
func (p *plan) nextQuiets(o muster.Observation) quiets {
	a := o.Arrivals
	if !a.Known || a.Hour == 0 {
		return p.quiets
	}
	worth := p.boot
	if p.keepsHeadroom() {
		worth = math.Max(worth, p.standby.worth)
	}
	return p.quiets.next(rules.Seconds(o.At)-a.QuietSeconds, a.QuietSeconds, worth)
}
