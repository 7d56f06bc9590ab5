package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy"
)

// This file checks the policy of a fleet. Package policy knows the rules; here its faults get their place in the text.

// checkPolicy checks the policy's name itself, to suggest a similar one, and leaves the parameters to package policy.
// Each step runs only when the one before found no fault, because its faults would be consequences.
func (f *Fleet) checkPolicy(s *keys.Source, path string) {
	known := checkPolicyName(s, path+".policy", f.Policy.Name)
	for i, of := range f.Policy.Largest {
		known = checkPolicyName(s, fmt.Sprintf("%s.policy.largest[%d]", path, i), of.Name) && known
	}
	if !known {
		return
	}
	f.fillQueue(s, path+".policy", &f.Policy)
	faults := f.checkBudget(s, path)
	for i, of := range f.Policy.Largest {
		faults += checkSpec(s, fmt.Sprintf("%s.policy.largest[%d]", path, i), path, of)
	}
	if faults == 0 {
		faults = checkSpec(s, path+".policy", path, f.Policy)
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
	notZero(s, path+".price", f.Policy.PricePerHour, "an amount above 0 for an hour; leave it out for none")
	notZero(s, path+".budget", f.Policy.BudgetPerHour, "an amount above 0 for an hour; leave it out for none")
	price, budget := f.Policy.PricePerHour, f.Policy.BudgetPerHour
	if price > 0 && budget > 0 && f.Limits.Min > policy.Affordable(budget, price) {
		s.Fault(path+".budget", fmt.Sprintf("found %s, which pays for %s, allowed is at least what min %d costs: %s",
			render.Number(budget),
			render.Plural(policy.Affordable(budget, price),
				"worker"), f.Limits.Min, render.Number(price*float64(f.Limits.Min))), "")
	}
	return s.Count() - before
}

// notZero adds a fault when the text states a zero at path. In a [policy.Spec] zero means that the parameter is absent,
// so a stated zero would silently have no effect.
func notZero(s *keys.Source, path string, value float64, allowed string) {
	if s.Has(path) && !s.Bad(path) && value == 0 {
		s.Fault(path, "found 0, allowed is "+allowed, "")
	}
}

// checkSpec adds the faults of the policy at path and returns their number. A fault of package policy names its field
// as "policy.target" or, for a shared setting such as scale_in, by a path below the fleet; fleet is the path of that.
func checkSpec(s *keys.Source, path, fleet string, spec policy.Spec) int {
	notZero(s, path+".scale", spec.Scale, "a number above 0 and at most 1, as in 0.5")
	faults := policyFaults(spec.Check())
	for _, fault := range faults {
		at, hint := fleet+"."+fault.Field, ""
		if parameter, ok := strings.CutPrefix(fault.Field, "policy."); ok {
			at = path + "." + parameter
		}
		if fault.Field == "policy.forecast" && spec.Forecast != policy.ForecastSeasonal {
			hint = Suggest(spec.Forecast, []string{policy.ForecastNone, policy.ForecastSeasonal})
		}
		if fault.Field == "policy.signal" {
			hint = Suggest(spec.Signal, []string{policy.SignalTotal, policy.SignalInFlight, policy.SignalReports})
		}
		s.Fault(at, "found "+fault.Found+", allowed is "+fault.Allowed, hint)
	}
	return len(faults)
}

// checkPolicyName tells whether the policy at path has a known name, and adds a fault if not. The text states a policy
// by its name alone or by a mapping with the key name.
func checkPolicyName(s *keys.Source, path, name string) bool {
	if slices.Contains(policy.Names(), name) {
		return true
	}
	found := keys.Quote(name)
	if name == "" {
		found = "no name"
	}
	if s.Has(path + ".name") {
		path += ".name"
	}
	s.Fault(path, "found "+found+", allowed are "+strings.Join(policy.Names(), ", "), Suggest(name, policy.Names()))
	return false
}

// policyFaults returns the faults that [errors.Join] put into err, in their order. policy.Spec.Check joins them, also
// in several levels.
func policyFaults(err error) []*policy.Fault {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*policy.Fault
		for _, one := range joined.Unwrap() {
			all = append(all, policyFaults(one)...)
		}
		return all
	}
	if fault, ok := errors.AsType[*policy.Fault](err); ok {
		return []*policy.Fault{fault}
	}
	return nil
}
