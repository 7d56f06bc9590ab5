package config

import (
	"fmt"

	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/config/policies"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy"
)

// This file checks the policy of a fleet. Package policy knows the rules; here its faults get their place in the text.

// checkPolicy checks the policy's name itself, to suggest a similar one, and leaves the parameters to package policy.
// Each step runs only when the one before found no fault, because its faults would be consequences.
func (f *Fleet) checkPolicy(s *keys.Source, path string) {
	known := policies.KnownName(s, path+".policy", f.Policy.Name)
	for i, of := range f.Policy.Largest {
		known = policies.KnownName(s, fmt.Sprintf("%s.policy.largest[%d]", path, i), of.Name) && known
	}
	if !known {
		return
	}
	f.fillQueue(s, path+".policy", &f.Policy)
	faults := f.checkBudget(s, path)
	for i, of := range f.Policy.Largest {
		faults += policies.Check(s, fmt.Sprintf("%s.policy.largest[%d]", path, i), path, of)
	}
	if faults == 0 {
		faults = policies.Check(s, path+".policy", path, f.Policy)
	}
	if faults == 0 && len(f.Queues) == 0 && len(f.Signals) == 0 && !s.Has(path+".queue") && !s.Has(path+".queues") &&
		!f.Policy.NeedsNoQueue() {
		s.Fault(path+".policy", fmt.Sprintf("found %s for a fleet without a queue, allowed is schedule, metric-math, "+
			"or worker-utilization with signal: reports", f.Policy.Name),
			"name the fleet's queue, or use a policy that needs none")
	}
}

// checkBudget refuses a price or a budget of zero, and a budget that does not pay for min workers. It returns the
// number of faults. Amounts are per hour, in one currency that Muster does not know.
func (f *Fleet) checkBudget(s *keys.Source, path string) int {
	before := s.Count()
	policies.NotZero(s, path+".price", f.Policy.PricePerHour, "an amount above 0 for an hour; leave it out for none")
	policies.NotZero(s, path+".budget", f.Policy.BudgetPerHour, "an amount above 0 for an hour; leave it out for none")
	price, budget := f.Policy.PricePerHour, f.Policy.BudgetPerHour
	if price > 0 && budget > 0 && f.Limits.Min > policy.Affordable(budget, price) {
		s.Fault(path+".budget", fmt.Sprintf("found %s, which pays for %s, allowed is at least what min %d costs: %s",
			render.Number(budget),
			render.Plural(policy.Affordable(budget, price),
				"worker"), f.Limits.Min, render.Number(price*float64(f.Limits.Min))), "")
	}
	return s.Count() - before
}
