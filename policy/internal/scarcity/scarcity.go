// Package scarcity is about fleets whose maximum is near. A launch that is postponed may find no room there, and work
// that was not done in time is never made up for:
//
//	latency = scarcity.Latency(latency, least, share)
//	n := scarcity.Workers(scarcity.Queue{Waiting: 80, Begun: 190, Load: 1.3, Mean: 1, Boot: 190, Left: 120}, 1, 3)
//
// Both functions are pure. Which arrivals count, and whether they grow, is the caller's to say: see package planning.
package scarcity

import (
	"math"

	"github.com/muster-scale/muster/policy/internal/rules"
)

// free is the share of the maximum up to which nothing is done sooner: three times the load fits.
const free = 0.3

// Latency returns the part of the objective to plan with, from latency if the maximum were far. share is the load as a
// share of the maximum, least the latency with which no launch is postponed:
//
//	latency (1 - share) / (1 - free), but at least least
//
// Up to share = free nothing changes. At share = 1 no launch is postponed.
func Latency(latency, least, share float64) float64 {
	if share <= free {
		return latency
	}
	return math.Max(math.Min(latency, least), latency*math.Max(0, (1-share)/(1-free)))
}

// Queue is what a fleet has to do while a worker boots. Times are in seconds.
type Queue struct {
	// Waiting messages are there, Begun of them and of those that arrive are begun by the present workers within Boot.
	Waiting, Begun float64
	// Load is how many slots the arrivals keep busy. Mean is the mean duration of the work, above 0.
	Load, Mean float64
	// Boot is how long a worker boots, Left for how long the oldest message can still wait then.
	Boot, Left float64
}

// Workers returns how many workers of so many slots work off the queue in time while others arrive, at most all that
// are permitted:
//
//	n = (W / t + a) / s,   W = max(0, w m + a b - g m)
//
// w messages wait, a is the load, m the mean duration, b the boot, g are those begun within it, t is the time left, at
// least a second, and s the slots of a worker. Workers returns 0 where up to 0.7 of the permitted ones do.
func Workers(q Queue, slots float64, permitted int) int {
	const share = 0.7 // the others are a reserve for arrivals that go on growing
	left := math.Max(0, (q.Waiting-q.Begun)*q.Mean+q.Load*q.Boot)
	n := (left/math.Max(1, q.Left) + q.Load) / slots
	if n <= share*float64(permitted) {
		return 0
	}
	return rules.Ceil(math.Min(n, float64(permitted)))
}
