package planning

import (
	"fmt"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/arrivals"
	"github.com/muster-scale/muster/policy/internal/rules"
)

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
	rate, differs := arrivals.ForecastRate(f)
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
			rules.SizeChange(before, t.Out))
	}
	without.Floor = with.Floor
	return without.With(t)
}
