package policies

import (
	"errors"
	"slices"
	"strings"

	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/policy"
)

// NotZero adds a fault when the text states a zero at path. In a [policy.Spec] zero means that the parameter is absent,
// so a stated zero would silently have no effect.
func NotZero(s *keys.Source, path string, value float64, allowed string) {
	if s.Has(path) && !s.Bad(path) && value == 0 {
		s.Fault(path, "found 0, allowed is "+allowed, "")
	}
}

// Check adds the faults of the policy at path and returns their number. A fault of package policy names its field
// as "policy.target" or, for a shared setting such as scale_in, by a path below the fleet; fleet is the path of that.
func Check(s *keys.Source, path, fleet string, spec policy.Spec) int {
	NotZero(s, path+".scale", spec.Scale, "a number above 0 and at most 1, as in 0.5")
	faults := faultsOf(spec.Check())
	for _, fault := range faults {
		at, hint := fleet+"."+fault.Field, ""
		if parameter, ok := strings.CutPrefix(fault.Field, "policy."); ok {
			at = path + "." + parameter
		}
		if fault.Field == "policy.forecast" && spec.Forecast != policy.ForecastSeasonal {
			hint = keys.Suggest(spec.Forecast, []string{policy.ForecastNone, policy.ForecastSeasonal})
		}
		if fault.Field == "policy.signal" {
			hint = keys.Suggest(spec.Signal, []string{policy.SignalTotal, policy.SignalInFlight, policy.SignalReports})
		}
		s.Fault(at, "found "+fault.Found+", allowed is "+fault.Allowed, hint)
	}
	return len(faults)
}

// KnownName tells whether the policy at path has a known name, and adds a fault if not. The text states a policy
// by its name alone or by a mapping with the key name.
func KnownName(s *keys.Source, path, name string) bool {
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
	s.Fault(path, "found "+found+", allowed are "+strings.Join(policy.Names(), ", "),
		keys.Suggest(name, policy.Names()))
	return false
}

// faultsOf returns the faults that [errors.Join] put into err, in their order. policy.Spec.Check joins them, also
// in several levels.
func faultsOf(err error) []*policy.Fault {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*policy.Fault
		for _, one := range joined.Unwrap() {
			all = append(all, faultsOf(one)...)
		}
		return all
	}
	if fault, ok := errors.AsType[*policy.Fault](err); ok {
		return []*policy.Fault{fault}
	}
	return nil
}
