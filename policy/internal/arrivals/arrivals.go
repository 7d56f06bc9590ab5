// Package arrivals answers questions about the measured arrivals of a fleet, as [muster.Arrivals] has them: how high
// their rate may be at most ([Bound]), and how many messages come at the busiest times ([Within], [Typical]).
//
//	most := arrivals.Bound(o.Arrivals)
//	burst := arrivals.Within(arrivals.Typical(o.Arrivals.Busiest), 90)
//
// All functions are pure. What follows for the number of workers is the caller's to say: see package planning.
package arrivals

import (
	"cmp"
	"math"

	"github.com/muster-scale/muster"
)

// Bound returns an upper bound of the arrival rate in messages per second, one deviation of chance above the count:
//
//	(n + 1 + z sqrt(n)) / w,   z = 1
//
// for n messages in a window of w seconds. The smallest bound of all windows counts.
func Bound(a muster.Arrivals) float64 {
	const z = 1
	watched := cmp.Or(a.WatchedSeconds, 3600)
	least := math.Inf(1)
	for _, w := range []struct{ over, rate float64 }{{60, a.Minute}, {300, a.FiveMinutes}, {1200, a.TwentyMinutes},
		{3600, a.Hour}} {
		over := math.Min(w.over, watched)
		n := w.rate * over
		least = math.Min(least, (n+1+z*math.Sqrt(n))/over)
	}
	return least
}

// Within returns how many messages arrived within so many seconds at the busiest times, interpolated linearly between
// two measured windows. Beyond the longest window it returns the number of that window.
func Within(all []muster.Busiest, seconds float64) float64 {
	var before muster.Busiest
	for _, b := range all {
		if b.OverSeconds >= seconds {
			return before.Messages +
				(b.Messages-before.Messages)*(seconds-before.OverSeconds)/(b.OverSeconds-before.OverSeconds)
		}
		before = b
	}
	return before.Messages
}

// Typical returns the busy times in which half of all messages came. The largest of all would be the wrong measure of
// the next one: many a first message comes alone. A quantile of half and below has no smaller share.
func Typical(all []muster.Busiest) []muster.Busiest {
	usual := make([]muster.Busiest, len(all))
	for i, b := range all {
		usual[i] = muster.Busiest{OverSeconds: b.OverSeconds, Messages: cmp.Or(b.Rooms[0], b.Messages)}
	}
	return usual
}
