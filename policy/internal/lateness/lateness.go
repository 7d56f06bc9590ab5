// Package lateness turns what late messages have cost into workers: a fleet whose messages are late although headroom
// is kept has too little of it. [Extra] is how many workers the late messages pay for. A policy has no state, so each
// decision keeps the number, and the next one reads it:
//
//	x := lateness.ExtraOf(recent).Next(o, price)
//	workers := headroom + x.Beside(headroom)
//	d.Kept = x.Kept()
//
// All functions are pure. What headroom is, and when a fleet keeps some, is the caller's to say: see package planning.
package lateness

import (
	"cmp"
	"math"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// The names of the numbers that decisions keep.
const (
	keptWorkers = "late_extra_workers"
	keptAt      = "late_extra_at_s"
)

// Extra is how many workers late messages pay for. Each decision keeps it for the next one, because the share of
// messages in time is unknown now and then, and workers must not come and go with it.
type Extra struct {
	// Workers is their number, a fraction. At is when it was measured, in seconds since 1970.
	Workers, At float64
}

const (
	// paid is the share of what late messages have cost that the fleet pays for extra workers.
	paid = 0.05
	// hour is the window of [muster.Progress].InTime in seconds, and the age at which the extra workers are forgotten.
	hour = 3600
	// least is the shortest time in seconds within which the share is paid.
	least = 60
	// The number is measured anew each renewEvery seconds, or when it has changed by more than the share renewChange.
	// History records each change, so smaller ones wait.
	renewEvery, renewChange = 300, 0.2
)

// ExtraOf returns the extra workers that the newest decision kept, or zero if it kept none.
func ExtraOf(recent muster.Recent) Extra {
	return Extra{rules.Kept(recent, keptWorkers), rules.Kept(recent, keptAt)}
}

// Kept returns the numbers of x for a decision, nil for none.
func (x Extra) Kept() []muster.Value {
	if x == (Extra{}) {
		return nil
	}
	return []muster.Value{rules.Value(keptWorkers, x.Workers), rules.Value(keptAt, rules.Round3(x.At))}
}

// Next returns the extra workers after an observation; price is that of a late message in worker-seconds:
//
//	workers = 0.05 c E max(0, q - I - f) / w
//
// E messages ended in the past hour, the share I of them in time; q is the quantile, c the price and w the watched part
// of the hour in seconds. Kept for as long, these workers cost a twentieth of what the late messages have cost: hardly
// anything where they do not help, and enough where a few workers are missing. f is the share of attempts that failed
// lately, because more workers do not help messages that are late by their retries.
//
// While I is unknown, the number stays as it is, for an hour at most.
func (x Extra) Next(o muster.Observation, price float64) Extra {
	w, now := o.Progress.Value(), rules.Seconds(o.At)
	if !w.InTime.Known {
		if now-x.At > hour {
			return Extra{}
		}
		return x
	}
	cost := price * w.Ended * math.Max(0, o.Objective.Quantile-w.InTime.Value-w.FailingShare())
	// As precise as it is kept: else a few thousandths would differ from what was kept by their rounding alone.
	workers := rules.Round3(paid * cost / math.Min(hour, math.Max(least, cmp.Or(o.Arrivals.WatchedSeconds, hour))))
	switch {
	case workers == 0:
		return Extra{}
	case now-x.At < renewEvery && math.Abs(workers-x.Workers) <= renewChange*x.Workers:
		return x
	}
	return Extra{workers, now}
}

// Beside returns how many extra workers are kept beside so much headroom. At most the headroom doubles, or
// grows by one worker. Where no headroom is worth its price, there are no extra workers either.
func (x Extra) Beside(headroom float64) float64 {
	if headroom <= 0 {
		return 0
	}
	return math.Min(x.Workers, math.Max(1, headroom))
}
