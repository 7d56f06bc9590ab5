// Package room says how many slots to keep where no worker can be launched for a message that is there: [Work.Steady]
// for arrivals at random, [Work.Busiest] for the busiest times of the past, and [Work.Cheapest] for as much of both as
// is worth its price.
//
//	w := room.Work{Mean: 2, Variation: 1, Boot: 60, TooLate: 1, Quantile: 0.99}
//	slots := w.Cheapest(o.Arrivals.Busiest, 4, 8, 1, 60*o.Arrivals.Hour, messages)
//
// All functions are pure. Whether workers are kept at all is the caller's to say: see package planning.
package room

import (
	"math"

	"github.com/muster-scale/muster"
)

// Work is what messages are and what is asked for them. Times are in seconds.
type Work struct {
	// Mean is the mean duration and Variation the deviation of the durations over it, at most 1. Boot is the boot time
	// that nearly all workers keep.
	Mean, Variation, Boot float64
	// TooLate is the share of launches that come too late for a message that is there. Quantile is the share of the
	// messages that must be in time.
	TooLate, Quantile float64
}

// Steady returns how many slots keep waits within x seconds if messages arrive at random and keep a slots busy on
// average:
//
//	a + b / (b + x) min(a, m (1 + v^2) / (2 max(m, x)) max(0, ln(u / (1 - q))))
//
// The parameters are a = busy and x = spare; m is the mean duration, v the variation, q the quantile, b the boot time,
// u the share of launches that come too late. By Kingman's formula, in heavy traffic the share
//
//	exp(-2 x (c - a) / (m (1 + v^2)))
//
// of the messages wait longer than x with c slots. Of those, only the share u is late for that, so (1 - q) / u of all
// may wait; solved for c it gives the last term. Under light traffic that is too much, and 2 a slots are enough. Only
// messages that arrive during a boot depend on slots kept ahead, hence b / (b + x). q counts as at most 0.9999, so that
// the logarithm is finite.
func (w Work) Steady(busy, spare float64) float64 {
	late := math.Max(1e-4, 1-w.Quantile)
	least := w.Mean * (1 + w.Variation*w.Variation) / (2 * math.Max(w.Mean, spare)) *
		math.Log(math.Max(1, w.TooLate/late))
	return busy + math.Min(least, busy)*w.Boot/(w.Boot+spare)
}

// Busiest returns how many slots the busiest times need, at least those that are busy anyway:
//
//	max over the windows of min(N + usual, max(N m / (w + x), steady((N - sqrt(N)) m / (w + x))))
//
// N is the number of messages in a window of w seconds, as messages returns it; m is the mean duration. spare, or x, is
// how long a message may wait in seconds: the work of a window may be spread over w + x. usual are the slots that are
// busy anyway. Within the window messages come at random too, so what surely came is served as steady arrivals are: as
// many slots as are busy would make them wait ever longer. More than one slot for each message never helps.
func (w Work) Busiest(
	all []muster.Busiest, usual, spare float64, messages func(muster.Busiest) float64,
) float64 {
	slots := usual
	for _, b := range all {
		n := messages(b)
		over := b.OverSeconds + spare
		sure := math.Max(0, n-math.Sqrt(n))
		busy := math.Max(n*w.Mean/over, w.Steady(sure*w.Mean/over, spare))
		slots = math.Max(slots, math.Min(busy, n+usual))
	}
	return slots
}

// Cheapest returns how many slots to keep: a newsvendor's question. For each share among [muster.RoomShares] and the
// quantile, the room is the larger of Busiest and Steady, and
//
//	cost = (room(share) - usual) / s + c r u (q - share)
//
// usual are the slots that are busy anyway and s the slots of a worker, c the price of a late message, r the rate at
// which messages come, u the share of launches that come too late. price is c r. Idle slots cost a worker-second each
// second; smaller shares make messages late. The cheapest share counts, the larger one of two equal ones. messages
// returns how many messages of a busiest time to make room for.
func (w Work) Cheapest(
	all []muster.Busiest, usual, spare, slots, price float64, messages func(muster.Busiest) float64,
) float64 {
	best, late := usual, price*w.TooLate
	least := late * w.Quantile // the cost without any room
	consider := func(share, tooLate float64, messages func(muster.Busiest) float64) {
		of := w
		of.Quantile, of.TooLate = share, tooLate
		slotsFor := math.Max(of.Busiest(all, usual, spare, messages), of.Steady(usual, spare))
		if cost := (slotsFor-usual)/slots + late*(w.Quantile-share); cost <= least {
			least, best = cost, slotsFor
		}
	}
	for k, share := range muster.RoomShares() {
		if share < w.Quantile {
			// All that find no slot count here; how many of them are late is in the price.
			consider(share, 1, func(b muster.Busiest) float64 {
				b.Messages = b.Rooms[k]
				return messages(b)
			})
		}
	}
	consider(w.Quantile, w.TooLate, messages)
	return best
}
