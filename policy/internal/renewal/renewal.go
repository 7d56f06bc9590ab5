// Package renewal counts the messages that slots begin one after the other (renewal theory). Equal durations and
// varied ones, or slots at the same and at different points of their work, are two cases each; a share between 0 and 1
// mixes them:
//
//	renewal.Free(45, 20, 0.5, 1)             // what a free slot begins within 45 s, with durations of 20 s
//	renewal.Busy(8, 45, 10, 20, 0.5, 1)      // what eight slots that become free within 10 s begin
//
// All functions are pure. All times are in seconds, and variation is the deviation of the durations over their mean, at
// most 1.
package renewal

import "math"

// Free returns how many messages a free slot begins within so many seconds, the first of them at once:
//
//	starts(t) = floor(t / m) + 1                 equal durations, mixed = 0
//	          = max(1, t / m + (1 + v^2)/2)      mixed = 1 (the renewal theorem)
//
// m is the mean duration, v the variation. In between, the two are mixed in proportion.
func Free(seconds, mean, variation, mixed float64) float64 {
	whole := math.Floor(seconds/mean+1e-9) + 1
	varied := math.Max(1, seconds/mean+(1+variation*variation)/2)
	return (1-mixed)*whole + mixed*varied
}

// Busy returns how many messages so many slots that are busy now begin within until seconds. It mixes two cases, in the
// proportion mixed.
//
// Slots at the same point of equal work all become free at the residual time R, and begin one message each then and
// after each further mean duration m. Slots at different points become free one after the other:
//
//	mean(t) = (1 + v^2)/2 t / R              up to R
//	        = (1 + v^2)/2 + (t - R) / m      after that
//
// v is the variation. Below one message per slot, chance decides which slots are free in time, so freeDeviations are
// subtracted.
func Busy(slots, until, residual, mean, variation, mixed float64) float64 {
	if slots <= 0 || until < 0 {
		return 0
	}
	whole, each := 0.0, (1+variation*variation)/2
	if until >= residual {
		whole = math.Floor((until-residual)/mean+1e-9) + 1
		each += (until - residual) / mean
	} else {
		each *= until / residual
	}
	chance := slots * mixed * each
	if mixed*each < 1 {
		chance = math.Max(0, chance-freeDeviations*math.Sqrt(chance))
	}
	return slots*(1-mixed)*whole + chance
}

// freeDeviations is how many deviations below the mean slots are expected to become free: 2.33 are exceeded in 99 of
// 100 cases.
const freeDeviations = 2.33
