package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy"
)

// validatePolicy checks the policy's name here, for the sake of the hint, and leaves the parameters to package policy.
func (f *Fleet) validatePolicy(s *source, path string) {
	known := checkPolicyName(s, path+".policy", f.Policy.Name)
	for i, of := range f.Policy.Largest {
		known = checkPolicyName(s, fmt.Sprintf("%s.policy.largest[%d]", path, i), of.Name) && known
	}
	if !known {
		return
	}
	faults := f.validateBudget(s, path)
	for i, of := range f.Policy.Largest {
		faults += s.policy(fmt.Sprintf("%s.policy.largest[%d]", path, i), path, of)
	}
	if faults == 0 {
		faults = s.policy(path+".policy", path, f.Policy)
	}
	if faults == 0 && len(f.Queues) == 0 && f.Metrics == nil && !s.has(path+".queue") && !s.has(path+".queues") && !needsNoQueue(f.Policy) {
		s.fault(path+".policy", fmt.Sprintf("found %s for a fleet without a queue, allowed is schedule, or worker-utilization with signal: reports", f.Policy.Name),
			"name the fleet's queue, or use a policy that needs none")
	}
}

// validateBudget refuses a price or a budget of zero, and a budget below the cost of the minimum. It counts the faults.
func (f *Fleet) validateBudget(s *source, path string) int {
	before := len(s.faults)
	s.notZero(path+".price", f.Policy.PricePerHour, "an amount above 0 for an hour; leave it out for none")
	s.notZero(path+".budget", f.Policy.BudgetPerHour, "an amount above 0 for an hour; leave it out for none")
	price, budget := f.Policy.PricePerHour, f.Policy.BudgetPerHour
	if price > 0 && budget > 0 && f.Limits.Min > policy.Affordable(budget, price) {
		s.fault(path+".budget", fmt.Sprintf("found %s, which pays for %s, allowed is at least what min %d costs: %s", muster.Number(budget),
			muster.Plural(policy.Affordable(budget, price), "worker"), f.Limits.Min, muster.Number(price*float64(f.Limits.Min))), "")
	}
	return len(s.faults) - before
}

// notZero adds a fault when the text states a zero at path: in a [policy.Spec] it would read as not stated.
func (s *source) notZero(path string, value float64, allowed string) {
	if s.has(path) && !s.bad[path] && value == 0 {
		s.fault(path, "found 0, allowed is "+allowed, "")
	}
}

// policy adds the faults of the policy at path, for the fleet at the path fleet, and counts them.
func (s *source) policy(path, fleet string, spec policy.Spec) int {
	s.notZero(path+".scale", spec.Scale, "a number above 0 and at most 1, as in 0.5")
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
		s.fault(at, "found "+fault.Found+", allowed is "+fault.Allowed, hint)
	}
	return len(faults)
}

// checkPolicyName tells whether the policy at path, a name or a mapping, has a known one.
func checkPolicyName(s *source, path, name string) bool {
	if slices.Contains(policy.Names(), name) {
		return true
	}
	found := quote(name)
	if name == "" {
		found = "no name"
	}
	if s.has(path + ".name") {
		path += ".name"
	}
	s.fault(path, "found "+found+", allowed are "+strings.Join(policy.Names(), ", "), Suggest(name, policy.Names()))
	return false
}

// needsNoQueue tells whether the policy goes by worker reports or the calendar alone.
func needsNoQueue(s policy.Spec) bool {
	if len(s.Largest) > 0 {
		return !slices.ContainsFunc(s.Largest, func(of policy.Spec) bool { return !needsNoQueue(of) })
	}
	return s.Name == "schedule" || s.Name == "worker-utilization" && s.Signal == policy.SignalReports
}

// policyFaults takes joined faults apart.
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
