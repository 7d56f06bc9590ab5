// Package risk says how many of the messages that wait are likely late, [Late], and when they begin, [When].
//
//	late := risk.Late(o.ByAge(), 300, o.Processing, begun)
//
// It is pure. When messages begin, and what is done about late ones, is the caller's to say: see package planning.
package risk

import (
	"math"
	"slices"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/durations"
)

// exactly is how exactly Late knows when a message begins, as a share of the time that it has.
const exactly = 1e-4

// Late returns how many of the waiting messages are expected to be late, and the worst chance of one to be late. They
// are in groups by age, oldest first. Each may be so old when its work ends, in seconds: oldest. work are the
// durations. begun tells whether so many messages, the oldest ones, have begun within so many seconds from now; where
// it is true, it is true for a longer time.
//
// The last message of a group stands for all of it. If it begins in t seconds, it is late with the chance that its work
// takes longer than the time that is left then:
//
//	chance = ShareLonger(oldest - A - t)
//	late   = sum of n chance
//
// n is the number of messages in a group, A its age.
func Late(
	waiting []muster.Waiting, oldest float64, work muster.Estimate, begun func(messages, within float64) bool,
) (late, worst float64) {
	ahead, n := 0.0, 0.0
	for i, g := range waiting {
		ahead, n = ahead+g.Messages, n+g.Messages
		if i+1 < len(waiting) && waiting[i+1].AgeSeconds == g.AgeSeconds {
			continue // messages of one age are one group, however they are counted
		}
		left, chance := oldest-g.AgeSeconds, 1.0
		if left > 0 && begun(ahead, left) {
			chance = durations.ShareLonger(work, left-When(ahead, left, exactly*left, begun))
		}
		late, worst, n = late+n*chance, math.Max(worst, chance), 0
	}
	return late, worst
}

// When returns the time in seconds within which so many messages have begun, which is at most the given one and at most
// exact too long. begun is as for [Late].
func When(messages, most, exact float64, begun func(messages, within float64) bool) float64 {
	least := 0.0
	for most-least > exact {
		if middle := (least + most) / 2; begun(messages, middle) {
			most = middle
		} else {
			least = middle
		}
	}
	return most
}

// Without returns the waiting messages, in groups by age, oldest first, without so many of the oldest ones; nil if none
// is left. The argument does not change.
func Without(oldest float64, waiting []muster.Waiting) []muster.Waiting {
	for i, g := range waiting {
		if oldest == 0 {
			return waiting[i:]
		}
		if g.Messages > oldest {
			left := slices.Clone(waiting[i:])
			left[0].Messages -= oldest
			return left
		}
		oldest -= g.Messages
	}
	return nil
}
