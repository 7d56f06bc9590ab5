package planning

import (
	"cmp"
	"fmt"
	"math"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// The names of the numbers that decisions keep about the headroom of the last busy time: see [standby].
const (
	keptHeadroom    = "headroom_workers"
	keptWorth       = "headroom_worth_s"
	keptLastArrival = "last_arrival_s"
)

// standby is the headroom of a fleet's last busy time. Each decision keeps it for the next one, because a policy has no
// state and rates and busiest times are forgotten after an hour or two. Headroom that takes half an hour to boot can be
// worth many idle hours.
type standby struct {
	// workers is the headroom, a fraction. worth is for how many seconds after an arrival it is worth its idle workers:
	// see [plan.headroomWorth]. last is the time of the last arrival, in seconds since 1970.
	workers, worth, last float64
}

// quietAfter is how many seconds without an arrival make a fleet quiet.
const quietAfter = 60

// While messages arrive, the headroom is kept anew each renewEvery seconds, or when it or its worth has changed by more
// than the share renewChange. History records each change, so smaller ones wait. Two times of an arrival that differ by
// up to sameArrival seconds are of the same one, because [muster.Arrivals] counts in steps of five seconds.
const renewEvery, renewChange, sameArrival = 60, 0.2, 10

// standbyOf returns the headroom that the newest decision kept, or zero if there is none.
func standbyOf(recent muster.Recent) standby {
	if len(recent) == 0 {
		return standby{}
	}
	find := func(name string) float64 {
		v, _ := recent[len(recent)-1].Find(name)
		return v
	}
	return standby{find(keptHeadroom), find(keptWorth), find(keptLastArrival)}
}

// kept returns the numbers of s for a decision, nil for no headroom.
func (s standby) kept() []muster.Value {
	if s == (standby{}) {
		return nil
	}
	return []muster.Value{rules.Value(keptHeadroom, rules.Round3(s.workers)), rules.Value(keptWorth,
		rules.Round3(s.worth)), rules.Value(keptLastArrival, rules.Round3(s.last))}
}

// next returns the headroom to keep after an observation: the measured one if a message has arrived since s, else s.
func (s standby) next(measured standby, quiet float64) standby {
	moved := func(before, now float64) bool { return math.Abs(now-before) > renewChange*before }
	switch since := measured.last - s.last; {
	case since <= sameArrival:
		return s
	case quiet > quietAfter && measured.workers < s.workers:
		// Polls or reports are so rare that the arrival is seen late, when the rates have fallen already.
		return standby{s.workers, s.worth, measured.last}
	case measured.workers == 0:
		return standby{}
	case since < renewEvery && !moved(s.workers, measured.workers) && !moved(s.worth, measured.worth):
		return s
	}
	return measured
}

// left returns for how many more seconds the headroom stays at the time now; not above 0 once it is no longer worth its
// idle workers.
func (s standby) left(now float64) float64 { return s.last + s.worth - now }

// quietHeadroom returns the headroom of the last busy time in workers while the fleet is quiet; 0 while messages
// arrive, once it is no longer worth its idle workers, or while a forecast tells what comes next.
func (p *plan) quietHeadroom(o muster.Observation) float64 {
	a := o.Arrivals
	if a.Known && a.Hour > 0 && a.QuietSeconds <= quietAfter || p.forecast.Used {
		return 0
	}
	if p.standby.left(rules.Seconds(o.At)) <= 0 {
		return 0
	}
	return p.standby.workers
}

// headroomWorth returns for how many seconds without an arrival idle workers cost less than to be without them when
// work begins again (ski rental):
//
//	worth = c late / k + b
//
// k is the number of workers, c the price of a late message, b the boot time. late is the number of messages that a
// typical busy time sends while no worker is ready.
func (p *plan) headroomWorth(a muster.Arrivals, workers float64) float64 {
	if workers <= 0 {
		return 0
	}
	late := busiestWithin(typical(a.Busiest), math.Max(1, p.boot+p.lag+p.LongTermMean-p.latency))
	return p.price*late/math.Ceil(workers) + p.boot
}

// typical returns the busy times in which half of all messages came. The largest of all would be the wrong measure of
// the next one: many a first message comes alone. A quantile of half and below has no smaller share.
func typical(all []muster.Busiest) []muster.Busiest {
	usual := make([]muster.Busiest, len(all))
	for i, b := range all {
		usual[i] = muster.Busiest{OverSeconds: b.OverSeconds, Messages: cmp.Or(b.Rooms[0], b.Messages)}
	}
	return usual
}

// whyQuiet says as a clause why idle workers stay: for how long the headroom of the last busy time is worth them.
func (p *plan) whyQuiet(o muster.Observation) string {
	return fmt.Sprintf("the objective leaves no time to launch them for the next messages: until %s idle workers cost "+
		"less than late messages", rules.Clock(o, p.standby.left(rules.Seconds(o.At))))
}
