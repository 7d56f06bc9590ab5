package main

// The lower bound for part c with a wrong statement. A policy that was told the wrong duration cannot be judged by what
// a policy with the right one pays. So this file computes what any plan pays that must be prepared for both.

import "math"

// guess is one burst of equal messages whose duration is uncertain: the stated one may be right or wrong, and both look
// the same until a message could have ended. All times are in seconds.
type guess struct {
	messages, slots int
	latency, boot   float64
}

// begun is how many messages a worker finishes in time if it is ready at an instant and each takes that long. The small
// constant forgives rounding.
func (g guess) begun(ready, each float64) int {
	return max(0, int(math.Floor((g.latency-ready)/each+1e-9))) * g.slots
}

// bill returns the worker-seconds of this plan: launch atOnce workers at the first message, and at the time known, when
// the duration is clear, as many more as are needed. It returns false when no number of them is in time. Every launched
// worker is paid for its boot.
func (g guess) bill(atOnce int, known, each float64) (float64, bool) {
	left, later := g.messages-atOnce*g.begun(g.boot, each), 0
	if left > 0 {
		one := g.begun(known+g.boot, each)
		// A worker that is launched then finishes nothing in time.
		if one == 0 {
			return 0, false
		}
		later = (left + one - 1) / one
	}
	return float64(atOnce+later)*g.boot + float64(g.messages)*each/float64(g.slots), true
}

// optimum is the least bill of a plan that knows the duration and launches at the first message.
func (g guess) optimum(each float64) (float64, bool) { return g.bill(0, 0, each) }

// least returns the lower bound of what any policy pays when each message takes each seconds and stated was stated, as
// a multiple of the optimum. It covers plans that are in time in both cases and cost at most mostBurst times the
// optimum if the statement is right. ok is false when there is no such plan.
//
// The two cases look the same until a message ends in one of them. A launch before that time is best made at once:
// later it costs as much and finishes fewer messages. A launch after it is best made at that time. So plans differ in
// one number, the workers launched at once.
func (g guess) least(stated, each float64) (ratio float64, ok bool) {
	// The first message begins after a boot, and ends at the earlier of both.
	known := g.boot + math.Min(stated, each)
	right, possible := g.optimum(stated)
	best, possibleToo := g.optimum(each)
	if !possible || !possibleToo {
		return 0, false
	}
	// More workers than messages only cost more.
	for n := 1; n <= g.messages; n++ {
		asStated, inTime := g.bill(n, known, stated)
		if !inTime || asStated > mostBurst*right {
			continue
		}
		if bill, inTime := g.bill(n, known, each); inTime && (!ok || bill/best < ratio) {
			ratio, ok = bill/best, true
		}
	}
	return ratio, ok
}
