package policy

import (
	"fmt"
	"math"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// Budget keeps the size within what may be spent in an hour:
//
//	desired <= floor(PerHour / PricePerHour)
//
// Every worker of the size counts at its full price, idle or busy.
type Budget struct {
	Of muster.Policy
	// PerHour bounds the cost of the fleet in an hour, PricePerHour is that of one worker, in the same currency.
	// Without both there is no bound.
	PerHour, PricePerHour float64
}

// Decide implements [muster.Policy].
func (p Budget) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	d := p.Of.Decide(o, recent)
	if !(p.PerHour > 0) || !(p.PricePerHour > 0) {
		return d
	}
	most := Affordable(p.PerHour, p.PricePerHour)
	if d.Desired <= most {
		return d
	}
	d = d.With(muster.Term{
		Rule: "budget", In: []muster.Value{rules.Value("budget_per_hour", p.PerHour),
			rules.Value("price_per_hour", p.PricePerHour)}, Out: most,
		Why: fmt.Sprintf("a budget of %s an hour pays for %s at %s each", render.Number(p.PerHour),
			render.Plural(most, "worker"), render.Number(p.PricePerHour)),
	})
	d.Reason = muster.OverBudget
	return d
}

// Affordable returns how many workers the budget of an hour pays for: floor(budget / price). price is above zero.
func Affordable(budget, price float64) int {
	// A budget of three times the price pays for three workers: 1e-12 exceeds the error of the division.
	return int(math.Min(math.Floor(budget/price*(1+1e-12)), math.MaxInt32))
}

// checkBudget returns the faults of the price and the budget.
func (s Spec) checkBudget() []error {
	var faults []error
	for _, x := range []struct {
		field string
		value float64
	}{{"price", s.PricePerHour}, {"budget", s.BudgetPerHour}} {
		if x.value < 0 || math.IsNaN(x.value) || math.IsInf(x.value, 0) {
			faults = append(faults, &Fault{x.field, render.Number(x.value), "an amount above 0 for an hour"})
		}
	}
	if s.BudgetPerHour > 0 && s.PricePerHour == 0 {
		faults = append(faults, &Fault{"budget", "a budget without a price", "a budget together with price, the cost " +
			"of one worker in an hour"})
	}
	return faults
}
