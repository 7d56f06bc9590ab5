package main

import "math"

// guess is one burst of equal messages of which nobody knows how long they take: what is stated may be right or not,
// and until a message could have ended it looks the same. All times are in seconds.
type guess struct {
	messages, slots int
	latency, boot   float64
}

// begun is how many messages a worker that is ready at an instant finishes in time, if each takes so long.
func (g guess) begun(ready, each float64) int {
	return max(0, int(math.Floor((g.latency-ready)/each+1e-9))) * g.slots
}

// bill returns the worker-seconds of who launches so many workers at the first message and, once it is known how long a
// message takes, as many more as it needs; false where no number is in time. Every launched worker is paid for its
// boot: only a worker can say that it is idle.
func (g guess) bill(atOnce int, known, each float64) (float64, bool) {
	left, later := g.messages-atOnce*g.begun(g.boot, each), 0
	if left > 0 {
		one := g.begun(known+g.boot, each)
		if one == 0 {
			return 0, false
		}
		later = (left + one - 1) / one
	}
	return float64(atOnce+later)*g.boot + float64(g.messages)*each/float64(g.slots), true
}

// optimum is the least bill of who knows how long a message takes, and launches at the first.
func (g guess) optimum(each float64) (float64, bool) { return g.bill(0, 0, each) }

// least returns what nobody can beat where messages take so long and something else was stated: the bill over the
// optimum, of who has all in time in both cases and pays no more than mostBurst if the statement is right. False where
// there is no such plan.
//
// The two cases differ from when the first message ends in one of them. A launch before that is best made at once,
// since it costs as much later and begins fewer; one after it is best made right then. So plans differ in one number.
func (g guess) least(stated, each float64) (ratio float64, ok bool) {
	known := g.boot + math.Min(stated, each)
	right, possible := g.optimum(stated)
	best, possibleToo := g.optimum(each)
	if !possible || !possibleToo {
		return 0, false
	}
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
