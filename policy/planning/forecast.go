package planning

import (
	"fmt"
	"math"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// steep is by how much the rate must be forecast to rise, or to fall, before it is planned for: smaller changes are
// followed by the last minutes, and by launches for nothing if each quarter of an hour had a size of its own.
const leastChange = 1.25

// expected is the rate that is planned for by a forecast that is used, in messages per second, and whether it differs
// from what was to be expected for the past hour. The usual error is added to a rise, and not trusted of a fall.
func forecastRate(f muster.Forecast) (rate float64, differs bool) {
	rate = f.PerSecond + f.ErrorPerSecond
	return rate, f.PerSecond > leastChange*f.LatelyPerSecond || rate*leastChange < f.LatelyPerSecond
}

// foreseen is how many messages a window as busy as b will have at the rate that is expected. Above a mean number of
// messages the busiest windows of an hour have two deviations of chance, its square root. Of a fall, what came above
// the mean of the past hour beside chance stays: spikes come at any rate.
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

// foresee returns the decision with a forecast, whose last term says what the forecast changed and why, or why it was
// not used. without is the decision as it is without one.
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
		t.Why = fmt.Sprintf("the forecast is not used: tested on %d quarters of an hour, it missed by %s messages a "+
			"second and going by the last minutes by %s; %s",
			f.Tested, render.Number(rules.Round3(f.MissPerSecond)),
			render.Number(rules.Round3(f.ReactingMissPerSecond)), f.Reason)
	case p.slack() > 0:
		t.Why = "the forecast changes nothing: workers that are launched for messages that came are in time"
	case !o.Arrivals.Known:
		t.Why = "the forecast changes nothing while it is not known how many messages come"
	case !differs:
		t.Why = fmt.Sprintf("the forecast changes nothing: %s messages a second are to come, after at most %s in the "+
			"past hour", render.Number(rules.Round3(f.PerSecond)),
			render.Number(rules.Round3(f.LatelyPerSecond)))
	default:
		t.Out = with.Desired
		t.Why = fmt.Sprintf("%s messages a second are forecast for when a worker that is launched now is ready, "+
			"after at most %s in the past hour: %s",
			render.Number(rules.Round3(rate)), render.Number(rules.Round3(f.LatelyPerSecond)), sizeChange(before, t.Out))
	}
	without.Floor = with.Floor
	return without.With(t)
}

// changed says what a size became.
func sizeChange(before, after int) string {
	if before == after {
		return fmt.Sprintf("%d it is", after)
	}
	return fmt.Sprintf("%d in place of %d", after, before)
}
