package quiet

import (
	"math"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// The names of the numbers that decisions keep about cold starts: see [ColdStarts].
const (
	keptEmptySince = "empty_since_s"
	keptColdNow    = "cold_start_late_now"
	keptColdLate   = "cold_starts_late"
	keptColdEmpty  = "cold_starts_empty_s"
	keptCold       = "cold_starts"
)

// ColdStarts is what the starts of a fleet without a worker have cost: how many messages were late in each because none
// was ready. A rate does not tell. Of a hundred messages a minute, all wait for the first worker of a burst, but of a
// tree only its root does.
//
// Each decision keeps them for the next one, because a policy has no state.
type ColdStarts struct {
	// Since is since when the fleet has had no worker in service and no message, in seconds since 1970; 0 while it has
	// one. Now is one more than how many messages are late in the start that is under way so far, and 0 without one.
	Since, Now float64
	// Late adds up the late messages of the starts that are over, and Count counts these; in both, each start counts
	// [forget] of the one after it. Empty is for how many seconds the fleet was empty before each, on average: an idle
	// worker would have waited for as long.
	Late, Count, Empty float64
}

// fewCold is for how many starts what they cost is not known: the second counts, the first may be an exception.
const fewCold = 1

// ColdStartsOf returns the cold starts that the newest decision kept, or zero if it kept none.
func ColdStartsOf(recent muster.Recent) ColdStarts {
	return ColdStarts{Since: rules.Kept(recent, keptEmptySince), Now: rules.Kept(recent, keptColdNow),
		Late: rules.Kept(recent, keptColdLate), Count: rules.Kept(recent, keptCold),
		Empty: rules.Kept(recent, keptColdEmpty)}
}

// Kept returns the numbers of s for a decision, nil for none.
func (s ColdStarts) Kept() []muster.Value {
	if s == (ColdStarts{}) {
		return nil
	}
	return rounded([]muster.Value{{Name: keptEmptySince, Value: s.Since}, {Name: keptColdNow, Value: s.Now},
		{Name: keptColdLate, Value: s.Late}, {Name: keptCold, Value: s.Count}, {Name: keptColdEmpty, Value: s.Empty}})
}

// Next returns the starts after an observation. A start is under way while messages wait and no worker is in service.
// A message is late in it if it finishes after the objective although the first worker on its way takes it at once:
//
//	A + max(0, b - B) + m > L
//
// A is its age, B the age of that launch, b the mean boot time, m the mean duration and L the objective.
func (s ColdStarts) Next(o muster.Observation, boot, mean float64) ColdStarts {
	now := rules.Seconds(o.At)
	if o.Capacity.InService() > 0 {
		if s.Since = 0; s.Now > 0 {
			s.Late, s.Count, s.Now = forget*s.Late+s.Now-1, forget*s.Count+1, 0
		}
		return s
	}
	left, late, waits := boot, 0.0, false
	for _, g := range o.Coming {
		left = math.Min(left, math.Max(0, boot-g.AgeSeconds))
	}
	for _, g := range o.ByAge() {
		waits = waits || g.Messages > 0
		if g.AgeSeconds+left+mean > o.Objective.Latency.Seconds() {
			late += g.Messages
		}
	}
	if !waits {
		if s.Now == 0 && s.Since == 0 {
			s.Since = now
		}
		return s
	}
	if s.Since > 0 {
		n := forget * s.Count
		s.Empty, s.Since = (n*s.Empty+now-s.Since)/(n+1), 0
	}
	s.Now = math.Max(s.Now, 1+late)
	return s
}

// AtMost returns late, the number of messages that are expected to be late in a start, or what they were on average
// in the past ones if that is less.
func (s ColdStarts) AtMost(late float64) float64 {
	if s.Count <= fewCold {
		return late
	}
	return math.Min(late, s.Late/s.Count)
}

// Cheap tells whether the past starts have cost less than a worker that waits for them: at the price of a late message
// in worker-seconds
//
//	price late < empty
//
// It is false while too few starts are known. A worker that boots costs as much as an idle one.
func (s ColdStarts) Cheap(price float64) bool {
	return s.Count > fewCold && price*s.Late/s.Count < s.Empty
}
