package quiet

import (
	"math"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// The names of the numbers that decisions keep about the headroom of the last busy time: see [Headroom].
const (
	keptHeadroom    = "headroom_workers"
	keptWorth       = "headroom_worth_s"
	keptLastArrival = "last_arrival_s"
	keptTooFew      = "headroom_too_few"
)

// Headroom is the headroom of a fleet's last busy time. Each decision keeps it for the next one, because a policy has
// no state and rates and busiest times are forgotten after an hour or two. Headroom that takes half an hour to boot can
// be worth many idle hours.
type Headroom struct {
	// Workers is the headroom, a fraction. Worth is for how many seconds after an arrival it is worth its idle workers:
	// see headroomWorth in package planning. Last is the time of the last arrival, in seconds since 1970; for workers
	// that were too few, it is the last time that they were.
	Workers, Worth, Last float64
	// TooFew is true if these are all permitted workers, and messages were late because they were too few.
	TooFew bool
}

// After is how many seconds without an arrival make a fleet quiet.
const After = 60

// While messages arrive, the headroom is kept anew each renewEvery seconds, or when it or its worth has changed by more
// than the share renewChange. History records each change, so smaller ones wait. Two times of an arrival that differ by
// up to sameArrival seconds are of the same one, because [muster.Arrivals] counts in steps of five seconds.
const renewEvery, renewChange, sameArrival = 60, 0.2, 10

// HeadroomOf returns the headroom that the newest decision kept, or zero if there is none.
func HeadroomOf(recent muster.Recent) Headroom {
	return Headroom{Workers: rules.Kept(recent, keptHeadroom), Worth: rules.Kept(recent, keptWorth),
		Last: rules.Kept(recent, keptLastArrival), TooFew: rules.Kept(recent, keptTooFew) > 0}
}

// Kept returns the numbers of s for a decision, nil for no headroom.
func (s Headroom) Kept() []muster.Value {
	if s == (Headroom{}) {
		return nil
	}
	kept := []muster.Value{rules.Value(keptHeadroom, s.Workers), rules.Value(keptWorth, s.Worth),
		rules.Value(keptLastArrival, rules.Round3(s.Last))}
	if s.TooFew {
		kept = append(kept, rules.Value(keptTooFew, 1))
	}
	return kept
}

// Next returns the headroom to keep after an observation: the measured one if a message has arrived since s, or if it
// is that of an overload, else s.
func (s Headroom) Next(measured Headroom, quiet float64) Headroom {
	// As precise as it is kept: else a small headroom would differ from the kept one by its rounding alone.
	measured.Workers, measured.Worth = rules.Round3(measured.Workers), rules.Round3(measured.Worth)
	moved := func(before, now float64) bool { return math.Abs(now-before) > renewChange*before }
	switch since := measured.Last - s.Last; {
	case since <= sameArrival && (s.TooFew || !measured.TooFew):
		return s
	case quiet > After && measured.Workers < s.Workers && !s.TooFew:
		// Polls or reports are so rare that the arrival is seen late, when the rates have fallen already. Workers that
		// were too few do not stay longer for an arrival.
		return Headroom{Workers: s.Workers, Worth: s.Worth, Last: measured.Last}
	case measured.Workers == 0:
		return Headroom{}
	case since < renewEvery && s.TooFew == measured.TooFew && !moved(s.Workers, measured.Workers) &&
		!moved(s.Worth, measured.Worth):
		return s
	}
	return measured
}

// Left returns for how many more seconds the headroom stays at the time now; not above 0 once it is no longer worth its
// idle workers.
func (s Headroom) Left(now float64) float64 { return s.Last + s.Worth - now }

// WorthAtMax returns for how many seconds after an overload its workers stay:
//
//	worth = min(b + c b / each, 30 b)
//
// While it boots again for b seconds, a worker would have finished a message every each seconds, and as many are late
// at the price c. The bound is for an overload that never comes again, such as an import.
func WorthAtMax(boot, price, each float64) float64 {
	return math.Min(boot+price*boot/each, 30*boot)
}
