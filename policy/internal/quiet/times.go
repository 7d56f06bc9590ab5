package quiet

import (
	"math"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// The names of the numbers that decisions keep about quiet times: see [Times].
const (
	keptQuietSince  = "quiet_since_s"
	keptQuietWorth  = "quiet_worth_s"
	keptQuietUseful = "quiets_useful"
	keptQuietIdle   = "quiets_idle"
)

// Times is what earlier quiet times say about the next one: whether workers that stay idle through it pay. A quiet
// time is one without an arrival. Workers may be worth their idle time for a while, because they spare a boot and late
// messages (ski rental). Without any knowledge, to stay for as long as they are worth costs at most twice the least
// cost. But if messages never come again as soon as that, the workers wait in vain each time.
//
// Each decision keeps Times for the next one, because a policy has no state. It changes only where a quiet time begins
// or ends.
type Times struct {
	// Since is when the present quiet time began, in seconds since 1970; 0 while messages arrive. Worth is for how many
	// seconds the workers were worth their idle time when it began.
	Since, Worth float64
	// Useful counts the quiet times that ended while the workers were worth it. Idle adds up for how long they would
	// have been idle in each, as a share of their worth. In both, each quiet time counts [forget] of the one after it.
	Useful, Idle float64
}

const (
	// forget is the weight of a quiet time over that of the next one, so about the last seven count.
	forget = 0.85
	// firstQuiets is for how many quiet times workers stay before the measured ones count: the first may be an
	// exception.
	firstQuiets = 1
	// leastWorth is the shortest worth in seconds for which quiet times are measured. Arrivals are known to five
	// seconds.
	leastWorth = 20
)

// From returns after how many seconds without an arrival a quiet time begins, for workers of that worth: late
// enough to be more than the chance between two messages, and a small part of the worth.
func From(worth float64) float64 { return math.Min(After, math.Max(10, worth/8)) }

// TimesOf returns the quiet times that the newest decision kept, or zero if it kept none.
func TimesOf(recent muster.Recent) Times {
	return Times{rules.Kept(recent, keptQuietSince), rules.Kept(recent, keptQuietWorth),
		rules.Kept(recent, keptQuietUseful), rules.Kept(recent, keptQuietIdle)}
}

// Kept returns the numbers of q for a decision, nil for none.
func (q Times) Kept() []muster.Value {
	if q == (Times{}) {
		return nil
	}
	return rounded([]muster.Value{{Name: keptQuietSince, Value: q.Since}, {Name: keptQuietWorth, Value: q.Worth},
		{Name: keptQuietUseful, Value: q.Useful}, {Name: keptQuietIdle, Value: q.Idle}})
}

// rounded rounds values in place, as decisions keep them.
func rounded(all []muster.Value) []muster.Value {
	for i := range all {
		all[i].Value = rules.Round3(all[i].Value)
	}
	return all
}

// Next returns the quiet times after an observation. arrived is when the last message came, in seconds since 1970, and
// quiet how long ago that is. worth is for how many seconds workers would be worth their idle time from now on.
func (q Times) Next(arrived, quiet, worth float64) Times {
	if gap := arrived - q.Since; q.Since > 0 && gap > sameArrival {
		q.Useful, q.Idle = forget*q.Useful, forget*q.Idle+math.Min(1, gap/q.Worth)
		if gap <= q.Worth {
			q.Useful++
		}
		q.Since, q.Worth = 0, 0
	}
	if q.Since == 0 && worth >= leastWorth && quiet >= From(worth) {
		q.Since, q.Worth = arrived, worth
	}
	return q
}

// Pay tells whether workers that stay idle through a quiet time have paid so far: each useful quiet time spares what
// they are worth.
func (q Times) Pay() bool { return q.Useful+firstQuiets >= q.Idle }
