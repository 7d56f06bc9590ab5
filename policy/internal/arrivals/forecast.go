package arrivals

import (
	"math"

	"github.com/muster-scale/muster"
)

// leastChange is the factor by which the rate must be forecast to rise, or to fall, before a forecast counts. The last
// minutes follow smaller changes, and each quarter of an hour with a size of its own would cost launches for nothing.
const leastChange = 1.25

// ForecastRate returns the rate to plan for in messages per second, and whether it differs enough from that of the past
// hour. The usual error is added: to a rise to be safe, and to a fall so that a doubtful one does not count.
func ForecastRate(f muster.Forecast) (rate float64, differs bool) {
	rate = f.PerSecond + f.ErrorPerSecond
	return rate, f.PerSecond > leastChange*f.LatelyPerSecond || rate*leastChange < f.LatelyPerSecond
}

// ForecastBusiest returns how many messages a window as busy as b will have at the forecast rate. w is its length, R
// the forecast and R0 the past rate:
//
//	rise   max(N, R w + 2 sqrt(R w))
//	fall   min(N, R w + max(0, N - R0 w - 2 (sqrt(R0 w) - sqrt(R w))))
//
// N is the number that the window had. The busiest windows of an hour lie about two deviations of chance above the
// mean, and that deviation is the root of the number. On a fall, whatever exceeded the past mean by more than that
// stays: spikes come at any rate.
func ForecastBusiest(f muster.Forecast, b muster.Busiest) float64 {
	rate, differs := ForecastRate(f)
	if !f.Used || !differs {
		return b.Messages
	}
	was, will := f.LatelyPerSecond*b.OverSeconds, rate*b.OverSeconds
	if will > was {
		return math.Max(b.Messages, will+2*math.Sqrt(will))
	}
	above := math.Max(0, b.Messages-was) - 2*(math.Sqrt(was)-math.Sqrt(will))
	return math.Min(b.Messages, will+math.Max(0, above))
}
