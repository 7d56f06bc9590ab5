package planning

import (
	"fmt"
	"math"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// leastChange is the factor by which the rate must be forecast to rise, or to fall, before the plan uses the forecast.
// The last minutes follow smaller changes, and each quarter of an hour with a size of its own would cost launches for
// nothing.
const leastChange = 1.25

// forecastRate returns the rate to plan for in messages per second, and whether it differs enough from that of the past
// hour. The usual error is added: to a rise to be safe, and to a fall so that a doubtful one does not count.
func forecastRate(f muster.Forecast) (rate float64, differs bool) {
	rate = f.PerSecond + f.ErrorPerSecond
	return rate, f.PerSecond > leastChange*f.LatelyPerSecond || rate*leastChange < f.LatelyPerSecond
}

// forecastBusiest returns how many messages a window as busy as b will have at the forecast rate. w is its length, R
// the forecast and R0 the past rate:
//
//	rise   max(N, R w + 2 sqrt(R w))
//	fall   min(N, R w + max(0, N - R0 w - 2 (sqrt(R0 w) - sqrt(R w))))
//
// N is the number that the window had. The busiest windows of an hour lie about two deviations of chance above the
// mean, and that deviation is the root of the number. On a fall, whatever exceeded the past mean by more than that
// stays: spikes come at any rate.
func forecastBusiest(f muster.Forecast, b muster.Busiest) float64 {
	rate, differs := forecastRate(f)
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

// applyForecast returns the decision with the forecast. Its last term says what the forecast changed and why, or why it
// was not used. without is the decision made without a forecast, with the one made with it.
func (p *plan) applyForecast(without, with muster.Decision, o muster.Observation) muster.Decision {
	f, before := o.Forecast, without.Desired
	t := muster.Term{Rule: "forecast", Out: before}
	if f.Known {
		t.In = []muster.Value{rules.Value("ahead_s", f.AheadSeconds),
			rules.Value("expected_per_s", rules.Round3(f.PerSecond)),
			rules.Value("error_per_s", rules.Round3(f.ErrorPerSecond)),
			rules.Value("lately_per_s", rules.Round3(f.LatelyPerSecond)),
			rules.Value("miss_per_s", rules.Round3(f.MissPerSecond)),
			rules.Value("reacting_miss_per_s", rules.Round3(f.ReactingMissPerSecond)),
			rules.Value("without", float64(before))}
	}
	rate, differs := forecastRate(f)
	switch {
	case !f.Known:
		t.Why = "no forecast: " + f.Reason
	case !f.Used:
		t.Why = fmt.Sprintf("the forecast is not used: over %d tested quarters of an hour its error was %s messages "+
			"a second, that of the rate of the last minutes %s; %s",
			f.Tested, render.Number(rules.Round3(f.MissPerSecond)),
			render.Number(rules.Round3(f.ReactingMissPerSecond)), f.Reason)
	case p.slack() > 0:
		t.Why = "the forecast changes nothing: a launch is in time for messages that have arrived"
	case !o.Arrivals.Known:
		t.Why = "the forecast changes nothing while the arrival rate is unknown"
	case !differs:
		t.Why = fmt.Sprintf("the forecast changes nothing: %s messages a second are expected, after at most %s in "+
			"the past hour", render.Number(rules.Round3(f.PerSecond)),
			render.Number(rules.Round3(f.LatelyPerSecond)))
	default:
		t.Out = with.Desired
		t.Why = fmt.Sprintf("%s messages a second are forecast for when a worker launched now is ready, "+
			"after at most %s in the past hour: %s",
			render.Number(rules.Round3(rate)), render.Number(rules.Round3(f.LatelyPerSecond)),
			sizeChange(before, t.Out))
	}
	without.Floor = with.Floor
	return without.With(t)
}

// sizeChange says how a size changed.
func sizeChange(before, after int) string {
	if before == after {
		return fmt.Sprintf("the size stays %d", after)
	}
	return fmt.Sprintf("the size becomes %d instead of %d", after, before)
}
